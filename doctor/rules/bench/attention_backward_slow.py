from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import by_hand, set_to
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="attention-backward-slow",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="Attention's backward pass is far slower than its forward pass.",
    needs=({"bench"},),
    proven="synthetic",
    order=72,
    tags=("bench",),
    doc="""
## What it finds
Attention whose backward pass takes more than five times the forward pass, with its whole interval. Both passes run on
the same backend of `scaled_dot_product_attention`, which the finding names.

## Why it matters
Backward has two and a half times the arithmetic of forward. A much slower backward pass slows down each training step.

## Not raised when
The interval reaches below five or covers less than 95 %, the backend is not known, the case did not run, or it ran on a
CPU.

## How to confirm
Run `doctor bench attention`, and read the kernel names of the backward pass in `torch.profiler`.

## Fix
Use another kernel: set TORCH_ROCM_FA_PREFER_CK=1 on AMD, or try flash-attn or a newer torch.

## Fix safety
The variable affects one run; results differ in the last digits.

## References
docs/bench.md
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """On ROCm the other kernel that torch has; elsewhere another library."""
    if machine.torch.build != "rocm":
        text = "Install flash-attn for this torch, or a newer torch, then run `doctor bench attention` again."
        return (by_hand("Use another attention kernel.", Scope.ENVIRONMENT, text, undo="Uninstall flash-attn."),)
    title = "Use Composable Kernel's attention kernel (torch for ROCm since 2.7), then measure again."
    return (set_to(machine, title, TORCH_ROCM_FA_PREFER_CK="1"),)


LIMIT = 5.0
"""Times forward. Arithmetic alone gives 2.5 (FlashAttention-2, section 4); 3 to 4 are seen of good kernels."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """By the paired ratio of backward to forward."""
    for measured in machine.bench or ():
        ratio = measured.ratio
        if measured.what != "attention backward" or measured.device == "cpu" or ratio is None:
            continue
        if measured.variant is None or not ratio.firm or ratio.low <= LIMIT:
            continue
        yield Finding(
            summary=f"Attention backward takes {ratio.p50:.1f} times forward "
            f"({measured.variant}, {measured.dtype} {measured.shape}).",
            subject=Subject(kind="case", id=measured.key),
            evidence=(
                Evidence(
                    text=f"backward / forward = {ratio.p50:.2f} ({ratio.low:.2f} to {ratio.high:.2f})",
                    source=machine.source(f"bench[{measured.key}]"),
                ),
            ),
            remedies=advice(machine, kb),
        )
