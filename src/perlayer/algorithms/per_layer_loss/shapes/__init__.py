"""Weights over depth, one file each, named as `weighting.shape` of a run names it.

A file has a function `weight(layer, layers, *, ...)`: the weight of the loss read after layer k of L, counted from 1.
Its keyword arguments are what a run may say: a `float` from 0, an `int` from 1 or a `list[float]`. NORMALIZED says
whether all weights, that of the final loss among them, are divided by their sum; if not, the final loss stays at 1.
Plain Python, since choices are checked before anything heavy is imported.
"""
