"""Dissect how one published model, named on the command line, uses its depth."""

from _run import run


def published_depth(params, name):
    from pathlib import Path

    from perlayer.depth.published import dissect_published
    from perlayer.depth.settings import published_settings
    from perlayer.environment import Machine
    from perlayer.model.published_settings import parse_published_model

    model = parse_published_model(params, name)
    dissect_published(
        name,
        model,
        published_settings(name, model.depth),
        prompts=Path("data/prompts"),
        shards=Path("data/published", name),
        metrics=Path("metrics/analyses/published_depth"),
        machine=Machine.from_environment(),
    )


if __name__ == "__main__":
    run(published_depth)
