"""A measured result is below the profile's baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gemm import Measurement
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

if TYPE_CHECKING:
    from doctor.profiles.parts import Baseline

RULE = Rule(
    id="bench-below-baseline",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="A measured result is below the profile's baseline.",
    needs=({"bench", "profile"},),
    proven="synthetic",
    order=73,
    tags=("bench", "profile"),
    doc="""
## What it finds
A measurement whose whole interval is below the profile's baseline for the same case: same name, type, shape and unit.
Against a floor, any shortfall; against a median that was measured elsewhere, more than 10 %.

## Why it matters
This stack does not use what the hardware can do.

## Not raised when
The profile has no baseline for the case ("no baseline", never a pass), units differ, or the interval reaches it.
Where lower is better (microseconds), the comparison is reversed.

## How to confirm
`doctor bench --profile NAME`: it shows clocks and throttle reasons beside each number.

## Fix
Check the clocks first, then the library (`doctor blas --prove`) and the versions in the baseline.

## Fix safety
Looking changes nothing.

## References
docs/bench.md
""",
)
REMEDIES = (
    way(
        "Find out whether the library or the clocks differ from the baseline's run.",
        Scope.JOB,
        step("Show which library and kernel each product takes.", "doctor", "blas", "--prove"),
        step("Look for a power or temperature limit during the run.", "doctor", "check", "--only", "gpu-throttled"),
    ),
)
MARGIN = 0.9
"""Of a median that was measured on another node: parts of one kind differ by some percent."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for measured in machine.bench or ():
        baseline = baseline_of(profile, measured)
        short = baseline and shortfall(baseline, measured)
        if not baseline or not short or measured.value is None:
            continue
        target = number_of(baseline)
        made = ", ".join(f"{name} {version}" for name, version in sorted(baseline.software.items()))
        yield Finding(
            summary=f"{measured.what} {measured.dtype} {measured.shape}: {measured.value.p50:.4g} {measured.unit}; "
            f"the baseline is {target:.4g}.",
            subject=Subject(kind="case", id=measured.key),
            evidence=(
                Evidence(text=f"{measured.value.low:.4g} to {measured.value.high:.4g} {measured.unit}", source="bench"),
                Evidence(text=f"{baseline.method}; {baseline.library}; {made}", source=baseline.source.url),
            ),
            remedies=REMEDIES,
            source=baseline.source.url,
        )


def baseline_of(profile: Profile | None, measured: Measurement) -> Baseline | None:
    """That of the same case and unit; None means "no baseline"."""
    wanted = _words(f"{measured.what} {measured.dtype} {measured.shape}")
    for baseline in profile.baseline if profile else ():
        named = _words(f"{baseline.what} {baseline.dtype} {baseline.shape}")
        if baseline.value.unit == measured.unit and wanted - named <= _PLAIN and named <= wanted:
            return baseline
    return None


_PLAIN = frozenset({"matmul"})
"""A baseline of a "gemm" is one of torch.matmul."""


def shortfall(baseline: Baseline, measured: Measurement) -> bool:
    if measured.value is None or measured.outcome != "ran" or not measured.value.firm:
        return False
    target = number_of(baseline)
    margin = 1.0 if baseline.value.floor is not None else MARGIN
    if measured.unit in ("us", "ms", "s"):
        return measured.value.low > target / margin
    return measured.value.high < target * margin


def number_of(baseline: Baseline) -> float:
    """What the baseline says: its floor, else its median."""
    value = baseline.value.floor if baseline.value.floor is not None else baseline.value.p50
    assert value is not None  # a profile without both is refused when it is read
    return value


def _words(text: str) -> frozenset[str]:
    aliases = {"bf16": "bfloat16", "fp16": "float16", "fp8": "float8", "fp32": "float32"}
    words = re.findall(r"[a-z0-9_]+", text.lower().replace("×", "x"))
    return frozenset(aliases.get(word, word) for word in words)
