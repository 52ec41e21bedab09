"""Dissect what the layers of one published model, named on the command line, are made of."""

from _run import run


def published_anatomy(params, name):
    from pathlib import Path

    from perlayer.anatomy.published import anatomize_published
    from perlayer.anatomy.settings import AnatomySettings
    from perlayer.environment import Machine
    from perlayer.model.published_settings import parse_published_model
    from perlayer.params import parse, recipe

    anatomize_published(
        name,
        parse_published_model(params, name),
        parse(AnatomySettings, *recipe(params, "anatomy")),
        params["report"]["confidence"],
        with_recovery=name in params["anatomy"]["published_recovery"],
        shards=Path("data/published", name),
        metrics=Path("metrics/analyses/published_anatomy"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(published_anatomy)
