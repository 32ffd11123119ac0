from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import by_hand, command
from doctor.rules.lib.packages import family, install
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-libstdcxx-dev-missing",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.LIBRARIES,
    title="The C++ headers for the newest installed gcc are missing.",
    needs=({"tools", "host.gcc_runtimes", "host.libstdcxx_headers"},),
    proven="synthetic",
    order=41,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
clang (hipcc) that picks the newest gcc folder on the machine, for which the C++ headers are not installed.

## Why it matters
Every HIP program fails to build with "'cmath' file not found".

## Not raised when
The headers of the newest gcc whose folder holds crtbegin.o are installed, hipcc and amdclang++ are not, or either is
not known; and no error message shows it.

## How to confirm
`clang++ -v -E -x c++ /dev/null` names the selected GCC installation.

## Fix
Install libstdc++-N-dev for the gcc that clang selects.

## References
https://github.com/ROCm/ROCm/issues/1843
""",
)

REMEDIES = (
    by_hand(
        "Install the C++ headers of the gcc that clang selects (`clang++ -v` prints `Selected GCC installation`).",
        Scope.HOST,
        "Debian and Ubuntu: libstdc++-N-dev, N being that gcc's number. RHEL, Fedora and SUSE: gcc-c++. Arch: gcc.",
        undo="Remove the package again.",
        root=True,
    ),
)

_NEWEST = {"22.04": "12", "24.04": "14", "12": "12", "13": "14"}
"""Release of Ubuntu or Debian -> newest gcc folder that a bare system has (packages.ubuntu.com, 2026-11)."""


_CLANG = ("hipcc", "amdclang++")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The newest gcc folder that clang would take, and no headers of that release."""
    newest = max(machine.host.gcc_runtimes or (), key=lambda v: Dotted(v).numbers, default=None)
    headers = machine.host.libstdcxx_headers
    compiler = next((t for t in machine.tools or () if t.name in _CLANG), None)
    major = Dotted(newest or "").major
    if major is None or headers is None or compiler is None or major in {Dotted(v).major for v in headers}:
        return
    wanted = {"apt": f"libstdc++-{major}-dev", "dnf": "gcc-c++", "zypper": "gcc-c++"}.get(family(machine) or "")
    argv = install(family(machine), wanted) if wanted else None
    yield Finding(
        summary=f"{compiler.name} uses gcc {newest}, but its C++ headers are not installed.",
        severity=Severity.WARNING,
        subject=Subject(kind="compiler"),
        evidence=(
            Evidence(text=f"{compiler.name} is {compiler.key}"[:300], source=machine.source("tools")),
            *evidence(machine, ("host.gcc_runtimes", "host.libstdcxx_headers")),
        ),
        remedies=(command(f"Install {wanted}.", Scope.HOST, *argv, root=True),) if argv else REMEDIES,
        verify=("clang++", "-v", "-E", "-x", "c++", "/dev/null"),
    )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """With the package of this release, where it is known."""
    number = _NEWEST.get((machine.os.version or "")[:5].rstrip(".")) if family(machine) == "apt" else None
    wanted = f"libstdc++-{number}-dev" if number else "gcc-c++" if family(machine) in ("dnf", "zypper") else None
    argv = install(family(machine), wanted) if wanted else None
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="compiler"),
        evidence=(Evidence(text=symptom.text, source=symptom.source), *evidence(machine, ("os.version",))),
        remedies=(command(f"Install {wanted}.", Scope.HOST, *argv, root=True),) if argv else REMEDIES,
    )
