"""Wraps a System and keeps what was asked and answered; the entries are those of a capture (docs/captures.md).

Entries are plain JSON data, so a child sends them to its parent, which merges them and saves one folder.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from doctor.system import asked
from doctor.system.base import READ_LIMIT, RUN_LIMIT, Output, Ranges, Reading, Stat, System
from doctor.system.capture_store import write_capture

T = TypeVar("T")


class Recorder:
    """Answers as `inner` does. `entries` maps what was asked to the answer; the first answer stays. `listener` gets
    each entry as it comes, so that what a killed child had read is kept."""

    def __init__(self, inner: System, listener: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.entries: dict[str, dict[str, Any]] = {}
        self.listener = listener
        self._deriving = False

    def merge(self, entries: Mapping[str, dict[str, Any]]) -> None:
        """Adds what a recorder in another process kept."""
        for key, entry in entries.items():
            self.entries.setdefault(key, entry)

    def save(self, folder: Path, *, created: str) -> None:
        """Writes a capture; see `write_capture`."""
        write_capture(folder, self.entries, created=created)

    def _keep(self, key: str, reading: Reading[T], plain: Callable[[T], Any] = lambda value: value) -> Reading[T]:
        if self._deriving:
            return reading  # the derived value is kept instead
        entry: dict[str, Any] = {"state": reading.state.value, "source": reading.source}
        if reading.detail is not None:
            entry["detail"] = reading.detail
        if reading.known:
            entry["value"] = None if reading.value is None else plain(reading.value)
        if key not in self.entries:
            self.entries[key] = entry
            if self.listener:
                self.listener(key, entry)
        return reading

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        return self._keep(asked.key("text", path), self.inner.read_text(path, limit=limit, deadline_s=deadline_s))

    def read_bytes(
        self, path: str, *, offset: int = 0, length: int = READ_LIMIT, deadline_s: float | None = None
    ) -> Reading[bytes]:
        reading = self.inner.read_bytes(path, offset=offset, length=length, deadline_s=deadline_s)
        key = asked.key("bytes", path, offset, length)
        return self._keep(key, reading, lambda value: base64.b64encode(value).decode("ascii"))

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:
        return self._keep(asked.key("list", path), self.inner.list_dir(path, deadline_s=deadline_s), list)

    def stat(self, path: str) -> Reading[Stat]:
        return self._keep(asked.key("stat", path), self.inner.stat(path), asdict)

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:
        return self.inner.sizes(paths, deadline_s=deadline_s)

    def link(self, path: str) -> Reading[str]:
        return self._keep(asked.key("link", path), self.inner.link(path))

    def real(self, path: str) -> Reading[str]:
        return self._keep(asked.key("real", path), self.inner.real(path))

    def try_open(self, path: str) -> Reading[str]:
        return self._keep(asked.key("open", path), self.inner.try_open(path))

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        return self._keep(asked.run_key(argv), self.inner.run(argv, deadline_s=deadline_s, limit=limit), asdict)

    def which(self, name: str) -> Reading[str]:
        return self._keep(f"which:{name}", self.inner.which(name))

    def environ(self) -> Reading[Mapping[str, str]]:
        return self._keep(asked.ENVIRON, self.inner.environ(), dict)

    def account(self) -> Reading[Mapping[str, Any]]:
        return self._keep(asked.ACCOUNT, self.inner.account(), dict)

    def limits(self) -> Reading[Mapping[str, int]]:
        return self._keep(asked.LIMITS, self.inner.limits(), dict)

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:
        return self._keep(asked.NVML, self.inner.nvml(deadline_s=deadline_s), dict)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:
        self._deriving = True
        try:
            reading = self.inner.derived(name, path, work)
        finally:
            self._deriving = False
        return self._keep(asked.derived_key(name, path), reading)

    def derived_from(
        self, name: str, path: str, work: Callable[[Ranges], T], *, deadline_s: float | None = None
    ) -> Reading[T]:
        reading = self.inner.derived_from(name, path, work, deadline_s=deadline_s)
        return self._keep(asked.derived_key(name, path), reading)
