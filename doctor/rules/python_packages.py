"""What the rules on Python packages ask: which is installed, and the argv that installs another."""

from __future__ import annotations

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Fix
from doctor.rules.torch_install import python_of
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


def pip_install(machine: Snapshot, text: str, *requirements: str) -> Fix:
    """Install those requirements into the user's environment."""
    command = (python_of(machine), "-m", "pip", "install", *requirements)
    return Fix(text=text, command=command, where="environment", risk="Replaces packages of this environment.")


def pip_remove(machine: Snapshot, text: str, *names: str) -> Fix:
    """Remove those packages from the user's environment."""
    command = (python_of(machine), "-m", "pip", "uninstall", "--yes", *names)
    return Fix(text=text, command=command, where="environment", risk="Removes packages of this environment.")


def shown(machine: Snapshot, *packages: Package | None) -> tuple[Evidence, ...]:
    """`numpy 2.1.0`, with where the list of packages was read."""
    source = machine.source("packages")
    return tuple(Evidence(text=f"{p.name} {p.version}", source=source) for p in packages if p)
