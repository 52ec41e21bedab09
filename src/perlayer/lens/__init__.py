"""Lenses: what a finished model's own unembedding reads after every layer."""
