"""Train one run of the ladder at one of its sizes, both named on the command line."""

from _run import run


def ladder(params, rung, name):
    import gc
    from pathlib import Path

    from perlayer.data.settings import parse_part
    from perlayer.environment import Machine
    from perlayer.model.config import AttentionSettings
    from perlayer.params import ladder_name, recipe
    from perlayer.training.ladder import ladder_run, parse_rung
    from perlayer.training.launch import launch_processes, own_temporary_folder

    machine = Machine.from_environment()
    run_settings, size = ladder_run(params, rung, name), parse_rung(params, rung)
    attention = parse_part(AttentionSettings, *recipe(params, "data"))
    with own_temporary_folder():
        if launch_processes(machine, size.train.batch):
            return

        # What the libraries bring stays until the end; to look for garbage in it took a quarter of the import.
        gc.disable()
        from perlayer.training.run import Recipe, train

        gc.freeze()
        gc.enable()
        train(
            run_settings,
            Recipe(ladder_name(params["size"], rung), size.model, size.optimizer, size.train, attention),
            shards=Path("data/shards"),
            models=Path("data/ladder"),
            metrics=Path("metrics/ladder"),
            machine=machine,
        )


if __name__ == "__main__":
    run(ladder)
