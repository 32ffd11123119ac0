"""Writes a bundle: a gzipped tar with its manifest first, whole or not at all, mode 0600."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from doctor import __version__
from doctor.errors import InputError

SCHEMA = "doctor.bundle/1"
MANIFEST = "manifest.json"
CAPTURE = "capture.json"


@dataclass(frozen=True)
class Part:
    """One file of a bundle. `cut` says what was left away of it, and why."""

    name: str
    origin: str
    content: bytes
    cut: str | None = None
    required: bool = False
    """Kept whatever the budget is: the recording and the report."""


@dataclass(frozen=True)
class LeftOut:
    """What was asked for and is not in the bundle."""

    origin: str
    why: str


def within(parts: Sequence[Part], budget: int) -> tuple[list[Part], list[LeftOut]]:
    """Parts in their order as long as their sizes fit into `budget` bytes before compression."""
    left = budget - sum(len(p.content) for p in parts if p.required)
    kept, out = [], []
    for part in parts:
        if part.required:
            kept.append(part)
        elif len(part.content) <= left:
            kept.append(part)
            left -= len(part.content)
        else:
            out.append(LeftOut(part.origin, f"{len(part.content)} bytes are more than what the size budget leaves"))
    return kept, out


def mark_of(key: bytes) -> str:
    """By which two bundles show that they have the same pseudonyms, and nothing else."""
    return hashlib.sha256(b"doctor.key-mark/1" + key).hexdigest()[:12]


def manifest(
    parts: Sequence[Part],
    left_out: Sequence[LeftOut],
    removed: Mapping[str, Mapping[str, int]],
    created: str,
    key: bytes | None = None,
) -> bytes:
    """What each file is, what was replaced in it by kind, and what is missing and why; of a key that machines share,
    its mark."""
    rows = [
        {
            "name": part.name,
            "origin": part.origin,
            "bytes": len(part.content),
            "sha256": hashlib.sha256(part.content).hexdigest(),
            "cut": part.cut,
        }
        for part in parts
    ]
    head = {
        "schema": SCHEMA,
        "doctor": __version__,
        "created": created,
        **({"key": mark_of(key)} if key else {}),
        "files": rows,
        "left_out": [asdict(row) for row in left_out],
        "removed": removed,
    }
    return json.dumps(head, indent=1).encode() + b"\n"


def partial(path: Path) -> Path:
    """Where a bundle is written before it gets its name. One that was killed leaves it; the next one replaces it."""
    return path.with_name(f".{path.name}.doctor-partial")


def write(path: Path, files: Mapping[str, bytes]) -> int:
    """Beside its place first, then renamed; the bytes of the archive. Raises InputError when it can't be written, and
    leaves nothing."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise InputError(f"{path}: is not a regular file; name a new one")
    packed = _packed(files)
    beside = partial(path)
    try:
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from error
    try:
        with os.fdopen(descriptor, "wb") as held:
            held.write(packed)
            held.flush()
            os.fsync(held.fileno())
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return len(packed)


def _packed(files: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o600
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(held.getvalue(), 6, mtime=0)
