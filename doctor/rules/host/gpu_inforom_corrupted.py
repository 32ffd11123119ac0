from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import drain, step
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-inforom-corrupted",
    severity=Severity.WARNING,
    scope=Scope.HARDWARE,
    action=Action.REPLACE,
    layer=Layer.GPU,
    title="The board's configuration memory (infoROM) is corrupted.",
    needs=[{"nvidia_driver.smi_error"}],
    proven="replay",
    order=62,
    tags=("nvidia", "hardware"),
    doc="""
## What it finds
nvidia-smi warning "infoROM is corrupted at gpu …", which exits with code 14 below a table that looks healthy.

## Why it matters
The infoROM stores ECC counts, retired pages, the serial number and power limits. Health checks that use the exit code
fail; others pass a board whose history is lost.

## Not raised when
nvidia-smi gave no such warning, or was not asked.

## How to confirm
`nvidia-smi; echo $?` prints 14.

## Fix
Power cycle the node; if the warning stays, the vendor must repair or replace the board.

## References
https://docs.nvidia.com/deploy/nvidia-smi/index.html (return values: 14, infoROM is corrupted)
""",
)
REMEDIES = (
    drain(
        "Power cycle the node; replace the GPU if the warning stays.",
        step("Power the node off and on; a warm restart is not enough."),
        step("If the warning stays, the vendor must replace the board: collect a report.", "nvidia-bug-report.sh"),
        risk="stops every job on the node",
        reboot=True,
        vendor="nvidia",
    ),
)
_WARNING = r"infoROM is corrupted(?: at gpu ([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7]))?"


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    printed = machine.nvidia_driver.smi_error
    warned = re.search(_WARNING, printed) if printed else None
    if not printed or not warned:
        return
    device = "-"
    if warned[1]:
        device = f"{int(warned[1], 16):04x}:{warned[2]}:{warned[3]}.{warned[4]}".lower()
    board = presence.board(machine, device)
    shown = [Evidence(text=printed, source=machine.source("nvidia_driver.smi_error"))]
    if board:
        shown.append(Evidence(text=board, source=machine.source("gpus")))
    yield Finding(
        severity=Severity.WARNING,
        summary=f"{'GPU ' + device if device != '-' else 'A GPU'}: its configuration memory (infoROM) is corrupted.",
        subject=Subject(kind="gpu", id=device),
        evidence=tuple(shown),
        remedies=REMEDIES,
        verify=("nvidia-smi",),
    )
