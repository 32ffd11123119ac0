"""Runs programs in laid-out machines, several in one process, and says what the kernel allows here."""

from __future__ import annotations

import enum
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
_ENTER = Path(__file__).with_name("enter.py")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LDD = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_LOADING = ("_ctypes", "_uuid", "_bz2", "_lzma", "zlib", "_hashlib", "_ssl", "pyexpat", "_decimal")
"""Modules of the standard library that load a library of the system."""
REQUIRE = "DOCTOR_REQUIRE_FAKENODE"
"""Set to 1, a machine on which no live run is possible is a failure and not a skip; set to root, so is one on which
device nodes can't have their owners."""


class Support(enum.Enum):
    """How live a run can be on this machine."""

    ROOT = "root"
    """Nodes have their owners and modes, and programs run under any account."""
    USER = "user namespace"
    """Every device node is this machine's /dev/null: its owner (nobody), mode 0666, major 1 and minor 3. Programs run
    as root of the namespace only."""
    NONE = "none"


class Refused(RuntimeError):
    """The kernel does not let us make the namespace that a live run needs."""


@dataclass(frozen=True)
class Job:
    root: Path
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[tuple[str, int, int, int], ...] = ()
    uid: int = 0
    gids: tuple[int, ...] = (0,)
    timeout_s: float = 60


@dataclass(frozen=True)
class Result:
    """How a program ended; `code` is negative for a signal, -9 when its time was over."""

    code: int
    stdout: str
    stderr: str


@lru_cache(maxsize=1)
def support() -> Support:
    """Asked once, by doing it."""
    for kind in (Support.ROOT, Support.USER):
        if kind is Support.ROOT and os.geteuid() != 0:
            continue
        with tempfile.TemporaryDirectory() as made:
            try:
                done = run_as(kind, [Job(Path(made), ("/bin/sh", "-c", "exit 7"))])
            except (Refused, OSError, subprocess.SubprocessError):
                continue
            if done[0].code == 7:
                return kind
    return Support.NONE


def run_all(jobs: Sequence[Job]) -> list[Result]:
    """Each job in a namespace of its own, all started by one process that imports the program once.

    Raises Refused where the kernel allows no namespace."""
    kind = support()
    if kind is Support.NONE:
        raise Refused("neither root nor a user namespace may make a mount namespace here")
    return run_as(kind, jobs)


def run_as(kind: Support, jobs: Sequence[Job]) -> list[Result]:
    """`run_all` by one of the two ways."""
    asked = [_spec(job, kind) for job in jobs]
    allowed_s = 60 + sum(job.timeout_s for job in jobs)
    argv = [sys.executable, "-I", str(_ENTER)]
    done = subprocess.run(argv, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=allowed_s)
    if done.returncode:
        raise Refused(f"{_ENTER.name} failed: {done.stderr[-2000:]}")
    results = []
    for row in json.loads(done.stdout):
        if "refused" in row:
            raise Refused(row["refused"])
        results.append(Result(row["code"], row["stdout"], row["stderr"]))
    return results


def _spec(job: Job, kind: Support) -> dict[str, object]:
    home = "/root" if job.uid == 0 else "/home/alice"
    plain = {"PATH": _PATH, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
    return {
        "root": os.path.realpath(job.root), "binds": binds(), "nodes": job.nodes, "uid": job.uid,
        "gids": job.gids, "argv": job.argv, "environment": plain | dict(job.environment),
        "timeout_s": job.timeout_s, "as_user": kind is Support.USER, "imports": [str(REPO)],
    }  # fmt: skip


@lru_cache(maxsize=1)
def binds() -> tuple[tuple[str, str], ...]:
    """What of this machine is seen inside: the Python that runs the tests with its packages, this repository, a shell,
    and the libraries that these load. Everything else is the described machine's."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {str(REPO / "doctor"), str(REPO / "profiles")}
    if sys.prefix != sys.base_prefix:
        folders.add(sys.prefix)
    python = Path(sys.executable)
    programs = [str(python), os.path.realpath(python), os.path.realpath("/bin/sh")]
    while python.is_symlink():  # an environment of uv leads through a link beside the Python that it was made of
        python = python.parent / python.readlink()
        programs.append(str(python))
    shown = {path: path for path in (*folders, *programs, *_libraries(programs)) if Path(path).exists()}
    shown["/bin/sh"] = os.path.realpath("/bin/sh")
    return tuple((source, place) for place, source in _outermost(shown))


def _libraries(programs: Sequence[str]) -> Iterator[str]:
    """By the loader's own account: of the programs and of compiled modules."""
    built_in = Path(sysconfig.get_path("stdlib")) / "lib-dynload"
    modules = [*(m for name in _LOADING for m in built_in.glob(f"{name}.*.so")), *_packaged()]
    ldd = shutil.which("ldd")
    if ldd is None:
        return
    done = subprocess.run([ldd, *programs, *map(str, modules)], capture_output=True, text=True, check=False, timeout=60)
    yield from dict.fromkeys(_LDD.findall(done.stdout))


def _packaged() -> Iterator[Path]:
    """Compiled modules of the packages that the program needs."""
    folder = Path(sysconfig.get_path("platlib"))
    for name in ("pydantic_core", "yaml", "zstandard"):
        yield from (folder / name).glob("*.so")


def _outermost(shown: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Without what lies inside a folder that is shown anyway, folders first."""
    kept: list[str] = []
    for place in sorted(shown, key=lambda p: (not Path(p).is_dir(), p)):
        if not any(place.startswith(f"{folder}/") for folder in kept):
            kept.append(place)
            yield place, shown[place]
