from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.flags import grammars
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import set_to, unset
from doctor.rules.lib.flags_read import evaluated
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="allocator-flag-unsupported",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="This torch or platform does not support an allocator option that is set.",
    needs=({"environment"},),
    proven="synthetic",
    order=50,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
An option of PYTORCH_CUDA_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF or PYTORCH_ALLOC_CONF that this build rejects or ignores.

## Why it matters
The option does nothing, or torch stops: 'Unrecognized CachingAllocator option', 'expandable_segments not supported on
this platform'.

## Not raised when
The option and its value are known and the platform has it. Under WSL, expandable_segments fails only on some GPUs:
without an allocator error it is information. So it is in a pasted text on a ROCm build, which continues without it.

## How to confirm
Unset the variable and run again.

## Fix
Remove the option.

## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Without the variables that hold the options: those that are set, where that is known."""
    return (unset(machine, *([n for n in _NAMES if n in (machine.environment or {})] or _NAMES)),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    for name in _NAMES:
        value = (machine.environment or {}).get(name, "")
        if value[:1] in ("$", "%", "<", "{", "("):
            continue  # it is taken from elsewhere, or left out by who wrote the text
        fault = _fault(machine, value) if value else None
        instead = _unread(machine, name) if value and fault is None else None
        if instead:
            why = f"torch {machine.torch.version or '?':.20} reads its GPU allocator's options from {instead}"
            fault = Severity.WARNING, why
        if fault is None:
            continue
        severity, why = fault
        fix = set_to(machine, f"Set {instead} instead.", **{instead: value[:120]}) if instead else unset(machine, name)
        yield Finding(
            summary=f"{name}={value[:60]}: {why}.",
            severity=severity,
            suspect=4 if severity is Severity.INFO else 0,
            subject=Subject(kind="variable", id=name),
            evidence=(Evidence(text=f"{name}={value[:120]}", source=machine.source(f"environment[{name}]")),),
            remedies=(fix,),
        )


_NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_FAILS = ("cuda-driver-error", "expandable-segments", "allocator-option-unknown", "cuda-unknown-999")


def _unread(machine: Snapshot, name: str) -> str | None:
    """The name that is read instead. The unified name came with 2.9, and CUDA's allocator took its options from it
    later (pytorch #183387)."""
    version = machine.torch.version
    if name != "PYTORCH_ALLOC_CONF" or not version or not Dotted(version) < Dotted("2.10"):
        return None
    if any((machine.environment or {}).get(other) for other in _NAMES[1:]):
        return None
    return "PYTORCH_HIP_ALLOC_CONF" if machine.torch.build == "rocm" else "PYTORCH_CUDA_ALLOC_CONF"


def _fault(machine: Snapshot, value: str) -> tuple[Severity, str] | None:
    reading = grammars.read("torch_alloc_conf", value)
    if reading and reading.state != "taken":
        return Severity.WARNING, f"it {reading.says}" if reading.says.startswith("has ") else reading.says
    return _expandable(machine) if _TAKEN.search(value) else None


_TAKEN = Lazy(r"expandable_segments\s*:\s*True")
_TRIED = Lazy(r"Tried to allocate (?P<size>\d{1,4}(?:\.\d{1,2})?) (?P<unit>[GM]iB)")
_HELD = Lazy(r"(?P<size>\d{1,4}(?:\.\d{1,2})?) (?P<unit>[GM]iB) is reserved by PyTorch but unallocated")


def _in_pieces(machine: Snapshot) -> bool:
    """Whether memory ran out while the allocator held more free than was asked for: what the option is there for."""
    errors = (s.text for s in machine.symptoms if s.key == "cuda-out-of-memory")
    sizes = ([pattern.search(text) for pattern in (_TRIED, _HELD)] for text in errors)
    return any(tried and held and _mib(held) > _mib(tried) for tried, held in sizes)


def _mib(found: re.Match[str]) -> float:
    return float(found["size"]) * (1024 if found["unit"] == "GiB" else 1)


def _expandable(machine: Snapshot) -> tuple[Severity, str] | None:
    """No expandable segments: Windows, ROCm before torch 2.11, torch before 2.1; under WSL they fail."""
    torch = machine.torch
    if machine.host.wsl:
        fails = machine.symptom(*_FAILS) is not None
        return (Severity.WARNING if fails else Severity.INFO), "expandable_segments fail under WSL on some GPUs"
    if machine.os.id == "windows":
        return Severity.WARNING, "expandable_segments are not supported on Windows"
    if torch.version and Dotted(torch.version) < Dotted("2.1"):
        return Severity.WARNING, f"torch {torch.version[:20]} has no expandable_segments"
    if torch.build == "rocm" and (not torch.version or Dotted(torch.version) < Dotted("2.11")):
        # torch warns and continues without them: in a text about something else it is information.
        pasted = any(run_line.from_text(machine, f"environment[{name}]") for name in _NAMES) and not _in_pieces(machine)
        return (Severity.INFO if pasted else Severity.WARNING), "torch before 2.11 has no expandable_segments on ROCm"
    return None
