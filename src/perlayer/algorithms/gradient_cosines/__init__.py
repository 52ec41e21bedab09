"""How the gradients of the layer losses lie to that of the final loss."""
