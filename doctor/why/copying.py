"""A copy of a folder's files that shares nothing with the original and can be put back after anything ran in it.

No hard links: a command that truncates, chmods or writes to a linked library would change the user's own. Where the
file system shares blocks (Btrfs, XFS, bcachefs: FICLONE) a copy costs no space and no time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from doctor.errors import InputError

_FICLONE = 0x40049409
"""linux/fs.h."""
_TEXT_LIMIT = 1 << 20
LEAST_FREE = 256 << 20
"""Bytes left on the disk below which nothing is copied, and a run is stopped."""
_SHEBANG = 127
"""Bytes of a first line that every kernel reads (binfmt_script.c, BINPRM_BUF_SIZE was 128 before 5.1)."""


@dataclass(frozen=True)
class Source:
    """A file to copy, or with `link` a symbolic link. `prefix` is the environment that its text may name."""

    path: str
    prefix: str
    link: str | None = None


def listed(prefix: Path) -> dict[str, Source]:
    """What lies under a folder: path below it -> its source. Links that leave the folder become copies in site-packages
    (uv makes such links into its cache), and stay links elsewhere (bin/python). Sockets, FIFOs and devices stay out."""
    top, real = str(prefix), os.path.realpath(prefix)
    return {os.path.relpath(path, top): made for path in _paths(top) if (made := _source(path, top, real))}


def _paths(top: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename}: can't be copied: {error.strerror}")

    for folder, folders, files in os.walk(top, onerror=refuse):
        yield from (f"{folder}/{name}" for name in files)
        yield from (f"{folder}/{name}" for name in folders if os.path.islink(f"{folder}/{name}"))


def _source(path: str, top: str, real: str) -> Source | None:
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode):
        return Source(path, top)
    if not stat.S_ISLNK(mode):
        return None
    end, target = os.path.realpath(path), os.readlink(path)
    if end == real or end.startswith(f"{real}/"):
        return Source(path, top, os.path.relpath(end, os.path.dirname(f"{real}{path[len(top) :]}")))
    if "/site-packages/" in path and os.path.isfile(path):
        return Source(path, top)
    return Source(path, top, target if target.startswith("/") else end)


class Copy:
    """The files of `wanted` under `folder`; `put` makes it so, whatever was done there since."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._here: dict[str, tuple[Source, tuple[int, int]]] = {}

    def put(self, wanted: Mapping[str, Source]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove(wanted)
            for name, source in wanted.items():
                if name not in self._here:
                    if shutil.disk_usage(self.folder).free < LEAST_FREE:
                        raise InputError(
                            f"too little space for a copy under {self.folder}; set TMPDIR to a larger disk"
                        )
                    self._here[name] = (source, self._made(name, source))
        except OSError as error:
            raise InputError(f"{error.filename}: can't be copied: {error.strerror or error}") from error

    def _remove(self, wanted: Mapping[str, Source]) -> None:
        """What is not wanted, or is no longer what was put there: its inode or the time of its last change differ."""
        found: set[str] = set()
        for folder, folders, files in os.walk(self.folder):
            os.chmod(folder, 0o700)
            linked = [name for name in folders if os.path.islink(f"{folder}/{name}")]
            for path in (f"{folder}/{name}" for name in (*files, *linked)):
                name = os.path.relpath(path, self.folder)
                source, was = self._here.get(name, (None, None))
                if source is not None and source == wanted.get(name) and was == _signature(path):
                    found.add(name)
                else:
                    os.unlink(path)
        self._here = {name: row for name, row in self._here.items() if name in found}
        for folder, _, _ in os.walk(self.folder, topdown=False):
            if folder != str(self.folder):
                with suppress(OSError):  # it has files
                    os.rmdir(folder)  # Python would import an empty one as a package

    def _made(self, name: str, source: Source) -> tuple[int, int]:
        target = f"{self.folder}/{name}"
        if os.path.isdir(target) and not os.path.islink(target):
            shutil.rmtree(target)  # a folder of COMMAND's in the place of a file
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if source.link is not None:
            os.symlink(source.link, target)
        else:
            clone(source.path, target)
            self._rename(name, target, source.prefix)
        return _signature(target)

    def _rename(self, name: str, target: str, prefix: str) -> None:
        """Scripts and path files that name the environment name the copy."""
        if not (name.startswith("bin/") or name.endswith(".pth")) or os.stat(target).st_size > _TEXT_LIMIT:
            return
        content = Path(target).read_bytes()
        if prefix.encode() in content and b"\0" not in content:
            Path(target).write_bytes(_short_shebang(content.replace(prefix.encode(), bytes(self.folder))))


def _short_shebang(content: bytes) -> bytes:
    """A first line that is too long for the kernel, by way of a shell, as pip writes it."""
    first, newline, rest = content.partition(b"\n")
    if not first.startswith(b"#!") or len(first) <= _SHEBANG or b"python" not in first:
        return content
    return b"#!/bin/sh\n'''exec' \"" + first[2:].strip() + b'" "$0" "$@"\n\' \'\'\'' + newline + rest


def clone(source: str, target: str) -> None:
    """A copy with mode and times, writable by its owner; blocks are shared where the file system can."""
    with open(source, "rb") as read, open(target, "xb") as written:
        try:
            fcntl.ioctl(written.fileno(), _FICLONE, read.fileno())
        except OSError:  # another file system, or one that can't
            shutil.copyfileobj(read, written, 1 << 20)
        found = os.fstat(read.fileno())
        os.fchmod(written.fileno(), stat.S_IMODE(found.st_mode) & 0o777 | 0o600)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _signature(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_ino, found.st_ctime_ns
