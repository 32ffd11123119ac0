"""TunableOp runs without results, still tunes, or has stale results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import run_line
from doctor.rules.flags_read import evaluated
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="tunableop-misconfigured",
    severity=Severity.WARNING,
    title="TunableOp runs without results, still tunes, or has stale results.",
    needs=({"environment"}, {"torch.tunableop_validators"}),
    facts_decide=False,
    proven="synthetic",
    order=52,
    tags=("blas", "flags"),
    doc="""
## What it finds
TunableOp on in a run that fails or is slow: tuning tries every kernel, faulty ones included.

## Why it matters
Tuning slows the first steps, and a faulty candidate ends the run with a memory fault.

## Not raised when
TunableOp is off, or on without tuning and with results of this very stack. From the variables alone it is
information, and so where nothing of the text points to a cause and no work is slow, crashes or is short of memory.

## How to confirm
Run once with PYTORCH_TUNABLEOP_ENABLED=0.

## Fix
Turn TunableOp off, or tune once and run with PYTORCH_TUNABLEOP_TUNING=0.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.pytorch.org/docs/stable/cuda.tunable.html
""",
)
FIXES = (Fix(text="Run without TunableOp.", command=("env", "PYTORCH_TUNABLEOP_ENABLED=0", "python3")),)


def unheard(machine: Snapshot) -> bool:
    """Where it is turned off, or on with the tuning off: the words are then the variable's name alone. Not where
    results are at hand that may be stale."""
    env = machine.environment or {}
    on, tunes = env.get("PYTORCH_TUNABLEOP_ENABLED"), env.get("PYTORCH_TUNABLEOP_TUNING")
    return on == "0" or (on == "1" and tunes == "0" and not machine.torch.tunableop_validators)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Tuning left on, and results of another stack."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    env = machine.environment or {}
    stale = _stale(machine)
    on = env.get("PYTORCH_TUNABLEOP_ENABLED") == "1"
    tunes = on and env.get("PYTORCH_TUNABLEOP_TUNING", "1") != "0"
    if not stale and not tunes:
        return
    why = stale or "tunes while the program runs: PYTORCH_TUNABLEOP_TUNING is 1 unless it is set to 0"
    yield Finding(
        summary=f"TunableOp {why}.",
        severity=Severity.WARNING if stale or _waits(machine) else Severity.INFO,
        suspect=4
        if not stale and not _waits(machine) and run_line.from_text(machine, "environment") and _felt(machine)
        else 0,
        subject=Subject(kind="variable", id="PYTORCH_TUNABLEOP_ENABLED"),
        evidence=tuple(
            Evidence(text=f"{n}={v[:60]}", source=machine.source(f"environment[{n}]"))
            for n, v in env.items()
            if n.startswith("PYTORCH_TUNABLEOP_")
        ),
        fixes=FIXES,
    )


def _waits(machine: Snapshot) -> bool:
    """Whether a pasted text tells that work stalls or got slower: each new shape is tuned while a request waits."""
    return run_line.from_text(machine, "environment") and machine.symptom("slower-than-before-told") is not None


def _felt(machine: Snapshot) -> bool:
    """Whether anything is told of a fault, of slow work or of memory: what tuning can be the cause of."""
    return run_line.complained_of(machine) or machine.symptom(*_FELT) is not None


_FELT = (
    "said-slow",
    "speed-or-heat-told",
    "memory-ran-out-told",
    "stands-still-told",
    "slower-than-before-told",
    "program-crashed",
)


def _stale(machine: Snapshot) -> str | None:
    """torch takes no results whose validators differ from the stack at hand."""
    made = machine.torch.tunableop_validators or {}
    for name, here in (("PT_VERSION", machine.torch.version), ("ROCM_VERSION", machine.torch.rocm)):
        there = made.get(name)
        if there and here and Dotted(there).series() != Dotted(here).series():
            return f"results are of {name} {there[:20]}, and {here[:20]} is at hand: they are not used"
    return None
