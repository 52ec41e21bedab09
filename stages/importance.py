"""Write down by what importance of layers one run of growth training, named on the command line, goes."""

from _run import run


def importance(params, name):
    from pathlib import Path

    from perlayer.anatomy.importance import write_importance
    from perlayer.params import check_names
    from perlayer.training.growth import goes_by_importance, growth_run

    destination = Path(f"data/importance/{name}.json")
    destination.parent.mkdir(parents=True, exist_ok=True)
    if goes_by_importance(growth_run(params, name)):
        finished = params["growth"]["importance"]
        check_names([finished], "growth.importance")
        write_importance(Path("metrics/analyses/anatomy", finished), destination)
    else:  # always the same, so that these runs are not trained again when the importance changes
        destination.write_text("null\n")


if __name__ == "__main__":
    run(importance)
