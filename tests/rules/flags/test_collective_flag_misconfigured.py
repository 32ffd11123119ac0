"""collective-flag-misconfigured: UCX's list of transports, where GPU memory is sent."""

from __future__ import annotations

import pytest

from doctor.rules.flags import collective_flag_misconfigured as rule
from doctor.triage.read import read_text
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


def test_a_buffer_far_above_the_default_where_memory_runs_out() -> None:
    fails = "\nNCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
    ((level, subject, _),) = told(rule, read_text([f"export NCCL_BUFFSIZE=536870912{fails}".encode()]))
    assert (level, subject) == ("warning", "NCCL_BUFFSIZE")
    assert told(rule, read_text([f"export NCCL_BUFFSIZE=8388608{fails}".encode()])) == []
    quiet = told(rule, read_text([b"export NCCL_BUFFSIZE=536870912\nall is well"]))
    assert [row[0] for row in quiet] in ([], ["info"])


def test_a_list_that_leaves_none_is_a_fault() -> None:
    none = "\nNCCL WARN Bootstrap : no socket interface found\n"
    ((level, subject, _),) = told(rule, read_text([f"export NCCL_SOCKET_IFNAME=^eno,lo{none}".encode()]))
    assert (level, subject) == ("warning", "NCCL_SOCKET_IFNAME")
