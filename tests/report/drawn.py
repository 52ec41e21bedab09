"""Figures as they are drawn, and what stands written in them."""

from perlayer.report.figures import style
from perlayer.report.plot import drawn


def settled(module, connection):
    """The figure of a module, laid out."""
    with style.theme():
        figure, _ = drawn(module, connection)
        figure.draw_without_rendering()
    return figure


def texts(figure):
    """All that is written anywhere in a figure."""
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def titles(figure):
    """The titles of its panels."""
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]


def offsets(collection):
    """Where its marks stand."""
    return [tuple(float(value) for value in point) for point in collection.get_offsets()]


def assert_apart(boxes, width=1.0, height=None):
    """No box overlaps another, or but at its edges: where it has `width` and `height` of its own."""
    for number, box in enumerate(boxes):
        smaller = box.shrunk(width, height or width)
        assert not any(smaller.overlaps(other) for other in boxes[number + 1 :])
