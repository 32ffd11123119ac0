"""A blocking, logging or serialising flag is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import run_line, work_done
from doctor.rules.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="debug-flag-left-on",
    severity=Severity.WARNING,
    title="A blocking, logging or serialising flag is set.",
    needs=({"environment"},),
    proven="synthetic",
    order=80,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING, CUDA_LAUNCH_BLOCKING, AMD_LOG_LEVEL of 3 or more, NCCL_DEBUG=TRACE, or INFO
with NCCL_DEBUG_SUBSYS=ALL, and their like.

## Why it matters
Each launch waits for the one before, or each call writes a line: correct results, much slower.

## Not raised when
The flag is unset, 0, or a level that costs little. From facts alone it is information; so it is in a text that tells
of an error of a program or of a kernel that read where nothing is, which such a flag is set to find, and not of
slowness.

## How to confirm
`env | grep -E 'SERIALIZE|BLOCKING|LOG_LEVEL|NCCL_DEBUG'`

## Fix
Unset it outside of debugging.

## Fix safety
Applies to programs started afterwards.

## References
https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
""",
)

_BLOCKING = ("AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY", "HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING")
_WAITS = ("NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT")
"""torch's: the program waits for each collective, to be told of its errors. A cost beside slowness, else a choice."""
_UNCACHED = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")
_ONE = (*_UNCACHED, "HSA_DISABLE_FRAGMENT_ALLOCATOR")
_COSTLY = (*_BLOCKING, *_UNCACHED)
"""Each of these is slow by itself, whatever is written where."""
_WORDS = {"NCCL_DEBUG": ("TRACE",), "TORCH_DISTRIBUTED_DEBUG": ("DETAIL",), "RCCL_KERNEL_COLL_TRACE_ENABLE": ("1",)}
_LOUD = {"AMD_LOG_LEVEL": 3}
FIXES = (Fix(text="Unset the debugging flag where the program is started.", where="environment"),)


def unheard(machine: Snapshot) -> bool:
    """Where no variable of the kind is set: a flag is read, the words of a text set none. Where a fault is looked for,
    that is what they are set for."""
    env = machine.environment or {}
    return _sought(machine) or not any(
        _is_on(name, value.strip()) or _logs_each(name, env) or name in _WAITS for name, value in env.items()
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    text = run_line.from_text(machine, "environment")
    slow = machine.symptom("said-slow", "gpus-no-faster-told") is not None
    slower = machine.symptom("slower-than-before-told", "said-slow") is not None
    env = machine.environment or {}
    for name, value in env.items():
        if _is_on(name, value.strip()) or _logs_each(name, env) or (slow and name in _WAITS and value.strip() == "1"):
            yield Finding(
                summary=f"{name}={value[:20]} makes torch wait for the end of each collective."
                if name in _WAITS
                else f"{name}={value[:20]} is a debugging flag: it slows every GPU program started from here.",
                severity=Severity.WARNING if text and slower and name in _COSTLY else Severity.INFO,
                suspect=2 if text and not _sought(machine) and not (slower and name in _COSTLY) else 0,
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={value[:40]}", source="environment"),),
                fixes=(
                    Fix(text=f"Start without {name}.", command=("env", "-u", name, "COMMAND"), where="environment"),
                ),
            )


def _sought(machine: Snapshot) -> bool:
    """Whether an error is told, and none that the flags make; nobody speaks of slowness. They are set to find it."""
    from doctor.knowledge.hearsay import trouble

    if machine.symptom(*_SLOW, *_MADE_BY_THEM) is not None:
        return False
    own = any(s.key.startswith("user-error-") or s.key == "kernel-itself-refused-told" for s in machine.symptoms)
    return own or work_done.went_astray(machine) or trouble(machine, "launch-blocking-left-on")


_SLOW = ("said-slow", "gpus-no-faster-told", "slower-than-before-told", "use-is-low-told", "gpu-idle-said")
_MADE_BY_THEM = ("capture-not-permitted", "works-without-variables-told", "log-grows-told")


def _is_on(name: str, value: str) -> bool:
    if name in _BLOCKING:
        return value.isdigit() and int(value[:4]) != 0
    if name in _LOUD:
        return value.isdigit() and int(value[:4]) >= _LOUD[name]
    return (name in _ONE and value == "1") or value.upper() in _WORDS.get(name, ())


def _logs_each(name: str, env: Mapping[str, str]) -> bool:
    """Whether NCCL or RCCL writes a line for each collective: at INFO it tells of the start alone, unless asked for
    the subsystems that tell of each call."""
    if name != "NCCL_DEBUG" or env[name].strip().upper() != "INFO":
        return False
    asked = {word.strip().upper() for word in env.get("NCCL_DEBUG_SUBSYS", "").split(",")}
    return bool(asked & _OF_EACH_CALL)


_OF_EACH_CALL = {"ALL", "COLL", "CALL"}
"""NCCL src/include/debug.h, src/debug.cc: subsystems; src/enqueue.cc prints `AllReduce: opCount …` to COLL."""
