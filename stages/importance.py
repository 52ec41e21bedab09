"""Write down by what importance of layers one run of growth training, named on the command line, goes."""

from _run import run


def importance(params, name):
    from pathlib import Path

    from perlayer.anatomy.importance import read_importance, write_importance
    from perlayer.params import check_names
    from perlayer.training.growth import goes_by_importance, growth_run

    importance = None  # so that those that ask for none are not trained again when it changes
    if goes_by_importance(growth_run(params, name)):
        finished = params["growth"]["importance"]
        check_names([finished], "growth.importance")
        importance = read_importance(Path("metrics/analyses/anatomy", finished))
    write_importance(importance, Path("data/importance", name))


if __name__ == "__main__":
    run(importance)
