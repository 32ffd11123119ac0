from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.flags.situation import Situation
from doctor.flags.tunable import stale as differing
from doctor.flags.tunable import tunes
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import looks, set_to
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.flags_read import evaluated

RULE = Rule(
    id="tunableop-misconfigured",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="TunableOp has no results, has stale ones, or tunes while the program runs.",
    needs=({"environment"}, {"torch.tunableop_validators"}),
    facts_decide=False,
    proven="synthetic",
    order=52,
    tags=("blas", "flags"),
    doc="""
## What it finds
TunableOp on in a run that fails or is slow: tuning tries every kernel, faulty ones included.

## Why it matters
Tuning slows the first steps, and a faulty candidate stops the run with a memory fault.

## Not raised when
TunableOp is off, or on without tuning and with results of this very stack. From the variables alone it is
information. So it is where the text points to no cause and no work is slow, crashes or runs out of memory.

## How to confirm
Run once with PYTORCH_TUNABLEOP_ENABLED=0.

## Fix
Disable TunableOp, or tune once and run with PYTORCH_TUNABLEOP_TUNING=0.

## References
https://docs.pytorch.org/docs/stable/cuda.tunable.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Use results without tuning, or neither."""
    use = set_to(machine, "Use the existing results and do not tune while the program runs.",
                 PYTORCH_TUNABLEOP_TUNING="0")  # fmt: skip
    return use, set_to(machine, "Run without TunableOp.", PYTORCH_TUNABLEOP_ENABLED="0")


def _for_stale(machine: Snapshot) -> tuple[Remedy, ...]:
    """Results that are not used: make new ones, or run without."""
    again = looks("Tune again with this torch and ROCm.", "doctor", "bench", "tune", where="environment")
    return again, set_to(machine, "Run without TunableOp.", PYTORCH_TUNABLEOP_ENABLED="0")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Tuning left on, and results of another stack."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    env = machine.environment or {}
    stale = "; ".join(differing(machine.torch.tunableop_validators or {}, Situation({}, machine)))
    if not stale and not tunes(env):
        return
    tuning = "tunes while the program runs: PYTORCH_TUNABLEOP_TUNING is 1 unless it is set to 0"
    why = f"ignores results of another stack: {stale}" if stale else tuning
    yield Finding(
        summary=f"TunableOp {why}.",
        severity=Severity.WARNING if stale else Severity.INFO,
        suspect=4 if not stale and run_line.from_text(machine, "environment") else 0,
        subject=Subject(kind="variable", id="PYTORCH_TUNABLEOP_ENABLED"),
        evidence=tuple(
            Evidence(text=f"{n}={v[:60]}", source=machine.source(f"environment[{n}]"))
            for n, v in env.items()
            if n.startswith("PYTORCH_TUNABLEOP_")
        ),
        remedies=_for_stale(machine) if stale else advice(machine, kb),
    )
