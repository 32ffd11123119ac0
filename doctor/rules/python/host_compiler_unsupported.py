"""The host compiler is outside what nvcc or hipcc supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-compiler-unsupported",
    severity=Severity.ERROR,
    title="The host compiler is outside what nvcc or hipcc supports.",
    needs=(),
    proven="synthetic",
    order=41,
    tags=("python",),
    doc="""## What it finds
gcc, clang or MSVC that the toolkit refuses, or headers too new for it.

## Why it matters
Nothing that has GPU code can be built.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one.

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


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
