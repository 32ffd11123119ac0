from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import python_loading, python_plugins
from doctor.rules.lib.advice import by_hand, command
from doctor.rules.lib.packages import family, install

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="system-library-missing",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.LIBRARIES,
    title="A system library outside the GPU stack is missing.",
    needs=({"libraries"}, {"plugin_libraries"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A shared library or tool of the distribution (libGL, libgomp, libnuma, Open MPI, Python's headers …) that the program
needs and that is not there; or a libstdc++ or glibc without the versions of symbols that torch needs.

## Why it matters
The import fails before it reaches the GPU.

## Not raised when
The loader finds every library that torch's libraries and the plugins of other frameworks need, and no error message
shows it.

## How to confirm
`ldd FILE.so | grep 'not found'`

## Fix
Install the distribution's package that contains it.

## References
https://man7.org/linux/man-pages/man8/ld.so.8.html
""",
)

REMEDIES = (
    by_hand(
        "Install the distribution's package that holds the library in the error (LIBRARY).",
        Scope.HOST,
        "Debian and Ubuntu: `apt-file search LIBRARY`. RHEL, Fedora, SUSE: `dnf provides '*/LIBRARY'`, "
        "`zypper search --provides LIBRARY`. Arch: `pacman -F LIBRARY`. Then install what it names.",
        undo="Remove the package again.",
        root=True,
    ),
)

_APT = {
    "libgl.so": "libgl1", "libgomp.so": "libgomp1", "libnuma.so": "libnuma1", "libmpi.so": "libopenmpi3",
    "libmpi_cxx.so": "libopenmpi3", "libsndfile.so": "libsndfile1", "libglib-2.0.so": "libglib2.0-0",
    "libibverbs.so": "libibverbs1", "librdmacm.so": "librdmacm1", "libelf.so": "libelf1", "libdrm.so": "libdrm2",
    "libatomic.so": "libatomic1", "libopenblas.so": "libopenblas0", "python.h": "python3-dev", "-lnuma": "libnuma-dev",
    "c compiler": "build-essential", "ninja": "ninja-build",
}  # fmt: skip
"""What the error names -> package of Debian and Ubuntu (packages.debian.org, 2026-11)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What torch needs, and what plugins need that frameworks open by name; of others error texts tell."""
    yield from python_loading.versions(machine)
    lacking = [(held.key, "torch", shown) for held, shown in python_loading.system_libraries(machine)]
    lacking += [(row.name, row.package, shown) for row, shown in python_plugins.system_libraries(machine)]
    for library, asking, shown in lacking:
        wanted = next((pack for name, pack in _APT.items() if library.lower().startswith(name)), None)
        argv = install("apt", wanted) if wanted and family(machine) == "apt" else None
        yield Finding(
            summary=f"The loader cannot find {library[:60]}, which {asking} needs.",
            subject=Subject(kind="library", id=library),
            evidence=(shown,),
            remedies=(command(f"Install {wanted}.", Scope.HOST, *argv, root=True),) if argv else REMEDIES,
        )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """With the package, where the table knows it."""
    low = symptom.text.lower()
    wanted = next((pack for name, pack in _APT.items() if name in low), None)
    argv = install("apt", wanted) if wanted and family(machine) == "apt" else None
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="library"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        remedies=(command(f"Install {wanted}.", Scope.HOST, *argv, root=True),) if argv else REMEDIES,
    )
