"""Map the layers of one finished run to those of another: one pair, named on the command line."""

from _run import run


def depth_maps(params, name):
    from pathlib import Path

    from perlayer.depth.pairs import map_pair
    from perlayer.depth.settings import MapSettings, parse_pair
    from perlayer.environment import Machine
    from perlayer.params import parse, recipe

    map_pair(
        name,
        parse_pair(params, name),
        parse(MapSettings, *recipe(params, "depth_maps")),
        shards=Path("data/shards"),
        models=Path("data/models"),
        metrics=Path("metrics/analyses/depth_maps"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(depth_maps)
