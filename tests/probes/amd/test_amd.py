from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet, State, assemble
from doctor.probes.amd import amd
from doctor.probes.container import container
from doctor.probes.host import account, host, host_firmware, kernel_log, pci
from doctor.probes.nvidia import nvidia
from doctor.system.base import READ_LIMIT, Reading
from doctor.system.tree import TreeSystem
from tests.paths import FIELDLAB, captured, needs_shared
from tests.probes.amd_trees import kfd_node, look, mi300x, write

DRM = sorted(p.name for p in FIELDLAB.glob("*drm-sysfs")) if FIELDLAB.is_dir() else []
TOPOLOGY = "sys/class/kfd/kfd/topology"


def facts_of(machine: str) -> dict[str, Any]:
    facts: dict[str, Any] = next(m["facts"] for m in captured() if m["machine"] == machine)
    return facts


def test_two_mi300x_in_every_order(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05, 0xC1)
    machine = look(tmp_path)
    first, second = machine.gpus or ()
    assert (second.arch, second.memory_bytes, second.compute_units) == ("gfx942", 206141652992, 304)
    assert (second.index.pci, second.index.smi, second.index.hip, second.index.kfd) == (1, 1, 1, 2)
    assert (second.render_node, second.card_node, second.partitions) == ("renderD129", "card1", ())
    assert [link.peer for link in first.links or ()] == ["0000:c1:00.0"]
    assert (machine.amdgpu_driver.source, machine.amdgpu_driver.version) == ("dkms", "6.10.5")
    assert machine.source("gpus[0000:05:00.0].index.kfd").endswith("nodes/1/properties")


def test_a_driver_without_a_version_of_its_own_is_in_tree(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05)
    (tmp_path / "sys/module/amdgpu/version").unlink()
    driver = look(tmp_path).amdgpu_driver
    assert (driver.loaded, driver.source, driver.version) == (True, "in-tree", None)


def test_no_driver_and_no_kfd_are_known_to_be_absent(tmp_path: Path) -> None:
    write(tmp_path, {"sys/module/loop/initstate": "live\n", "sys/class/net/lo/mtu": "65536\n"})
    machine = look(tmp_path)
    assert (machine.amdgpu_driver.loaded, machine.amdgpu_driver.source) == (False, "absent")
    assert machine.kfd.present is False


def test_a_tree_of_kfd_alone_says_what_it_does_not_hold(tmp_path: Path) -> None:
    """Only sys/class/kfd was captured: IOMMU, secure boot, RDMA and NVIDIA's module were not looked at by anybody."""
    kfd_node(tmp_path, 0, cpu_cores_count=64, simd_count=0)
    sheet = FactSheet()
    for probe in (pci, amd, nvidia, host, host_firmware, kernel_log, account, container):
        probe.probe(TreeSystem(tmp_path), sheet)
    states = {e.name: e.state for e in sheet}
    for fact in ("host.iommu", "kernel.secure_boot", "kernel.lockdown", "host.virtual_machine", "host.cpu_governor",
                 "rdma", "amdgpu_driver.loaded", "nvidia_driver.loaded", "nvidia_driver.fabric_manager.running", "pci",
                 "gpus", "kernel_log.events", "os.id", "container.inside"):  # fmt: skip
        assert states[fact] is State.NOT_RECORDED, fact
    for fact in ("nvidia_driver.user_version", "nvidia_driver.libraries"):
        assert states[fact] is State.NOT_RECORDED, fact
    assert State.FAILED not in states.values()
    assert State.UNREADABLE not in states.values()


def test_a_tree_of_drm_cards_alone_knows_nothing_of_kfd(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/drm/card0/device/vendor": "0x1002\n"})
    machine = look(tmp_path)
    assert machine.kfd.present is None
    assert machine.origins["kfd.present"].state is State.NOT_RECORDED


def test_an_empty_tree_knows_neither(tmp_path: Path) -> None:
    machine = look(tmp_path)
    assert (machine.amdgpu_driver.loaded, machine.kfd.present) == (None, None)


def test_an_integrated_gpu_s_banks_are_not_device_memory(tmp_path: Path) -> None:
    kfd_node(tmp_path, 1, ((1, 31 << 30),), simd_count=24, gfx_target_version=110003, location_id=0x6400)
    [gpu] = look(tmp_path).gpus or ()
    assert (gpu.arch, gpu.integrated, gpu.memory_bytes) == ("gfx1103", True, None)


@needs_shared
def test_cpx_partitions_are_parts_of_eight_gpus(tmp_path: Path) -> None:
    folder = tmp_path / TOPOLOGY
    folder.parent.mkdir(parents=True)
    with tarfile.open(FIELDLAB / "amd-mi300x-8gpu-cpx-kfd/sys-class-kfd-topology.tar.gz") as archive:
        archive.extractall(folder.parent, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]
    facts = facts_of("amd-mi300x-8gpu-cpx-kfd")
    machine = look(tmp_path)
    gpus, nodes = machine.gpus or (), machine.kfd.nodes or ()
    assert len(gpus) == facts["distinct_unique_ids"]
    assert sorted((len(g.partitions or ()) for g in gpus), reverse=True) == facts["gpu_nodes_per_unique_id"]
    assert len(nodes) == facts["nodes"]
    assert {g.arch for g in gpus} == {"gfx942"}
    minors = [n.render_minor for n in nodes if n.render_minor]
    assert [min(minors), max(minors)] == facts["render_minors"]
    assert all(g.memory_bytes is None for g in gpus)  # this capture has no memory banks; local_mem_size 0 is no size


@needs_shared
def test_an_old_kernel_s_nodes_without_gfx_or_domain(tmp_path: Path) -> None:
    shutil.copytree(FIELDLAB / "amd-mi25-1gpu-kfd/sys-class-kfd-topology/topology", tmp_path / TOPOLOGY)
    [gpu] = look(tmp_path).gpus or ()
    assert (gpu.pci_address, gpu.arch, gpu.partitions) == ("0000:19:00.0", None, None)
    assert gpu.memory_bytes == facts_of("amd-mi25-1gpu-kfd")["local_mem_size"][0]


@needs_shared
@pytest.mark.parametrize("name", DRM)
def test_drm_cards_of_every_vendor(name: str, tmp_path: Path) -> None:
    for part in (FIELDLAB / name / "snapshot").iterdir():
        if part.name.startswith("card"):
            shutil.copytree(part, tmp_path / "sys/class/drm" / part.name)
    facts = facts_of(name)
    [gpu] = look(tmp_path).gpus or ()
    assert gpu.pci_address == facts["uevent_PCI_SLOT_NAME"].lower()
    assert gpu.pci_id == facts["uevent_PCI_ID"].lower()
    assert gpu.driver == facts["uevent_DRIVER"]
    assert str(gpu.memory_bytes) == facts.get("mem_info_vram_total", "None")
    assert gpu.vbios == (facts.get("vbios_version") if gpu.driver == "amdgpu" else None)
    level = FIELDLAB / name / "snapshot" / (gpu.card_node or "card0") / "device/power_dpm_force_performance_level"
    asked = level.is_file() and gpu.driver == "amdgpu"
    assert gpu.performance_level == (level.read_text().strip("\x00\n") if asked else None)
    if "current_link_speed" in facts:
        assert gpu.link.speed_gt_s == float(facts["current_link_speed"].split()[0])


@needs_shared
def test_the_two_dies_of_an_mi250x_share_a_package(tmp_path: Path) -> None:
    """Addresses and xGMI link counts of eight real dies, as RCCL saw them; KFD tells 50 GB/s a link."""
    topology = (FIELDLAB / "amd-rccl-topology-models-a/topo_8p1h.xml").read_text()
    dies: dict[str, dict[str, int]] = {}
    for line in topology.splitlines():
        if found := re.search(r'<pci busid="([^"]+)" .*device="0x740c"', line):
            dies[found[1]] = {}
        elif found := re.search(r'<xgmi target="([^"]+)" count="(\d+)"', line):
            dies[list(dies)[-1]][found[1]] = int(found[2])
    number = {address: place for place, address in enumerate(sorted(dies), 1)}
    kfd_node(tmp_path, 0, cpu_cores_count=64, simd_count=0)
    for address, peers in dies.items():
        place = int(address[5:7], 16) << 8
        kfd_node(tmp_path, number[address], simd_count=416, simd_per_cu=4, gfx_target_version=90010, location_id=place)
        for index, (peer, count) in enumerate(peers.items()):
            link = f"type 11\nnode_from {number[address]}\nnode_to {number[peer]}\nmax_bandwidth {count * 50000}\n"
            write(tmp_path, {f"{TOPOLOGY}/nodes/{number[address]}/io_links/{index}/properties": link})
    gpus = look(tmp_path).gpus or ()
    assert len(gpus) == 8
    pairs = [sorted(g.key for g in gpus if g.package == package) for package in sorted({g.package or "" for g in gpus})]
    assert pairs == [
        ["0000:29:00.0", "0000:2c:00.0"],
        ["0000:2f:00.0", "0000:32:00.0"],
        ["0000:ad:00.0", "0000:b0:00.0"],
        ["0000:b3:00.0", "0000:b6:00.0"],
    ]


class _Cgroup(TreeSystem):
    """A tree in which a device cgroup refuses the files of some KFD nodes, as the kernel does with EPERM."""

    refused: tuple[int, ...] = ()

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        if any(f"/nodes/{n}/" in path for n in self.refused):
            return Reading(State.DENIED, f"file:/{path}", None, "EPERM")
        return super().read_text(path, limit=limit, deadline_s=deadline_s)


def test_a_node_that_a_cgroup_refuses_is_there_and_denied(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05, 0xC1)
    system = _Cgroup(tmp_path)
    system.refused = (1,)
    sheet = FactSheet()
    amd.probe(system, sheet)
    machine = assemble([sheet])
    assert [(n.node, n.readable, n.gfx) for n in machine.kfd.nodes or ()] == [
        (0, True, None),
        (1, False, None),
        (2, True, "gfx942"),
    ]
    assert machine.get("gpus[0000:c1:00.0].index.hip") == 0  # HIP counts those that it may read
    assert machine.origins["kfd.nodes[1].readable"].detail == "EPERM"
