from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from doctor.facts.origin import State
from tests.paths import FIELDLAB, needs_shared
from tests.probes.amd_trees import link, look, pci_device, write

H100 = {"class": "0x030200", "vendor": "0x10de", "device": "0x2330"}


def test_a_gpu_without_a_driver_is_there_and_bound_to_none(tmp_path: Path) -> None:
    pci_device(tmp_path, "pci0000:00/0000:00:01.0/0000:18:00.0", **H100)
    [gpu] = look(tmp_path).gpus or ()
    assert (gpu.vendor, gpu.pci_id, gpu.driver, gpu.index.pci) == ("nvidia", "10de:2330", "none", 0)


def test_screens_of_management_controllers_and_nvswitches_are_no_gpus(tmp_path: Path) -> None:
    pci_device(tmp_path, "pci0000:00/0000:02:00.0", **{"class": "0x030000", "vendor": "0x1a03", "device": "0x2000"})
    pci_device(tmp_path, "pci0000:00/0000:05:00.0", **{"class": "0x068000", "vendor": "0x10de", "device": "0x22a3"})
    machine = look(tmp_path)
    assert machine.gpus == ()
    assert {p.key: p.kind for p in machine.pci or ()} == {"0000:02:00.0": "other", "0000:05:00.0": "nvswitch"}


def test_a_tree_without_a_bus_says_nothing_about_gpus(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cmdline": "quiet\n"})
    machine = look(tmp_path)
    assert machine.gpus is None
    assert machine.origins["gpus"].state is State.NOT_RECORDED


def test_sixty_four_bytes_of_configuration_space_are_not_atomics_off(tmp_path: Path) -> None:
    place = "pci0000:00/0000:00:01.0/0000:18:00.0"
    pci_device(tmp_path, place, **H100)
    (tmp_path / f"sys/devices/{place}/config").write_bytes(bytes(64))
    machine = look(tmp_path)
    assert machine.get("gpus[0000:18:00.0].atomics_requester") is None
    assert machine.origins["gpus[0000:18:00.0].atomics_requester"].state is State.DENIED


def test_a_suspended_gpu_is_not_asked_for_its_link(tmp_path: Path) -> None:
    place = "pci0000:00/0000:00:01.0/0000:18:00.0"
    pci_device(tmp_path, place, **H100, current_link_width="16")
    write(tmp_path, {f"sys/devices/{place}/power/runtime_status": "suspended\n"})
    machine = look(tmp_path)
    assert machine.origins["gpus[0000:18:00.0].link.width"].state is State.NOT_ASKED


def test_an_rdma_device_is_near_the_gpu_under_its_bridge(tmp_path: Path) -> None:
    pci_device(tmp_path, "pci0000:00/0000:00:01.0/0000:10:00.0/0000:18:00.0", **H100)
    pci_device(tmp_path, "pci0000:40/0000:40:01.0/0000:50:00.0/0000:58:00.0", **H100)
    pci_device(tmp_path, "pci0000:40/0000:40:01.0/0000:51:00.0", **{"class": "0x020700", "vendor": "0x15b3"})
    link(tmp_path, "sys/class/infiniband/mlx5_0/device", "../../../bus/pci/devices/0000:51:00.0")
    write(tmp_path, {"sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"})
    [nic] = look(tmp_path).rdma or ()
    assert (nic.pci_address, nic.state, nic.near_gpu) == ("0000:51:00.0", "ACTIVE", "0000:58:00.0")


@needs_shared
def test_the_p100_of_a_guest(tmp_path: Path) -> None:
    safely: dict[str, Any] = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
    with tarfile.open(FIELDLAB / "nvidia-p100-vm-ghw-snapshot/ghw-snapshot.tar.gz") as archive:
        for member in archive.getmembers():
            if member.name.startswith("sys/") and "pci" in member.name and (member.issym() or member.isfile()):
                archive.extract(member, tmp_path, **safely)
    [gpu] = look(tmp_path).gpus or ()
    assert (gpu.pci_id, gpu.driver) == ("10de:15f8", "nvidia")
