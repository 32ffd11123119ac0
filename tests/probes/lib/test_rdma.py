"""RDMA devices: the state of their ports, what their counters say, and the GPU beside them."""

from __future__ import annotations

from pathlib import Path

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.probes.lib import rdma
from doctor.system.tree import TreeSystem
from tests.live.trees import lay_out
from tests.paths import needs_shared

PORT = "sys/class/infiniband/mlx5_0/ports/1"


def look(root: Path, files: dict[str, str]) -> Snapshot:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    sheet = FactSheet()
    rdma.probe(TreeSystem(root), sheet)
    return assemble([sheet])


def test_a_port_s_state_firmware_gids_and_counters(tmp_path: Path) -> None:
    files = {
        f"{PORT}/state": "4: ACTIVE\n", f"{PORT}/phys_state": "5: LinkUp\n", f"{PORT}/rate": "400 Gb/sec (4X NDR)\n",
        f"{PORT}/link_layer": "Ethernet\n", "sys/class/infiniband/mlx5_0/fw_ver": "28.41.1000\n",
        f"{PORT}/gids/0": "fe80:0000:0000:0000:0000:0000:0000:0000\n",
        f"{PORT}/gids/1": "0000:0000:0000:0000:0000:ffff:0a00:0001\n",
        f"{PORT}/gids/2": "0000:0000:0000:0000:0000:0000:0000:0000\n",
        f"{PORT}/counters/link_downed": "3\n", f"{PORT}/counters/symbol_error": "0\n",
    }  # fmt: skip
    (device,) = look(tmp_path, files).rdma or ()
    assert (device.state, device.physical_state, device.firmware) == ("ACTIVE", "LinkUp", "28.41.1000")
    assert device.gids == 1
    assert device.counters == {"link_downed": 3}


def test_a_port_without_a_gid_table_has_an_unknown_number_of_them(tmp_path: Path) -> None:
    (device,) = look(tmp_path, {f"{PORT}/state": "1: DOWN\n"}).rdma or ()
    assert (device.state, device.gids, device.counters) == ("DOWN", None, None)


@needs_shared
def test_the_ports_of_a_captured_h100_node(tmp_path: Path) -> None:
    """mlx5_1 counts 255 link losses, the ceiling of an 8-bit counter, and is active."""
    sheet = FactSheet()
    rdma.probe(TreeSystem(lay_out("nvidia-h100-infiniband-class-gpud", tmp_path)), sheet)
    devices = {d.key: d for d in assemble([sheet]).rdma or ()}
    assert len(devices) == 9
    assert {d.state for d in devices.values()} == {"ACTIVE"}
    assert (devices["mlx5_1"].counters or {})["link_downed"] == 255
    assert (devices["mlx5_bond_0"].link_layer, devices["mlx5_bond_0"].firmware) == ("Ethernet", "32.38.3056")
