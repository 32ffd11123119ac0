"""What the rules on Python packages ask: which is installed, and the argv that installs another."""

from __future__ import annotations

import re

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Remedy, Scope, Step
from doctor.rules.lib.torch_install import python_of
from doctor.versions import Dotted


def package(machine: Snapshot, *names: str) -> Package | None:
    """The first of those packages that is installed; None also where packages are not known."""
    held = {p.name.lower().replace("_", "-"): p for p in machine.packages or ()}
    return next((held[name] for name in names if name in held), None)


def release(version: str | None) -> str | None:
    """`2.6.0` of `2.6.0+cu124`; None for nightlies and builds from source, which no table knows."""
    plain = (version or "").partition("+")[0]
    return plain if plain and all(part.isdigit() for part in plain.split(".")) else None


def below(version: str | None, bound: str) -> bool:
    """Whether a plain release is older than the bound; False where it is not known."""
    return release(version) is not None and Dotted(release(version) or "") < bound


def major(version: str | None) -> int | None:
    return Dotted(version or "").major


def pip_install(machine: Snapshot, title: str, *requirements: str) -> Remedy:
    """Install those requirements into the user's environment."""
    command = (python_of(machine), "-m", "pip", "install", *requirements)
    return _of_pip(machine, title, command, requirements, "Replaces packages of this environment.")


def pip_remove(machine: Snapshot, title: str, *names: str, then: tuple[str, ...] = ()) -> Remedy:
    """Remove those packages from the user's environment, and install others after that."""
    command = (python_of(machine), "-m", "pip", "uninstall", "--yes", *names)
    remedy = _of_pip(machine, title, command, names, "Removes packages of this environment.")
    if not then:
        return remedy
    install = (python_of(machine), "-m", "pip", "install", *then)
    step = Step(text=f"Install {then[-1]} again.", command=install, where="environment")
    return remedy.model_copy(update={"steps": (*remedy.steps, step)})


def _of_pip(machine: Snapshot, title: str, command: tuple[str, ...], asked: tuple[str, ...], risk: str) -> Remedy:
    step = Step(text=title, command=command, where="environment")
    held = [p for word in asked if (p := package(machine, _NAME.split(word.lower().replace("_", "-"))[0]))]
    old = tuple(dict.fromkeys(f"{p.name}=={p.version}" for p in held))
    undo = Step(text="Install the old versions again; `pip freeze` before this step lists them.", where="environment")
    if old:
        again = (python_of(machine), "-m", "pip", "install", *old)
        undo = Step(text="Install the old versions again.", command=again, where="environment")
    return Remedy(title=title, scope=Scope.ENVIRONMENT, steps=(step,), risk=risk, undo=(undo,))


_NAME = re.compile(r"[^a-z0-9._-]|(?<![a-z0-9._-])-")


def shown(machine: Snapshot, *packages: Package | None) -> tuple[Evidence, ...]:
    """`numpy 2.1.0`, with where the list of packages was read."""
    source = machine.source("packages")
    return tuple(Evidence(text=f"{p.name} {p.version}", source=source) for p in packages if p)
