"""smi-tool-contradicts-kernel: two sources, two values."""

from __future__ import annotations

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.rules.tools import smi_tool_contradicts_kernel as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

NAME = f"gpus[{machines.MI300X[0]}].compute_partition"


def seen(kernel: str, tool: str, source: str = "command:amd-smi static --json", name: str = NAME) -> Snapshot:
    sheets = FactSheet(), FactSheet()
    sheets[0].put(name, kernel, "file:/sys/class/drm/card0/device/current_compute_partition")
    sheets[1].put(name, tool, source)
    return assemble(sheets)


def test_amd_smi_says_another_partition_than_sysfs() -> None:
    (finding,) = found(rule, seen("CPX", "SPX"))
    assert finding.summary.endswith("compute partition: command:amd-smi static --json says SPX, the kernel CPX.")
    assert (finding.severity.value, finding.subject.id) == ("info", NAME)


def test_they_agree_or_two_files_differ_or_the_fact_moves() -> None:
    assert told(rule, seen("CPX", "CPX")) == []
    assert told(rule, seen("CPX", "SPX", "file:/sys/other")) == []
    assert told(rule, seen("active", "suspended", name=f"gpus[{machines.MI300X[0]}].runtime_status")) == []


def test_only_one_of_them_is_known() -> None:
    assert told(rule, machines.mi300x_host({NAME: "CPX"})) == []
