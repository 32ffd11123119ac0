from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import python_files
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.library_release import known_faults
from doctor.rules.lib.python_packages import package, pip_install, release, shown

RULE = Rule(
    id="companion-kernel-lib-outdated",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="A kernel library is too old for its framework.",
    needs=({"packages"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
AITER, CK, AOTriton, FlashInfer or sgl-kernel in a release that does not match the framework. FlashInfer packages of
different releases count too.

## Why it matters
Kernels are missing, expect other arguments, or fail at launch.

## Not raised when
FlashInfer's packages agree and no error message shows it.

## How to confirm
`python -m pip list | grep -iE 'aiter|flashinfer|sgl'`

## Fix
Install the release that the framework pins.

## References
https://docs.flashinfer.ai/installation.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: PACKAGE and VERSION are those that it names."""
    return (
        pip_install(
            machine,
            "Install the release of the kernel library that the framework pins (PACKAGE==VERSION in the message).",
            "PACKAGE==VERSION",
        ),
    )


_PARTS = ("flashinfer-cubin", "flashinfer-jit-cache")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """FlashInfer refuses to load when its packages differ; releases with a known fault."""
    yield from python_files.kernel_libraries(machine)
    yield from known_faults(machine, RULE.id)
    main = package(machine, "flashinfer-python")
    for part in (package(machine, name) for name in _PARTS):
        if main and part and release(main.version) and release(main.version) != release(part.version):
            yield Finding(
                summary=f"{part.name} {part.version[:30]} does not match flashinfer-python {main.version[:30]}.",
                severity=Severity.WARNING,
                subject=Subject(kind="package", id=part.name),
                evidence=shown(machine, main, part),
                remedies=(
                    pip_install(machine, "Install the matching release.", f"{part.name}=={release(main.version)}"),
                ),
            )
