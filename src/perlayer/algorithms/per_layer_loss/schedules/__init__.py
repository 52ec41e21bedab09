"""How weights go over training, one file each, named as `schedule.kind` of a run names it.

A file has a function `share(layer, state, *, ...)`: how much of its weight layer k, counted from 1, has in a state of
training; the last layer always has all of it. Its keyword arguments are what a run may say: a `float` from 0, an `int`
from 1, or a `Duration`, updates or a share of the run. NEEDS_LOSSES says whether it asks for the losses just read. Of a
share that comes to nothing for good, `ends(state, *, ...)` says after how many updates. Plain Python, since choices are
checked before anything heavy is imported.
"""
