from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.flags import spelling
from doctor.flags.situation import Situation
from doctor.rules.lib import run_line, work_done
from doctor.rules.lib.advice import by_hand, set_to, unset
from doctor.rules.lib.error_texts import pointing_to
from doctor.rules.lib.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-flag-unknown-or-renamed",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="A variable is set that no component reads.",
    needs=({"environment"},),
    proven="synthetic",
    order=51,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
A misspelt, renamed or removed environment flag.

## Why it matters
The setting does nothing, without an error.

## Not raised when
A component still reads the name. From a list of variables alone it is information: the setting has no effect and may
not matter. A misspelt list of GPUs is a warning: the program then uses every GPU.

## How to confirm
Search the flag in the documentation of the installed release.

## Fix
Use the current name, or remove the variable.

## References
https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
""",
)

REMEDIES = (
    by_hand(
        "Rename the variable as the warning says, and unset the old name.",
        Scope.JOB,
        "Change the name where the variable is set: shell profile, service unit, job script, or the container's `-e`.",
        undo="Set the old name again.",
    ),
)


def _remedy(machine: Snapshot, name: str, value: str, meant: str | None) -> Remedy:
    """The name that was meant with the same value, where one is known; else the variable does nothing and can go."""
    if meant:
        return set_to(machine, f"Set {meant} instead of {name}.", **{meant: value[:120]})
    return unset(machine, name)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a name that nothing reads any more, or that is a slip away from one that is read."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    for name, value in (machine.environment or {}).items():
        gone, meant = _gone(machine, name), spelling.nearest(name)
        printed = _is_named(machine, name, "env-renamed")
        refused = printed
        why = gone.why if gone else f"the correct name is {meant}" if meant else None
        strength = 4 if not gone or refused or _is_missed(machine, name) else 0
        if not why and printed:
            why, strength = "the program reports the name as unknown", 4
        # where what is gone is turned off, all is as it was meant
        off = gone and not refused and value.strip().lower() in _OFF
        pasted = run_line.from_text(machine, "environment") and not off
        missed = _felt(machine, name) if gone and pasted else ()
        if meant is not None and not gone:
            missed = _MENDS.get(meant, ()) if pointing_to(machine, *_MENDS.get(meant, ())) else ()
        hides = not gone and meant is not None and meant.endswith(_HIDES)
        if why:
            yield Finding(
                summary=f"{name} has no effect: {why}.",
                severity=Severity.WARNING if hides or missed else Severity.INFO,
                suspect=strength if pasted and not missed and not work_done.ran(machine) else 0,
                explains=(*RULE.explains, *missed),
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={value[:80]}", source=machine.source(f"environment[{name}]")),),
                remedies=(_remedy(machine, name, value, meant),),
            )


def _is_named(machine: Snapshot, name: str, key: str) -> bool:
    """Whether the line of that symptom is of this very variable: a setting that is shown as well is no weaker for what
    a program, or who tried it, says of its name."""
    whole = re.compile(rf"(?<![A-Z0-9_]){re.escape(name)}(?![A-Z0-9_])")
    found = machine.symptom(key)
    return found is not None and whole.search(found.text) is not None


_MENDS = {
    "HSA_OVERRIDE_GFX_VERSION": (
        *("amd-gpu-unsupported-by-rocm", "blas-kernels-missing", "library-missing-gpu-arch"),
        *("torch-missing-gpu-arch", "framework-sees-no-gpu"),
    ),
}
"""Reported if the intended variable is not set: with a typo in its name it has no effect."""


def _felt(machine: Snapshot, name: str) -> tuple[str, ...]:
    """What comes of it that an old name does nothing, where the text shows that error and today's name is not set."""
    symptom, follows = _FELT_BY.get(name, ("", ()))
    return follows if _is_missed(machine, name) and machine.symptom(symptom) is not None else ()


_FELT_BY = {"RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES": ("invalid-device-ordinal", ("visible-devices-conflict",))}
"""Old name → the error that shows that it is not read, and the cause that this error would tell of by itself. Ray cuts
each worker's list to its own GPU, and a program that counts on the whole list asks for one beyond it (ray
python/ray/_private/accelerators/amd_gpu.py; https://github.com/vllm-project/vllm/pull/21522)."""
_OFF = ("0", "false", "off", "no", "none", "")
_HIDES = "_VISIBLE_DEVICES"
"""A slip in such a name is never without effect: every GPU is taken, the first one most."""


def _gone(machine: Snapshot, name: str) -> spelling.Gone | None:
    """Removed, renamed without the old name being read, or never there; for the version at hand where one is known."""
    return spelling.no_longer_read(name, Situation(machine.environment or {}, machine))


def _is_missed(machine: Snapshot, name: str) -> bool:
    """Whether what an old name was set for is missed: nothing at hand reads it, and today's name is not set."""
    today = {row.get("use") for row in spelling.gone(name)}
    gone = _gone(machine, name)
    return gone is not None and gone.sure and today.isdisjoint(machine.environment or {})
