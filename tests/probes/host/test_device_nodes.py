"""Device nodes: whose they are, whether they open, and that a sleeping GPU is left asleep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.facts import FactSheet, State, assemble
from doctor.probes.host import account, device_nodes, environment, host
from doctor.rules.lib.hardware import has_no
from doctor.system.base import Reading, Stat
from tests.probes.pretend import Pretend, values

GROUPS = {"etc/group": "root:x:0:\nrender:x:109:\nvideo:x:44:alice\n", "etc/passwd": "al:x:1000:1000::/h:/bin/sh\n"}


def node(minor: int) -> Stat:
    return Stat("char", 0o660, 0, 109, 0, 226, minor)


def test_a_node_that_refuses_this_account(tmp_path: Path) -> None:
    devices = {"dev/kfd": (node(0), "EACCES"), "dev/dri/renderD128": (node(128), "ok")}
    system = Pretend(tmp_path, GROUPS | dict.fromkeys(devices, ""), devices=devices)
    bus = tmp_path / "sys/devices/pci0000:c0/0000:c1:00.0"
    (bus / "drm/renderD128").mkdir(parents=True)
    (tmp_path / "sys/class/drm").mkdir(parents=True)
    (tmp_path / "sys/class/drm/renderD128").symlink_to("../../devices/pci0000:c0/0000:c1:00.0/drm/renderD128")
    (bus / "drm/renderD128/device").symlink_to("../../../0000:c1:00.0")
    sheet = FactSheet()
    device_nodes.probe(system, sheet)
    machine = assemble([sheet])
    kfd = machine.get("nodes[/dev/kfd]")
    assert (kfd.openable, kfd.open_error, kfd.group, kfd.mode) == (False, "EACCES", "render", 0o660)
    assert machine.get("nodes[/dev/dri/renderD128].openable") is True
    assert machine.get("gpus[0000:c1:00.0].render_node") == "renderD128"


def test_a_suspended_gpu_is_not_opened(tmp_path: Path) -> None:
    devices = {"dev/dri/renderD128": (node(128), "ok")}
    files = {"dev/dri/renderD128": "", "sys/class/drm/renderD128/device/power/runtime_status": "suspended\n"}
    system = Pretend(tmp_path, files, devices=devices)
    sheet = FactSheet()
    device_nodes.probe(system, sheet)
    assert system.opened == []
    assert values(sheet)["nodes[/dev/dri/renderD128].openable"] is None


def test_no_nodes_is_known(tmp_path: Path) -> None:
    sheet = FactSheet()
    device_nodes.probe(Pretend(tmp_path, {"dev/null": ""}), sheet)
    assert values(sheet) == {"nodes": []}


def test_the_account_by_files(tmp_path: Path) -> None:
    sheet = FactSheet()
    account.probe(Pretend(tmp_path, GROUPS, account={"uid": 1000, "gid": 1000, "gids": [44, 1000]}), sheet)
    found = values(sheet)
    assert found["account.groups"] == {"render": 109, "video": 44}
    assert (found["account.user"], found["account.member_of"]) == ("al", ["video"])


def test_an_account_without_a_name_and_without_groups(tmp_path: Path) -> None:
    """A numeric user of a container: no line in etc/passwd, no group of its own in etc/group."""
    sheet = FactSheet()
    account.probe(Pretend(tmp_path, GROUPS, account={"uid": 65534, "gid": 65534, "gids": []}), sheet)
    found = values(sheet)
    assert (found["account.user"], found["account.member_of"], found["account.gids"]) == (None, [], [])
    assert {e.name: e.state for e in sheet}["account.user"] is State.ABSENT
    machine = assemble([sheet])
    assert (machine.account.uid, machine.account.gids, machine.account.groups) == (
        65534,
        (),
        {"render": 109, "video": 44},
    )


def test_secrets_stay_out_of_the_environment(tmp_path: Path) -> None:
    sheet = FactSheet()
    given = {"HIP_VISIBLE_DEVICES": "0", "VLLM_API_KEY": "s", "NCCL_AUTH_TOKEN": "s", "HOME": "/root"}
    environment.probe(Pretend(tmp_path, environ=given), sheet)
    assert values(sheet) == {"environment": {"HIP_VISIBLE_DEVICES": "0"}, "dead_paths": {}}


def test_the_host(tmp_path: Path) -> None:
    files = {
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\n',
        "proc/sys/kernel/osrelease": "6.8.0-51-generic\n",
        "proc/modules": "amdgpu 1 0 - Live 0x0\n",
        "proc/mounts": "shm /dev/shm tmpfs rw,size=65536k 0 0\n",
        "proc/meminfo": "MemTotal:       1000 kB\n",
    }
    sheet = FactSheet()
    host.probe(Pretend(tmp_path, files), sheet)
    found = values(sheet)
    assert (found["os.id"], found["os.version"], found["kernel.release"]) == ("ubuntu", "22.04", "6.8.0-51-generic")
    assert (found["kernel.modules"], found["host.shm_bytes"]) == (["amdgpu"], 64 << 20)
    assert found["host.cpu"] is None
    assert found["kernel.cmdline"] is None
    assemble([sheet])


def test_nodes_that_are_not_listed_are_known_not_to_be_there(tmp_path: Path) -> None:
    system = Pretend(tmp_path, {"dev/dri/renderD128": ""}, devices={"dev/dri/renderD128": (node(128), "ok")})
    sheet = FactSheet()
    device_nodes.probe(system, sheet)
    machine = assemble([sheet])
    assert has_no(machine, "kfd")
    assert not has_no(machine, "render")


def test_a_folder_that_cannot_be_listed_leaves_absence_unknown(tmp_path: Path) -> None:
    class Refusing(Pretend):
        def list_dir(self, path: str, **limits: Any) -> Reading[tuple[str, ...]]:
            denied: Reading[tuple[str, ...]] = Reading(State.DENIED, f"file:/{path}")
            return denied if path == "dev/dri" else super().list_dir(path, **limits)

    system = Refusing(tmp_path, {"dev/dri/renderD128": "", "dev/kfd": ""}, devices={"dev/kfd": (node(0), "ok")})
    sheet = FactSheet()
    device_nodes.probe(system, sheet)
    assert not has_no(assemble([sheet]), "render")
