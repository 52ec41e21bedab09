"""How far down the loss of a layer reaches."""
