"""debug-flag-left-on: it slows every launch."""

from __future__ import annotations

from doctor.rules.flags import debug_flag_left_on as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_blocking_launches() -> None:
    (finding,) = found(rule, machines.h100_host({"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}))
    said = "CUDA_LAUNCH_BLOCKING=1 is a debugging flag: it slows every GPU program started from here."
    assert finding.summary == said
    assert (finding.severity.value, finding.subject.id) == ("info", "CUDA_LAUNCH_BLOCKING")
    assert finding.remedies[0].steps[0].command == ("env", "-u", "CUDA_LAUNCH_BLOCKING", "COMMAND")


def test_off_or_cheap_levels_and_unknown() -> None:
    cheap = {"CUDA_LAUNCH_BLOCKING": "0", "AMD_LOG_LEVEL": "2", "NCCL_DEBUG": "INFO"}
    assert told(rule, machines.h100_host({"environment": cheap})) == []
    assert told(rule, machines.h100_host({"environment": None})) == []


def test_a_line_for_each_collective() -> None:
    for listed in ("ALL", "INIT,COLL", "call"):
        asked = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": listed}
        assert [f.subject.id for f in found(rule, machines.h100_host({"environment": asked}))] == ["NCCL_DEBUG"]
    warned = {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_SUBSYS": "ALL"}
    start = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT"}
    for asked in (warned, start):
        assert told(rule, machines.h100_host({"environment": asked})) == []
