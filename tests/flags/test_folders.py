"""Folders and libraries that variables name: writable, there."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.flags import folders
from doctor.flags.folders import Account, writable
from doctor.flags.situation import Situation
from doctor.parsers.kernel import mountinfo
from doctor.system.base import Stat
from doctor.system.tree import TreeSystem
from tests.flags.situations import of

MOUNTS = """1 0 0:1 / / rw - overlay overlay rw,lowerdir=/a
2 1 0:2 / /dev/shm rw - tmpfs shm rw
3 1 0:3 / /models ro - ext4 /dev/sdb ro,errors=continue
4 1 0:4 / /home rw - nfs4 srv:/home rw
5 1 0:5 / /data rw - ext4 /dev/sda1 rw
"""
STATUS = "Name:\tpython\nUid:\t{0}\t{0}\t{0}\t{0}\nGid:\t{0}\t{0}\t{0}\t{0}\nGroups:\t{0} 44 \n"


@pytest.fixture
def machine(tmp_path: Path) -> TreeSystem:
    for folder in ("proc/self", "dev/shm", "opt", "models", "home/u", "data/open", "data/closed"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data/file").write_text("")
    (tmp_path / "data/open").chmod(0o777)
    (tmp_path / "data/closed").chmod(0o755)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS)
    (tmp_path / "proc/self/status").write_text(STATUS.format((tmp_path / "data").stat().st_uid + 4242))
    return TreeSystem(tmp_path)


def said(machine: TreeSystem, line: str) -> list[str]:
    return [f"{f.evidence[0].text} {f.summary}" for f in folders.look(machine, of(line))]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/data/closed", "may not write in /data/closed (mode 755"),
        ("/data/closed/not/yet/made", "may not write in /data/closed (mode 755"),
        ("/models/cache", "/models is mounted read-only"),
        ("/data/file", "is no folder"),
    ],
)
def test_a_cache_that_cant_be_written(machine: TreeSystem, path: str, why: str) -> None:
    (found,) = said(machine, f"TRITON_CACHE_DIR={path}")
    assert found.startswith("cache-dir-unwritable")
    assert why in found


@pytest.mark.parametrize(
    "line", ["TRITON_CACHE_DIR=/data/open", "HF_HOME=/data/open/hub", "HF_HOME=hub", "", "HF_HOME="]
)
def test_one_that_can_is_nothing_to_say(machine: TreeSystem, line: str) -> None:
    assert said(machine, line) == []


def test_without_the_facts_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    assert said(TreeSystem(tmp_path), "TRITON_CACHE_DIR=/data TORCHINDUCTOR_MAX_AUTOTUNE=1 ctx:serving") == []


@pytest.mark.parametrize(
    ("mode", "gid", "may"),
    [(0o755, 9, False), (0o775, 44, True), (0o755, 44, False), (0o775, 9, None), (0o757, 9, True)],
)
def test_the_bits_of_another_users_folder(mode: int, gid: int, may: bool | None) -> None:
    assert writable(Stat("dir", mode, 0, gid, 0), Account(1000, frozenset((1000, 44)))) is may


def test_root_writes_everywhere_and_an_owner_as_the_bits_say() -> None:
    assert writable(Stat("dir", 0o555, 7, 7, 0), Account(0, frozenset())) is True
    assert writable(Stat("dir", 0o555, 7, 7, 0), Account(7, frozenset())) is False


def test_a_plug_in_that_is_not_there(machine: TreeSystem) -> None:
    (missing,) = said(machine, "NCCL_NET_PLUGIN=/opt/aws/libnccl-net.so")
    assert missing.startswith("nccl-plugin-foreign")
    assert said(machine, "NCCL_NET_PLUGIN=/data/file") == []
    assert said(machine, "NCCL_NET_PLUGIN=none NCCL_TUNER_PLUGIN=libnccl-tuner.so") == []


def test_the_mount_of_a_path_is_the_longest_and_the_last(tmp_path: Path) -> None:
    mounts = mountinfo.read(MOUNTS + "6 1 0:6 / /data rw - xfs /dev/sdc rw\n")
    held = {path: folders.holding(mounts, path) for path in ("/data/x", "/database", "/")}
    assert {path: mount and mount.fstype for path, mount in held.items()} == {
        "/data/x": "xfs",
        "/database": "overlay",
        "/": "overlay",
    }
    assert folders.holding((), "/") is None
    assert list(folders.look(TreeSystem(tmp_path), Situation({}))) == []
