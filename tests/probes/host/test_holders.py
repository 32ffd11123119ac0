"""Which processes hold the GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.probes.host import holders
from tests.probes.pretend import Pretend

LARGE = 40 << 30


def process(root: Path, pid: int, name: str, *files: str, state: str = "S", size: int = LARGE, group: str = "") -> None:
    fields = f"{pid} ({name}) {state} 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 100 {size} 100"
    folder = root / f"proc/{pid}"
    (folder / "fd").mkdir(parents=True)
    (folder / "stat").write_text(fields)
    (folder / "status").write_text("Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
    (folder / "cgroup").write_text(f"0::{group or '/user.slice'}\n")
    for number, target in enumerate(files):
        (folder / f"fd/{number}").symlink_to(target)


def look(root: Path, *nodes: str) -> Snapshot:
    sheet = FactSheet()
    holders.probe(Pretend(root, {f"dev/{n}": "" for n in nodes}), sheet)
    return assemble([sheet])


@pytest.fixture
def host(tmp_path: Path) -> Path:
    process(tmp_path, 2, "kthreadd", size=0)
    return tmp_path


def test_a_program_with_a_gpu_open_is_named_with_its_nodes(host: Path) -> None:
    process(host, 4711, "python3", "/dev/null", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia0")
    process(host, 4712, "bash", "/dev/null")
    machine = look(host, "nvidia0")
    (holder,) = machine.holders or ()
    assert (holder.pid, holder.name, holder.kind, holder.uid) == (4711, "python3", "program", 1000)
    assert holder.nodes == ("/dev/nvidia-uvm", "/dev/nvidia0")
    assert (holder.in_container, machine.host.processes_seen) == (False, "all")


def test_monitors_displays_and_zombies_are_told_from_programs(host: Path) -> None:
    process(host, 10, "nv-hostengine", "/dev/nvidiactl", size=0)
    process(host, 11, "Xorg", "/dev/dri/card0")
    process(host, 12, "python3", state="Z", size=0)
    process(host, 13, "sh", state="Z", size=0)
    held = {h.pid: (h.kind, h.state) for h in look(host, "nvidiactl").holders or ()}
    assert held == {10: ("monitor", "S"), 11: ("display", "S"), 12: ("program", "Z")}


def test_a_program_in_a_container_is_marked(host: Path) -> None:
    process(host, 20, "vllm", "/dev/kfd", group="/system.slice/docker-" + "0" * 64 + ".scope")
    assert [h.in_container for h in look(host, "kfd").holders or ()] == [True]


def test_inside_a_container_the_processes_of_others_are_said_to_be_unseen(tmp_path: Path) -> None:
    process(tmp_path, 1, "bash")
    machine = look(tmp_path, "kfd")
    assert machine.holders == ()
    assert machine.host.processes_seen == "namespace"


def test_without_a_gpu_node_nobody_is_looked_at(host: Path) -> None:
    process(host, 30, "python3", "/dev/nvidia0")
    machine = look(host, "null")
    assert machine.holders is None
    assert machine.origins["holders"].state.value == "not-asked"
