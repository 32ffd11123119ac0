"""no-gpu-found: none at all."""

from __future__ import annotations

from doctor.rules.profile import no_gpu_found as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_a_server_without_gpus() -> None:
    (finding,) = found(rule, machines.no_gpu_host())
    assert finding.summary == "No GPU found in this machine (looked at PCI devices, /sys/class/kfd and device nodes)."
    assert (finding.severity.value, finding.subject.kind, finding.remedies) == ("info", "machine", ())


def test_a_gpu_or_the_unknown() -> None:
    assert told(rule, machines.rtx4090_desktop()) == []
    assert told(rule, machines.no_gpu_host({"gpus": None})) == []


LOG = "n1:10:12 [0] NCCL INFO ncclCommInitRankConfig comm 0x55 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1b000 - done\n"


def test_a_gpu_that_a_log_names_by_its_address_alone() -> None:
    assert told(rule, read_text([LOG.encode()])) == []
