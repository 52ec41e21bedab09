"""Read one published model, named on the command line, by the logit lens and, if params ask for it, a tuned lens."""

from _run import run


def published_lens(params, name):
    from pathlib import Path

    from perlayer.environment import Machine
    from perlayer.lens.settings import TunedLensSettings
    from perlayer.model.published_settings import parse_published_model
    from perlayer.params import parse, recipe

    machine = Machine.from_environment()
    settings = parse_published_model(params, name)
    tuned = parse(TunedLensSettings, *recipe(params, "tuned_lens"))
    from perlayer.lens.published import read_published  # with torch, once all is checked

    read_published(
        name,
        settings,
        tuned,
        shards=Path("data/published", name),
        lenses=Path("data/lenses"),
        metrics=Path("metrics/analyses/published_lens"),
        machine=machine,
    )


if __name__ == "__main__":
    run(published_lens)
