"""nvidia-fabricmanager-not-running: NVSwitch systems only."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.driver import nvidia_fabricmanager_not_running as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

FM = "nvidia_driver.fabric_manager"
WAITING = {f"gpus[{a}].fabric_state": "in-progress" for a in machines.H100}
NO_STATE = {f"gpus[{a}].fabric_state": None for a in machines.H100}


def test_stopped_on_an_nvswitch_host() -> None:
    (finding,) = found(rule, machines.h100_host(WAITING | {f"{FM}.running": False}))
    assert finding.summary == "The fabric manager is not running on this NVSwitch system; CUDA fails with error 802."
    assert finding.fixes[0].command == ("systemctl", "enable", "--now", "nvidia-fabricmanager")


def test_of_another_version_than_the_driver() -> None:
    (finding,) = found(rule, machines.h100_host(NO_STATE | {f"{FM}.version": "570.124.06"}))
    assert finding.summary == "The fabric manager is 570.124.06 and the driver 575.57.08; they must be equal."
    assert finding.fixes[0].command == ("apt-get", "install", "--yes", "nvidia-fabricmanager-575")


def test_a_container_whose_gpus_wait() -> None:
    assert len(found(rule, machines.h100_container(WAITING | {f"{FM}.running": None}))) == 1


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.h100_host()) == []
    assert found(rule, machines.rtx4090_desktop()) == []
    assert found(rule, machines.h100_container(NO_STATE)) == []
    assert found(rule, machines.h100_host(NO_STATE | {f"{FM}.running": None, f"{FM}.version": None})) == []


def test_it_is_impossible_where_no_gpu_sits_on_a_switch() -> None:
    assert rule.excludes(machines.rtx4090_desktop())
    assert not rule.excludes(machines.h100_host())
    assert not rule.excludes(Snapshot())


def test_words_are_not_heard_where_cuda_finds_no_device() -> None:
    assert rule.unheard(read_text([b"Call to cuInit results in CUDA_ERROR_NO_DEVICE"]))
    assert not rule.unheard(read_text([b"cuInit: system not yet initialized\n8x H100"]))
