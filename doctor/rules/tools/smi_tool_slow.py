from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.origin import State
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import looks
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="smi-tool-slow",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.INFORM,
    title="A vendor tool answered late or not at all.",
    needs=(
        {"nvidia_driver.smi_seconds"},
        {"amdgpu_driver.smi_seconds"},
    ),
    proven="synthetic",
    order=60,
    explains=("framework-sees-no-gpu",),
    tags=("tools",),
    doc="""## What it finds
nvidia-smi or amd-smi needed more than 5 s, or was stopped at its deadline.

## Why it matters
It is often the first sign of a GPU that fell off its bus or a driver that hangs.

## Not raised when
The tool answered in time, is not installed, or was not asked.

## How to confirm
`time nvidia-smi` or `time amd-smi list`.

## Fix
Read the kernel log for XIDs or amdgpu faults; on NVIDIA, enable persistence mode if only the first call is slow.

## Fix safety
Changes nothing.

## References
https://docs.nvidia.com/deploy/driver-persistence/index.html
""",
)

REMEDIES = (looks("Search the kernel log for GPU faults.", "dmesg", "--level=err,warn", root=True),)
_NVIDIA = "nvidia_driver"
_STOPPED = "no answer within"
_SLOW_S = 5.0
"""AMD-AGI/Primus preflight treats more than 5 s as a fault (2026-08)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a vendor. Of a tool that was stopped the seconds are its deadline, and its error says so."""
    for area, tool in ((_NVIDIA, "nvidia-smi"), ("amdgpu_driver", "amd-smi")):
        name = f"{area}.smi_seconds"
        seconds, error = machine.get(name), machine.get(f"{area}.smi_error") or ""
        if seconds is None:
            continue
        late = error.startswith(_STOPPED)
        if not late and seconds <= _SLOW_S:
            continue
        took = f"did not answer within {seconds:g} s" if late else f"took {seconds:.1f} s to answer"
        yield Finding(
            # A driver whose own library does not come up either serves nobody.
            severity=Severity.ERROR if late and area == _NVIDIA and _no_nvml(machine) else RULE.severity,
            summary=f"{tool} {took}: a GPU or its driver may hang.",
            subject=Subject(kind="tool", id=tool),
            evidence=(Evidence(text=f"{tool} {took}", source=machine.source(name)),),
            remedies=REMEDIES,
            verify=(tool,) if tool == "nvidia-smi" else (tool, "list"),
        )


def _no_nvml(machine: Snapshot) -> bool:
    origin = machine.origins.get("nvidia_driver.nvml_error")
    return bool(machine.nvidia_driver.nvml_error) or (origin is not None and origin.state is State.TIMED_OUT)
