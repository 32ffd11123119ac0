"""collective-flag-misconfigured: UCX's list of transports, where GPU memory is sent."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.rules.flags import collective_flag_misconfigured as rule
from tests.rules.driver.asked import told

CRASH = "\nSegmentation fault (core dumped)\n"


@pytest.mark.parametrize(
    ("value", "severity"), [("rc,gdr_copy", "warning"), ("rc,rocm_ipc", "warning"), ("rc,sm", "warning")]
)
def test_a_list_without_what_tells_gpu_memory_in_a_crash(value: str, severity: str) -> None:
    machine = read_text([f"export UCX_TLS={value}{CRASH}".encode()])
    ((level, subject, _),) = told(rule, machine)
    assert (level, subject) == (severity, "UCX_TLS")


@pytest.mark.parametrize("value", ["rc,cuda", "rc,cuda_copy,gdr_copy", "dc,rocm", "all", "^tcp", "rocm_copy,sm"])
def test_a_whole_list_is_no_fault(value: str) -> None:
    assert told(rule, read_text([f"export UCX_TLS={value}{CRASH}".encode()])) == []


def test_a_list_without_a_crash_is_information() -> None:
    machine = read_text([b"export UCX_TLS=rc,sm\nall is well"])
    assert [row[0] for row in told(rule, machine)] in ([], ["info"])
