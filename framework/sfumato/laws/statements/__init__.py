"""The laws, one family to a file."""
