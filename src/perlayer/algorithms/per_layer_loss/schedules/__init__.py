"""How weights go over training, one file each, named as `schedule.kind` of a run names it.

A file has a function `share(layer, moment, *, ...)`: how much of its weight layer k, counted from 1, has at a moment;
the last layer always has all of it. Its keyword arguments are what a run may say: a `float` from 0, an `int` from 1, or
a `Duration`, updates or a share of the run. NEEDS_LOSSES says whether it asks for the losses just read. Plain Python,
since choices are checked before anything heavy is imported.
"""
