"""Computations that mechanisms and measures share, each written once."""
