"""nvidia-xid-fatal: the catalogue's action decides."""

from __future__ import annotations

from doctor.rules.driver import nvidia_xid_fatal as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

A, B = machines.H100[:2]


def test_one_finding_a_gpu_the_newest_code_first() -> None:
    events = machines.event("xid-48", A) | machines.event("xid-79", A) | machines.event("xid-119", B)
    second, first = found(rule, machines.h100_host(events))
    assert [f.subject.id for f in (first, second)] == [B, A]
    assert second.summary.startswith(f"GPU {A}: Xid 79 (")
    assert "Xid 48 (" in second.summary
    assert second.remedies[0].reboot
    assert argvs(first)[:2] == [("nvidia-bug-report.sh",), ("nvidia-smi", "--gpu-reset", "-i", B)]


def test_a_contained_error_is_a_warning() -> None:
    (finding,) = found(rule, machines.h100_host(machines.event("xid-94", A)))
    assert finding.severity.value == "warning"


def test_a_lost_gpu_without_a_log() -> None:
    machine = machines.h100_host({f"gpus[{A}].lost": True, "kernel_log.events": None})
    expected = f"GPU {A} is lost: the driver lists it, but it does not answer."
    assert told(rule, machine) == [("error", A, expected)]


def test_near_misses_and_unknown() -> None:
    for code in (13, 31, 43, 45, 63, 154, 9999):
        assert found(rule, machines.h100_host(machines.event(f"xid-{code}", A))) == []
    assert found(rule, machines.h100_host({"kernel_log.events": None})) == []


def test_a_fault_of_days_ago_on_a_gpu_that_answers_is_not_today_s_cause() -> None:
    old = machines.event("xid-79", A) | {f"kernel_log.events[xid-79@{A}].age_s": 3 * 86400}
    (finding,) = found(rule, machines.h100_host(old))
    assert finding.severity.value == "warning"
    assert finding.summary.endswith("last 3 days ago and not since.")
    assert finding.explains == ()
    silent = found(rule, machines.h100_host(old | {f"gpus[{A}].memory_bytes": None}))
    assert [f.severity.value for f in silent] == ["error"]


def test_the_board_is_named_by_serial_and_slot() -> None:
    facts = machines.event("xid-95", A) | {f"gpus[{A}].serial": "1650522003820", f"gpus[{A}].slot": "7"}
    (finding,) = found(rule, machines.h100_host(facts))
    assert finding.evidence[-1].text == f"GPU {A}, serial: 1650522003820, slot 7"
    assert "1650522003820" in finding.remedies[0].steps[0].text
