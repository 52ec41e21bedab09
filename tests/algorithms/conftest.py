import pytest
import torch

VOCABULARY, LENGTH, BATCH, STEPS = 40, 16, 4, 6


class Batches(torch.utils.data.Dataset):
    """Fixed random token rows in one order."""

    def __init__(self, rows=BATCH * STEPS, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.rows = torch.randint(0, VOCABULARY, (rows, LENGTH + 1), generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"tokens": self.rows[index]}


@pytest.fixture
def train(monkeypatch):
    """Train a tiny model through Composer and return (model, losses by reading)."""
    from composer import Trainer

    from perlayer.model.config import ModelConfig
    from perlayer.model.decoder import Decoder
    from perlayer.optim.groups import parameter_groups
    from perlayer.optim.hyperball import Hyperball
    from perlayer.optim.settings import OptimizerSettings
    from perlayer.training.composer_model import PerLayerModel
    from perlayer.training.layer_log import LayerLog
    from perlayer.training.schedule import LearningRateSchedule

    # Composer looks for its own commit in every training and checkpoint, to note it: a quarter of the time these take.
    monkeypatch.setattr("composer.utils.collect_env.get_composer_commit_hash", lambda: None)
    settings = OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0)

    def run(algorithms=(), seed=0, steps=STEPS, stop=None, folder=None, microbatch=BATCH, residual="sandwich"):
        config = ModelConfig(residual, 3, 16, 24, 2, 1, 8, 10000.0, 1e-5, VOCABULARY, LENGTH, 1, True)
        decoder = Decoder(config)
        decoder.initialize(seed)
        model, log = PerLayerModel(decoder), LayerLog("test", steps, quiet=True)
        trainer = Trainer(
            model=model,
            optimizers=Hyperball.from_settings(parameter_groups(decoder, settings), settings),
            train_dataloader=torch.utils.data.DataLoader(Batches(), batch_size=BATCH, shuffle=False),
            max_duration=f"{stop or steps}ba",
            algorithms=list(algorithms),
            callbacks=[LearningRateSchedule(steps, "linear", 0, 0.8)],
            loggers=[log],
            device="cpu",
            precision="fp32",
            device_train_microbatch_size=microbatch,
            seed=seed,
            run_name="test",
            progress_bar=False,
            **(
                dict(save_folder=str(folder), save_interval="1ba", save_overwrite=True, autoresume=True)
                if folder
                else {}
            ),
        )
        trainer.fit()
        trainer.close()
        return model, log.by_reading()

    return run
