"""Stage `report`: metrics/warehouse, report/figures -> report/index.html."""

from _run import run


def report(params):
    from perlayer.report.page import report as write

    write(params, "metrics/warehouse", "report/figures", "report/index.html")


if __name__ == "__main__":
    run(report)
