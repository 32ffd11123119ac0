"""smi-tool-slow: the vendor's tool is late."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.rules.tools import smi_tool_slow as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_nvidia_smi_needs_twelve_seconds() -> None:
    (finding,) = found(rule, machines.h100_host({"nvidia_driver.smi_seconds": 12.0}))
    assert finding.summary == "nvidia-smi took 12.0 s to answer: a GPU or its driver may hang."
    assert (finding.severity.value, finding.subject.id) == ("warning", "nvidia-smi")
    assert finding.remedies[0].steps[0].command == ("dmesg", "--level=err,warn")


def test_amd_smi_that_was_stopped_at_its_deadline() -> None:
    stopped = {"amdgpu_driver.smi_seconds": 4.0, "amdgpu_driver.smi_error": "no answer within 4 s"}
    assert told(rule, machines.mi300x_host(stopped)) == [
        ("warning", "amd-smi", "amd-smi did not answer within 4 s: a GPU or its driver may hang.")
    ]


def test_in_time_or_failed_at_once() -> None:
    assert told(rule, machines.h100_host({"nvidia_driver.smi_seconds": 5.0})) == []
    failed = {"nvidia_driver.smi_seconds": 0.1, "nvidia_driver.smi_error": "Failed to initialize NVML"}
    assert told(rule, machines.h100_host(failed)) == []


def test_a_tool_that_was_not_asked_is_not_clear() -> None:
    report = judge(machines.h100_host(), Knowledge(), only=("smi-tool-slow",))
    assert (report.findings, report.clear) == ((), ())
    assert [u.rule for u in report.unchecked] == ["smi-tool-slow"]
