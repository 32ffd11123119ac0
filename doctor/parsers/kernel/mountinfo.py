"""Text of proc/PID/mountinfo (or of proc/mounts) -> its mounts.

>>> mount = read("36 25 0:32 / /dev/shm rw,nosuid - tmpfs shm rw,size=65536k\\n")[0]
>>> mount.point, mount.fstype, size_bytes(mount)
('/dev/shm', 'tmpfs', 67108864)
>>> read("shm /dev/shm tmpfs rw,size=65536k 0 0\\n")[0].point
'/dev/shm'
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_OCTAL = re.compile(r"\\([0-7]{3})")
_SIZE = re.compile(r"(?:^|,)size=(\d{1,18})([kmgKMG]?)(?:,|$)")
_UNIT = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LINES = 20_000


class Mount(NamedTuple):
    """One mount. `root` is the mounted folder of the filesystem: `/` unless a bind mount, None in proc/mounts."""

    point: str
    fstype: str
    device: str
    root: str | None
    options: str
    """Of the superblock."""
    noexec: bool = False
    read_only: bool = False


def read(text: str) -> tuple[Mount, ...]:
    """In the order of mounting; the last one of a point is the one that shows. Raises ParserError without a mount."""
    mounts = tuple(mount for line in text.splitlines()[:_LINES] if (mount := _line(line[:8000])))
    if not mounts:
        raise ParserError("no mount line: not mountinfo")
    return mounts


def at(mounts: tuple[Mount, ...], point: str) -> Mount | None:
    """The mount that shows at exactly this point."""
    return next((m for m in reversed(mounts) if m.point == point), None)


def holding(mounts: tuple[Mount, ...], path: str) -> Mount | None:
    """The mount that a file at this path is on.

    >>> mounts = read("shm /dev/shm tmpfs rw 0 0\\n/dev/sda1 / ext4 rw 0 0\\n")
    >>> [holding(mounts, path).point for path in ("/dev/shm/a", "/dev/shm2", "/")]
    ['/dev/shm', '/', '/']
    """
    found = [m for m in mounts if f"{path.rstrip('/')}/".startswith(f"{m.point.rstrip('/')}/")]
    return max(reversed(found), key=lambda m: len(m.point), default=None)


def size_bytes(mount: Mount) -> int | None:
    """The `size=` option of a tmpfs; None without one (the kernel then takes half of the memory)."""
    match = _SIZE.search(mount.options)
    return int(match[1]) * _UNIT[match[2].lower()] if match else None


def _line(line: str) -> Mount | None:
    fields = line.split(" ")
    if len(fields) >= 9 and "-" in fields[6:]:
        dash = fields.index("-", 6)
        tail = [*fields[dash + 1 :], "", "", ""]
        point, root, flags, options = _plain(fields[4]), _plain(fields[3]), fields[5].split(","), clean(tail[2], 4000)
        read_only = "ro" in flags or options.startswith("ro")
        return Mount(point, clean(tail[0], 64), _plain(tail[1]), root, options, "noexec" in flags, read_only)
    if len(fields) >= 6 and fields[1].startswith("/"):
        return Mount(_plain(fields[1]), clean(fields[2], 64), _plain(fields[0]), None, clean(fields[3], 4000))
    return None


def _plain(text: str) -> str:
    return clean(_OCTAL.sub(lambda m: chr(int(m[1], 8) & 0xFF), text), 2000)
