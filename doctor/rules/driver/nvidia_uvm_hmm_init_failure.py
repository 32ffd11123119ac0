from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nvidia-uvm-hmm-init-failure",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="CUDA cannot start: HMM in nvidia_uvm fails on this kernel.",
    needs=(),
    proven="synthetic",
    order=14,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
Log lines of nvidia_uvm that memory for HMM could not be mapped.

## Why it matters
nvidia-smi works, but every CUDA program fails at cuInit.

## Not raised when
No error message shows it. Facts of a running machine are not enough yet.

## How to confirm
Look for devmem_alloc_pagemap in the kernel log.

## Fix
Load nvidia_uvm with uvm_disable_hmm=1, or boot with nokaslr, or update the driver.

## Fix safety
Root, no reboot; no CUDA program works until then.

## References
https://docs.nvidia.com/cuda/archive/13.2.2/cuda-toolkit-release-notes/
""",
)
REMEDIES = (
    way(
        "Load nvidia_uvm without HMM.",
        Scope.DRIVER,
        step("Unload it; a loaded module takes no parameter.", "modprobe", "-r", "nvidia_uvm"),
        step("Load it again.", "modprobe", "nvidia_uvm", "uvm_disable_hmm=1"),
        step("To keep it, write `options nvidia_uvm uvm_disable_hmm=1` to /etc/modprobe.d/nvidia-uvm.conf."),
        root=True,
        vendor="nvidia",
        undo=(
            step("Remove the file.", "rm", "/etc/modprobe.d/nvidia-uvm.conf"),
            step("Unload the module; it loads with HMM again.", "modprobe", "-r", "nvidia_uvm"),
        ),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from ()
