"""A machine made of files in a folder, with the answers that a tree alone has not: environment, account, opening."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.facts import FactSheet, State
from doctor.system.base import Reading, Stat
from doctor.system.tree import TreeSystem


class Pretend(TreeSystem):
    """`devices`: path → (Stat, what opening it answers)."""

    kind = "capture"

    def __init__(
        self,
        root: Path,
        files: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        account: Mapping[str, Any] | None = None,
        devices: Mapping[str, tuple[Stat, str]] | None = None,
        own: str = "opt/doctor",
    ) -> None:
        for path, text in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        self.given_environ, self.given_account = environ, account
        self.devices, self.own, self.opened = dict(devices or {}), own, list[str]()
        super().__init__(root)

    def environ(self) -> Reading[Mapping[str, str]]:
        state = State.NOT_ASKED if self.given_environ is None else State.VALUE
        return Reading(state, "environment", self.given_environ)

    def account(self) -> Reading[Mapping[str, Any]]:
        state = State.NOT_ASKED if self.given_account is None else State.VALUE
        return Reading(state, "account", self.given_account)

    def stat(self, path: str) -> Reading[Stat]:
        if path in self.devices:
            return Reading(State.VALUE, f"stat:/{path}", self.devices[path][0])
        return super().stat(path)

    def try_open(self, path: str) -> Reading[str]:
        self.opened.append(path)
        return Reading(State.VALUE, f"open:/{path}", self.devices[path][1])

    def derived(self, name: str, path: str, work: Any) -> Reading[Any]:
        return Reading(State.VALUE, name, f"/{self.own}" if name == "own-prefix" else work())


def values(sheet: FactSheet) -> dict[str, Any]:
    return {entry.name: entry.value for entry in sheet}
