import sys
from pathlib import Path

# a float64 decoder of any design
sys.path.insert(0, str(Path(__file__).parents[1] / "model" / "residual"))
