"""A sysfs that lacks a file, as kernels of other ages do: it costs what the file says, never the GPU."""

from __future__ import annotations

from pathlib import Path

from doctor.engine.gather import combine
from doctor.engine.registry import probe_function
from doctor.facts import FactSheet, Snapshot
from doctor.facts.origin import State
from doctor.system.tree import TreeSystem
from tests.fakenode import Node

AT_MOST = 8
"""Facts that one file may tell."""
TOPOLOGY = "sys/class/kfd/kfd/topology/nodes/1/properties"
"""The one file that tells all of KFD's facts of a GPU."""


def asked(root: Path) -> Snapshot:
    sheets = []
    for name in ("pci", "amd"):
        sheets.append(FactSheet())
        probe_function(name)(TreeSystem(root), sheets[-1])
    return combine(sheets)


def known(machine: Snapshot) -> set[str]:
    return {name for name, origin in machine.origins.items() if origin.state is State.VALUE}


def test_each_file_costs_its_own_facts_alone(tmp_path: Path) -> None:
    with Node("rx7900xtx").laid_out(tmp_path):
        whole = asked(tmp_path)
        (gpu,) = whole.gpus or ()
        device = (tmp_path / "sys/bus/pci/devices" / str(gpu.pci_address)).resolve()
        files = [p for p in device.rglob("*") if p.is_file() and not p.is_symlink()]
        assert len(files) > 20
        costly = {}
        for path in (*files, tmp_path / TOPOLOGY):
            content = path.read_bytes()
            path.unlink()
            poorer = asked(tmp_path)
            path.write_bytes(content)
            name = path.relative_to(tmp_path).as_posix()
            assert [g.pci_address for g in poorer.gpus or ()] == [gpu.pci_address], name
            if len(lost := known(whole) - known(poorer)) > AT_MOST and name != TOPOLOGY:
                costly[name] = sorted(lost)
    assert costly == {}
