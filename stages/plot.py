"""Stage `plot`: metrics/warehouse -> report/figures."""

from _run import run


def plot(params):
    import os

    from perlayer.report.plot import plot as draw

    draw("metrics/warehouse", "report/figures", processes=min(os.cpu_count() or 1, 4))


if __name__ == "__main__":
    run(plot)
