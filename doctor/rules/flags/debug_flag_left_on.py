"""A debugging flag is set that blocks, logs or serialises GPU work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import run_line, work_done
from doctor.rules.lib.advice import step, unset, way
from doctor.rules.lib.error_texts import failing
from doctor.rules.lib.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="debug-flag-left-on",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="A debugging flag is set that blocks, logs or serialises GPU work.",
    needs=({"environment"},),
    proven="synthetic",
    order=80,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING, CUDA_LAUNCH_BLOCKING, AMD_LOG_LEVEL of 3 or more, NCCL_DEBUG=TRACE, or INFO
with NCCL_DEBUG_SUBSYS=ALL, and similar flags.

## Why it matters
Each launch waits for the previous one, or each call writes a line. Results are correct, but work is much slower.

## Not raised when
The flag is unset, 0, or a level that costs little. Without an error message it is information; so it is in a text
about a program error or an invalid memory access, which such a flag helps to find, and not about slowness.

## How to confirm
`env | grep -E 'SERIALIZE|BLOCKING|LOG_LEVEL|NCCL_DEBUG'`

## Fix
Unset it when you are not debugging.

## References
https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
""",
)

_BLOCKING = ("AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY", "HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING")
_WAITS = ("NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT")
"""torch's: the program waits for each collective, to get its errors. A cost beside slowness, else a choice."""
_UNCACHED = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")
_ONE = (*_UNCACHED, "HSA_DISABLE_FRAGMENT_ALLOCATOR")
_WORDS = {"NCCL_DEBUG": ("TRACE",), "TORCH_DISTRIBUTED_DEBUG": ("DETAIL",), "RCCL_KERNEL_COLL_TRACE_ENABLE": ("1",)}
_LOUD = {"AMD_LOG_LEVEL": 3}
REMEDIES = (
    way(
        "Unset the debugging variable that the text shows (VARIABLE).",
        Scope.JOB,
        step("Start the program (COMMAND) without it.", "env", "-u", "VARIABLE", "COMMAND", where="environment"),
        step("If it works, remove it from the shell profile, service unit or job script.", where="environment"),
        undo=(step("Set it again.", where="environment"),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    text = run_line.from_text(machine, "environment")
    env = machine.environment or {}
    for name, value in env.items():
        if _is_on(name, value.strip()) or _logs_each(name, env):
            yield Finding(
                summary=f"{name}={value[:20]} makes torch wait for each collective to finish."
                if name in _WAITS
                else f"{name}={value[:20]} is a debugging flag: it slows every GPU program started from here.",
                severity=Severity.INFO,
                suspect=2 if text and not _sought(machine) else 0,
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={value[:40]}", source="environment"),),
                remedies=(unset(machine, name),),
            )


def _sought(machine: Snapshot) -> bool:
    """Whether the text has an error that the flags don't cause, and no slowness. The flags are set to find it."""
    if machine.symptom(*_MADE_BY_THEM) is not None:
        return False
    return work_done.went_astray(machine) or failing(machine)


_MADE_BY_THEM = ("capture-not-permitted",)


def _is_on(name: str, value: str) -> bool:
    if name in _BLOCKING:
        return value.isdigit() and int(value[:4]) != 0
    if name in _LOUD:
        return value.isdigit() and int(value[:4]) >= _LOUD[name]
    return (name in _ONE and value == "1") or value.upper() in _WORDS.get(name, ())


def _logs_each(name: str, env: Mapping[str, str]) -> bool:
    """Whether NCCL or RCCL writes a line for each collective: at INFO it logs only the start, unless asked for
    the subsystems that tell of each call."""
    if name != "NCCL_DEBUG" or env[name].strip().upper() != "INFO":
        return False
    asked = {word.strip().upper() for word in env.get("NCCL_DEBUG_SUBSYS", "").split(",")}
    return bool(asked & _OF_EACH_CALL)


_OF_EACH_CALL = {"ALL", "COLL", "CALL"}
"""NCCL src/include/debug.h, src/debug.cc: subsystems; src/enqueue.cc prints `AllReduce: opCount …` to COLL."""
