"""Train one run of the growth section, named on the command line: in stages, or uniformly beside those."""

from _run import run


def growth(params, name):
    from pathlib import Path

    from perlayer.training.growth import by_importance, growth_run
    from perlayer.training.recipe import parse_recipe
    from perlayer.training.start import start_training

    start_training(
        by_importance(growth_run(params, name), Path("data/importance", name)),
        parse_recipe(params),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/runs"),
    )


if __name__ == "__main__":
    run(growth)
