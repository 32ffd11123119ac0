"""nvidia-xid-nonfatal: a program's own fault is told as one, and one that follows the board is told apart."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.knowledge.catalogue import table
from doctor.rules.driver import nvidia_xid_nonfatal as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

A, B = machines.H100[:2]
LINE = "NVRM: Xid (PCI:0000:1b:00): 31, pid=4711, name=python, Ch 00000008, MMU Fault: ENGINE GRAPHICS faulted @ 0x7f"


def of_lines(*lines: str) -> list[tuple[str, str]]:
    report = judge(read_text(["\n".join(f"[ {n}.0] {line}" for n, line in enumerate(lines, 1)).encode()]), Knowledge())
    return [(f.severity.value, f.summary) for f in report.findings if f.rule == RULE_ID]


RULE_ID = rule.RULE.id


def test_a_program_s_own_fault_names_the_program_and_what_to_do() -> None:
    (finding,) = judge(read_text([f"[ 1.0] {LINE}".encode()]), Knowledge()).findings
    assert (finding.rule, finding.severity.value) == ("nvidia-xid-nonfatal", "info")
    expected = "GPU 0000:1b:00.0: Xid 31, caused by the program python (4711): restart and debug it."
    assert finding.summary == expected
    assert "restart the program" in finding.evidence[0].text
    assert argvs(finding)[0] == ("compute-sanitizer", "PROGRAM")


def test_the_board_is_bound_to_it_by_serial_and_slot() -> None:
    facts = machines.event("xid-13", A) | {f"gpus[{A}].serial": "1650522003820", f"gpus[{A}].slot": "7"}
    (finding,) = found(rule, machines.h100_host(facts))
    assert finding.evidence[-1].text == f"GPU {A}, serial: 1650522003820, slot 7"


def test_three_programs_on_one_gpu_alone_make_it_the_board_s() -> None:
    programs = {f"kernel_log.events[xid-31@{A}].programs": ("a (1)", "b (2)", "c (3)")}
    (finding,) = found(rule, machines.h100_host(machines.event("xid-31", A) | programs))
    assert finding.severity.value == "warning"
    assert argvs(finding)[0] == ("dcgmi", "diag", "-r", "3")
    again = {f"kernel_log.events[xid-31@{A}].programs": ("a (1)", "a (2)", "a (3)")}
    assert {f.severity.value for f in found(rule, machines.h100_host(machines.event("xid-31", A) | again))} == {"info"}
    both = machines.event("xid-31", A) | machines.event("xid-31", B) | programs
    assert {f.severity.value for f in found(rule, machines.h100_host(both))} == {"info"}


def test_what_comes_with_a_fatal_xid_is_that_xid_s() -> None:
    events = machines.event("xid-79", A) | machines.event("xid-45", A) | machines.event("xid-43", B)
    expected = f"GPU {B}: Xid 43, nothing to do, keep the record."
    assert told(rule, machines.h100_host(events)) == [("info", B, expected)]


def test_a_switch_s_error_that_may_be_fatal_is_a_warning() -> None:
    rows = of_lines("nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 10002, Non-fatal, Link 61")
    assert [severity for severity, _ in rows] == ["warning"]


def test_unknown_and_none() -> None:
    assert found(rule, machines.h100_host({"kernel_log.events": None})) == []
    assert found(rule, machines.h100_host({"kernel_log.events": ()})) == []


def test_an_error_of_a_switch_that_is_not_fatal() -> None:
    (row,) = of_lines("nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61")
    assert row[0] == "info"
    assert row[1].startswith("NVSwitch 0000:86:00.0: SXid 12028, look at the fabric manager's log")


@pytest.mark.parametrize("kind", ["xid", "sxid"])
def test_every_code_comes_out_with_what_to_do(kind: str) -> None:
    """By one rule or another: fatal, of memory, or this one."""
    for code in table(f"{kind}s"):
        where = "NVRM: Xid" if kind == "xid" else "nvidia-nvswitch0: SXid"
        report = judge(read_text([f"[ 1.0] {where} (PCI:0000:41:00): {code}, pid=1, name=a".encode()]), Knowledge())
        rules = {f.rule for f in report.findings}
        assert rules & {"nvidia-xid-fatal", "nvidia-xid-nonfatal", "gpu-ecc-errors"}, code
        assert not {"nvidia-xid-fatal", "nvidia-xid-nonfatal"} <= rules, code


def test_the_last_word_of_a_recovery_holds() -> None:
    first = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    then = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)"
    report = judge(read_text([f"[ 1.0] {first}".encode()]), Knowledge())
    (fatal,) = [f for f in report.findings if f.rule == "nvidia-xid-fatal"]
    assert fatal.remedies[0].reboot
    assert of_lines(first, then) == [("info", "GPU 0000:1b:00.0: Xid 154, nothing to do, keep the record.")]


def test_actions_that_differ_are_told_apart() -> None:
    def steps(code: str, text: str = "a line of the kernel log") -> list[str]:
        from doctor.rules.driver import nvidia_xid_fatal

        (finding,) = found(nvidia_xid_fatal, machines.h100_host(machines.event(code, A, text=text)))
        return [step.text for remedy in finding.remedies for step in remedy.steps]

    assert steps("xid-54")[1].startswith("Power the node off and check the GPU's power cable")
    assert steps("xid-78")[1].startswith("Install driver and firmware releases")
    assert steps("xid-151")[1].startswith("Drain and restart the virtual machine")
    assert steps("xid-74")[3].startswith("If links fail again")
    drain = "Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)"
    assert steps("xid-154", drain)[1].startswith("Stop the programs that copy between GPUs")
    assert "RMA" in steps("xid-95")[0]
