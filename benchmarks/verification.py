"""What manifests cost a stage that does little else: the logit lens of a run."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

from benchmarks.default_data import DefaultData
from benchmarks.measure import Row, alternate
from benchmarks.project import ROOT, SIZE
from benchmarks.training_step import NANO, prepare
from perlayer import params, store
from perlayer.environment import Machine
from perlayer.lens.logit import read_run
from perlayer.lens.settings import LensSettings
from perlayer.model.decoder import Decoder
from perlayer.model.weights import save_model
from perlayer.provenance import declared

BOUND = 0.02
PAIRS = 5


def rows() -> list[Row]:
    prepare()
    choices, data = params.load(ROOT / "params.yaml"), DefaultData.read()
    settings = params.parse(LensSettings, *params.recipe(choices, "lens", SIZE))
    decoder = Decoder(dataclasses.replace(NANO.shape.config, vocab_size=data.vocab_size))
    decoder.initialize(seed=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.build_corpus(folder)
        data.tokenize(folder, None, into="tokenizer")
        data.write_shards(folder)
        with store.fresh_folder(folder / "models/mine") as model:
            save_model(model, decoder)
        read = [path for out in ("shards", "models/mine") for path in (folder / out).rglob("*") if path.is_file()]

        def manifests() -> None:
            """All that a stage does for them; it reads fewer of these files."""
            for known in (store._contents, store._read_manifest):
                known.cache_clear()
            declared("lens", ["baseline"], choices)
            for path in read:
                if path.name != store.MANIFEST:
                    store.verified(path)
            store.describe(folder / "metrics/mine")
            store.set_about(folder / "metrics/mine", {"made_from": {}})

        def stage() -> None:
            machine = Machine(device="cpu", compile="off")
            read_run("mine", SIZE, settings, folder / "shards", folder / "models", folder / "metrics", machine)

        stage()
        note = f"{sum(path.stat().st_size for path in read) / 1e6:.1f} MB read"
        return [alternate(manifests, stage, PAIRS).row(f"manifests ÷ the logit lens, {SIZE}", BOUND, note)]
