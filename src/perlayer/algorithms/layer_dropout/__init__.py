"""LayerSkip's layer dropout."""
