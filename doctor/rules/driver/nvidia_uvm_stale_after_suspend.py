from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nvidia-uvm-stale-after-suspend",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.RECONFIGURE,
    layer=Layer.DEVICES,
    title="nvidia_uvm is loaded but does not work: CUDA fails with unknown error (999).",
    needs=(),
    proven="synthetic",
    order=14,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
CUDA's unknown error 999 where the driver itself works; usually nvidia_uvm did not survive a suspend.

## Why it matters
CUDA fails until the module is reloaded; nvidia-smi shows nothing wrong.

## Not raised when
No error message shows it. Facts of a running machine are not enough yet.

## How to confirm
Reload nvidia_uvm and try again.

## Fix
Stop all CUDA programs and reload nvidia_uvm. To keep video memory over a suspend, use
NVreg_PreserveVideoMemoryAllocations=1.

## Fix safety
Root, no reboot; every CUDA program must stop.

## References
https://wiki.archlinux.org/title/NVIDIA/Tips_and_tricks
""",
)
REMEDIES = (
    way(
        "Unload nvidia_uvm and load it again.",
        Scope.DRIVER,
        step("End all CUDA programs; `fuser -v /dev/nvidia-uvm` lists them.", "fuser", "-v", "/dev/nvidia-uvm"),
        step("Unload it.", "modprobe", "--remove", "nvidia_uvm"),
        step("Load it.", "modprobe", "nvidia_uvm"),
        root=True,
        risk="stops every CUDA program",
        vendor="nvidia",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from ()
