"""An NVSwitch system without a running fabric manager of the driver's version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.redaction.lazy import Lazy
from doctor.rules import commands
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-fabricmanager-not-running",
    severity=Severity.ERROR,
    title="The fabric manager is not running on an NVSwitch system.",
    needs=[
        {"pci", "nvidia_driver.loaded", "nvidia_driver.fabric_manager.running"},
        {"gpus[].fabric_state"},
        {"gpus", "nvidia_driver.version", "nvidia_driver.fabric_manager.version"},
        {"gpus", "nvidia_driver.fabric_manager.installed"},
    ],
    proven="synthetic",
    order=15,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "gpu-fabric-degraded"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
NVSwitches on the bus, the driver loaded, and no fabric manager running, or one of another version than
the driver; or a GPU
whose fabric state never completed.

## Why it matters
CUDA fails with "system not yet initialized" (802) although nvidia-smi lists all GPUs.

## Not raised when
- No NVSwitch is on the bus (PCIe cards, NVLink bridges, GB200 compute nodes) and no GPU waits for a fabric.
- Every GPU reports that its fabric is complete, or torch is known to work.
- Inside a container, unless the GPUs themselves say that they wait: the service runs on the host.

## How to confirm
`systemctl status nvidia-fabricmanager` and `nvidia-smi -q | grep -A2 Fabric`.

## Fix
Install nvidia-fabricmanager in exactly the driver's version, enable and start it.

## Fix safety
Starting it while CUDA jobs run is harmless; restarting it ends jobs that use NVLink.

## References
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
""",
)
FIXES = (
    Fix(
        text="Start the fabric manager, in exactly the driver's version, on the host.",
        command=("systemctl", "enable", "--now", "nvidia-fabricmanager"),
        root=True,
    ),
)
_ON_BOARD = Lazy(r"SXM|HBM3|\bB[123]00\b|\bH[12]00\b(?! (?:PCIe|NVL))|\bH[28]0{1,2}\b", re.IGNORECASE)
"""Products that sit on boards with NVSwitches where there are several."""
_NO_SWITCH = Lazy(
    r"GeForce|\b[RG]TX\b|Quadro|Titan|Jetson|Orin|Xavier|\bGB10\b|PCIe?\b"
    r"|\b(?:T(?:4|400|600|1000)|A(?:2|10G?|16|30|40|2000|[456]000)|L(?:4|40S?)|[PKM]\d{1,4})\b",
    re.IGNORECASE,
)
"""Products that are on no board with NVSwitches."""
_WAITING = ("not-started", "in-progress")


def excludes(machine: Snapshot) -> bool:
    """Where all GPUs are of products that no NVSwitch joins: there a fabric manager has nothing to do, and stops."""
    names = [g.name for g in machine.of_vendor("nvidia")]
    return bool(names) and all(name and _NO_SWITCH.search(name) for name in names)


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Facts do not decide where the manager is absent and one product is named that sits on boards with NVSwitches:
    how many there are is not told."""
    gpus = machine.of_vendor("nvidia")
    alone = len(gpus) == 1 and machine.pci is None and bool(_ON_BOARD.search(gpus[0].name or ""))
    return not alone or machine.nvidia_driver.fabric_manager.installed is not False


def unheard(machine: Snapshot) -> bool:
    """Where CUDA finds no device: without the fabric manager it says that the system is not ready."""
    return machine.symptom("cuda-no-device") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    driver, manager = machine.nvidia_driver, machine.nvidia_driver.fabric_manager
    gpus = machine.of_vendor("nvidia")
    waiting = [g for g in gpus if g.fabric_state in _WAITING]
    done = bool(gpus) and all(g.fabric_state == "completed" for g in gpus)
    if machine.torch.available or (done and not waiting):
        return
    switches = any(d.kind == "nvswitch" for d in machine.pci or ())
    on_host = switches and driver.loaded is True and not commands.in_container(machine)
    board = len(gpus) > 1 and all(_ON_BOARD.search(g.name or "") for g in gpus) and not machine.pci
    stopped = (on_host and manager.running is False) or (board and manager.installed is False)
    skewed = bool(
        (on_host or board)
        and manager.version
        and driver.version
        and Dotted(manager.version).compare(driver.version) != 0
    )
    if not (waiting or stopped or skewed):
        return
    if skewed:
        summary = f"The fabric manager is {manager.version} and the driver {driver.version}; they must be equal."
    elif stopped:
        summary = "The fabric manager is not running on this NVSwitch system; CUDA fails with error 802."
    else:
        summary = f"{len(waiting)} NVIDIA GPU(s) wait for the fabric manager; CUDA fails with error 802."
    names = [f"nvidia_driver.fabric_manager.{n}" for n in ("installed", "running", "version", "error")]
    yield Finding(
        severity=Severity.ERROR,
        summary=summary,
        subject=Subject(kind="service", id="nvidia-fabricmanager"),
        evidence=evidence(
            machine, [*names, "nvidia_driver.version", *(f"gpus[{g.key}].fabric_state" for g in waiting)]
        ),
        fixes=_fixes(machine, skewed),
        verify=("systemctl", "is-active", "nvidia-fabricmanager"),
        source="https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/",
    )


def _fixes(machine: Snapshot, skewed: bool) -> tuple[Fix, ...]:
    """On Ubuntu the package is named after the branch; elsewhere one name has a version to choose."""
    version = machine.nvidia_driver.version
    if not skewed and machine.nvidia_driver.fabric_manager.installed is not False:
        return FIXES
    branch = Dotted(version or "").series(1)
    ubuntu = commands.host_family(machine) == "apt" and machine.os.id == "ubuntu" and branch
    argv = commands.install("apt", f"nvidia-fabricmanager-{branch}") if ubuntu else None
    text = f"Install the fabric manager in version {version or 'of the driver'}, exactly the driver's."
    return (Fix(text=text, command=argv, root=True), *FIXES)
