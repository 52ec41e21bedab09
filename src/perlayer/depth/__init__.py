"""Dissections: how a finished model uses its depth."""
