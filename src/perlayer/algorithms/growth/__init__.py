"""Growth training: some layers at a time, then the whole."""
