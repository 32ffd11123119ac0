"""The host compiler is outside what nvcc or hipcc supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import work_done
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-compiler-unsupported",
    severity=Severity.ERROR,
    title="The host compiler is outside what nvcc or hipcc supports.",
    needs=({"host.gcc_version", "cuda"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
gcc, clang or MSVC that the toolkit refuses, or headers too new for it: a gcc above the bound of the CUDA toolkit
while something is compiled.

## Why it matters
Nothing that has GPU code can be built.

## Not raised when
Nothing is compiled, the gcc or the toolkit is not known, or the gcc is within the toolkit's bound.

## How to confirm
`gcc --version` against the table of the toolkit's installation guide.

## Fix
Install a supported gcc beside the system's and name it with CUDAHOSTCXX or NVCC_PREPEND_FLAGS=-ccbin.

## Fix safety
No reboot. The second compiler stands beside the system's.

## References
https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
""",
)

FIXES = (
    Fix(
        text="Install a gcc that the toolkit supports and name it in CC, CXX and CUDAHOSTCXX.",
        where="environment",
    ),
)


_BUILDS = ("build-command-failed", "nvcc-unknown-builtin-of-newer-gcc", "internal-compiler-error")
_GCC_MAX = (
    ("13.4", 16),
    ("13.0", 15),
    ("12.8", 14),
    ("12.4", 13),
    ("12.1", 12),
    ("11.5", 11),
    ("11.1", 10),
    ("11.0", 9),
)
"""First CUDA of a row -> newest gcc that its nvcc takes (crt/host_config.h of published nvcc wheels, 2026-11-20)."""


def unheard(machine: Snapshot) -> bool:
    """Where what was compiled ran, or nothing is compiled."""
    return work_done.ran(machine) or machine.symptom("compiles-here-told", *_BUILDS) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The gcc that answers against the toolkit's own bound, while something is compiled."""
    gcc = Dotted(machine.host.gcc_version or "").major
    toolkits = [i.version for i in machine.cuda or () if i.version]
    bound = next((newest for first, newest in _GCC_MAX if toolkits and Dotted(toolkits[0]) >= first), None)
    builds = any(s.key in _BUILDS for s in machine.symptoms)
    if gcc is None or bound is None or gcc <= bound or not builds:
        return
    yield Finding(
        summary=f"gcc {gcc} is newer than CUDA {toolkits[0][:12]} supports ({bound} at most).",
        # nvcc that does not know the GPU stopped at its own options; the newer toolkit that it takes has another bound.
        severity=Severity.INFO if machine.symptom("nvcc-unsupported-gpu-architecture") else Severity.WARNING,
        subject=Subject(kind="compiler"),
        evidence=evidence(machine, ("host.gcc_version", "cuda")),
        fixes=FIXES,
    )
