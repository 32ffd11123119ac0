"""What the rules make of requirements that the installed packages do not meet, and of symbols that torch lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts.python import GpuBinary
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge.requirements import Unmet, unmet
from doctor.parsers.python.torch_symbols import plain
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_packages import pip_install, shown

_SHOWN = 3
_WIDE = 50


def of_pins(
    machine: Snapshot,
    *,
    packages: Iterable[str] | None = None,
    wants: Iterable[str] | None = None,
    severity: Severity = Severity.WARNING,
    about: str = "package",
) -> Iterator[Finding]:
    """A finding for each requirement that an installed version does not meet; what is missing is for others to say.
    `about`: whether the subject is the `package` that asks, or what it `wants`."""
    for each in unmet(machine, packages, wants):
        if each.held is None:
            continue
        yield of_pin(machine, each, severity, about)


def of_pin(machine: Snapshot, each: Unmet, severity: Severity, about: str = "package") -> Finding:
    held = f"{each.held.version[:40]} is installed" if each.held else "none is installed"
    asking = f"{each.package.name} {each.package.version[:_WIDE]}"
    return Finding(
        summary=f"{asking} needs {each.wants} {each.specifier[:_WIDE]}, but {held}.",
        severity=severity,
        subject=Subject(kind="package", id=each.package.name if about == "package" else each.wants),
        evidence=(
            Evidence(
                text=f"{asking} requires {each.wants}{each.specifier}"[:300],
                source=f"file:{each.package.location}" if each.package.location else machine.source("packages"),
            ),
            *shown(machine, each.held),
        ),
        remedies=(
            pip_install(
                machine,
                f"Install matching releases of both; pip picks {each.wants}.",
                f"{each.package.name}=={each.package.version.partition('+')[0]}",
                f"{each.wants}{each.specifier}",
            ),
        ),
        verify=(python_after(machine), "-m", "pip", "check"),
        source="the package's own metadata",
    )


def lacking_symbols(machine: Snapshot, *packages: str, but: Iterable[str] = ()) -> Iterator[tuple[GpuBinary, str]]:
    """Extensions that want symbols which the installed torch does not define, one for each package, with the words
    that say what is missing."""
    seen: set[str] = set()
    for binary in machine.binaries or ():
        owner = binary.package or binary.key
        if not binary.missing_symbols or owner in seen or owner in but or (packages and owner not in packages):
            continue
        seen.add(owner)
        names = ", ".join(dict.fromkeys(plain(name) for name in binary.missing_symbols[:_SHOWN]))
        ours, theirs = machine.torch.cxx11_abi, binary.cxx11_abi
        differ = ours is not None and theirs is not None and ours != theirs
        yield (
            binary,
            f"{names} (built with the {_abi(theirs)} C++ ABI, torch with the {_abi(ours)})" if differ else names,
        )


def _abi(new: bool | None) -> str:
    return "new" if new else "old"


def of_symbols(machine: Snapshot, binary: GpuBinary, names: str) -> Finding:
    """An extension that can't be loaded with this torch."""
    file = binary.key.rpartition("/")[2]
    owner = binary.package or file
    path = binary.key if binary.key.isprintable() and not set(binary.key) & set("'\\\"") else "FILE"
    return Finding(
        summary=f"{owner} needs symbols that torch {(machine.torch.version or '')[:30]} does not have.",
        severity=Severity.ERROR,
        subject=Subject(kind="package", id=owner),
        evidence=(
            Evidence(text=f"{file} needs {names}"[:380], source=f"file:{binary.key}"),
            Evidence(
                text=f"{len(binary.missing_symbols or ())} or more of {binary.torch_symbols} symbols are in none of "
                "torch's libraries",
                source=machine.source("torch.location"),
            ),
            *evidence(machine, ("torch.version",)),
        ),
        remedies=(
            pip_install(
                machine, "Install the release made for this torch, or build it here for this torch.",
                "--no-build-isolation", "--no-cache-dir", "--force-reinstall", "--no-deps", owner,
            ),
        ),
        verify=(python_after(machine), "-c", f"import torch; torch.ops.load_library('{path}')"),
    )  # fmt: skip
