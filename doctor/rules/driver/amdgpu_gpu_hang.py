from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.host import KernelEvent
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import drain, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="amdgpu-gpu-hang",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="The AMD GPU hung, was reset or faulted.",
    needs=[{"kernel_log.events"}],
    proven="replay",
    order=60,
    tags=("amd", "hardware"),
    doc="""
## What it finds
A hang of an AMD GPU in the kernel log: ring timeout, reset, a hung scheduler or power controller (error); a page
fault alone (warning); a timeout that the driver recovered from softly (info). One finding per GPU. Events older than
a day are a warning at most, unless a reset failed; so is a hang that a reset ended.

## Why it matters
Programs on the GPU were killed or hang; after a failed reset the GPU is gone until a reboot.

## Not raised when
- The kernel log is unreadable or shows no such event.

## How to confirm
`journalctl -k --grep amdgpu`

## Fix
After a failed reset, reboot. Otherwise, restart the program. If it hangs again, update the kernel driver and
firmware, and find the GPU kernel that the program ran.

## References
https://docs.kernel.org/gpu/amdgpu/debugging.html
""",
)
_REBOOT = drain(
    "Drain and reboot the node: the GPU did not come back from its reset.",
    step("Reboot.", "systemctl", "reboot"),
    step("If it happens again on the same GPU, have it replaced."),
    reboot=True,
    risk="stops every job on the node",
    vendor="amd",
)
_RESTART = way(
    "Restart the program that hung the GPU.",
    Scope.JOB,
    step("Start it (COMMAND) again; with HIP_LAUNCH_BLOCKING=1 the error names the kernel that hung.",
         "env", "HIP_LAUNCH_BLOCKING=1", "COMMAND", where="environment"),
    step("If other programs hang it too, update the kernel driver and the GPU firmware."),
    vendor="amd",
    effect=(),
)  # fmt: skip
REMEDIES = (_RESTART, _REBOOT)
_DEAD = frozenset({"amdgpu-gpu-reset-failed", "amdgpu-smu-hang"})
_AFTER = ("amdgpu-gpu-reset-failed", "amdgpu-vram-lost", "amdgpu-gpu-reset")
"""What the driver does about a hang, the worst first."""
_OLD_S = 86400
"""A hang that is older, on a GPU that was not lost, is not today's cause."""
_SUMMARIES = {
    "amdgpu-gpu-reset-failed": (Severity.ERROR, "a failed reset"),
    "amdgpu-hws-hang": (Severity.ERROR, "the compute scheduler hung"),
    "amdgpu-smu-hang": (Severity.ERROR, "the power controller hung"),
    "amdgpu-ring-timeout": (Severity.ERROR, "a ring timeout"),
    "amdgpu-vram-lost": (Severity.ERROR, "a reset that lost its memory"),
    "amdgpu-gpu-reset": (Severity.WARNING, "a reset"),
    "amdgpu-page-fault": (Severity.WARNING, "a page fault"),
    "amdgpu-illegal-access": (Severity.WARNING, "an illegal instruction or register access"),
    "amdgpu-ring-timeout-recovered": (Severity.INFO, "a ring timeout, recovered"),
}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    by_device: dict[str, list[KernelEvent]] = {}
    logged = [e for e in machine.kernel_log.events or () if e.code in _SUMMARIES]
    named = {e.device for e in logged if e.device}
    only = named.pop() if len(named) == 1 else "-"  # ring timeouts and bad opcodes name no device
    for event in logged:
        by_device.setdefault(event.device or only, []).append(event)
    came_back = any(e.code == "amdgpu-gpu-reset-succeeded" for e in machine.kernel_log.events or ())
    for device, events in by_device.items():
        codes = [code for code in _SUMMARIES if any(e.code == code for e in events)]
        severity = min((_SUMMARIES[code][0] for code in codes), key=lambda s: s.rank)
        cause = next((code for code in codes if code not in _AFTER), codes[0])
        ended = [code for code in codes if code in _AFTER and code != cause]
        summary = " and then ".join(_SUMMARIES[code][1] for code in (cause, *ended[:1]))
        # A failed reset leaves the GPU dead until the next boot, however long ago it was.
        old = all((e.age_s or 0) > _OLD_S for e in events) and "amdgpu-gpu-reset-failed" not in codes
        alive = came_back and not _DEAD & set(codes)
        if (old or alive) and severity is Severity.ERROR:
            severity = Severity.WARNING
        source = machine.source("kernel_log.events")
        board = presence.board(machine, device)
        yield Finding(
            severity=severity,
            suspect=True,
            summary=f"{'GPU ' + device if device != '-' else 'An AMD GPU'}: {summary}"
            + (f", {presence.ago(min(e.age_s or 0 for e in events))}." if old else "."),
            subject=Subject(kind="gpu", id=device),
            evidence=(
                *(Evidence(text=f"{presence.times(e)}{e.text}", source=source) for e in events[:5]),
                *((Evidence(text=board, source=machine.source("gpus")),) if board else ()),
            ),
            remedies=_fixes(codes),
            verify=("journalctl", "-k", "-b", "--grep", "amdgpu"),
        )


def _fixes(codes: list[str]) -> tuple[Remedy, ...]:
    if {"amdgpu-gpu-reset-failed", "amdgpu-smu-hang"} & set(codes):
        return (_REBOOT,)
    return (_RESTART,)
