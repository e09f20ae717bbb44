"""Wrong plugins, one mistake to a file."""
