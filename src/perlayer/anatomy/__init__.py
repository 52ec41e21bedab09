"""Anatomy: what the layers of a finished model are made of."""
