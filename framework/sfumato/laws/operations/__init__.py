"""What laws do to beliefs, channels and classes."""
