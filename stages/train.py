"""Train one run, named on the command line, and publish its weights and its per-layer losses."""

from _run import run


def train(params, name):
    from pathlib import Path

    from perlayer.runs import parse_recipe, parse_run
    from perlayer.training.start import start_training

    training = parse_run(params, name)
    start_training(
        training,
        parse_recipe(params, training.rung),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/runs"),
    )


if __name__ == "__main__":
    run(train)
