"""A system library outside the GPU stack is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import python_loading, python_plugins
from doctor.rules.commands import family, install

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="system-library-missing",
    severity=Severity.ERROR,
    title="A system library outside the GPU stack is missing.",
    needs=({"libraries"}, {"plugin_libraries"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A shared library or tool of the distribution (libGL, libgomp, libnuma, Open MPI, Python's headers …) that the program
needs.

## Why it matters
The import stops before any GPU is asked.

## Not raised when
The loader finds every library that torch's libraries and the plugins of other frameworks need, and no error text was
seen.

## How to confirm
`ldd FILE.so | grep 'not found'`

## Fix
Install the distribution's package that holds it.

## Fix safety
No reboot. Adds a package of the distribution.

## References
https://man7.org/linux/man-pages/man8/ld.so.8.html
""",
)

FIXES = (Fix(text="Install the distribution's package that holds the named library.", root=True),)

_APT = {
    "libgl.so": "libgl1", "libgomp.so": "libgomp1", "libnuma.so": "libnuma1", "libmpi.so": "libopenmpi3",
    "libmpi_cxx.so": "libopenmpi3", "libsndfile.so": "libsndfile1", "libglib-2.0.so": "libglib2.0-0",
    "libibverbs.so": "libibverbs1", "librdmacm.so": "librdmacm1", "libelf.so": "libelf1", "libdrm.so": "libdrm2",
    "libatomic.so": "libatomic1", "libopenblas.so": "libopenblas0", "python.h": "python3-dev", "-lnuma": "libnuma-dev",
    "c compiler": "build-essential", "ninja": "ninja-build",
}  # fmt: skip
"""What the error names -> package of Debian and Ubuntu (packages.debian.org, 2026-11)."""


def unheard(machine: Snapshot) -> bool:
    """Where the header that a build misses is torch's own, and of another release of it."""
    return machine.symptom("torch-header-of-another-torch") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What torch needs, and what plugins need that frameworks open by name; of others error texts tell."""
    lacking = [(held.key, "torch", shown) for held, shown in python_loading.system_libraries(machine)]
    lacking += [(row.name, row.package, shown) for row, shown in python_plugins.system_libraries(machine)]
    for library, asking, shown in lacking:
        wanted = next((pack for name, pack in _APT.items() if library.lower().startswith(name)), None)
        command = install("apt", wanted) if wanted and family(machine) == "apt" else None
        yield Finding(
            summary=f"{library[:60]}, which {asking} needs, is nowhere that the loader looks.",
            subject=Subject(kind="library", id=library),
            evidence=(shown,),
            fixes=(Fix(text=f"Install {wanted}.", command=command, root=True),) if command else FIXES,
        )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """With the package, where the table knows it."""
    low = symptom.text.lower()
    wanted = next((pack for name, pack in _APT.items() if name in low), None)
    command = install("apt", wanted) if wanted and family(machine) == "apt" else None
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="library"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        fixes=(Fix(text=f"Install {wanted}.", command=command, root=True),) if command else FIXES,
    )
