"""Per-token gradient surgery where the gradients of a readout and of the next layer meet."""
