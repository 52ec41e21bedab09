"""Train one run, named on the command line, and publish its weights and its per-layer losses."""

from _run import run


def train(params, name):
    from pathlib import Path

    from perlayer.training.recipe import parse_recipe
    from perlayer.training.settings import parse_run
    from perlayer.training.start import start_training

    start_training(
        parse_run(params, name),
        parse_recipe(params),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/runs"),
    )


if __name__ == "__main__":
    run(train)
