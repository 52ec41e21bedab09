"""Where the project is, and what its pipeline is by default."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SIZE = "nano"  # the default of params.yaml
