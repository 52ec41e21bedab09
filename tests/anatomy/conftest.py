import sys
from pathlib import Path

# a float64 decoder of any design, and models of transformers beside ours
sys.path[:0] = [str(Path(__file__).parents[1] / "model" / "residual"), str(Path(__file__).parents[1] / "depth")]
