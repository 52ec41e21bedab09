"""Probes for a token further ahead."""
