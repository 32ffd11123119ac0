"""Rules on what the kernel log and the tools tell of the host's own hardware and memory, and of a board's."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.rules.driver import nvidia_imex_not_running
from doctor.rules.host import gpu_inforom_corrupted, host_machine_check, host_memory_exhausted
from doctor.triage.read import read_text
from tests.paths import FIELDLAB, needs_shared
from tests.rules import machines
from tests.rules.driver.asked import found, told

A = machines.H100[0]
UNKNOWN = {"kernel_log.events": None}
OOM = "[ 9.0] Out of memory: Killed process 4242 (python) total-vm:9kB, anon-rss:9kB"
GROUP_OOM = "[ 9.0] Memory cgroup out of memory: Killed process 77 (pt_data_worker) total-vm:9kB"


def of_text(text: str) -> list[tuple[str, str]]:
    return [(f.rule, f.summary) for f in judge(read_text([text.encode()]), Knowledge()).findings]


def test_uncorrected_errors_of_the_host_are_a_warning_and_old_ones_information() -> None:
    line = "mce: [Hardware Error]: Machine check events logged"
    event = machines.event("mce-uncorrectable", text=line)
    assert [row[0] for row in told(host_machine_check, machines.h100_host(event))] == ["warning"]
    old = event | {"kernel_log.events[mce-uncorrectable@].age_s": 5 * 86400}
    expected = "The host's CPU or memory reported uncorrected hardware errors, last 5 days ago."
    assert told(host_machine_check, machines.h100_host(old)) == [("info", "machine-check", expected)]
    assert found(host_machine_check, machines.h100_host(machines.event("pcie-aer-correctable", A))) == []
    assert found(host_machine_check, machines.h100_host(UNKNOWN)) == []


def test_a_kill_of_the_machine_and_one_of_a_control_group_differ_in_what_mends_them() -> None:
    assert of_text(OOM) == [("host-memory-exhausted", "The host ran out of memory: the kernel killed python (4242).")]
    ((rule, summary),) = of_text(GROUP_OOM)
    assert rule == "host-memory-exhausted"
    assert summary == "A container or job ran out of memory: the kernel killed pt_data_worker (77)."
    events = machines.event("oom-kill") | machines.event("oom-kill-cgroup")
    both = found(host_memory_exhausted, machines.h100_host(events))
    assert [f.subject.id for f in both] == ["control-group", "memory"]
    assert ["--memory" in (f.remedies[0].steps[0].command or ()) for f in both] == [True, False]


def test_no_kill_and_an_unknown_log() -> None:
    assert found(host_memory_exhausted, machines.h100_host(machines.event("amdgpu-oom", A))) == []
    assert found(host_memory_exhausted, machines.h100_host(UNKNOWN)) == []


@needs_shared
def test_a_table_that_looks_healthy_above_a_warning() -> None:
    text = (FIELDLAB / "nvidia-p100-inforom-corrupt-ncpdocs" / "nvidia-smi.txt").read_text()
    expected = "GPU 0000:0b:00.0: its configuration memory (infoROM) is corrupted."
    assert ("gpu-inforom-corrupted", expected) in of_text(text)


@pytest.mark.parametrize("said", [None, "No devices were found"])
def test_no_warning_no_finding(said: str | None) -> None:
    assert found(gpu_inforom_corrupted, machines.h100_host({"nvidia_driver.smi_error": said})) == []


RACK = {
    f"gpus[{A}].name": "NVIDIA GB200",
    f"gpus[{A}].fabric_state": "completed",
    "nvidia_driver.imex.installed": True,
    "nvidia_driver.imex.running": True,
    "nvidia_driver.imex.channels": 1,
}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({}, []),
        ({"nvidia_driver.imex.running": False}, ["not running"]),
        ({"nvidia_driver.imex.installed": False, "nvidia_driver.imex.running": None}, ["not installed"]),
        ({"nvidia_driver.imex.channels": 0}, ["missing a channel"]),
        ({"nvidia_driver.imex.running": False, "container.inside": True}, []),
        ({"nvidia_driver.imex.running": False, f"gpus[{A}].name": "NVIDIA H100 80GB HBM3"}, []),
        ({"nvidia_driver.imex.running": None, "nvidia_driver.imex.channels": None}, []),
    ],
)
def test_imex_is_asked_for_on_a_rack_alone(edits: dict[str, object], expected: list[str]) -> None:
    summaries = [row[2] for row in told(nvidia_imex_not_running, machines.h100_host(RACK | edits))]
    assert len(summaries) == len(expected)
    assert all(word in summary for word, summary in zip(expected, summaries, strict=True))


def test_a_container_without_a_channel_is_given_one_and_the_node_is_left_alone() -> None:
    inside = {"container.inside": True, "nvidia_driver.imex.running": None, "nvidia_driver.imex.channels": 0}
    (finding,) = found(nvidia_imex_not_running, machines.h100_host(RACK | inside))
    assert finding.severity.value == "info"
    assert "--device" in (finding.remedies[0].steps[0].command or ())
    assert not any(fix.reboot for fix in finding.remedies)
