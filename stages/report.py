"""Stage `report`: metrics/warehouse, report/figures -> report/index.html, metrics/answers."""

from _run import run


def report(params):
    from pathlib import Path

    from perlayer.questions import connect
    from perlayer.report.page import report as write
    from perlayer.warehouse.answers import write_answers

    write(params, "metrics/warehouse", "report/figures", "report/index.html")
    with connect("metrics/warehouse") as connection:
        write_answers(connection, Path("metrics/answers"))


if __name__ == "__main__":
    run(report)
