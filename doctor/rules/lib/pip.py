"""Steps that install Python packages for the user's program, and those that bring the old ones back.

A Python that the distribution keeps pip out of gets an environment on top of it, which sees its packages; a machine
without Python gets one by uv, which brings its own (docs.astral.sh/uv/pip/environments, 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Step
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.packages import family
from doctor.versions import Dotted

INDEX = "https://download.pytorch.org/whl"
"""PyTorch's own index of builds, as its installation page names it (pytorch.org, 2026-11-20)."""
_LABEL = r"cpu|cu\d{3}|rocm\d\.\d{1,2}(?:\.\d)?"
"""Local versions that are names of indexes there."""
_PIN = Lazy(r"[A-Za-z0-9][\w.-]{0,60}==[\w.!+-]{1,60}")
_NEW = "gpu-venv"
_SERVED = "3.12"
"""A Python that every GPU package has wheels for (PyPI, 2026-11-20)."""
_LONGEST_PATH = 1024


def python_of(machine: Snapshot) -> str:
    """The interpreter that the user works with, where its path is fit to be shown in a command; else the one that is
    first on PATH, in an environment that is activated."""
    path = machine.interpreter.path or ""
    return path if path.startswith("/") and path.isprintable() and len(path) < _LONGEST_PATH else "python3"


def refuses_pip(machine: Snapshot) -> bool:
    """Whether pip may not install into the Python that is named (PEP 668), or no Python was found on this machine.
    Whoever pastes a text has one; there, the distribution says it (Debian from 12, Ubuntu from 23.04, Arch)."""
    path, system = machine.interpreter.path, machine.os
    if path is None:
        return _without_python(machine)
    if machine.interpreter.externally_managed is not None:
        return machine.interpreter.externally_managed
    since = {"debian": "12", "ubuntu": "23.04", "arch": "0"}.get(system.id or "")
    return path.startswith("/usr/bin/") and since is not None and not Dotted(system.version or since) < since


def _without_python(machine: Snapshot) -> bool:
    torch = machine.torch
    seen = machine.gpus is not None and not machine.symptoms and not machine.source("gpus").startswith("text")
    return torch.installed is False or (seen and not (torch.version or torch.build or machine.packages))


def python_after(machine: Snapshot) -> str:
    """The Python that has what `pip` installed."""
    return f"{_NEW}/bin/python" if refuses_pip(machine) else python_of(machine)


def pip(machine: Snapshot, text: str, *words: str) -> tuple[Step, ...]:
    """`pip install WORDS` in the user's environment, or in a new one where that refuses it."""
    if not refuses_pip(machine):
        return (_step(text, python_of(machine), "-m", "pip", "install", *words),)
    if machine.interpreter.path is None:
        make = f"Create {_NEW}, an environment with its own Python (uv: https://docs.astral.sh/uv/)."
        install = ("uv", "pip", "install", "--python", _NEW)
        return _step(make, "uv", "venv", "--python", _SERVED, _NEW), _step(_fill(_NEW), *install, *words)
    return beside(machine, *words, on_top=True)


def beside(machine: Snapshot, *words: str, where: str = _NEW, on_top: bool = False) -> tuple[Step, ...]:
    """`pip install WORDS` in a new environment, which sees the packages that are here only where it is `on_top`."""
    python = python_of(machine)
    what = "an environment on top of this Python, which refuses pip." if on_top else "a new environment."
    needs = " It needs the package python3-venv." * (family(machine) == "apt" and python.startswith("/usr/bin/"))
    create = (python, "-m", "venv", *["--system-site-packages"] * on_top, where)
    install = (f"{where}/bin/python", "-m", "pip", "install")
    return _step(f"Create {where}, {what}{needs}", *create), _step(_fill(where), *install, *words)


def _fill(where: str) -> str:
    return f"Install into it; run your program with {where}/bin/python."


def delete(where: str = _NEW) -> tuple[Step, ...]:
    """Takes back `beside`."""
    return (_step("Delete the new environment; the old one is unchanged.", "rm", "-r", where),)


def undo(machine: Snapshot, replaced: Iterable[Package]) -> tuple[Step, ...]:
    """Brings those packages back, as they are now, after `pip`."""
    if refuses_pip(machine):
        return delete()
    return tuple(_again(python_of(machine), sorted(replaced, key=lambda p: p.name != "torch")))


def _again(python: str, packages: Iterable[Package]) -> Iterator[Step]:
    labels: dict[str, list[Package]] = {}
    for package in packages:
        label = package.version.partition("+")[2]
        if _PIN.fullmatch(f"{package.name}=={package.version}") and (index(label) or not label):
            labels.setdefault(label, []).append(package)
    for label, held in labels.items():
        alone = ("--no-deps",) if all(p.name != "torch" for p in held) else ()
        if not label:  # to pip 2.9.1+rocm6.4 is a 2.9.1
            alone = ("--force-reinstall", *alone)
        requirements = (f"{p.name}=={p.version}" for p in held)
        yield _step(
            "Install the old versions again.", python, "-m", "pip", "install", *index(label), *alone, *requirements
        )


def index(label: str) -> tuple[str, ...]:
    """Where pip finds builds of that local version; nothing for one that PyTorch has no index of."""
    return ("--index-url", f"{INDEX}/{label}") if re.fullmatch(_LABEL, label) else ()


def _step(text: str, *argv: str) -> Step:
    return Step(text=text, command=argv, where="environment")
