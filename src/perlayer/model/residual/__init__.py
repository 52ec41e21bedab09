"""Residual designs, one file each: how sublayers read from and write to what flows between layers."""
