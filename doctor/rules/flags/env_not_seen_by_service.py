"""A flag is set in the shell and not where the service starts, or the reverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.redaction.lazy import Lazy

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-not-seen-by-service",
    severity=Severity.WARNING,
    title="A flag is set in the shell and not where the service starts, or the reverse.",
    needs=({"environment", "service_environment"},),
    proven="synthetic",
    explains=(
        *("amd-gpu-unsupported-by-rocm", "library-missing-gpu-arch", "framework-sees-no-gpu"),
        *("gpu-libs-not-found", "tensorflow-gpu-mismatch"),
    ),
    order=50,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
A service (systemd unit, container, notebook server) starts with another environment than the shell it was tried in.

## Why it matters
The same command works by hand and fails as a service.

## Not raised when
The service's own environment is not shown, or it has the same value.

## How to confirm
`tr '\\0' '\\n' < /proc/PID/environ` of the service.

## Fix
Set it in the unit or the container's run line.

## Fix safety
The service must be started again.

## References
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment
""",
)

FIXES = (
    Fix(
        text="Set the variable in the unit with Environment=, then reload and restart it.",
        command=("systemctl", "edit", "SERVICE"),
        root=True,
    ),
)


def unheard(machine: Snapshot) -> bool:
    """Where the unit is told to refuse devices: no variable gives them back."""
    return machine.symptom("unit-lists-devices-told", "unit-hides-devices-told", "unit-refuses-nodes-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the variables of the shell that matter to GPUs and that the service lacks."""
    given = machine.service_environment
    if given is None:
        return
    own = {n: v for n, v in (machine.environment or {}).items() if _MATTERS.match(n) and v and given.get(n) != v}
    lacks = sorted(name for name in own if name not in given)
    if lacks:
        yield Finding(
            summary=f"{', '.join(lacks)[:60]}: set in the shell, and the service was started without it.",
            severity=Severity.WARNING,
            subject=Subject(kind="variable", id=lacks[0]),
            evidence=tuple(
                Evidence(text=f"{n}={own[n][:80]}", source=machine.source(f"environment[{n}]")) for n in lacks[:8]
            ),
            explains=tuple(r for r in RULE.explains if r not in _OF_PATHS or any(map(_LEADS.search, lacks))),
            fixes=FIXES,
        )


_OF_PATHS = ("gpu-libs-not-found", "tensorflow-gpu-mismatch")
"""What a variable explains that leads to libraries, and no other does."""
_LEADS = Lazy(r"PATH$|_HOME$")
_MATTERS = Lazy(
    r"HSA_\w+|(?:HIP|ROCR|CUDA|NVIDIA)_VISIBLE_DEVICES|LD_LIBRARY_PATH|OLLAMA_\w+|NCCL_\w+|(?:HIP|CUDA|ROCM)_(?:PATH|HOME)|"
    r"PYTORCH_\w+|TORCH_\w+|VLLM_\w+|GGML_\w+"
)
