"""Dissect how one finished run, named on the command line, uses its depth."""

from _run import run


def depth(params, name):
    from pathlib import Path

    from perlayer.depth.analyses import dissect_run
    from perlayer.depth.settings import DepthSettings
    from perlayer.environment import Machine
    from perlayer.params import parse, recipe

    dissect_run(
        name,
        parse(DepthSettings, *recipe(params, "depth")),
        prompts=Path("data/prompts"),
        tokenizer=Path("data/tokenizer"),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/analyses/depth"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(depth)
