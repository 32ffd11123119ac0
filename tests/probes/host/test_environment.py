"""The variables that steer the stack, and the interfaces where one of them names some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from doctor.facts import FactSheet
from doctor.facts.origin import State
from doctor.probes.host import environment
from doctor.system.base import Reading
from doctor.system.tree import TreeSystem


class _Shell(TreeSystem):
    """A tree with an environment of its own."""

    def __init__(self, root: Path, given: Mapping[str, str]) -> None:
        super().__init__(root)
        self.given = given

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.VALUE, "environment", self.given)


def probed(tmp_path: Path, given: dict[str, str]) -> FactSheet:
    for name in ("lo", "ens3"):
        (tmp_path / "sys" / "class" / "net" / name).mkdir(parents=True)
    sheet = FactSheet()
    environment.probe(_Shell(tmp_path, given), sheet)
    return sheet


def test_interfaces_are_listed_where_a_variable_names_some(tmp_path: Path) -> None:
    sheet = probed(tmp_path, {"NCCL_SOCKET_IFNAME": "eth0"})
    assert sorted(sheet.get("host.interfaces")) == ["ens3", "lo"]


def test_they_are_not_asked_otherwise(tmp_path: Path) -> None:
    assert probed(tmp_path, {"NCCL_DEBUG": "INFO"}).get("host.interfaces") is None
