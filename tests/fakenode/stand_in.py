"""Libraries that only look like the driver's: NVML's stand-in, and shared objects with nothing in them.

Compiled with this machine's C compiler, once, into a folder of the user's cache that is named after what is compiled.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_SOURCE = Path(__file__).with_name("nvml.c")
COMPILERS = ("cc", "gcc", "clang")


def compiler() -> str | None:
    """Path of the C compiler, if there is one."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def nvml(missing: Iterable[str] = ()) -> bytes:
    """NVML's stand-in, without some of its functions: their names are overwritten, so that the loader finds none."""
    library = _compiled(_SOURCE.read_text(), "libnvidia-ml.so.1")
    for name in missing:
        word = b"\0" + name.encode() + b"\0"
        assert word in library, f"{name} is not in the stand-in"
        library = library.replace(word, b"\0" + b"-" * len(name) + b"\0")
    return library


def empty_library(name: str) -> bytes:
    """A shared object that exports nothing."""
    return _compiled("", f"{name}.so.1")


def loader_cache(*entries: tuple[str, str]) -> bytes:
    """An ld.so.cache of those names and paths, in glibc's format."""
    names, table = b"", []
    start = 48 + 24 * len(entries)
    for name, path in entries:
        table.append(struct.pack("<iIIIQ", 0x303, start + len(names), start + len(names) + len(name) + 1, 0, 0))
        names += name.encode() + b"\0" + path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(entries), len(names)) + bytes(20)
    return head + b"".join(table) + names


@lru_cache(maxsize=64)
def _compiled(source: str, soname: str) -> bytes:
    """Empty where there is no compiler."""
    program = compiler()
    if program is None:
        return b""
    key = hashlib.sha256(f"{source}\0{soname}\0{program}".encode()).hexdigest()[:20]
    folder = Path(tempfile.gettempdir()) / f"doctor-fakenode-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    target = folder / f"{key}.so"
    if not target.is_file():
        begun = folder / f"{key}.{os.getpid()}"
        argv = [program, "-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{soname}", "-x", "c", "-", "-o", str(begun)]
        subprocess.run(argv, input=source, text=True, check=True, capture_output=True, timeout=60)
        begun.rename(target)
    return target.read_bytes()
