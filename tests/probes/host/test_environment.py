"""The variables that steer the stack, and the interfaces where one of them names some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet
from doctor.facts.origin import State
from doctor.probes.host import environment
from doctor.system.base import Reading
from doctor.system.tree import TreeSystem


class _Shell(TreeSystem):
    """A tree with an environment of its own."""

    def __init__(self, root: Path, given: Mapping[str, str], uid: int) -> None:
        super().__init__(root)
        self.given, self.uid = given, uid

    def account(self) -> Reading[Mapping[str, Any]]:
        return Reading(State.VALUE, "account", {"uid": self.uid, "gids": []})

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.VALUE, "environment", self.given)


def probed(tmp_path: Path, given: dict[str, str], uid: int = 0) -> FactSheet:
    for name in ("lo", "ens3"):
        (tmp_path / "sys" / "class" / "net" / name).mkdir(parents=True, exist_ok=True)
    sheet = FactSheet()
    environment.probe(_Shell(tmp_path, given, uid), sheet)
    return sheet


def test_interfaces_are_listed_where_a_variable_names_some(tmp_path: Path) -> None:
    sheet = probed(tmp_path, {"NCCL_SOCKET_IFNAME": "eth0"})
    assert sorted(sheet.get("host.interfaces")) == ["ens3", "lo"]


def test_they_are_not_asked_otherwise(tmp_path: Path) -> None:
    assert probed(tmp_path, {"NCCL_DEBUG": "INFO"}).get("host.interfaces") is None


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"CUDA_HOME": "/usr/local/cuda-12.4"}, "points to /usr/local/cuda-12.4, which is not there"),
        ({"CUDA_HOME": "/sys/class"}, None),
        ({"CC": "gcc-99 -O2", "PATH": "/bin"}, "names gcc-99, which is not there"),
        ({"CC": "cc", "PATH": "/none:/bin"}, None),
        ({"TRITON_CACHE_DIR": "/made/later"}, None),
        ({"TRITON_CACHE_DIR": "/bin/cc"}, "points to /bin/cc, and /bin/cc is not a folder"),
        ({"HOME": "/ro/home"}, "points to /ro/home, on a read-only file system"),
        ({"HOME": "/ro/home", "TRITON_HOME": "/tmp"}, None),
    ],
)
def test_variables_that_lead_nowhere(tmp_path: Path, variables: dict[str, str], said: str | None) -> None:
    for folder in ("bin", "ro", "proc/self", "usr/local"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bin/cc").touch()
    mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /ro ro,nosuid - ext4 /dev/sdb1 rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mounts)
    assert probed(tmp_path, variables).get("dead_paths") == ({next(iter(variables)): said} if said else {})


@pytest.mark.parametrize(("mode", "dead"), [(0o755, True), (0o775, False), (0o777, False)])
def test_a_home_of_another_account(tmp_path: Path, mode: int, dead: bool) -> None:
    """With an access list the bits of the group are what it lets in at most."""
    tmp_path.chmod(mode)
    home = {"HOME": "/"}
    assert bool(probed(tmp_path, home, uid=tmp_path.stat().st_uid + 1).get("dead_paths")) is dead
