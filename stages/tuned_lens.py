"""Train a tuned lens for one finished run, named on the command line, and read the run by it."""

from _run import run


def tuned_lens(params, name):
    from pathlib import Path

    from perlayer.lens.settings import LensSettings, TunedLensSettings
    from perlayer.params import parse, recipe
    from perlayer.runs import TrainSettings
    from perlayer.training.start import in_processes

    settings = parse(TunedLensSettings, *recipe(params, "tuned_lens"))
    reading = parse(LensSettings, *recipe(params, "lens"))
    compute_dtype = parse(TrainSettings, *recipe(params, "train")).compute_dtype

    def tune(machine):
        from perlayer.lens.tuned import tune_run

        tune_run(
            name,
            params["size"],
            settings,
            reading,
            compute_dtype,
            shards=Path("data/shards"),
            models=Path("data/models"),
            lenses=Path("data/lenses"),
            metrics=Path("metrics/analyses/tuned_lens"),
            machine=machine,
        )

    in_processes(settings.batch, tune)


if __name__ == "__main__":
    run(tuned_lens)
