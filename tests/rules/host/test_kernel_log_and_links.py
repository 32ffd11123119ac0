"""Host rules that the kernel log, the fabric and the holders of GPU memory decide."""

from __future__ import annotations

import pytest

from doctor.engine.remedies import offered
from doctor.knowledge import Knowledge
from doctor.rules.host import (
    gpu_memory_exhausted,
    gpudirect_rdma_missing,
    iommu_not_passthrough,
    pcie_atomics_missing,
    pcie_link_degraded,
)
from tests.rules import machines
from tests.rules.driver.asked import found, told

A = machines.H100[0]
UNKNOWN = {"kernel_log.events": None}


def test_a_gpu_that_kfd_left_out_for_its_slot() -> None:
    machine = machines.rx7900_desktop(machines.event("kfd-no-atomics", machines.RX7900))
    expected = f"ROCm cannot use GPU {machines.RX7900}: its slot lacks PCIe atomics."
    assert told(pcie_atomics_missing, machine) == [("error", machines.RX7900, expected)]
    assert found(pcie_atomics_missing, machines.rx7900_desktop(machines.event("kfd-device-skipped"))) == []
    assert found(pcie_atomics_missing, machines.rx7900_desktop(UNKNOWN)) == []


@pytest.mark.parametrize(
    ("code", "count", "expected"),
    [
        ("pcie-aer-uncorrectable", 1, ["warning"]),
        ("pcie-aer-correctable", 5000, ["info"]),
        ("pcie-aer-correctable", 12, []),
        ("mce-uncorrectable", 5, []),
    ],
)
def test_bus_errors_of_a_gpu_s_link(code: str, count: int, expected: list[str]) -> None:
    machine = machines.h100_host(machines.event(code, A, count=count))
    assert [f.severity.value for f in found(pcie_link_degraded, machine)] == expected


def test_a_virtual_function_has_no_lanes_of_its_own() -> None:
    narrow = {f"gpus[{A}].link.width": 1, f"gpus[{A}].link.max_width": 16}
    assert len(found(pcie_link_degraded, machines.h100_host(narrow))) == 1
    assert found(pcie_link_degraded, machines.h100_host(narrow | {f"gpus[{A}].virtual_function": True})) == []
    assert found(pcie_link_degraded, machines.h100_host(narrow | {f"gpus[{A}].link.max_width": None})) == []


def test_accesses_that_the_iommu_refused_are_a_warning_on_any_machine() -> None:
    fault = machines.event("iommu-fault", machines.RX7900)
    (finding,) = found(iommu_not_passthrough, machines.rx7900_desktop(fault | {"host.iommu": "translated"}))
    assert finding.summary == f"The IOMMU blocked memory accesses of GPU {machines.RX7900}."
    assert finding.remedies[0].reboot
    machine = machines.rx7900_desktop(fault | {"host.iommu": "passthrough"})
    (passing,) = found(iommu_not_passthrough, machine)
    assert [remedy.scope.value for remedy in offered(passing.remedies, machine)] == ["firmware"]
    assert found(iommu_not_passthrough, machines.rx7900_desktop({"host.iommu": "translated"})) == []
    assert found(iommu_not_passthrough, machines.rx7900_desktop(UNKNOWN | {"host.iommu": None})) == []


def test_a_full_gpu_names_who_holds_it_and_what_could_not_be_seen() -> None:
    held = {
        f"gpus[{A}].memory_bytes": 80 << 30, f"gpus[{A}].memory_used_bytes": 80 << 30,
        f"gpus[{A}].device_node": "nvidia0",
        "holders[4711].pid": 4711, "holders[4711].name": "python3", "holders[4711].kind": "program",
        "holders[4711].nodes": ["/dev/nvidia0"], "holders[12].pid": 12, "holders[12].name": "Xorg",
        "holders[12].nodes": ["/dev/nvidia1"], "host.processes_seen": "own",
    }  # fmt: skip
    (finding,) = found(gpu_memory_exhausted, machines.h100_host(held))
    assert finding.severity.value == "info"
    words = [e.text for e in finding.evidence]
    assert "held by python3 (pid 4711)" in words
    assert "processes of other users are not visible" in words
    assert not any("Xorg" in w for w in words)
    assert found(gpu_memory_exhausted, machines.h100_host(held | {f"gpus[{A}].memory_used_bytes": 72 << 30})) == []
    assert found(gpu_memory_exhausted, machines.h100_host(held | {f"gpus[{A}].memory_used_bytes": None})) == []


def test_gpudirect_needs_peermem_only_under_the_proprietary_modules() -> None:
    nic = {"rdma[mlx5_0].state": "ACTIVE", "rdma[mlx5_0].near_gpu": A, "nvidia_driver.peermem_loaded": False}
    bound = {f"gpus[{gpu}].driver": "nvidia" for gpu in machines.H100}
    closed = nic | bound | {"nvidia_driver.flavour": "proprietary"}
    assert [f.severity.value for f in found(gpudirect_rdma_missing, machines.h100_host(closed))] == ["info"]
    for edit in (
        {"nvidia_driver.flavour": "open"},
        {"nvidia_driver.peermem_loaded": True},
        {"nvidia_driver.peermem_loaded": None},
        {"rdma[mlx5_0].state": "DOWN"},
        {"container.inside": True},
    ):
        assert found(gpudirect_rdma_missing, machines.h100_host(closed | edit)) == []


def test_the_link_of_another_device_on_the_bus_is_not_the_gpu_s() -> None:
    line = "pci 0000:08:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at 0000:03:09.0"
    told = machines.build(
        {}, {"symptoms": {"pcie-link-narrow": line}} | machines.event("amdgpu-gpu-reset", "0000:0b:00.0")
    )
    symptom = told.symptoms[0]
    assert list(pcie_link_degraded.on_symptom(told, Knowledge(), symptom)) == []
    alone = machines.build({}, {"symptoms": {"pcie-link-narrow": line}})
    assert len(list(pcie_link_degraded.on_symptom(alone, Knowledge(), symptom))) == 1


def test_memory_that_no_process_holds_is_told_only_where_all_could_be_seen() -> None:
    left = {
        f"gpus[{A}].memory_bytes": 80 << 30, f"gpus[{A}].memory_used_bytes": 40 << 30, "holders": [],
        "host.processes_seen": "all",
    }  # fmt: skip
    (finding,) = found(gpu_memory_exhausted, machines.h100_host(left))
    assert finding.summary == f"GPU {A}: 40 GiB are in use, but no process has it open."
    for edit in (
        {"host.processes_seen": "namespace"},
        {"host.processes_seen": None},
        {"holders": None},
        {f"gpus[{A}].memory_used_bytes": 1 << 30},
        {f"gpus[{A}].device_node": "nvidia0", "holders[9].pid": 9, "holders[9].name": "python3"}
        | {"holders[9].nodes": ["/dev/nvidia0"], "holders": None},
    ):
        assert found(gpu_memory_exhausted, machines.h100_host(left | edit)) == []


@pytest.mark.parametrize(
    ("width", "of", "slot", "expected"),
    [
        (1, 16, None, ["warning"]),
        (4, 16, 16, ["warning"]),
        (4, 16, 4, ["info"]),
        (8, 16, None, []),
        (4, 8, None, ["warning"]),
        (4, 8, 4, ["info"]),
        (None, 16, None, []),
    ],
)
def test_lanes_against_what_gpu_and_slot_can_do(
    width: int | None, of: int, slot: int | None, expected: list[str]
) -> None:
    link = {"width": width, "max_width": of, "slot_width": slot}
    machine = machines.h100_host({f"gpus[{A}].link.{name}": value for name, value in link.items()})
    assert [f.severity.value for f in found(pcie_link_degraded, machine)] == expected
