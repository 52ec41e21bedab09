"""One run, from shards to outs."""

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from perlayer import process
from perlayer.data.batches import read_split
from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.model.weights import load_model, load_readouts
from perlayer.training import compilation, session
from perlayer.training import run as module
from perlayer.training.interruption import Interruption
from perlayer.training.launch import share_of_batch
from perlayer.training.layer_log import PREFIX, LayerLog
from perlayer.training.run import train
from perlayer.training.session import Session

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def averaged(run_of):
    return run_of("averaged", ema={"half_life": 3})


@pytest.fixture(scope="module")
def finished(shards, recipe, run_of, averaged, machine, tmp_path_factory):
    """The folder of the outs of a run that nothing interrupted, and of the same with an average of its weights."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for run in (run_of(), averaged):
            train(run, recipe, shards, folder / "models", folder / "metrics", machine)
    return folder


def outs(folder, run):
    found = {}
    for kind in ("models", "metrics"):
        for path in sorted((folder / kind / run.name).iterdir()):
            found[f"{kind}/{path.name}"] = path.read_bytes()
    return found


def test_publishes_every_number_of_every_layer(finished):
    table = parquet.read_table(finished / "metrics/separate/layers.parquet").to_pylist()
    losses = {
        (r["layer"], r["readout"], r["step"]): r["value"]
        for r in table
        if (r["split"], r["metric"]) == ("train", "loss")
    }
    readouts = {1: "separate", 2: "separate", 3: "head"}
    assert losses.keys() == {(k, readouts[k], step) for k in readouts for step in range(1, 13)}
    assert {r["tokens"] for r in table if r["step"] == 12} == {12 * 4 * 16}
    assert {r["ahead"] for r in table} == {1} and {r["other_layer"] for r in table} == {None}
    assert {r["run"] for r in table} == {"separate"} and {r["size"] for r in table} == {"tiny"}

    # a loss before any update is near that of guessing evenly among 300 tokens
    assert losses[3, "head", 1] == pytest.approx(math.log(300), abs=0.6)
    # parameters of a layer, from the shapes: q and o 16x16, k and v 8x16, three of 16x24, four norms of 16, two of 8
    one_layer = 2 * 16 * 16 + 2 * 8 * 16 + 3 * 16 * 24 + 4 * 16 + 2 * 8
    found = {r["layer"]: r["value"] for r in table if r["metric"] == "parameters"}
    assert found == {k: k * one_layer for k in (1, 2, 3)}

    summary = json.loads((finished / "metrics/separate/summary.json").read_text())
    assert summary["final_loss"] == pytest.approx(sum(losses[3, "head", s] for s in range(1, 13)) / 12)
    assert summary["tokens"] == 12 * 4 * 16
    assert summary["parameters"] == 3 * one_layer + 2 * 300 * 16 + 16
    assert not (finished / ".perlayer/scratch").exists() or not os.listdir(finished / ".perlayer/scratch")


def test_validation_losses_are_those_of_the_published_weights(finished, shards):
    decoder, readouts = load_model(finished / "models/separate"), load_readouts(finished / "models/separate")
    rows = torch.from_numpy(read_split(shards, "val")[:])
    taps, targets = decoder(rows[:, :-1]), rows[:, 1:].flatten()
    table = parquet.read_table(finished / "metrics/separate/layers.parquet").to_pylist()
    val = {(r["layer"], r["metric"]): r["value"] for r in table if r["split"] == "val"}
    logits = {3: decoder.logits(taps[3]), **{k: readouts[str(k)](taps[k]) for k in (1, 2)}}
    text_bytes = json.loads((shards / "dataset.json").read_text())["val_bytes"]
    for layer, one in logits.items():
        loss = functional.cross_entropy(one.flatten(0, 1), targets).item()
        assert val[layer, "loss"] == pytest.approx(loss, rel=1e-5)
        assert val[layer, "bits_per_byte"] == pytest.approx(loss * len(targets) / math.log(2) / text_bytes, rel=1e-5)


def test_the_same_run_gives_the_same_bytes(tmp_path, finished, shards, recipe, run_of, machine):
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert outs(tmp_path, run_of()) == outs(finished, run_of())


def test_an_interrupted_run_goes_on_to_the_same_bytes(
    tmp_path, finished, shards, recipe, averaged, machine, interrupt_at
):
    steps = interrupt_at(7)
    with pytest.raises(KeyboardInterrupt):
        train(averaged, recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert list((tmp_path / ".perlayer/scratch").iterdir())
    assert not (tmp_path / "models/averaged").exists()
    train(averaged, recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert steps[7] == 7  # the checkpoint after step 6 was found: step 7 is done again, 1 to 6 are not
    assert outs(tmp_path, averaged) == outs(finished, averaged)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_saves_what_it_has_done(
    tmp_path, finished, shards, recipe, run_of, machine, monkeypatch, request, number
):
    before = signal.signal(number, signal.default_int_handler)  # under nohup it is ignored, and stays so
    request.addfinalizer(lambda: signal.signal(number, before))
    steps = []
    real = LayerLog.batch_end

    def ask(self, state, logger):
        real(self, state, logger)
        steps.append(state.timestamp.batch.value)
        if len(steps) == 8:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(LayerLog, "batch_end", ask)
    with pytest.raises(KeyboardInterrupt):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert signal.getsignal(number) is signal.default_int_handler
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert steps == list(range(1, 13))  # none is done twice, though the last regular checkpoint was that after step 6
    assert outs(tmp_path, run_of()) == outs(finished, run_of())


def test_looking_at_gradients_adds_its_rows_and_changes_no_byte(
    tmp_path, finished, shards, recipe, run_of, machine, interrupt_at
):
    plain, looking = run_of(), run_of(gradient_cosines={"every": 4})
    train(looking, recipe, shards, tmp_path / "whole/models", tmp_path / "whole/metrics", machine)
    rows, expected = (
        parquet.read_table(folder / "metrics/separate/layers.parquet").to_pylist()
        for folder in (tmp_path / "whole", finished)
    )
    gradients = [row for row in rows if "gradient" in row["metric"]]
    assert [row for row in rows if row not in gradients] == expected
    assert {row["step"] for row in gradients} == {1, 5, 9}
    places = {(row["layer"], row["other_layer"]) for row in gradients if row["metric"] == "gradient_cosine"}
    assert places == {(1, None), (1, 1), (2, None), (2, 1), (2, 2)}
    assert {row["readout"] for row in gradients} == {"separate", "head"}
    found, same = outs(tmp_path / "whole", looking), outs(finished, plain)
    watched = ("metrics/layers.parquet", "metrics/manifest.json")
    assert all(found[name] == same[name] for name in same if name not in watched)

    interrupt_at(7)
    with pytest.raises(KeyboardInterrupt):
        train(looking, recipe, shards, tmp_path / "parts/models", tmp_path / "parts/metrics", machine)
    train(looking, recipe, shards, tmp_path / "parts/models", tmp_path / "parts/metrics", machine)
    assert outs(tmp_path / "parts", looking) == found


def test_a_different_run_never_continues_a_checkpoint(tmp_path, shards, recipe, run_of, machine):
    train_settings = dataclasses.replace(recipe.train, steps=13)
    folders = {
        session.resumable(module.work_of(run, one, shards), Session(some, CPU), module.definition(run, one))[0]
        for run, one, some in [
            (run_of(), recipe, machine),
            (run_of(seed=1), recipe, machine),
            (run_of(), dataclasses.replace(recipe, train=train_settings), machine),
            (run_of(), recipe, dataclasses.replace(machine, threads=2)),
        ]
    }
    assert len(folders) == 4


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_it_used(
    tmp_path, finished, shards, recipe, run_of, machine, interrupt_at, capsys
):
    """64 bits within a tensor, which torch loads without a word."""
    steps = interrupt_at(5)
    with pytest.raises(KeyboardInterrupt):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    (scratch,) = (tmp_path / ".perlayer/scratch").iterdir()
    newest = (scratch / "latest-rank0.pt").resolve()
    assert newest.name == "ep0-ba4-rank0.pt"
    content = bytearray(newest.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(byte ^ 255 for byte in content[middle : middle + 8])
    newest.write_bytes(content)
    torch.load(newest, weights_only=False)
    capsys.readouterr()
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert steps[5] == 3  # from the checkpoint after step 2
    said = [line for line in capsys.readouterr().err.splitlines() if "step" not in line]
    relative = f".perlayer/scratch/{scratch.name}/ep0-ba4-rank0.pt"
    assert said == [f"separate: {relative} is damaged; training goes on from ep0-ba2-rank0.pt, the one before it"]
    assert outs(tmp_path, run_of()) == outs(finished, run_of())


def test_without_a_whole_checkpoint_training_starts_from_the_first_update(
    tmp_path, finished, shards, recipe, run_of, machine, interrupt_at, capsys
):
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    (scratch,) = (tmp_path / ".perlayer/scratch").iterdir()
    newest = (scratch / "latest-rank0.pt").resolve()
    newest.write_bytes(newest.read_bytes()[:-100])
    capsys.readouterr()
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    said = capsys.readouterr().err
    assert "ep0-ba2-rank0.pt is damaged; training starts from the first update\n" in said and "step 1 of" in said
    assert outs(tmp_path, run_of()) == outs(finished, run_of())


def test_another_number_of_processes_starts_anew_and_says_so(
    tmp_path, shards, recipe, run_of, machine, interrupt_at, capsys
):
    """Here another number of threads, of loader processes and of sequences at once, which are part of a run alike."""
    interrupt_at(3)
    with pytest.raises(KeyboardInterrupt):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    (old,) = (tmp_path / ".perlayer/scratch").iterdir()
    capsys.readouterr()
    other = dataclasses.replace(machine, threads=2, microbatch=2)
    work = module.work_of(run_of(), recipe, shards)
    new, _ = session.resumable(work, Session(other, CPU), module.definition(run_of(), recipe))
    assert capsys.readouterr().err == (
        "separate: training starts from the first update; it had begun with microbatch: 4, now 2; threads: 1, now 2\n"
    )
    assert not old.exists() and [path.name for path in (tmp_path / ".perlayer/scratch").iterdir()] == [new.name]
    session.resumable(work, Session(other, CPU), module.definition(run_of(), recipe))
    assert capsys.readouterr().err == ""


def test_a_run_killed_while_a_checkpoint_was_linked_goes_on_from_it(
    tmp_path, finished, shards, recipe, run_of, machine, interrupt_at, capsys
):
    interrupt_at(5)
    with pytest.raises(KeyboardInterrupt):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    (link,) = (tmp_path / ".perlayer/scratch").rglob("latest-rank0.pt")
    link.unlink()
    (link.parent / "ep0-ba9-rank0.pt").write_bytes(b"killed in the middle")
    capsys.readouterr()
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    said = capsys.readouterr().err
    assert "step 1 of" not in said and "damaged" not in said
    assert outs(tmp_path, run_of()) == outs(finished, run_of())


def test_how_often_it_checkpoints_is_no_part_of_a_run(tmp_path, shards, recipe, run_of, machine, monkeypatch):
    monkeypatch.setattr(Interruption, "or_every", lambda self, interval: interval)
    work = module.work_of(run_of(), recipe, shards)
    (first, one), (second, other) = (
        session.resumable(work, Session(dataclasses.replace(machine, checkpoint_steps=n), CPU), {}) for n in (1, 5)
    )
    assert first == second and (one["save_interval"], other["save_interval"]) == ("1ba", "5ba")


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_the_checkpoint(
    tmp_path, shards, recipe, run_of, machine, monkeypatch
):
    steps = []
    real = module.PerLayerModel.loss

    def breaks(self, outputs, batch):
        losses = real(self, outputs, batch)
        steps.append(1)
        return {key: loss * float("nan") for key, loss in losses.items()} if len(steps) == 6 else losses

    monkeypatch.setattr(module.PerLayerModel, "loss", breaks)
    with pytest.raises(UserError, match=r"run separate: the loss read after layer 3 \(head\) is nan at step 6"):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    (scratch,) = (tmp_path / ".perlayer/scratch").iterdir()
    assert any("ba4" in path.name for path in scratch.iterdir())


def test_the_rate_is_not_blamed_for_a_loss_before_any_update():
    log = LayerLog("mine", 5, quiet=True)
    key = PREFIX + Reading(2, "head").key
    with pytest.raises(UserError, match="is nan at step 1; .*; look at the design and how it is initialised$"):
        log.log_metrics({key: float("nan")})
    log.log_metrics({key: 3.0})
    with pytest.raises(UserError, match="is inf at step 2; .*; a lower learning rate usually helps$"):
        log.log_metrics({key: float("inf")})


@pytest.mark.parametrize(
    "error",
    [
        torch.distributed.DistNetworkError("timed out (nowhere, 29500)\nException raised"),
        RuntimeError("timed out (nowhere, 29500)"),  # gloo's
    ],
)
def test_processes_that_cannot_meet_say_so_in_one_line(error, machine, monkeypatch):
    def fails(device, timeout):
        raise error

    monkeypatch.setattr(session.dist, "initialize_dist", fails)
    monkeypatch.setattr(session.dist, "get_world_size", lambda: 2)
    with pytest.raises(UserError, match=r"cannot meet at MASTER_ADDR: timed out \(nowhere, 29500\)$"):
        session.begin(machine)


def test_one_process_needs_no_network_interface(machine):
    """A network namespace of its own has no interface that is up, not even the loopback."""
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("the system gives no namespaces")
    script = f"""
import torch
from composer.utils import dist
from perlayer.environment import Machine
from perlayer.training.session import begin
begin({machine!r})
dist.initialize_dist("cpu")  # as Composer's trainer does
mine = torch.arange(3.0)
dist.all_reduce(mine)
assert mine.tolist() == [0, 1, 2] and dist.all_gather_object("mine") == ["mine"]
assert [part.tolist() for part in dist.all_gather(mine)] == [[0, 1, 2]]
dist.barrier()
"""
    said = subprocess.run([*alone, sys.executable, "-c", script], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("place", ["loss", "update", "validation"])
def test_a_number_that_is_not_finite_at_the_very_end_leaves_nothing_behind(
    tmp_path, shards, recipe, run_of, machine, monkeypatch, place
):
    updates = []
    step, loss, evaluate = module.Hyperball.step, module.PerLayerModel.loss, module.evaluate

    def update(self, closure=None):
        done = step(self, closure)
        updates.append(done)
        if place == "update" and len(updates) == recipe.train.steps:
            self.param_groups[0]["params"][0].data.fill_(math.nan)
        return done

    def losses(self, outputs, batch):
        last = place == "loss" and len(updates) == recipe.train.steps - 1
        return {key: one * (math.nan if last else 1) for key, one in loss(self, outputs, batch).items()}

    def totals(*arguments):
        found = evaluate(*arguments)
        return {
            key: dataclasses.replace(one, nats=math.nan) if place == "validation" else one for key, one in found.items()
        }

    monkeypatch.setattr(module.Hyperball, "step", update)
    monkeypatch.setattr(module.PerLayerModel, "loss", losses)
    monkeypatch.setattr(module, "evaluate", totals)
    with pytest.raises(UserError, match="nan at step 12"):
        train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert not any((tmp_path / kind).exists() and os.listdir(tmp_path / kind) for kind in ("models", "metrics"))


def test_a_killed_worker_of_the_loader_is_one_line(tmp_path):
    def killed(loader):
        os.kill(loader._workers[0].pid, signal.SIGKILL)
        return list(loader)

    loader = iter(torch.utils.data.DataLoader(range(10**6), num_workers=1))
    trainer = SimpleNamespace(state=SimpleNamespace(timestamp=SimpleNamespace(batch=SimpleNamespace(value=0))))
    trainer.fit = lambda: killed(loader)
    with pytest.raises(UserError, match=r"run mine: DataLoader worker .*; is the memory full\?$"):
        session.fit(trainer, session.Work("mine", 5, 4, 0, tmp_path), Session(None, CPU), tmp_path)


@pytest.mark.parametrize(("asked", "ends_with"), [(True, KeyboardInterrupt), (False, UserError)])
def test_a_compiler_that_the_signal_ended_is_no_error(tmp_path, asked, ends_with):
    def compile_a_layer():
        if asked:
            os.kill(os.getpid(), signal.SIGTERM)
        raise UserError("a layer cannot be compiled")

    trainer = SimpleNamespace(state=SimpleNamespace(timestamp=SimpleNamespace(batch=SimpleNamespace(value=0))))
    trainer.fit = compile_a_layer
    with pytest.raises(ends_with):
        session.fit(trainer, session.Work("mine", 5, 4, 0, tmp_path), Session(None, CPU), tmp_path)


def test_a_batch_that_processes_cannot_share_is_refused():
    assert share_of_batch(12, 4) == 3
    with pytest.raises(UserError, match="batch: expected a multiple of the 5 training processes, found 12"):
        share_of_batch(12, 5)


def test_a_batch_larger_than_the_data_is_refused(tmp_path, shards, recipe, run_of, machine):
    large = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, batch=10_000))
    with pytest.raises(UserError, match="recipes.tiny.train.batch: expected at most the .* sequences of"):
        train(run_of(), large, shards, tmp_path / "models", tmp_path / "metrics", machine)


def test_bfloat16_products_train_like_float32_and_keep_float32_weights(
    tmp_path, finished, shards, recipe, run_of, machine
):
    half = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, compute_dtype="bfloat16"))
    train(run_of(), half, shards, tmp_path / "models", tmp_path / "metrics", machine)
    summaries = {}
    for dtype, folder in (("float32", finished), ("bfloat16", tmp_path)):
        summaries[dtype] = json.loads((folder / "metrics/separate/summary.json").read_text())
        weights = load_file(folder / "models/separate/model.safetensors")
        assert {weight.dtype for weight in weights.values()} == {torch.float32}
    # bfloat16 keeps 8 bits: losses of about 5.5 nats agree to a small part of that, and not to float32's
    assert summaries["bfloat16"]["final_loss"] == pytest.approx(summaries["float32"]["final_loss"], abs=0.03)
    assert summaries["bfloat16"]["final_loss"] != pytest.approx(summaries["float32"]["final_loss"], abs=1e-5)


def test_a_compiled_run_trains_like_an_eager_one(tmp_path, finished, shards, recipe, run_of, machine, monkeypatch):
    """The same arithmetic in another order: after 12 updates float32 losses agree to rounding."""
    monkeypatch.setattr(compilation, "KERNELS", tmp_path / "kernels")
    some = dataclasses.replace(machine, compile="on")
    train(run_of(), recipe, shards, tmp_path / "models", tmp_path / "metrics", some)
    assert list((tmp_path / "kernels").glob("threads-1-*/**/*.so"))
    (header,) = (tmp_path / "kernels").glob("threads-1-*/**/*.h")
    assert Path(f"{header}.gch").exists() == (shutil.which("g++") is not None)
    eager, compiled = (
        parquet.read_table(folder / "metrics/separate/layers.parquet").to_pandas() for folder in (finished, tmp_path)
    )
    losses = [table[table.metric == "loss"].value.to_numpy() for table in (eager, compiled)]
    np.testing.assert_allclose(*losses, rtol=2e-5)


def test_a_gpu_that_is_not_there_is_named(machine, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="PERLAYER_DEVICE: expected a GPU"):
        process.choose_device(dataclasses.replace(machine, device="gpu"))
    assert process.choose_device(dataclasses.replace(machine, device="auto")) == CPU


def test_a_damaged_shard_is_named_before_training(tmp_path, shards, recipe, run_of, machine, monkeypatch):
    shutil.copytree(shards, tmp_path / "shards")
    (shard,) = (tmp_path / "shards/train").glob("*.mds")
    content = bytearray(shard.read_bytes())
    content[-3] ^= 1
    shard.write_bytes(content)
    monkeypatch.setattr(session, "Trainer", None)
    with pytest.raises(UserError, match=shard.name):
        train(run_of(), recipe, tmp_path / "shards", tmp_path / "models", tmp_path / "metrics", machine)


def test_a_run_interrupted_after_its_last_update_ends_with_the_same_bytes(
    tmp_path, finished, shards, recipe, averaged, machine, monkeypatch
):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "write_outs", interrupted)
        train(averaged, recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    train(averaged, recipe, shards, tmp_path / "models", tmp_path / "metrics", machine)
    assert outs(tmp_path, averaged) == outs(finished, averaged)


def test_the_average_has_a_validation_loss_of_its_own(finished):
    rows = parquet.read_table(finished / "metrics/averaged/layers.parquet").to_pylist()
    raw = {r["layer"]: r["value"] for r in rows if (r["split"], r["metric"]) == ("val", "loss")}
    average = {r["layer"]: r["value"] for r in rows if r["metric"] == "ema_loss"}
    assert average.keys() == raw.keys() and all(average[k] != raw[k] for k in raw)
    weights = [(finished / f"models/{name}/model.safetensors").read_bytes() for name in ("separate", "averaged")]
    assert weights[0] == weights[1]
