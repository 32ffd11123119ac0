"""amdgpu-gpu-hang: one finding a GPU, by its worst event."""

from __future__ import annotations

from doctor.rules.driver import amdgpu_gpu_hang as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

GPU = machines.RX7900


def test_a_hang_with_a_failed_reset_wants_a_reboot() -> None:
    events = machines.event("amdgpu-ring-timeout", GPU) | machines.event("amdgpu-gpu-reset-failed", GPU)
    (finding,) = found(rule, machines.rx7900_desktop(events))
    assert finding.summary == f"GPU {GPU}: a ring timeout and then a failed reset."
    assert finding.remedies[0].steps[0].command == ("systemctl", "reboot")


def test_a_page_fault_alone_is_a_warning() -> None:
    machine = machines.rx7900_desktop(machines.event("amdgpu-page-fault", GPU))
    assert told(rule, machine) == [("warning", GPU, f"GPU {GPU}: a page fault.")]


def test_near_miss_and_unknown() -> None:
    assert found(rule, machines.rx7900_desktop(machines.event("amdgpu-gpu-reset-succeeded", GPU))) == []
    assert found(rule, machines.rx7900_desktop({"kernel_log.events": None})) == []


def test_a_hang_of_days_ago_is_a_warning_and_a_failed_reset_stays_an_error() -> None:
    def aged(code: str) -> dict[str, object]:
        return machines.event(code, GPU) | {f"kernel_log.events[{code}@{GPU}].age_s": 5 * 86400}

    (hang,) = found(rule, machines.rx7900_desktop(aged("amdgpu-ring-timeout")))
    assert (hang.severity.value, hang.summary) == (
        "warning",
        f"GPU {GPU}: a ring timeout, last 5 days ago.",
    )
    (dead,) = found(rule, machines.rx7900_desktop(aged("amdgpu-gpu-reset-failed")))
    assert dead.severity.value == "error"


def test_lines_that_name_no_device_belong_to_the_one_that_is_named_and_a_reset_that_worked_is_a_warning() -> None:
    log = machines.event("amdgpu-ring-timeout") | machines.event("amdgpu-gpu-reset", GPU)
    (hung,) = found(rule, machines.rx7900_desktop(log))
    assert (hung.severity.value, hung.subject.id) == ("error", GPU)
    (over,) = found(rule, machines.rx7900_desktop(log | machines.event("amdgpu-gpu-reset-succeeded", GPU)))
    assert over.severity.value == "warning"
