"""Dissect what the layers of one finished run, named on the command line, are made of."""

from _run import run


def anatomy(params, name):
    from pathlib import Path

    from perlayer.anatomy.analyses import anatomize_run
    from perlayer.anatomy.settings import AnatomySettings
    from perlayer.environment import Machine
    from perlayer.params import parse, recipe

    anatomize_run(
        name,
        params["runs"][name]["seed"],
        parse(AnatomySettings, *recipe(params, "anatomy")),
        params["report"]["confidence"],
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/analyses/anatomy"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(anatomy)
