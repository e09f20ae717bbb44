"""Exact values by brute force, independent of the code they check."""
