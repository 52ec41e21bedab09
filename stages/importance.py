"""Write down how important the layers of one finished run are, by which growth training goes."""

from _run import run


def importance(params):
    from pathlib import Path

    from perlayer.anatomy.importance import write_importance

    write_importance(Path("metrics/analyses/anatomy", params["growth"]["importance"]), Path("data/importance.json"))


if __name__ == "__main__":
    run(importance)
