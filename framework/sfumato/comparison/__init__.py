"""Scenarios side by side, and studies of them."""
