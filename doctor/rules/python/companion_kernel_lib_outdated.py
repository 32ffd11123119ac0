"""A kernel library is older than its framework needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject
from doctor.rules import python_files
from doctor.rules.library_release import known_faults
from doctor.rules.python_packages import package, pip_install, release, shown

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="companion-kernel-lib-outdated",
    severity=Severity.ERROR,
    title="A kernel library is older than its framework needs.",
    needs=({"packages"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
AITER, CK, AOTriton, FlashInfer or sgl-kernel in a release that the framework does not fit, FlashInfer packages of
different releases included.

## Why it matters
Kernels are missing, take other arguments, or fail at launch.

## Not raised when
FlashInfer's packages agree and no error text was seen.

## How to confirm
`python -m pip list | grep -iE 'aiter|flashinfer|sgl'`

## Fix
Install the release that the framework pins.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://docs.flashinfer.ai/installation.html
""",
)

FIXES = (Fix(text="Install the release of the named kernel library that the framework pins.", where="environment"),)

_OF_VERSIONS = (
    "kernel-library-api-differs", "kernel-library-version-below-floor", "kernel-package-below-minimum",
    "flash-attention-package-below-minimum", "kernel-package-absent-told", "import-fails-told",
)  # fmt: skip
_PARTS = ("flashinfer-cubin", "flashinfer-jit-cache")


def unheard(machine: Snapshot) -> bool:
    """On NVIDIA's GPUs, where no error is of a kernel library's names or versions: a list of them is in any text."""
    nvidia = machine.torch.cuda is not None or (machine.of_vendor("nvidia") and not machine.of_vendor("amd"))
    own = machine.symptom("framework-class-lacks-argument-told") is not None  # both sides are of one package
    return bool(nvidia or own or _without_aiter(machine)) and machine.symptom(*_OF_VERSIONS) is None


def _without_aiter(machine: Snapshot) -> bool:
    """Whether AITER, the library that frameworks pin on AMD's GPUs, is turned off."""
    env = machine.environment or {}
    return any(
        env.get(name, "").strip().lower() in ("0", "false") for name in ("SGLANG_USE_AITER", "VLLM_ROCM_USE_AITER")
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """FlashInfer refuses to load when its packages differ; releases with a known fault."""
    yield from python_files.kernel_libraries(machine)
    yield from known_faults(machine, RULE.id)
    main = package(machine, "flashinfer-python")
    for part in (package(machine, name) for name in _PARTS):
        if main and part and release(main.version) and release(main.version) != release(part.version):
            yield Finding(
                summary=f"{part.name} {part.version[:30]} is not of flashinfer-python {main.version[:30]}.",
                severity=Severity.WARNING,
                subject=Subject(kind="package", id=part.name),
                evidence=shown(machine, main, part),
                fixes=(pip_install(machine, "Install the same release.", f"{part.name}=={release(main.version)}"),),
            )
