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


def config(*words: tuple[int, str], extended: bool = True) -> bytes:
    """Configuration space with lines of `lspci -xxxx` at their offsets."""
    space = bytearray(4096 if extended else 256)
    for offset, line in words:
        raw = bytes.fromhex(line)
        space[offset : offset + len(raw)] = raw
    return bytes(space)


SWITCH = (
    (0x00, "00 10 10 c0 07 04 10 00 b0 00 04 06 10 00 01 00"),  # Broadcom PEX890xx, a PCI bridge
    (0x30, "00 00 00 00 40 00 00 00 00 00 00 00 ff 01 00 00"),  # the first capability is at 0x40
    (0x40, "01 68 03 c8 08 00 00 00"),  # power management, the next is at 0x68
    (0x68, "10 a4 62 01 02 80 00 00 37 28 0f 00 85 40 05 00"),  # PCI Express
    (0x100, "01 00 82 17"),  # advanced error reporting, the next is at 0x178
    (0x178, "0d 00 01 00 5f 00 1d 00"),  # ACS v1, the last: SrcValid, ReqRedir, CmpltRedir and UpstreamFwd are on
)
MI300X = (
    (0x00, "02 10 a1 74 06 04 10 00 00 00 00 12 10 00 80 00"),
    (0x30, "00 00 00 00 48 00 00 00 00 00 00 00 ff 01 00 00"),
    (0x48, "09 64 08 00 02 10 a1 74"),
    (0x64, "10 a0 02 00 a1 8f 2c 01 37 29 09 00 05 6d 40 00"),
    (0x8C, "40 00 00 00"),  # Device Control 2: AtomicOpsCtl ReqEn+
)


def test_acs_and_atomics_out_of_configuration_space(tmp_path: Path) -> None:
    bridge, gpu = "pci0000:00/0000:00:01.0", "pci0000:00/0000:00:01.0/0000:18:00.0"
    pci_device(tmp_path, bridge, **{"class": "0x060400", "vendor": "0x1000", "device": "0xc010"})
    pci_device(tmp_path, gpu, **{"class": "0x120000", "vendor": "0x1002", "device": "0x74a1"})
    (tmp_path / f"sys/devices/{bridge}/config").write_bytes(config(*SWITCH))
    (tmp_path / f"sys/devices/{gpu}/config").write_bytes(config(*MI300X))
    machine = look(tmp_path)
    assert machine.get("pci[0000:00:01.0].acs_redirect") is True
    assert machine.get("gpus[0000:18:00.0].atomics_requester") is True


def test_acs_that_only_validates_sources_and_atomics_that_are_off(tmp_path: Path) -> None:
    bridge, gpu = "pci0000:00/0000:00:01.0", "pci0000:00/0000:00:01.0/0000:18:00.0"
    pci_device(tmp_path, bridge, **{"class": "0x060400", "vendor": "0x1000", "device": "0xc010"})
    pci_device(tmp_path, gpu, **{"class": "0x120000", "vendor": "0x1002", "device": "0x74a1"})
    valid_only = (*SWITCH[:-1], (0x178, "0d 00 01 00 5f 00 11 00"))
    (tmp_path / f"sys/devices/{bridge}/config").write_bytes(config(*valid_only))
    (tmp_path / f"sys/devices/{gpu}/config").write_bytes(config(*MI300X[:-1], extended=False))
    machine = look(tmp_path)
    assert machine.get("pci[0000:00:01.0].acs_redirect") is False
    assert machine.get("gpus[0000:18:00.0].atomics_requester") is False


def test_names_keep_no_control_and_no_direction_marks(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/infiniband/mlx5\x1b[31m\u202e0/ports/1/state": "4: ACT\x07IVE\u2066\n"})
    (device,) = look(tmp_path).rdma or ()
    assert (device.key, device.state) == ("mlx5 [31m 0", "ACT IVE")


def test_lanes_of_the_slot_are_asked_where_the_gpu_has_fewer_than_it_can(tmp_path: Path) -> None:
    place = "pci0000:1a/0000:1a:01.1/0000:1b:00.0"
    pci_device(tmp_path, place, **H100, current_link_width="4", max_link_width="16")
    pci_device(tmp_path, "pci0000:1a/0000:1a:01.1", **{"class": "0x060400", "vendor": "0x8086"}, max_link_width="4")
    (gpu,) = look(tmp_path).gpus or ()
    assert (gpu.link.width, gpu.link.max_width, gpu.link.slot_width) == (4, 16, 4)
