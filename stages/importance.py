"""Write down by what importance of layers one run of growth training, named on the command line, goes."""

from _run import run


def importance(params, name):
    from pathlib import Path

    from perlayer.anatomy.importance import read_importance, write_importance
    from perlayer.training.growth import goes_by_importance, growth_run

    # of the other runs always the same, so that they are not trained again when the importance changes
    asks = goes_by_importance(growth_run(params, name))
    importance = read_importance(Path("metrics/analyses/anatomy", params["growth"]["importance"])) if asks else None
    write_importance(importance, Path("data/importance", name))


if __name__ == "__main__":
    run(importance)
