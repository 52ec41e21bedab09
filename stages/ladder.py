"""Train one run of the ladder at one of its sizes, both named on the command line."""

from _run import run


def ladder(params, rung, name):
    from pathlib import Path

    from perlayer.training.ladder import ladder_run, parse_rung
    from perlayer.training.start import start_training

    start_training(
        ladder_run(params, rung, name),
        parse_rung(params, rung),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/runs"),
    )


if __name__ == "__main__":
    run(ladder)
