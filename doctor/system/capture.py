"""A machine replayed from a capture (docs/captures.md): answers what was asked then, and `not-recorded` to all else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from doctor.facts.origin import State
from doctor.system import asked
from doctor.system.base import READ_LIMIT, RUN_LIMIT, Output, Ranges, Reading, Stat
from doctor.system.capture_store import FILE_LIMIT, decode_bytes, read_index, read_within

T = TypeVar("T")


class CaptureSystem:
    """The machine of a capture. A value whose type is not that of its question is `unreadable`."""

    kind = "capture"
    """`live` or `tree` where the recording says that it is one: what probes ask depends on it."""
    redacted = False
    """Of a bundle: names and ids in it are stand-ins."""

    def __init__(self, folder: Path) -> None:
        """InputError where the folder is no capture."""
        self._folder: Path | None = folder
        self._entries: Mapping[str, dict[str, Any]] = read_index(folder)
        self.kind = _recorded_kind(self._entries)

    @classmethod
    def of(cls, entries: Mapping[str, dict[str, Any]]) -> CaptureSystem:
        """A capture that lies in memory: a recorder's entries, or a test's."""
        capture = cls.__new__(cls)
        capture._folder, capture._entries, capture.kind = None, entries, _recorded_kind(entries)
        return capture

    def _answer(self, key: str, source: str, decode: Callable[[Any], T]) -> Reading[T]:
        entry = self._entries.get(key)
        if entry is None:
            return Reading(State.NOT_RECORDED, source, None, "the capture does not hold it")
        state, source, detail = State(entry["state"]), entry.get("source", source), entry.get("detail")
        if state is not State.VALUE:
            return Reading(state, source, None, detail)
        try:
            return Reading(state, source, decode(self._value(entry, key)), detail)
        except (OSError, ValueError, TypeError, KeyError) as error:
            return Reading(State.UNREADABLE, source, None, f"the capture's entry is damaged: {error}"[:200])

    def _value(self, entry: Mapping[str, Any], key: str) -> Any:
        """The inline value, or the content of its file (text, or bytes for `bytes:`)."""
        if "file" not in entry:
            return entry["value"]
        if self._folder is None:
            raise ValueError("a file, and no folder")
        content = read_within(self._folder, entry["file"], FILE_LIMIT)
        return content if key.startswith("bytes:") else content.decode("utf-8", "replace")

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:  # noqa: ARG002  an answer takes no time
        reading = self._answer(asked.key("text", path), asked.file_source(path), _text)
        if reading.value is not None and len(reading.value.encode("utf-8", "replace")) > limit:
            return Reading(State.TOO_LARGE, reading.source, None, f"more than {limit} bytes")
        return reading

    def read_bytes(
        self,
        path: str,
        *,
        offset: int = 0,
        length: int = READ_LIMIT,
        deadline_s: float | None = None,  # noqa: ARG002
    ) -> Reading[bytes]:
        reading = self._answer(asked.key("bytes", path, offset, length), asked.file_source(path), _bytes)
        if reading.value is not None and len(reading.value) > length:
            return Reading(State.UNREADABLE, reading.source, None, "the capture holds more than was asked for")
        return reading

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:  # noqa: ARG002
        return self._answer(asked.key("list", path), asked.file_source(path), _names)

    def stat(self, path: str) -> Reading[Stat]:
        return self._answer(asked.key("stat", path), asked.file_source(path), _stat)

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:  # noqa: ARG002
        return Reading(State.NOT_RECORDED, asked.file_source(paths[0] if paths else ""), None, "only what came of it")

    def link(self, path: str) -> Reading[str]:
        return self._answer(asked.key("link", path), asked.file_source(path), _text)

    def real(self, path: str) -> Reading[str]:
        return self._answer(asked.key("real", path), asked.file_source(path), _text)

    def try_open(self, path: str) -> Reading[str]:
        return self._answer(asked.key("open", path), asked.file_source(path), _text)

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:  # noqa: ARG002
        return self._answer(asked.run_key(argv), asked.command_source(argv), _output)

    def which(self, name: str) -> Reading[str]:
        return self._answer(f"which:{name}", asked.command_source([name]), _text)

    def environ(self) -> Reading[Mapping[str, str]]:
        return self._answer(asked.ENVIRON, "environment", _texts)

    def account(self) -> Reading[Mapping[str, Any]]:
        return self._answer(asked.ACCOUNT, "account", _account)

    def limits(self) -> Reading[Mapping[str, int]]:
        return self._answer(asked.LIMITS, "limits", _numbers)

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:  # noqa: ARG002
        return self._answer(asked.NVML, "nvml", _table)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:  # noqa: ARG002
        return self._answer(asked.derived_key(name, path), asked.file_source(path), lambda value: value)

    def derived_from(
        self,
        name: str,
        path: str,
        work: Callable[[Ranges], T],  # noqa: ARG002
        *,
        deadline_s: float | None = None,  # noqa: ARG002
    ) -> Reading[T]:
        return self._answer(asked.derived_key(name, path), asked.file_source(path), lambda value: value)


def _recorded_kind(entries: Mapping[str, dict[str, Any]]) -> str:
    kind = entries.get(asked.KIND, {}).get("value")
    return kind if kind in ("live", "tree") else "capture"


def _is(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """The value, or ValueError when it is of another type (a bool is no number)."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{what} is no {kind.__name__ if isinstance(kind, type) else 'number'}")
    return value


def _text(value: Any) -> str:
    return str(_is(value, str, "the value"))


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else decode_bytes(_text(value))


def _names(value: Any) -> tuple[str, ...]:
    return tuple(sorted(str(_is(name, str, "a name")) for name in _is(value, list, "the value")))


def _table(value: Any) -> dict[str, Any]:
    return dict(_is(value, dict, "the value"))


def _texts(value: Any) -> dict[str, str]:
    return {name: str(_is(text, str, name)) for name, text in _table(value).items()}


def _numbers(value: Any) -> dict[str, int]:
    return {name: int(_is(number, int, name)) for name, number in _table(value).items()}


def _account(value: Any) -> dict[str, Any]:
    table = _table(value)
    gids = [_is(gid, int, "a gid") for gid in _is(table["gids"], list, "gids")]
    return {"uid": _is(table["uid"], int, "uid"), "gid": _is(table["gid"], int, "gid"), "gids": gids}


def _stat(value: Any) -> Stat:
    table = _table(value)
    numbers = {name: _is(table[name], int, name) for name in ("mode", "uid", "gid", "size")}
    device = {name: _is(table[name], int, name) for name in ("major", "minor") if table.get(name) is not None}
    return Stat(kind=_text(table["kind"]), **numbers, **device)


def _output(value: Any) -> Output:
    table = _table(value)
    seconds = float(_is(table.get("seconds", 0.0), (int, float), "seconds"))
    return Output(
        code=_is(table["code"], int, "code"),
        stdout=_text(table["stdout"]),
        stderr=_text(table.get("stderr", "")),
        seconds=seconds,
        cut=bool(table.get("cut", False)),
    )
