"""The script for a GPU, run where there is none; and what it knows of devices and of its tokens."""

import json
import math
import os
import subprocess
import sys

import pytest
import torch

from benchmarks import gpu
from benchmarks.bare_training import read_shape
from benchmarks.loss_curves import LARGEST, MEAN, Differences
from benchmarks.project import ROOT
from benchmarks.step_speed import StepSpeed, peak_flops
from benchmarks.synthetic_tokens import EOS, SUCCESSORS, synthetic_tokens
from perlayer.model.flops import training_flops

SMALL = ["--size", "smoke", "--device", "cpu", "--steps", "3", "--sequences", "4", "--microbatch", "2"]


@pytest.fixture(scope="module")
def found():
    environment = os.environ | {"PERLAYER_COMPILE": "off"}
    command = [sys.executable, "-m", "benchmarks.gpu", *SMALL, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_speeds_are_finite_and_follow_from_the_median(found):
    config = read_shape("smoke").config
    assert (found["device"], found["compiled"], found["sequence_length"]) == ("cpu", False, config.sequence_length)
    for kind, readouts in (("none", 1), ("separate", config.layers)):
        speed = found["speeds"][kind]
        assert 0 < speed["low_seconds"] <= speed["seconds"] <= speed["high_seconds"] < math.inf
        assert speed["tokens_per_second"] == pytest.approx(4 * config.sequence_length / speed["seconds"])
        assert speed["flops"] == training_flops(config, 4, config.sequence_length, readouts)
        assert [speed[key] for key in ("mfu", "peak_bytes", "peak_bytes_above_kept")] == [None] * 3  # on a CPU


def test_ratios_are_those_of_the_two_kinds(found):
    none, separate = found["speeds"]["none"], found["speeds"]["separate"]
    assert found["time_ratio"] == separate["seconds"] / none["seconds"]
    assert found["flop_ratio"] == separate["flops"] / none["flops"]


def test_what_is_kept_is_weights_gradients_and_moments(found):
    config = read_shape("smoke").config
    h, v = config.hidden_size, config.vocab_size
    # by hand, of four bytes: muonh keeps three numbers a weight, adam and adamh four
    matrices = config.layers * (4 * h * h + 3 * h * config.intermediate_size)
    others = 2 * v * h + h + config.layers * (4 * h + 2 * config.head_dim)
    assert found["speeds"]["none"]["kept_bytes"] == 4 * (3 * matrices + 4 * others)
    more = found["speeds"]["separate"]["kept_bytes"] - found["speeds"]["none"]["kept_bytes"]
    assert more == 4 * 4 * (config.layers - 1) * (v * h + h)


def test_curves_of_every_layer_stay_within_the_tolerance(found):
    assert found["curves_agree"] is True
    assert found["curves_tolerance"] == {"largest": LARGEST, "mean": MEAN}
    assert [curve["reading"] for curve in found["curves"]] == ["separate/1/1", "separate/2/1", "head/3/1"]
    for curve in found["curves"]:
        assert 0 < curve["mean"] < curve["largest"] <= LARGEST and curve["mean"] <= MEAN
        assert curve["reference_last"] < math.log(read_shape("smoke").config.vocab_size) - 1.5  # it has learnt


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "--size smoke --device cpu"),
        (["--size", "huge"], "qwen3_130m"),
        (["--device", "tpu"], "tpu"),
        (["--steps", "0"], "--steps"),
        (["--sequences", "5", "--microbatch", "2"], "--microbatch"),
        (["--whatever"], "--whatever"),
    ],
)
def test_what_cannot_be_run_is_one_line(arguments, part, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and part in err


def findings(difference, mfu=None):
    speeds = {
        kind: StepSpeed(kind, seconds, seconds, seconds, 1e6, flops, mfu, 2**30, 3 * 2**30, 2 * 2**30)
        for kind, seconds, flops in (("none", 0.5, 10), ("separate", 1.25, 39))
    }
    curves = [Differences("head/6/1", difference, 0.001, 3.5, 3.5)]
    return gpu.Findings("NVIDIA H200", "qwen3_130m", "bfloat16", True, 4096, 32, 16, 10, speeds, "nano", curves)


@pytest.mark.parametrize(("difference", "status"), [(LARGEST, 0), (1.01 * LARGEST, 1), (math.nan, 1)])
def test_the_status_says_whether_the_curves_agree(difference, status, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "measure", lambda *_: findings(difference))
    assert gpu.main([]) == status
    assert ("EXCEED" in capsys.readouterr().out) == bool(status)


def test_the_text_holds_the_ratios_against_the_published_ones():
    text = gpu.text(findings(0.01, mfu=0.25))
    assert "separate ÷ none: 2.50 × the time, 3.90 × the operations" in text
    assert "2.7 × the time, the baseline at 14.4 % MFU" in text
    assert "25.0 %" in text and "3.00 GiB" in text and "2.00 GiB" in text
    assert "no MFU" not in text
    assert "no MFU: the peak of the device NVIDIA H200 is not in the table" in gpu.text(findings(0.01))


@pytest.mark.parametrize(
    ("name", "teraflops"),
    [
        ("NVIDIA H200", 989.5),
        ("NVIDIA H200 NVL", 835.5),
        ("NVIDIA H100 80GB HBM3", 989.5),
        ("NVIDIA H100 PCIe", 756.5),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_peaks_are_known_by_the_name_of_the_device(name, teraflops):
    assert peak_flops(name) == (teraflops and teraflops * 1e12)


def test_tokens_follow_a_rule_and_end_documents_at_random():
    tokens = synthetic_tokens(64, 128, 300, seed=3)
    assert tokens.shape == (64, 129) and tokens.dtype == torch.int64
    assert torch.equal(tokens, synthetic_tokens(64, 128, 300, seed=3))
    assert not torch.equal(tokens, synthetic_tokens(64, 128, 300, seed=4))
    assert 2 < (tokens == EOS).sum() / 64 < 6
    followers = {}
    for token, after in zip(tokens[:, :-1].flatten().tolist(), tokens[:, 1:].flatten().tolist()):
        if after != EOS:
            followers.setdefault(token, set()).add(after)
    assert max(map(len, followers.values())) == SUCCESSORS
