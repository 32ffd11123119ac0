"""Which Python the user works with, found by files alone, and where its packages lie. Shared by the Python probe."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from doctor.facts.origin import State
from doctor.parsers.kernel import mountinfo
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

_MINOR = re.compile(r"^python(3\.\d{1,2}t?)$")
_PATCH = re.compile(r'^#define\s{1,8}PY_VERSION\s{1,20}"([0-9A-Za-z.+]{3,30})"', re.MULTILINE)
_CFG = re.compile(r"^\s{0,8}([A-Za-z_\-]{1,40})\s{0,8}=\s{0,8}(.{0,1000})$")
_NAMES = ("python3", "python")
_ON_A_TREE = ("opt/venv/bin", "opt/conda/bin", "usr/local/bin", "usr/bin")
"""Where images put the Python that works; asked in this order when there is no environment to say (a tree)."""
_MOST_FOLDERS = 64
_MOST_LINKS = 8


class Choice(NamedTuple):
    """Paths are relative to the machine's root. `site_packages`: in the order of sys.path, not all are there."""

    path: str
    prefix: str
    version: str | None
    chosen_by: str
    site_packages: tuple[str, ...]
    marker: str | None
    """The file that keeps pip out (PEP 668); an environment's own folders have none."""


def choose(system: System, environ: Mapping[str, str], named: str | None) -> Choice | None:
    """None when no interpreter is found, or only the doctor's own."""
    own = _own_prefix(system)
    for folder, name, chosen_by in _candidates(system, environ, named):
        found = _interpreter(system, environ, folder, name)
        if found is None:
            continue
        path, prefix = found
        choice = _describe(system, environ, path, prefix, chosen_by)
        if own and chosen_by != "--python" and _same(system, prefix, own) and not _has_torch(system, choice):
            continue
        return choice
    return None


def dangling(system: System, choice: Choice | None) -> str | None:
    """Where the interpreter that the user named leads to nothing."""
    if choice is None or not system.real(choice.path).is_absent:
        return None
    return f"/{choice.path} leads to {clean(_target(system, choice.path) or '?', 300)}, which is not there"


def _target(system: System, path: str) -> str | None:
    """Where links lead, through those to a name beside them."""
    link = system.link(path).value
    for _ in range(_MOST_LINKS):
        further = system.link(f"{path.rpartition('/')[0]}/{link}").value if link and "/" not in link else None
        if further is None:
            break
        link = further
    return link


def broken(system: System, environ: Mapping[str, str]) -> str | None:
    """Why the environment of VIRTUAL_ENV does not work; "" where it does, None where none is named."""
    named = environ.get("VIRTUAL_ENV", "")
    if not named.startswith("/"):
        return None
    prefix = named.strip("/")
    paths = [f"{prefix}/bin/{name}" for name in _NAMES]
    ends = [system.real(path) for path in paths]
    if any(end.known for end in ends):
        held = system.stat(next(end.value or "" for end in ends if end.known)).value
        if system.kind == "live" and held and held.kind == "file" and not held.mode & 0o111:
            return f"{named}/bin/python has no permission to be executed (mode {held.mode & 0o777:03o})"
        return _unconfigured(system, prefix, next(end.value or "" for end in ends if end.known))
    link = next((target for path in paths if (target := _target(system, path))), None)
    if any(end.state is State.DENIED for end in ends):
        return f"{named}/bin/python leads to {clean(link or '?', 300)}, which this account may not read"
    if not all(end.is_absent for end in ends):
        return ""
    if link:
        return f"{named}/bin/python leads to {clean(link, 300)}, which is not there"
    return f"{named} holds no interpreter" if system.stat(prefix).known else f"{named} is not there"


def _unconfigured(system: System, prefix: str, real: str) -> str:
    """Without pyvenv.cfg the interpreter of a virtual environment takes the packages of the Python it was made of. One
    that brings its own standard library (conda's, one that was built there) needs no such file."""
    minor = _minor(system, prefix, real)
    lacks = [system.stat(f"{prefix}/{name}").is_absent for name in ("pyvenv.cfg", f"lib/python{minor}/os.py")]
    if minor is None or not all(lacks) or not system.stat(f"{prefix}/lib/python{minor}/site-packages").known:
        return ""
    return f"/{prefix}/pyvenv.cfg is not there, so its Python ignores the packages of the environment"


def not_executable(system: System, choice: Choice) -> str | None:
    """Whether the file system of the environment's packages lets no library be loaded from it."""
    for folder in (f for f in choice.site_packages if f.startswith(f"{choice.prefix}/")):
        mounts = system.read_text("proc/self/mountinfo").then(mountinfo.read).value or ()
        inner = mountinfo.holding(mounts, f"/{system.real(folder).value or folder}")
        return f"/{choice.prefix} is on {inner.point}, {_NOEXEC}" if inner and inner.noexec else None
    return None


_NOEXEC = "which is mounted with noexec: no library loads from it"


def other_home(system: System, environ: Mapping[str, str], choice: Choice) -> str | None:
    """Where PYTHONHOME leads this interpreter, if not to the standard library that it was built with."""
    home = environ.get("PYTHONHOME", "").partition(":")[0]
    minor = ".".join((choice.version or "").split(".")[:2])
    if not home.startswith("/") or not minor:
        return None
    base, place = _base(system, choice.prefix, _pyvenv(system, choice.prefix)), f"lib/python{minor}/os.py"
    own, named = system.real(f"{base}/{place}"), system.real(f"{home.strip('/')}/{place}")
    if not own.known or own.value == named.value or not (named.known or named.is_absent):
        return None
    what = "holds no standard library for this Python" if named.is_absent else "is another Python's standard library"
    return f"PYTHONHOME={clean(home, 200)} {what}"


def _own_prefix(system: System) -> str | None:
    """Where the doctor itself is installed: recorded, so that a replay passes over the same environment."""
    if system.kind == "tree":
        return None
    reading = system.derived("own-prefix", "proc/self/exe", lambda: sys.prefix)
    return reading.value.strip("/") if reading.known and isinstance(reading.value, str) else None


def _candidates(system: System, environ: Mapping[str, str], named: str | None) -> Iterator[tuple[str, str, str]]:
    """(folder, file name, how it was chosen). A named one is the only one."""
    path = [p.strip("/") for p in environ.get("PATH", "").split(":") if p.startswith("/")][:_MOST_FOLDERS]
    if named is not None:
        if "/" not in named:
            yield from ((folder, named, "--python") for folder in path or _ON_A_TREE)
        elif system.list_dir(named.strip("/")).known:
            yield from ((f"{named.strip('/')}/bin", name, "--python") for name in _NAMES)
        else:
            folder, _, name = named.strip("/").rpartition("/")
            yield folder, name, "--python"
        return
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(variable, "").startswith("/"):
            yield from ((f"{environ[variable].strip('/')}/bin", name, variable) for name in _NAMES)
    for folder in path or (_ON_A_TREE if not environ else ()):
        yield from ((folder, name, "PATH") for name in _NAMES)


def _interpreter(system: System, environ: Mapping[str, str], folder: str, name: str) -> tuple[str, str] | None:
    """(path, prefix) of the interpreter that a candidate is, or leads to."""
    path = f"{folder}/{name}" if folder else name
    if folder.endswith("/shims"):
        return _pyenv(system, environ, folder.rpartition("/")[0], "python" if name in _NAMES else name)
    there = system.stat(path)
    if not there.known or there.value is None or there.value.kind not in ("file", "link"):
        return None
    prefix = folder.rpartition("/")[0] or folder
    if system.stat(f"{prefix}/pyvenv.cfg").known:
        return path, prefix
    real = system.real(path).value or path
    head = system.read_bytes(real, length=2)
    if head.value == b"#!":
        return None
    above = real.rpartition("/")[0]
    # /bin is a link to /usr/bin on merged systems, and /usr/bin/python3 may lead to /usr/local or to Homebrew's.
    return path, (above.rpartition("/")[0] if above.endswith("bin") and "/" in above else prefix)


def _pyenv(system: System, environ: Mapping[str, str], root: str, name: str) -> tuple[str, str] | None:
    """Behind pyenv's shims, which are shell scripts: the version of PYENV_VERSION or of pyenv's global file."""
    wanted = environ.get("PYENV_VERSION") or system.read_text(f"{root}/version", limit=4096).value or ""
    for word in wanted.replace(":", " ").split()[:4]:
        prefix = f"{root}/versions/{word}"
        if re.fullmatch(r"[A-Za-z0-9.\-_+]{1,60}", word) and system.stat(f"{prefix}/bin/{name}").known:
            return f"{prefix}/bin/{name}", prefix
    return None


def _describe(system: System, environ: Mapping[str, str], path: str, prefix: str, chosen_by: str) -> Choice:
    cfg = _pyvenv(system, prefix)
    base = _base(system, prefix, cfg)
    minor = _minor(system, prefix, path)
    version = cfg.get("version") or cfg.get("version_info") or (_patch(system, base, minor) if minor else None) or minor
    folders: list[str] = []
    if minor:
        system_too = not cfg or cfg.get("include-system-site-packages", "").lower() == "true"
        if cfg:
            folders += _site_folders(prefix, minor)
        if system_too:
            if not environ.get("PYTHONNOUSERSITE") and environ.get("HOME", "").startswith("/"):
                folders.append(f"{environ['HOME'].strip('/')}/.local/lib/python{minor}/site-packages")
            folders += _site_folders(base, minor)
    extra = [p.strip("/") for p in environ.get("PYTHONPATH", "").split(":") if p.startswith("/")][:_MOST_FOLDERS]
    lib = "lib64" if minor and system.stat(f"{base}/lib64/python{minor}/os.py").known else "lib"
    marker = f"{base}/{lib}/python{minor}/EXTERNALLY-MANAGED" if minor and not cfg else None
    return Choice(path, prefix, version, chosen_by, _distinct(system, [*extra, *folders]), marker)


def _base(system: System, prefix: str, cfg: Mapping[str, str]) -> str:
    """The installation that a virtual environment was made of; another prefix is its own."""
    home = cfg.get("home", "").strip("/")
    return (system.real(home).value or home).rpartition("/")[0] if home else prefix


def _pyvenv(system: System, prefix: str) -> dict[str, str]:
    text = system.read_text(f"{prefix}/pyvenv.cfg", limit=1 << 16).value or ""
    found = (_CFG.match(line[:1100]) for line in text.splitlines()[:100])
    return {m[1].lower(): clean(m[2], 1000) for m in found if m}


def _minor(system: System, prefix: str, path: str) -> str | None:
    """`3.11`: by the name of the file that the interpreter's link ends at, else by the newest library folder."""
    ends = _MINOR.match((system.real(path).value or path).rpartition("/")[2])
    versions = [m[1] for name in system.list_dir(f"{prefix}/lib").value or () if (m := _MINOR.match(name))]
    if ends and (ends[1] in versions or not versions):
        return ends[1]
    return max(versions, key=lambda v: int(v[2:].rstrip("t")), default=None)


def _patch(system: System, base: str, minor: str) -> str | None:
    match = _PATCH.search(system.read_text(f"{base}/include/python{minor}/patchlevel.h").value or "")
    return match[1] if match else None


def _site_folders(prefix: str, minor: str) -> list[str]:
    """Of one prefix; Debian's own Python keeps its packages in dist-packages, pip's below usr/local."""
    here = [f"{prefix}/{lib}/python{minor}/site-packages" for lib in ("lib", "lib64")]
    if prefix != "usr":
        return here
    local = [f"usr/local/{lib}/python{minor}/site-packages" for lib in ("lib", "lib64")]
    return [*local, f"usr/local/lib/python{minor}/dist-packages", *here, "usr/lib/python3/dist-packages"]


def _distinct(system: System, folders: list[str]) -> tuple[str, ...]:
    """Without those that lead to a folder already named: lib64 is a link to lib in a venv."""
    kept: dict[str, str] = {}
    for folder in folders:
        kept.setdefault(system.real(folder).value or folder, folder)
    return tuple(kept.values())


def _same(system: System, prefix: str, own: str) -> bool:
    return prefix == own or (system.real(prefix).value or prefix) == (system.real(own).value or own)


def _has_torch(system: System, choice: Choice) -> bool:
    return any(system.stat(f"{folder}/torch/version.py").known for folder in choice.site_packages)
