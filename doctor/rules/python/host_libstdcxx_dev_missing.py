"""The C++ headers of the newest installed gcc are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.commands import family, install
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-libstdcxx-dev-missing",
    severity=Severity.ERROR,
    title="The C++ headers of the newest installed gcc are missing.",
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
Every HIP program fails at "'cmath' file not found".

## Not raised when
The headers of the newest gcc whose folder holds crtbegin.o are there, no hipcc and no amdclang++ is, or either is not
known; and no error text was seen.

## How to confirm
`clang++ -v -E -x c++ /dev/null` names the selected GCC installation.

## Fix
Install libstdc++-N-dev for the gcc that clang selects.

## Fix safety
No reboot. Adds headers only.

## References
https://github.com/ROCm/ROCm/issues/1843
""",
)

FIXES = (Fix(text="Install the C++ headers of the gcc that clang selects (libstdc++-N-dev or g++).", root=True),)

_NEWEST = {"22.04": "12", "24.04": "14", "12": "12", "13": "14"}
"""Release of Ubuntu or Debian -> newest gcc folder that a bare system has (packages.ubuntu.com, 2026-11)."""


_CLANG = ("hipcc", "amdclang++")


def unheard(machine: Snapshot) -> bool:
    """Where the header that a compiler misses is named, and is none of the C++ library."""
    return machine.symptom("header-of-other-missed-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The newest gcc folder that clang would take, and no headers of that release."""
    newest = max(machine.host.gcc_runtimes or (), key=lambda v: Dotted(v).numbers, default=None)
    headers = machine.host.libstdcxx_headers
    compiler = next((t for t in machine.tools or () if t.name in _CLANG), None)
    major = Dotted(newest or "").major
    if major is None or headers is None or compiler is None or major in {Dotted(v).major for v in headers}:
        return
    wanted = {"apt": f"libstdc++-{major}-dev", "dnf": "gcc-c++", "zypper": "gcc-c++"}.get(family(machine) or "")
    command = install(family(machine), wanted) if wanted else None
    yield Finding(
        summary=f"{compiler.name} takes gcc {newest}, whose C++ headers are not installed.",
        severity=Severity.WARNING,
        subject=Subject(kind="compiler"),
        evidence=(
            Evidence(text=f"{compiler.name} is {compiler.key}"[:300], source=machine.source("tools")),
            *evidence(machine, ("host.gcc_runtimes", "host.libstdcxx_headers")),
        ),
        fixes=(Fix(text=f"Install {wanted}.", command=command, root=True),) if command else FIXES,
        verify=("clang++", "-v", "-E", "-x", "c++", "/dev/null"),
    )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """With the package of this release, where it is known."""
    number = _NEWEST.get((machine.os.version or "")[:5].rstrip(".")) if family(machine) == "apt" else None
    wanted = f"libstdc++-{number}-dev" if number else "gcc-c++" if family(machine) in ("dnf", "zypper") else None
    command = install(family(machine), wanted) if wanted else None
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="compiler"),
        evidence=(Evidence(text=symptom.text, source=symptom.source), *evidence(machine, ("os.version",))),
        fixes=(Fix(text=f"Install {wanted}.", command=command, root=True),) if command else FIXES,
    )
