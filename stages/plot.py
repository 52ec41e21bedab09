"""Stage `plot`: metrics/warehouse -> report/figures."""

from _run import run


def plot(params):
    from perlayer.report.plot import plot as draw

    draw("metrics/warehouse", "report/figures")


if __name__ == "__main__":
    run(plot)
