"""Figures as they are drawn, and what stands written in them."""

from perlayer.report.figures import style


def settled(module, connection):
    """The figure of a module, laid out."""
    with style.theme():
        figure = module.draw(connection)
        figure.draw_without_rendering()
    return figure


def texts(figure):
    """All that is written anywhere in a figure."""
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def titles(figure):
    """The titles of its panels."""
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
