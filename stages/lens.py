"""Read one finished run, named on the command line, by the logit lens."""

from _run import run


def lens(params, name):
    from pathlib import Path

    from perlayer.environment import Machine
    from perlayer.lens.logit import read_run
    from perlayer.lens.settings import LensSettings
    from perlayer.params import parse, recipe

    read_run(
        name,
        params["size"],
        parse(LensSettings, *recipe(params, "lens")),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/analyses/lens"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(lens)
