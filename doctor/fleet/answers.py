"""A folder of reports, or a stream of them -> one answer after the other, each with the node that it is of.

In a folder each file is one node's, and its name tells which: `NODE.json`, `NODE.jsonl`, `NODE.out`. In a stream each
line is one report, with `NODE: ` before it as pdsh, clush and `srun --label` write it, or in an object
`{"node": NAME, "report": {...}}`; a folder may have such a stream as `answers.jsonl`. What ansible tells of a command
(`{"stdout": "{...}", ...}`) is opened.
One report is in memory at a time.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from doctor.errors import InputError

_LARGEST = 64 << 20
"""Bytes of one report; real ones have less than one MiB."""
_SUFFIXES = (".json", ".jsonl", ".out", "")
_BESIDE = (".err", ".log")
"""A file beside a report that is none: stderr of the node."""
_PREFIX = re.compile(r"(?:\[[^\]\s]{1,600}\]\s+)?\[?([^\s{\[\]:]{1,253})[\]:]?:?\s*")
"""`n1:`, `[pod/NAME/container]`, or the one after the other."""
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,252}):")
SILENT = "it wrote nothing"
"""Why a node has no report, where nobody says more."""
SCHEMAS = ("doctor.report/1", "doctor.report/2")
ANSWERS = "answers.jsonl"
"""The file of a folder that is a stream of many nodes."""


class Answer(NamedTuple):
    """`report` is None where there is none to judge; `fault` says why then, in words."""

    node: str
    report: Mapping[str, Any] | None
    fault: str | None = None


def _paths(folder: Path) -> list[Path]:
    """In the order of the names. InputError when the folder can't be listed."""
    try:
        found = sorted(p for p in folder.iterdir() if p.suffix in _SUFFIXES and not p.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error
    return [path for path in found if path.is_file() and not path.is_symlink()]


def signature(folder: Path) -> int:
    """Another one where a report came, went or was written again. InputError when the folder can't be listed."""
    stats = []
    for path in _paths(folder):
        with contextlib.suppress(OSError):  # gone since
            at = path.stat()
            stats.append((path.name, at.st_ino, at.st_size, at.st_mtime_ns))
    return hash(tuple(stats))


def of_folder(folder: Path) -> Iterator[Answer]:
    """In the order of the names. InputError when the folder can't be listed."""
    for path in _paths(folder):
        if path.name == ANSWERS:
            yield from _of_answers(path)
        else:
            yield _of_file(path)


def _of_answers(path: Path) -> Iterator[Answer]:
    try:
        with path.open("rb") as held:
            yield from of_stream(held, str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _of_file(path: Path) -> Answer:
    node = path.name.removesuffix(path.suffix) if path.suffix in _SUFFIXES[:-1] else path.name
    try:
        if path.stat().st_size > _LARGEST:
            return Answer(node, None, "its report is larger than 64 MiB")
        text = path.read_bytes()
    except OSError as error:
        return Answer(node, None, f"its report can't be read: {error.strerror or error}")
    if not text.strip():
        return Answer(node, None, _said(path) or SILENT)
    found = _of_content(node, text)
    return found._replace(fault=_said(path) or SILENT) if found.fault == SILENT else found


def _said(path: Path) -> str | None:
    """The last line of what the node wrote to stderr, where that was kept beside its report."""
    for suffix in _BESIDE:
        beside = path.with_suffix(suffix)
        if beside.is_file() and not beside.is_symlink():
            with beside.open("rb") as held:
                held.seek(max(0, beside.stat().st_size - 4096))
                lines = held.read(4096).decode(errors="replace").split("\n")
            return next((line.strip()[:200] for line in reversed(lines) if line.strip()), None)
    return None


def of_stream(stream: IO[bytes], name: str = "stdin") -> Iterator[Answer]:
    """Each as soon as its line is there. A report over several lines begins with `{` alone on a line and ends so
    with `}`."""
    number = 0
    held: list[bytes] = []
    size = 0
    while line := stream.readline(_LARGEST + 1):
        bare = line.rstrip()
        size += len(line)
        if size > _LARGEST:
            raise InputError(f"{name}: a report is larger than 64 MiB")
        if held or bare == b"{":
            held.append(line)
            if bare != b"}":
                continue
            bare, held = b"".join(held), []
        size = 0
        if bare:
            number += 1
            yield _of_line(bare, number)
    if held:
        yield Answer(f"#{number + 1}", None, "the stream ends within its report")


def _of_line(line: bytes, number: int) -> Answer:
    start = line.find(b"{")
    prefix = line[: start if start >= 0 else len(line)][:300].decode(errors="replace").strip()
    match = _PREFIX.fullmatch(prefix)
    node = _last(match[1]) if match else f"#{number}"
    if start < 0 and match and prefix.endswith(":"):
        return Answer(node, None, SILENT)
    if start < 0:
        return Answer(node, None, f"it answered no report: {prefix[:120]!r}")
    return _opened(node, line[start:])


def _last(name: str) -> str:
    """`pod/NAME/container`, as kubectl --prefix writes it: the pod."""
    parts = name.split("/")
    return parts[1] if len(parts) == 3 else parts[-1]


def _of_content(node: str, text: bytes) -> Answer:
    """A file whose first word is `NODE: ` says itself of which node it is."""
    start = text.find(b"{")
    before = text[: start if start >= 0 else len(text)].strip()
    match = _NAMED.fullmatch(before[:300].decode(errors="replace"))
    if not match:
        return _opened(node, text)
    return _opened(match[1], text[start:]) if start >= 0 else Answer(match[1], None, SILENT)


def _opened(node: str, text: bytes) -> Answer:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Answer(node, None, _cut_off(text))
    if isinstance(data, dict) and "report" in data and isinstance(data.get("node"), str):
        node, data = data["node"][:253], data["report"]
    if isinstance(data, dict) and isinstance(data.get("stdout"), str):  # ansible's
        return _opened(node, data["stdout"].encode()) if data["stdout"].strip() else Answer(node, None, _error_of(data))
    if isinstance(data, dict) and data.get("schema") in SCHEMAS and _sound(data):
        return Answer(node, data)
    return Answer(node, None, _error_of(data) if isinstance(data, dict) else "what it wrote is no doctor.report/2")


def _sound(data: Mapping[str, Any]) -> bool:
    """That what is looked at has the form that the schema says; the whole schema would cost more than the verdict."""
    findings = data.get("findings", [])
    return (
        isinstance(data.get("snapshot", {}), dict)
        and isinstance(findings, list)
        and all(isinstance(f, dict) and {"rule", "severity", "summary"} <= f.keys() for f in findings)
    )


def _error_of(data: Mapping[str, Any]) -> str:
    """Why an outside program got no report, in its own words; of `timeout`, which has none, in ours."""
    command = data.get("cmd")
    if data.get("rc") in (124, 137) and isinstance(command, list) and command[:1] == ["timeout"]:
        return f"no answer within {command[1]} s"[:200] if len(command) > 1 else SILENT
    for key in ("fault", "error", "msg", "stderr"):
        if isinstance(data.get(key), str) and data[key].strip():
            return str(data[key]).strip().splitlines()[-1][:200]
    return "what it wrote is no doctor.report/2"


def _cut_off(text: bytes) -> str:
    last = text.strip().splitlines()[-1][:120].decode(errors="replace")
    return "its report is cut off" if text.lstrip()[:1] == b"{" else f"it answered no report: {last!r}"
