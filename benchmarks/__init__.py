"""The evidence of speed: `python -m benchmarks` measures each claim and holds it against its bound."""
