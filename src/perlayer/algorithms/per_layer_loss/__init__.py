"""A next-token loss after every layer."""
