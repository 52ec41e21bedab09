"""Retrain every readout of one finished run, named on the command line, on its frozen backbone."""

from _run import run


def retrain_heads(params, name):
    from pathlib import Path

    from perlayer.heads.settings import RetrainSettings
    from perlayer.optim.settings import OptimizerSettings
    from perlayer.params import parse, recipe
    from perlayer.runs import TrainSettings
    from perlayer.training.start import in_processes

    settings = {
        "optimizer": parse(OptimizerSettings, *recipe(params, "optimizer")),
        "train": parse(TrainSettings, *recipe(params, "train")),
        "retrain": parse(RetrainSettings, *recipe(params, "retrain_heads")),
    }

    def retrain(machine):
        from perlayer.heads.retraining import RetrainRecipe
        from perlayer.heads.retraining import retrain_heads as retrain_run

        retrain_run(
            name,
            RetrainRecipe(size=params["size"], **settings),
            shards=Path("data/shards"),
            models=Path("data/models"),
            heads=Path("data/heads"),
            metrics=Path("metrics/analyses/retrain_heads"),
            machine=machine,
        )

    in_processes(settings["train"].batch, retrain)


if __name__ == "__main__":
    run(retrain_heads)
