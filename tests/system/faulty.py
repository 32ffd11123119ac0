"""A System on which everything goes wrong in one way: for running a whole check against a hostile machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from doctor.facts.origin import State
from doctor.system import asked
from doctor.system.base import READ_LIMIT, RUN_LIMIT, Output, Ranges, Reading, Stat, System
from doctor.system.files import derive
from doctor.system.tree import TreeSystem

T = TypeVar("T")
Mode = Literal["hangs", "absent", "denied", "garbage", "cut", "1GB"]

GARBAGE = "\x1b[31m\x00\ufffd{]<!--\udcff'; ${IFS}\r\n" * 40
_HANG_S = 3600.0


class FaultySystem:
    """`inner` seen through one fault. `hangs` ignores its deadline, as a read that the kernel holds does; `cut` gives
    the first half of each text, list and output; `1GB` gives every text from a sparse file of that size in `folder`."""

    def __init__(self, inner: System, mode: Mode, folder: Path | None = None) -> None:
        self.inner, self.mode, self.kind = inner, mode, inner.kind
        self._huge: TreeSystem | None = None
        if mode == "1GB":
            assert folder is not None
            with (folder / "huge").open("wb") as file:
                os.truncate(file.fileno(), 1 << 30)
            self._huge = TreeSystem(folder)

    def _answer(self, source: str, ask: Callable[[], Reading[T]], garbage: T, cut: Callable[[T], T]) -> Reading[T]:
        if self.mode == "hangs":
            time.sleep(_HANG_S)
        if self.mode == "absent":
            return Reading(State.ABSENT, source, None, "ENOENT")
        if self.mode == "denied":
            return Reading(State.DENIED, source, None, "EACCES")
        if self.mode == "garbage":
            return Reading(State.VALUE, source, garbage)
        reading = ask()
        if self.mode == "cut" and reading.value is not None:
            return Reading(State.VALUE, source, cut(reading.value))
        return reading

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        source = asked.file_source(path)
        if self._huge:
            return self._huge.read_text("huge", limit=limit).named(source)
        ask = lambda: self.inner.read_text(path, limit=limit, deadline_s=deadline_s)  # noqa: E731
        return self._answer(source, ask, GARBAGE, _half)

    def read_bytes(
        self, path: str, *, offset: int = 0, length: int = READ_LIMIT, deadline_s: float | None = None
    ) -> Reading[bytes]:
        source = asked.file_source(path)
        if self._huge:
            return self._huge.read_bytes("huge", offset=offset, length=length).named(source)
        ask = lambda: self.inner.read_bytes(path, offset=offset, length=length, deadline_s=deadline_s)  # noqa: E731
        return self._answer(source, ask, os.urandom(min(length, 4096)), lambda value: value[: len(value) // 2])

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:
        ask = lambda: self.inner.list_dir(path, deadline_s=deadline_s)  # noqa: E731
        return self._answer(asked.file_source(path), ask, (GARBAGE[:40], "0000:zz:00.0"), lambda n: n[: len(n) // 2])

    def stat(self, path: str) -> Reading[Stat]:
        garbage = Stat("unknown", 0o7777, 2**32 - 1, 2**32 - 1, 2**62, 4095, 2**20 - 1)
        return self._answer(asked.file_source(path), lambda: self.inner.stat(path), garbage, _same)

    def link(self, path: str) -> Reading[str]:
        return self._answer(asked.file_source(path), lambda: self.inner.link(path), GARBAGE, _half)

    def real(self, path: str) -> Reading[str]:
        return self._answer(asked.file_source(path), lambda: self.inner.real(path), GARBAGE, _half)

    def try_open(self, path: str) -> Reading[str]:
        return self._answer(asked.file_source(path), lambda: self.inner.try_open(path), "EWHAT", _half)

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        ask = lambda: self.inner.run(argv, deadline_s=deadline_s, limit=limit)  # noqa: E731
        garbage = Output(139, GARBAGE, GARBAGE, 0.1)
        return self._answer(asked.command_source(argv), ask, garbage, _half_output)

    def which(self, name: str) -> Reading[str]:
        return self._answer(asked.command_source([name]), lambda: self.inner.which(name), GARBAGE, _half)

    def environ(self) -> Reading[Mapping[str, str]]:
        return self._answer("environment", self.inner.environ, {"HIP_VISIBLE_DEVICES": GARBAGE, GARBAGE: "1"}, _same)

    def account(self) -> Reading[Mapping[str, Any]]:
        return self._answer("account", self.inner.account, {"uid": -1, "gid": -1, "gids": []}, _same)

    def limits(self) -> Reading[Mapping[str, int]]:
        return self._answer("limits", self.inner.limits, {"memlock": -7, "nofile": 0}, _same)

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:
        garbage = {"gpus": [{"index": "x", "pci_address": GARBAGE, "memory_total": -1}, None, 7], "driver_version": 5}
        return self._answer("nvml", lambda: self.inner.nvml(deadline_s=deadline_s), garbage, _same)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:
        if self.mode == "hangs":
            time.sleep(_HANG_S)
        if self.mode in ("absent", "denied"):
            return Reading(State(self.mode), asked.file_source(path))
        return derive(asked.file_source(path), work)

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:
        return self.inner.sizes(paths, deadline_s=deadline_s)

    def derived_from(
        self, name: str, path: str, work: Callable[[Ranges], T], *, deadline_s: float | None = None
    ) -> Reading[T]:
        return self.derived(
            name, path, lambda: _value(self.inner.derived_from(name, path, work, deadline_s=deadline_s))
        )


def _half(value: str) -> str:
    return value[: len(value) // 2]


def _half_output(output: Output) -> Output:
    return Output(output.code, _half(output.stdout), _half(output.stderr), output.seconds, True)


def _same(value: T) -> T:
    return value


def _value(reading: Reading[T]) -> T:
    if reading.value is None:
        raise OSError(2, reading.detail or "nothing")
    return reading.value
