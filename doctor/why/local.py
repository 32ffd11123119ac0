"""A side that COMMAND can run on: this shell, a virtual environment, or what a running process of this machine has."""

from __future__ import annotations

import csv
import hashlib
import os
import posixpath
import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path

from doctor.errors import InputError
from doctor.sides import THIS, process_of, python_of
from doctor.system.given import read_given_bytes

_LIMIT = 64 << 20
LIMITS = {name: getattr(resource, f"RLIMIT_{name.upper()}") for name in ("nofile", "memlock", "stack", "nproc")}
"""Soft limits that are carried over, and their numbers."""
_OF_THE_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}


@dataclass(frozen=True)
class Local:
    """Its variables, its virtual environment (None: no own one) with what is installed there, its soft limits, and
    its working folder where that is to be compared."""

    environment: Mapping[str, str]
    prefix: Path | None
    packages: Mapping[str, Distribution]
    limits: Mapping[str, int] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def site(self) -> Path:
        """The folder of its packages. Raises InputError where there is not exactly one."""
        return _site(self.prefix or Path())

    def variables(self) -> dict[str, str]:
        return dict(self.environment)

    def version(self, name: str) -> str | None:
        """None where it is not installed."""
        return self.packages[name].version if name in self.packages else None

    def build(self, name: str) -> tuple[str, str] | None:
        """The version and what its RECORD says of its files: two builds of one version differ in it."""
        if name not in self.packages:
            return None
        rows = sorted((path, digest) for path, digest in self._record(name) if digest and _is_of_the_build(path))
        return self.packages[name].version, hashlib.sha256(repr(rows).encode()).hexdigest()

    def files(self, name: str) -> tuple[str, ...]:
        """A package's files below the environment's folder, without compiled ones; () where nothing lists them."""
        if name not in self.packages:
            return ()
        below = self.site.relative_to(self.prefix or "/").as_posix()
        paths = (posixpath.normpath(f"{below}/{path}") for path, _ in self._record(name) if not path.startswith("/"))
        return tuple(p for p in paths if not p.startswith("..") and "/__pycache__/" not in p)

    def _record(self, name: str) -> list[tuple[str, str]]:
        text = self.packages[name].read_text("RECORD") or ""
        return [(row[0], row[1]) for row in csv.reader(text.splitlines()) if len(row) > 1 and "\0" not in row[0]]


def _is_of_the_build(path: str) -> bool:
    """Scripts name their environment, and the installer's notes say how it came here."""
    folder, _, name = path.rpartition("/")
    return not path.startswith("..") and not (folder.endswith(".dist-info") and name in _OF_THE_INSTALLER)


def local(name: str, variables: Path | None, folder: Path | None = None) -> Local:
    """`this`, `pid:N`, or the Python of a virtual environment. Raises InputError for what can't run here."""
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    limits = {key: resource.getrlimit(number)[0] for key, number in LIMITS.items()}
    environment: Mapping[str, str] = os.environ
    if (pid := process_of(name)) is not None:
        environment, prefix, limits = _process(pid)
        folder = folder or _folder_of(pid)
    elif name in THIS:
        own = os.environ.get("VIRTUAL_ENV")
        prefix = Path(own) if own else None
    elif python := python_of(Path(name)):
        prefix = python.parent.parent
    else:
        kinds = "a virtual environment, pid:N, in:NAME, image:NAME or `this`"
        raise InputError(f"{name}: COMMAND can't run on it; --prove needs {kinds}")
    if variables:
        environment = _variables(variables)
    if prefix is None:
        return Local(dict(environment), None, {}, limits, folder)
    if not (prefix / "pyvenv.cfg").is_file():
        raise InputError(f"{prefix}: not a virtual environment (no pyvenv.cfg); --prove copies one")
    found = {str(d.name).lower().replace("_", "-"): d for d in distributions(path=[str(_site(prefix))]) if d.name}
    return Local(dict(environment), prefix, found, limits, folder)


def attainable(limit: str, value: int) -> bool:
    """Whether this process may give its child that soft limit."""
    hard = resource.getrlimit(LIMITS[limit])[1]
    return hard == resource.RLIM_INFINITY or (value != resource.RLIM_INFINITY and value <= hard)


def _site(prefix: Path) -> Path:
    folders = sorted(prefix.glob("lib/python3.*/site-packages"))
    if len(folders) != 1:
        raise InputError(f"{prefix}: not a virtual environment with one site-packages")
    return folders[0]


def _process(pid: int) -> tuple[dict[str, str], Path | None, dict[str, int]]:
    """Of a process that sees this root; one of a container has other files, and COMMAND would not run among them."""
    from doctor.engine.inside import interpreter
    from doctor.system.process import ProcessSystem

    process = ProcessSystem(pid)
    try:
        if not Path(f"/proc/{pid}/root").samefile("/"):
            raise InputError(f"pid:{pid}: runs in another root (a container); --prove runs COMMAND on this one")
        variables = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"pid:{pid}: {error.strerror}; run as its owner or as root") from None
    python = interpreter(process)
    prefix = Path(python).parent.parent if python else None
    limits = dict(process.limits().value or {})
    return _read(variables), prefix if prefix and (prefix / "pyvenv.cfg").is_file() else None, limits


def _folder_of(pid: int) -> Path | None:
    try:
        found = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None
    return found if found.is_dir() else None


def _variables(path: Path) -> dict[str, str]:
    """Of `env`, `env -0` or a copy of /proc/PID/environ."""
    return _read(read_given_bytes(path, _LIMIT).decode("utf-8", "surrogateescape"))


def _read(text: str) -> dict[str, str]:
    lines = text.split("\0") if "\0" in text else text.splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals and name}
