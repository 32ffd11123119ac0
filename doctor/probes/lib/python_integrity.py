"""Whether the packages of the GPU stack are installed as their RECORD (or conda-meta) says: each file there, with its
size, compiled for this Python, and not hidden by another folder of sys.path.

Called by python_env. Files are looked at and not read, but for the first bytes of torch's own libraries and the headers
of a library whose size is another: one that was stripped or patched is whole, one that was cut or never written is not.
What is compiled or begins a package comes first; what a slow file system keeps from being looked at is not known.

Cost: the RECORD of each package (1 MB for torch) and about 4 µs a file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.elf import elf
from doctor.parsers.elf.blocks import Blocks
from doctor.parsers.python.wheel_record import File
from doctor.probes.lib import python_requirements, python_shadows
from doctor.probes.lib.loader_files import LoaderFiles
from doctor.probes.lib.python_choice import Choice
from doctor.probes.lib.python_companions import bitsandbytes
from doctor.probes.lib.python_installed import Owned, counts, owned_by, row
from doctor.probes.lib.python_metadata import PLAIN, STACK
from doctor.system.base import ABSENT_FILE, NO_FILE, System
from doctor.versions import Dotted

READS: tuple[str, ...] = (
    "derived:installed-files:* name",
    "dir:*/site-packages/* name",
    "environment secret-bearing",
)
_FIRST_S, _REST_S = 4.0, 2.0
"""For what is compiled or begins a package, and for all else."""
_SHOWN = 4
_MOST_HEADERS = 20
_MOST_PACKAGES = 150
_COMPILED = re.compile(r"\.so(?:\.[0-9.]{1,20})?$")
_TAG = re.compile(r"\.cpython-3(\d{1,2})t?-([a-z0-9_\-]{1,40})\.so$")
_PLATFORM = re.compile(r"^(x86_64|aarch64)-linux-(gnu|musl)$")


def look(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    asking: python_requirements.Asking,
    choice: Choice,
) -> None:
    """`folders`: those of sys.path in their order, with the names in each; `asking`: packages of the stack, and what
    these need, with what they require."""
    wanted = {p["name"] for p in packages[: _MOST_PACKAGES * 10] if counts(p["name"])}
    if not wanted & (STACK - PLAIN):
        return
    wanted |= {package["name"] for package, _ in asking}
    release = sheet.get("torch.cuda") or sheet.get("torch.rocm")
    torch = (sheet.get("torch.build"), release) if sheet.get("torch.build") in ("cuda", "rocm") and release else None
    reading = system.derived(
        "installed-files",
        choice.prefix,
        lambda: _told(
            system, folders, wanted, choice, torch, partial(_around, system, folders, packages, asking, choice.version)
        ),
    )
    integrity = reading.value
    if not isinstance(integrity, dict):
        state = State.UNREADABLE if reading.known else reading.state
        sheet.miss("installed_faults", state, reading.source, reading.detail)
    elif integrity.get("faults") or not integrity.get("late"):
        sheet.put("installed_faults", integrity.get("faults", [])[:60], reading.source)
    else:
        reason = f"not looked at, refused or too slow: {', '.join(map(str, integrity['late'][:6]))}"
        sheet.miss("installed_faults", State.TIMED_OUT, reading.source, reason)


def _told(
    system: System,
    folders: Mapping[str, Sequence[str]],
    wanted: set[str],
    choice: Choice,
    torch: tuple[str, str] | None,
    around: Callable[[Sequence[Owned]], Iterator[dict[str, Any]]],
) -> dict[str, Any]:
    began = time.monotonic()
    owned = list(owned_by(system, folders, wanted, choice.prefix))[:_MOST_PACKAGES]
    work = _Work(system, owned, choice)
    faults: list[dict[str, Any]] = []
    late: list[str] = []
    for one in owned:
        found, whole = work.faults_of(one, _FIRST_S + _REST_S - (time.monotonic() - began))
        faults += found
        late += [] if whole else [one.package]
    faults += [*around(owned), *_mixed(system, owned), *_without_binary(system, owned, torch), *_moved(system, owned)]
    faults += [*_denied(system, folders), *_shared(owned), *_not_executable(system, owned)]
    return {"faults": faults, "late": late}


def _around(
    system: System,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    asking: python_requirements.Asking,
    python: str | None,
    owned: Sequence[Owned],
) -> Iterator[dict[str, Any]]:
    """What is wrong beside the packages' own files: something hides one, or what one requires is not there."""
    environ = system.environ().value or {}
    named = [part.strip("/") for part in environ.get("PYTHONPATH", "").split(":") if part.startswith("/")]
    inits = python_requirements.texts(system, asking)
    yield from python_shadows.hidden(system, folders, owned, environ.get("PWD", "").strip("/"), named, inits)
    yield from python_requirements.lacking(system, folders, packages, asking, inits, python)


def _denied(system: System, folders: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Folders that this account may not enter, as an installation by root with a strict umask leaves them."""
    for site, names in folders.items():
        for name in sorted(set(names) & (STACK | {"nvidia"})):
            if system.list_dir(f"{site}/{name}").state is State.DENIED:
                yield row(name, None, "denied", [f"/{site}/{name}"], "")


def _not_executable(system: System, owned: Sequence[Owned]) -> Iterator[dict[str, Any]]:
    """Programs that torch and Triton start (ptxas), as a copy without permissions leaves them."""
    for one in owned:
        programs = [f.path for f in one.files if _PROGRAM.match(f.path)]
        modes = ((path, system.stat(f"{one.folder}/{path}").value) for path in programs)
        if wrong := [path for path, held in modes if held and held.kind == "file" and not held.mode & 0o111]:
            yield _row(one, "not-executable", wrong, "")


_PROGRAM = re.compile(r"^(?:torch|triton/backends/[a-z]{2,20})/bin/[\w\-]{1,60}$")


def _shared(owned: Sequence[Owned]) -> Iterator[dict[str, Any]]:
    """Two packages that install the same compiled file in builds of their own: the one that came last wins."""
    first: dict[str, tuple[Owned, int | None]] = {}
    pairs: dict[tuple[str, str], tuple[Owned, str]] = {}
    for one in owned:
        for file in (f for f in one.files if _is_compiled(f.path)):
            other, size = first.setdefault(f"{one.folder}/{file.path}", (one, file.size))
            if other.package != one.package and size != file.size and not one.package.startswith("onnxruntime"):
                pairs.setdefault((other.package, one.package), (one, file.path))
    for (package, _), (one, path) in pairs.items():
        yield _row(one, "shared", [path], package)


def _mixed(system: System, owned: Sequence[Owned]) -> Iterator[dict[str, Any]]:
    """A version file that its wheel did not bring, and that says another release: two were unpacked into one folder."""
    for one in owned:
        file = next((f for f in one.files if _VERSION_FILE.match(f.path)), None)
        raw = system.read_bytes(f"{one.folder}/{file.path}", length=1 << 16).value if file else None
        other = _VERSION.search(raw.decode("utf-8", "replace")) if raw else None
        if not file or not raw or not other:
            continue
        ours, theirs = one.version.partition("+")[0], other[1].partition("+")[0]
        plain = all(part.replace(".", "").isdecimal() for part in (ours, theirs))
        if plain and Dotted(ours).compare(theirs) and _is_another(raw, file):
            yield _row(one, "mixed", [file.path], theirs)


_VERSION_FILE = re.compile(r"^[A-Za-z_]\w{0,60}/version\.py$")
_VERSION = re.compile(
    r"^(?:__version__|full_version|version)[ \t]{0,4}(?::[ \t]{0,4}str[ \t]{0,4})?=[ \t]{0,4}"
    r"['\"]([0-9][\w.+]{0,60})['\"]",
    re.M,
)


def _is_another(raw: bytes, file: File) -> bool:
    if file.size not in (None, len(raw)):
        return True
    if not (file.digest or "").startswith("sha256="):
        return False
    import base64
    import hashlib

    made = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).decode()
    return made.rstrip("=") != (file.digest or "").removeprefix("sha256=").rstrip("=")


def _without_binary(system: System, owned: Sequence[Owned], torch: tuple[str, str] | None) -> Iterator[dict[str, Any]]:
    """bitsandbytes opens one library, named after torch's CUDA or ROCm; where its wheel has none it can't compute."""
    held = next((one for one in owned if one.package == "bitsandbytes"), None)
    if held is None or torch is None:
        return
    kind, release = torch
    names = [f.path.rpartition("/")[2] for f in held.files if f.path.startswith("bitsandbytes/libbitsandbytes_")]
    if names and not bitsandbytes(names, kind, release, system.environ().value or {}):
        yield _row(held, "no-binary", [f"bitsandbytes/{name}" for name in names], f"{kind.upper()} {release}")


def _moved(system: System, owned: Sequence[Owned]) -> Iterator[dict[str, Any]]:
    """An editable install leads to a folder of sources: by a line of a .pth file, or by the table of a finder."""
    for one in owned:
        for file in (f.path for f in one.files if f.path.startswith("__editable__")):
            text = system.read_text(f"{one.folder}/{file}", limit=1 << 20).value or ""
            led = _PTH_LINE.findall(text) if file.endswith(".pth") else _MAPPED.findall(text)
            gone = [path for path in led if system.stat(path.strip("/")).is_absent]
            if gone and len(gone) == len(led):
                yield row(one.package, one.version, "missing", gone[:_SHOWN], "editable install", len(gone))


_PTH_LINE = re.compile(r"^(/.{1,1000})$", re.M)
_MAPPED = re.compile(r"""['"][A-Za-z_][\w.]{0,100}['"]: ?['"](/[^'"\n]{1,1000})['"]""")


class _Work:
    """What is looked at of each package."""

    def __init__(self, system: System, owned: Iterable[Owned], choice: Choice) -> None:
        self._system, self._minor = system, Dotted(choice.version or "").numbers[1:2]
        program = LoaderFiles(system, cache=False).info(choice.path)
        self._machine = program.machine if program else None
        self._bits = program.bits if program else None
        self._glibc = bool(program and "libc.so.6" in program.needed)
        self._also: dict[str, list[int | None]] = {}
        for one in owned:
            for file in one.files:
                self._also.setdefault(f"{one.folder}/{file.path}", []).append(file.size)

    def faults_of(self, one: Owned, left_s: float) -> tuple[list[dict[str, Any]], bool]:
        """Faults, and whether all was looked at. What is compiled or begins a package has its own time."""
        first: list[File] = []
        rest: list[File] = []
        for file in one.files:
            (first if _first(file.path) else rest).append(file)
        found: dict[str, list[str]] = {}
        whole = self._looked(one, first, max(left_s, 0.5), found)
        all_of_it = self._looked(one, rest, left_s - _FIRST_S, found) if left_s > _FIRST_S else not rest
        rows = [_row(one, k, paths, self._described() if k == "other-python" else "") for k, paths in found.items()]
        return [*rows, *([] if "other-python" in found else self._of_other_python(one))], whole and all_of_it

    def _looked(self, one: Owned, files: Sequence[File], seconds: float, found: dict[str, list[str]]) -> bool:
        """Adds to `found`, by kind; whether all was looked at."""
        sizes = self._system.sizes([f"{one.folder}/{f.path}" for f in files], deadline_s=seconds).value or ()
        for file, size in zip(files, sizes, strict=False):
            if kind := self._fault(one, file, size):
                found.setdefault(kind, []).append(file.path)
        return len(sizes) == len(files) and NO_FILE not in sizes

    def _fault(self, one: Owned, file: File, size: int) -> str | None:
        path = f"{one.folder}/{file.path}"
        if size == ABSENT_FILE:  # a folder whose empty __init__.py is gone is imported as a namespace all the same
            return None if file.size == 0 and file.path.endswith("/__init__.py") else "missing"
        if size < 0 or file.size is None:
            return None
        if size == file.size:
            return "cut" if _is_loaded(one.package, file.path) and self._never_written(path) else None
        return self._of_another_size(file, path, size)

    def _of_another_size(self, file: File, path: str, size: int) -> str | None:
        """Another package's copy, stripped or patched, of another build, edited by hand, or not all of it."""
        if size in self._also.get(path, ()):
            return None
        if not _is_compiled(file.path):
            return None if size else "cut"
        whole = self._system.derived_from("whole", path, _holds_all, deadline_s=2.0)
        if whole.value is not True:
            return "cut" if whole.known or whole.state is State.UNREADABLE else None
        return "other-python" if self._is_foreign(path) else "changed"

    def _is_foreign(self, path: str) -> bool:
        """For another CPU than the interpreter."""
        held = self._system.derived_from("platform", path, _platform, deadline_s=2.0).value
        return bool(held and self._machine) and held != [self._machine, self._bits]

    def _never_written(self, path: str) -> bool:
        """Its size is right, and a crash came before its blocks were written."""
        return self._system.derived_from("unwritten", path, _is_no_library, deadline_s=2.0).value is True

    def _of_other_python(self, one: Owned) -> list[dict[str, Any]]:
        """Modules that are there, and for other releases of Python alone. Beside modules for all releases (abi3) one of
        another release is the wheel's own slip."""
        if not self._minor or any(file.path.endswith(".abi3.so") for file in one.files):
            return []
        fits: set[str] = set()
        wrong: dict[str, str] = {}
        for file in one.files:
            if not _is_compiled(file.path) or ".so." in file.path:
                continue
            tag = _TAG.search(file.path[-120:])
            stem = file.path[: -len(tag[0])] if tag else file.path.removesuffix(".so").removesuffix(".abi3")
            if tag is None or self._fits(tag):
                fits.add(stem)
            else:
                wrong[stem] = file.path
        paths = [path for stem, path in wrong.items() if stem not in fits]
        paths = paths or self._of_another_cpu(one)
        return [_row(one, "other-python", paths, self._described())] if paths else []

    def _of_another_cpu(self, one: Owned) -> list[str]:
        """A wheel for another machine, as a download there leaves it: each of its libraries is."""
        paths = [f.path for f in one.files if _is_compiled(f.path)][:_MOST_HEADERS]
        return paths if paths and all(self._is_foreign(f"{one.folder}/{path}") for path in paths) else []

    def _described(self) -> str:
        platform = ", ".join(filter(None, (self._machine, "glibc" if self._glibc else "")))
        return f"Python 3.{self._minor[0]}" + (f" ({platform})" if platform else "")

    def _fits(self, tag: re.Match[str]) -> bool:
        """By the release of Python, and by the machine and C library where the interpreter's are known."""
        platform = _PLATFORM.match(tag[2])
        other_machine = platform and self._machine and platform[1] != self._machine
        other_libc = platform and self._glibc and platform[2] == "musl"
        return int(tag[1]) == self._minor[0] and not other_machine and not other_libc


def _holds_all(pieces: Blocks) -> bool:
    """Whether the file holds all that its headers say is in it."""
    try:
        held = elf.head(pieces)
    except ParserError:
        return False
    return all(part.offset + part.file_size <= pieces.size for part in held.segments) and bool(held.segments)


def _platform(pieces: Blocks) -> list[str | int]:
    held = elf.head(pieces)
    return [held.machine, held.bits]


def _is_no_library(pieces: Blocks) -> bool:
    """Neither an ELF file nor a text (a linker's script has a library's name too)."""
    start = pieces.at(0, 64)
    return start[:4] != b"\x7fELF" and any(byte < 9 or byte > 126 for byte in start)


def _first(path: str) -> bool:
    name = path.rpartition("/")[2]
    return _is_compiled(name) or name in ("__init__.py", "version.py")


def _is_compiled(path: str) -> bool:
    return ".so" in path and bool(_COMPILED.search(path[-120:]))


def _is_loaded(package: str, path: str) -> bool:
    """Whether `import torch` opens it."""
    return package == "torch" and _is_compiled(path) and path.startswith(("torch/lib/", "torch/_C."))


def _row(one: Owned, kind: str, files: Sequence[str], detail: str) -> dict[str, Any]:
    shown = sorted(files, key=lambda path: (not _is_compiled(path), path))[:_SHOWN]
    return row(one.package, one.version, kind, [f"/{one.folder}/{path}" for path in shown], detail, len(files))
