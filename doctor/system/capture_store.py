"""A capture on disk: a folder with `capture.json` and the larger contents beside it. docs/captures.md is the format."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor import __version__
from doctor.errors import InputError
from doctor.facts.origin import State

SCHEMA = "doctor.capture/1"
INDEX = "capture.json"
INDEX_LIMIT = 64 << 20
FILE_LIMIT = 64 << 20
"""Bytes of one content file beside the index."""
INLINE_LIMIT = 2000
"""Texts up to this many characters are in the index, longer ones in a file."""
_STATES = frozenset(state.value for state in State)


def write_capture(folder: Path, entries: Mapping[str, dict[str, Any]], *, created: str) -> None:
    """Writes a new folder beside its place and renames it, with modes 0700 and 0600. `created` is a date and time in
    ISO 8601. InputError where the folder is there already or can't be written."""
    beside = folder.with_name(f".{folder.name}.{os.getpid()}")
    if folder.exists():
        raise InputError(f"{folder}: is there already; name a new folder for the capture")
    try:
        beside.mkdir(mode=0o700)
        index = {key: _stored(beside, number, key, entries[key]) for number, key in enumerate(sorted(entries), 1)}
        head = {"schema": SCHEMA, "doctor": __version__, "created": created, "entries": index}
        _write(beside / INDEX, json.dumps(head, indent=1, sort_keys=True).encode() + b"\n")
        beside.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: can't be written: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _stored(folder: Path, number: int, key: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry as the index holds it, its content moved to a file where it is long."""
    value = entry.get("value")
    if not isinstance(value, str) or len(value) <= INLINE_LIMIT:
        return entry
    name = f"{number:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '_', key)[:80]}"
    _write(folder / name, base64.b64decode(value) if key.startswith("bytes:") else value.encode("utf-8", "replace"))
    return {**{k: v for k, v in entry.items() if k != "value"}, "file": name}


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def read_index(folder: Path) -> dict[str, dict[str, Any]]:
    """The entries of a capture, each checked for its form. InputError says in one line what is wrong."""
    place = folder / INDEX
    try:
        head = json.loads(read_within(folder, INDEX, INDEX_LIMIT))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not JSON ({type(error).__name__})"
        raise InputError(f"{place}: {reason}; a capture is a folder with {INDEX}") from None
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        raise InputError(f"{place}: its schema is not {SCHEMA}")
    entries = head.get("entries")
    if not isinstance(entries, dict):
        raise InputError(f"{place}: no table of entries")
    for key, entry in entries.items():
        if fault := _fault(entry):
            raise InputError(f"{place}: entry {json.dumps(key)[:100]}: {fault}")
    return entries


def _fault(entry: Any) -> str | None:
    if not isinstance(entry, dict) or entry.get("state") not in _STATES:
        return "no known state"
    if not all(isinstance(entry.get(name, ""), str) for name in ("detail", "source", "file")):
        return "detail, source and file are texts"
    parts = entry.get("file", "x").split("/")
    return "its file is outside the folder" if {"", ".", ".."} & {*parts} or "\0" in entry.get("file", "") else None


def read_within(folder: Path, name: str, limit: int) -> bytes:
    """A regular file below `folder`, reached without following a link below it. Raises OSError, ValueError when it is
    something else or larger than `limit` bytes."""
    *above, last = name.split("/")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in above:
            descriptor = _step(descriptor, step, os.O_RDONLY | os.O_DIRECTORY)
        descriptor = _step(descriptor, last, os.O_RDONLY | os.O_NONBLOCK)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            raise ValueError(f"{name}: not a regular file of at most {limit} bytes")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(limit)
    finally:
        os.close(descriptor)


def _step(descriptor: int, name: str, flags: int) -> int:
    """Opens one step further and closes the folder it came from; closes nothing when it raises."""
    inner = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
    os.close(descriptor)
    return inner


def decode_bytes(text: str) -> bytes:
    """Inline bytes are base64; ValueError otherwise."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
