import os
import stat

import pytest

from perlayer import slots
from perlayer.environment import Machine


@pytest.fixture(autouse=True)
def no_devices(monkeypatch):
    monkeypatch.delenv(slots.DEVICES, raising=False)
    monkeypatch.setenv("PATH", "")


def of(jobs=None, **machine):
    return [place.get(slots.DEVICES) for place in slots.environments(jobs, Machine(**machine))]


def test_without_gpus_there_is_a_slot_a_core():
    assert of() == [None] * len(os.sched_getaffinity(0)) and of(3) == [None] * 3


def test_each_gpu_is_a_slot_and_more_slots_share_them(monkeypatch):
    monkeypatch.setenv(slots.DEVICES, "0,2,MIG-a")
    assert of() == ["0", "2", "MIG-a"]
    assert of(1) == ["0"]
    assert of(5) == ["0", "2", "MIG-a", "0", "2"]


def test_runs_of_several_processes_have_a_gpu_for_each(monkeypatch):
    monkeypatch.setenv(slots.DEVICES, "0,1,2,3,4")
    assert of(processes=2) == ["0,1", "2,3"]
    assert of(processes=8) == ["0,1,2,3,4"]  # which torch then refuses or shares, as it would without a slot


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_hidden_gpus_and_those_that_are_not_wanted_are_none(monkeypatch, hidden):
    monkeypatch.setenv(slots.DEVICES, hidden)
    assert of(2) == [None, None]
    monkeypatch.setenv(slots.DEVICES, "0,1")
    assert of(2, device="cpu") == [None, None]


def test_the_gpus_of_a_machine_are_those_that_its_driver_tells(tmp_path, monkeypatch):
    driver = tmp_path / "nvidia-smi"
    driver.write_text('#!/bin/sh\n[ "$*" = "--query-gpu=index --format=csv,noheader" ] && printf "0\\n1\\n"\n')
    driver.chmod(driver.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert of() == ["0", "1"]
    driver.write_text("#!/bin/sh\nexit 9\n")  # no driver
    assert of(1) == [None]
