"""The backward pass of attention takes far longer than the forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="attention-backward-slow",
    severity=Severity.WARNING,
    title="The backward pass of attention takes far longer than the forward pass.",
    needs=({"bench"},),
    proven="synthetic",
    order=72,
    tags=("bench",),
    doc="""
## What it finds
Attention whose backward pass takes more than five times the forward pass, with its whole interval.

## Why it matters
Backward has two and a half times the arithmetic of forward; far beyond that it is a broken or a fallback kernel, and
training pays for it in each step.

## Not raised when
The interval reaches below five, the case did not run, or it ran on a CPU.

## How to confirm
`doctor bench attention`, and the profiler's kernel names of the backward pass.

## Fix
Choose another kernel: TORCH_ROCM_FA_PREFER_CK=1 on AMD, flash-attn, or a newer torch.

## Fix safety
A variable of one run; results differ in the last digits.

## References
docs/bench.md
""",
)
FIXES = (
    Fix(
        text="Try the kernel of Composable Kernel (torch for ROCm, since 2.7), and measure again.",
        command=("env", "TORCH_ROCM_FA_PREFER_CK=1", "python3"),
        where="environment",
    ),
)
LIMIT = 5.0
"""Times forward. Arithmetic alone gives 2.5 (FlashAttention-2, section 4); 3 to 4 are seen of good kernels."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """By the paired ratio of backward to forward."""
    for measured in machine.bench or ():
        ratio = measured.ratio
        if measured.what != "attention backward" or ratio is None or measured.device == "cpu" or ratio.low <= LIMIT:
            continue
        yield Finding(
            summary=f"Attention backward takes {ratio.p50:.1f} times forward ({measured.dtype} {measured.shape}).",
            subject=Subject(kind="case", id=measured.key),
            evidence=(
                Evidence(
                    text=f"backward / forward = {ratio.p50:.2f} ({ratio.low:.2f} to {ratio.high:.2f})",
                    source=machine.source(f"bench[{measured.key}]"),
                ),
            ),
            fixes=FIXES if machine.torch.build == "rocm" else (Fix(text="Use flash-attn or a newer torch."),),
        )
