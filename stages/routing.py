"""Read how one finished run, named on the command line, routes between its streams or sources."""

from _run import run


def routing(params, name):
    from pathlib import Path

    from perlayer.depth.routing import read_run
    from perlayer.environment import Machine
    from perlayer.lens.settings import LensSettings
    from perlayer.params import parse, recipe

    read_run(
        name,
        parse(LensSettings, *recipe(params, "lens")),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/analyses/routing"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(routing)
