"""Opens a bundle in memory. Nothing is unpacked to disk, followed or executed, and every size is bounded before it is
used; what is not a plain ustar archive of plain files is refused with one line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from doctor.bundle.pack import CAPTURE, MANIFEST, SCHEMA
from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system.capture import CaptureSystem
from doctor.system.capture_store import SCHEMA as CAPTURE_SCHEMA

PACKED_LIMIT = 64 << 20
UNPACKED_LIMIT = 192 << 20
FILES_LIMIT = 2000
JSON_LIMIT = 64 << 20
STRUCTURE_LIMIT = 3_000_000
"""Brackets and commas of one JSON file: what bounds the memory that parsing takes."""
_BLOCK = 512
_NAME = re.compile(r"[A-Za-z0-9._+-][A-Za-z0-9._+/-]{0,98}")
_STATES = frozenset(state.value for state in State)


@dataclass(frozen=True)
class Bundle:
    """An opened bundle. Each file's hash is that of the manifest."""

    path: str
    manifest: dict[str, Any]
    files: dict[str, bytes]

    def system(self) -> CaptureSystem:
        system = CaptureSystem.of(_entries(self.path, self.files))
        system.redacted = True
        return system

    def report(self) -> dict[str, Any] | None:
        return parsed(self.path, "report.json", self.files["report.json"]) if "report.json" in self.files else None


def is_bundle(path: Path) -> bool:
    try:
        if not path.is_file():  # opening a FIFO would wait for its writer
            return False
        with path.open("rb") as held:
            return held.read(2) == b"\x1f\x8b"
    except OSError:
        return False


def open_bundle(path: Path) -> Bundle:
    """Raises InputError, one line, for whatever is wrong with it."""
    files = _members(str(path), _unpacked(str(path), _content(path)))
    if MANIFEST not in files:
        _refuse(str(path), f"no {MANIFEST}: this is not a bundle")
    manifest = parsed(str(path), MANIFEST, files.pop(MANIFEST))
    schema = manifest.get("schema")
    if schema != SCHEMA:
        newer = isinstance(schema, str) and re.fullmatch(rf"{SCHEMA.rpartition('/')[0]}/\d{{1,6}}", schema)
        _refuse(
            str(path), f"made by a newer doctor ({schema}): update this one" if newer else f"its schema is not {SCHEMA}"
        )
    rows = manifest.get("files")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        _refuse(str(path), f"{MANIFEST}: files is not a list of tables")
    digests = {str(row.get("name")): row.get("sha256") for row in rows}
    if set(digests) != set(files):
        _refuse(str(path), f"{MANIFEST} and the files in it differ")
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != digests[name]:
            _refuse(str(path), f"{name}: its content is not what {MANIFEST} says (sha256)")
    return Bundle(str(path), manifest, files)


def _refuse(path: str, reason: str) -> NoReturn:
    raise InputError(f"{path}: {reason}")


def _content(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as held:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > PACKED_LIMIT:
                _refuse(str(path), f"not a regular file of at most {PACKED_LIMIT >> 20} MiB")
            return held.read(PACKED_LIMIT + 1)
    except (OSError, ValueError) as error:
        _refuse(str(path), getattr(error, "strerror", None) or str(error))


def _unpacked(path: str, packed: bytes) -> bytes:
    engine = zlib.decompressobj(wbits=31)
    try:
        raw = engine.decompress(packed, UNPACKED_LIMIT)
    except zlib.error:
        _refuse(path, "not a gzip archive, so not a bundle (`doctor triage` reads pasted text)")
    if engine.unconsumed_tail:
        _refuse(path, f"more than {UNPACKED_LIMIT >> 20} MiB when unpacked")
    if not engine.eof:
        _refuse(path, "cut off: the archive ends in the middle")
    if engine.unused_data:
        _refuse(path, "something follows the archive")
    return raw


def _members(path: str, raw: bytes) -> dict[str, bytes]:
    """The plain files of a ustar archive. Links, devices, folders, long names and sparse files are refused."""
    files: dict[str, bytes] = {}
    place = 0
    while place + _BLOCK <= len(raw):
        head = raw[place : place + _BLOCK]
        if not head.strip(b"\0"):
            return files
        name, size = _head(path, head)
        place += _BLOCK
        if name in files:
            _refuse(path, f"{name} is in it twice")
        if len(files) >= FILES_LIMIT:
            _refuse(path, f"more than {FILES_LIMIT} files")
        if place + size > len(raw):
            _refuse(path, f"cut off in {name}")
        files[name] = raw[place : place + size]
        place += -(-size // _BLOCK) * _BLOCK
    _refuse(path, "cut off: the archive has no end mark")


def _head(path: str, head: bytes) -> tuple[str, int]:
    try:
        checksum, size = int(head[148:156].strip(b" \0"), 8), int(head[124:136].strip(b" \0"), 8)
    except ValueError:
        _refuse(path, "damaged: no tar header where one is due")
    if sum(head) - sum(head[148:156]) + 8 * 32 != checksum or size < 0:
        _refuse(path, "damaged: a tar header's checksum is wrong")
    name = head[:100].rstrip(b"\0").decode("ascii", "replace")
    if head[156:157] not in (b"0", b"\0") or head[345:500].strip(b"\0"):
        _refuse(path, "holds something else than plain files (a link, device, folder or long name)")
    if not _NAME.fullmatch(name) or {"", ".", ".."} & {*name.split("/")}:
        _refuse(path, f"a file in it has an unsafe name: {name[:60]!r}")
    return name, size


def parsed(path: str, name: str, content: bytes) -> dict[str, Any]:
    """A JSON object of bounded size. Raises InputError."""
    if len(content) > JSON_LIMIT or sum(map(content.count, (b"[", b"{", b","))) > STRUCTURE_LIMIT:
        _refuse(path, f"{name}: too large")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"{name}: not JSON ({type(error).__name__})")
    if not isinstance(data, dict):
        _refuse(path, f"{name}: not a JSON object")
    return data


def _entries(path: str, files: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    if CAPTURE not in files:
        _refuse(path, f"no {CAPTURE}: nothing to check")
    head = parsed(path, CAPTURE, files[CAPTURE])
    entries = head.get("entries")
    if head.get("schema") != CAPTURE_SCHEMA or not isinstance(entries, dict):
        _refuse(path, f"{CAPTURE}: its schema is not {CAPTURE_SCHEMA}")
    for key, entry in entries.items():
        fine = isinstance(entry, dict) and entry.get("state") in _STATES and "file" not in entry
        if not fine or not all(isinstance(entry.get(name, ""), str) for name in ("detail", "source")):
            _refuse(path, f"{CAPTURE}: entry {json.dumps(key)[:100]} is damaged")
    return entries
