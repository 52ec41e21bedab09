"""What does each layer of a language model contribute? The package behind the DVC pipeline."""
