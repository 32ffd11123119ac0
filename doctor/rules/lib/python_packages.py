"""What the rules on Python packages ask: which is installed, and the argv that installs another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Remedy, Scope, Step
from doctor.rules.lib.pip import pip, python_of, refuses_pip, undo
from doctor.rules.lib.torch_install import torch_again
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


def pip_install(machine: Snapshot, title: str, *requirements: str, remove: tuple[str, ...] = ()) -> Remedy:
    """Install those requirements for the user's program, after those packages are removed. A new environment has
    precedence over what it is made on, so there nothing needs to be removed."""
    new = refuses_pip(machine)
    if new and any(word.startswith("nvidia-") for word in requirements):
        requirements = torch_again(machine)  # torch loads the libraries of its own environment
    unknown = " (RELEASE and LABEL: 2.9.1 and cu128 of torch 2.9.1+cu128)." if "torch==RELEASE" in requirements else ""
    steps = pip(machine, f"{title.removesuffix('.')}{unknown}" if unknown else title, *requirements)
    if remove and not new:
        argv = (python_of(machine), "-m", "pip", "uninstall", "--yes", *remove)
        put = steps[0].model_copy(update={"text": f"Install {requirements[-1]}."})
        steps = (Step(text=f"Remove {' and '.join(remove)}.", command=argv, where="environment"), put)
    replaced = {
        p.name: p
        for word in (*remove, *requirements)
        for p in _replaced_by(machine, word.lower().replace("_", "-"))
        if f"{p.name}=={release(p.version)}" not in requirements
    }
    return Remedy(
        title=f"{title.removesuffix('.')}, in a new environment." if new else title,
        scope=Scope.ENVIRONMENT,
        steps=steps,
        risk=None if new else "replaces packages of this environment",
        undo=undo(machine, replaced.values()),
    )


def _replaced_by(machine: Snapshot, requirement: str) -> Iterator[Package]:
    """What is installed of the packages that a requirement names: with an extra, also those named after it."""
    name = _NAME.split(requirement)[0]
    for one in machine.packages or ():
        held = one.name.lower().replace("_", "-")
        if name and (held == name or ("[" in requirement and held.startswith(name))):
            yield one


_NAME = re.compile(r"[^a-z0-9._-]|(?<![a-z0-9._-])-")


def shown(machine: Snapshot, *packages: Package | None) -> tuple[Evidence, ...]:
    """`numpy 2.1.0`, with where the list of packages was read."""
    source = machine.source("packages")
    return tuple(Evidence(text=f"{p.name} {p.version}", source=source) for p in packages if p)
