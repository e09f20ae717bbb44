"""What goes with a release: its certificate, and several releases read together."""
