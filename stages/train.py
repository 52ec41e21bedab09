"""Train one run, named on the command line, and publish its weights and its per-layer losses."""

from _run import run


def train(params, name):
    import gc
    from pathlib import Path

    from perlayer.data.settings import parse_part
    from perlayer.environment import Machine
    from perlayer.model.config import AttentionSettings, ModelSettings
    from perlayer.optim.settings import OptimizerSettings
    from perlayer.params import parse, recipe
    from perlayer.training.launch import launch_processes, own_temporary_folder
    from perlayer.training.settings import TrainSettings, parse_run

    machine = Machine.from_environment()
    run_settings = parse_run(params, name)
    settings = {
        "attention": parse_part(AttentionSettings, *recipe(params, "data")),
        "model": parse(ModelSettings, *recipe(params, "model")),
        "optimizer": parse(OptimizerSettings, *recipe(params, "optimizer")),
        "train": parse(TrainSettings, *recipe(params, "train")),
    }
    with own_temporary_folder():
        if launch_processes(machine, settings["train"].batch):
            return

        # What the libraries bring stays until the end; to look for garbage in it took a quarter of the import.
        gc.disable()
        from perlayer.training.run import Recipe, train

        gc.freeze()
        gc.enable()
        train(
            run_settings,
            Recipe(size=params["size"], **settings),
            shards=Path("data/shards"),
            models=Path("data/models"),
            metrics=Path("metrics/runs"),
            machine=machine,
        )


if __name__ == "__main__":
    run(train)
