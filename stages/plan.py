"""Check every choice in params.yaml, and write down which files of code each run uses."""

from _run import run


def plan(params):
    from pathlib import Path

    from perlayer.training.plan import check_params, write_plans

    write_plans(check_params(params), Path("data/plan"))


if __name__ == "__main__":
    run(plan)
