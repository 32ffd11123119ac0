"""The Python package index: releases, files with their hashes, and pieces of wheels by range requests.

`https://pypi.org/simple/NAME/` as JSON (PEP 691) lists files; a wheel's directory lies at its end, so that METADATA and
single libraries cost what they weigh, and not the wheel.
"""

from __future__ import annotations

import json
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from typing import cast

from packaging.tags import Tag
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

INDEX = "https://pypi.org/simple"
_JSON = "application/vnd.pypi.simple.v1+json"
_TIMEOUT_S = 60
_PIECE = 1 << 18

Fetch = Callable[[str, dict[str, str]], bytes]
"""URL and headers -> body. Raises OSError."""


@dataclass(frozen=True)
class File:
    """One file of a release."""

    name: str
    version: str
    url: str
    sha256: str
    size: int
    uploaded: str
    """`2026-10-05`"""
    requires_python: str | None
    tags: frozenset[Tag]
    """Empty for a source archive."""

    @property
    def is_wheel(self) -> bool:
        return bool(self.tags)

    def platforms(self) -> set[str]:
        return {tag.platform for tag in self.tags}


def fetch(url: str, headers: dict[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - only https URLs of the index come here
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
        return cast("bytes", answer.read())


def files(name: str, get: Fetch = fetch) -> list[File]:
    """Every file that is not yanked. Raises OSError where the index can't be reached or has no such project."""
    listing = json.loads(get(f"{INDEX}/{name}/", {"Accept": _JSON}))
    return [file for row in listing["files"] if not row.get("yanked") and (file := _file(row))]


def _file(row: dict[str, object]) -> File | None:
    name = str(row["filename"])
    try:
        if name.endswith(".whl"):
            _, version, _, tags = parse_wheel_filename(name)
        else:
            (_, version), tags = parse_sdist_filename(name), frozenset()
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    hashes = cast("dict[str, str]", row.get("hashes", {}))
    wants = row.get("requires-python")
    return File(
        name, str(version), str(row["url"]), hashes.get("sha256", ""), int(cast("int", row.get("size") or 0)),
        str(row.get("upload-time", ""))[:10], str(wants) if wants else None, tags,
    )  # fmt: skip


def releases(listed: list[File], since: str) -> Iterator[tuple[str, list[File]]]:
    """Final and post releases since a day, the oldest first, each with its files."""
    by_version: dict[str, list[File]] = {}
    for file in listed:
        by_version.setdefault(file.version, []).append(file)
    for version in sorted(by_version, key=Version):
        if not Version(version).is_prerelease and min(f.uploaded for f in by_version[version]) >= since:
            yield version, by_version[version]


class Remote(RawIOBase):
    """A file behind a URL, read by ranges."""

    def __init__(self, file: File, get: Fetch = fetch) -> None:
        self._file, self._get, self._place = file, get, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        start = {SEEK_SET: 0, SEEK_CUR: self._place, SEEK_END: self._file.size}[whence]
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self._file.size - self._place)
        if wanted <= 0:
            return 0
        last = self._place + wanted - 1
        body = self._get(self._file.url, {"Range": f"bytes={self._place}-{last}"})[:wanted]
        buffer[: len(body)] = body
        self._place += len(body)
        return len(body)


def wheel(file: File, get: Fetch = fetch) -> zipfile.ZipFile:
    """A wheel on the index, as a zip whose members are fetched when they are read."""
    return zipfile.ZipFile(BufferedReader(Remote(file, get), _PIECE))


def metadata(file: File, get: Fetch = fetch) -> str:
    """The METADATA of a wheel."""
    with wheel(file, get) as opened:
        name = next(n for n in opened.namelist() if n.count("/") == 1 and n.endswith(".dist-info/METADATA"))
        return opened.read(name).decode("utf-8", "replace")
