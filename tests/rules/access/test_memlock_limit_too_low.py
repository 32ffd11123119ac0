"""memlock-limit-too-low: a limit beside RDMA devices."""

from __future__ import annotations

from doctor.rules.access import memlock_limit_too_low as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

RDMA = {"rdma[mlx5_0].state": "ACTIVE", "host.memlock_bytes": 8 << 20}


def test_the_default_limit_beside_an_rdma_nic() -> None:
    (finding,) = found(rule, machines.h100_host(RDMA))
    assert finding.summary == "The locked-memory limit (8192 KiB) is low for this machine's RDMA devices."
    assert (finding.severity.value, finding.subject.id) == ("info", "memlock")
    assert finding.remedies[0].root
    assert "memlock unlimited" in str(finding.remedies[0].steps[0].command)


def test_a_container_is_started_with_another_limit() -> None:
    (finding,) = found(rule, machines.h100_container(RDMA))
    assert finding.remedies[0].steps[0].command == ("docker", "run", "--ulimit", "memlock=-1", "IMAGE")


def test_unlimited_large_or_without_rdma() -> None:
    assert told(rule, machines.h100_host(RDMA | {"host.memlock_bytes": -1})) == []
    assert told(rule, machines.h100_host(RDMA | {"host.memlock_bytes": 32 << 30})) == []
    assert told(rule, machines.h100_host({"rdma": [], "host.memlock_bytes": 8 << 20})) == []


def test_unknown_limit_or_devices() -> None:
    assert told(rule, machines.h100_host(RDMA | {"host.memlock_bytes": None})) == []
    assert told(rule, machines.h100_host(RDMA | {"rdma": None})) == []


def test_a_container_below_the_kernel_s_default_on_a_gpu_machine() -> None:
    tight = {"rdma": [], "host.memlock_bytes": 64 << 10}
    (finding,) = found(rule, machines.h100_container(tight))
    assert (finding.severity.value, finding.summary) == (
        "info",
        "The locked-memory limit (64 KiB) is low for RDMA.",
    )
    assert told(rule, machines.h100_host(tight)) == []
    assert told(rule, machines.h100_container(tight | {"host.memlock_bytes": 8 << 20})) == []
    assert told(rule, machines.h100_container(tight | {"gpus": [], "nvidia_driver.loaded": False})) == []
