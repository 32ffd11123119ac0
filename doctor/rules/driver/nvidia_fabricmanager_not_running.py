from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import commands, packages
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.boot import service
from doctor.versions import Dotted

RULE = Rule(
    id="nvidia-fabricmanager-not-running",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="The NVSwitch fabric manager is not running or has the wrong version.",
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
- Inside a container, unless the GPUs themselves report that they wait: the service runs on the host.
- The bus is not known and there are fewer than eight GPUs of boards with NVSwitches, unless error 802 appears too.

## How to confirm
`systemctl status nvidia-fabricmanager` and `nvidia-smi -q | grep -A2 Fabric`.

## Fix
Install nvidia-fabricmanager in exactly the driver's version, enable and start it.

## Fix safety
Starting it while CUDA jobs run is harmless; restarting it stops jobs that use NVLink.

## References
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
""",
)
_ARCHIVES = "https://developer.download.nvidia.com/compute/nvidia-driver/redist/fabricmanager/"
_START = service("Start the fabric manager on the host.", "nvidia-fabricmanager", vendor="nvidia")


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """On Ubuntu the package is named after the branch (packages.ubuntu.com, 2026-11-23); NVIDIA's packages of 580 and
    later have another name than those before (NVIDIA/gpu-driver-container, its rhel9 and ubuntu24.04 scripts and issue
    585 on SLES, 2026-11)."""
    version, family = machine.nvidia_driver.version, packages.host_family(machine)
    branch, ubuntu = Dotted(version or "").series(1), machine.os.id == "ubuntu"
    old = {"apt": f"nvidia-fabricmanager-{branch or 'BRANCH'}"}.get(family or "", "nvidia-fabric-manager")
    is_old = ubuntu or Dotted(branch or "580") < "580"
    argv = None if family == "pacman" else packages.install(family, old if is_old else "nvidia-fabricmanager")
    if family and argv and (version or not ubuntu):
        argv = (*argv[:-1], argv[-1] + {"apt": "=%s*", "dnf": "-%s", "zypper": "=%s"}[family] % (version or "VERSION"))
    what = version or "VERSION (`modinfo -F version nvidia`)"
    number = "" if branch or not ubuntu else " (BRANCH: the first number of that version)"
    text = f"Install the fabric manager in version {what}, exactly the driver's{number}."
    if family == "pacman":
        text += f" No package of it is known for Arch; NVIDIA's archives: {_ARCHIVES}"
    elif argv and not ubuntu:
        text += " The package is in NVIDIA's repository" + (f" (before 580: {old})." if not branch else ".")
    install = Step(text=text, command=argv)
    title = "Install the fabric manager of the driver's version and start it."
    again = Step(text="Restart it, if it ran before.", command=("systemctl", "restart", "nvidia-fabricmanager"))
    return (_START.model_copy(update={"title": title, "steps": (install, *_START.steps, again)}),)


_ON_BOARD = Lazy(
    r"^(?!.*(?:SXM2|\bNVL|PCIe|\bG[BH]\d{3}))(?:.*SXM|.*HBM3|.*\b(?:B[123]00|H[128]00|H20)\b)",
    re.IGNORECASE,
)
"""Products that sit on boards with NVSwitches where there are eight or more. Boards of two or four (and those of V100
SXM2 and GH200) join their GPUs by NVLink alone."""
_OF_A_BOARD = 8
_WAITING = ("not-started", "in-progress")


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Facts do not decide where the manager is absent and one product is named that sits on boards with NVSwitches:
    how many is unknown. Nor where CUDA itself says that the system is not ready, and no fabric is complete."""
    gpus = machine.of_vendor("nvidia")
    done = any(gpu.fabric_state == "completed" for gpu in gpus)
    if machine.symptom("cuda-802") is not None and not done and machine.torch.available is not True:
        return False
    alone = len(gpus) == 1 and machine.pci is None and bool(_ON_BOARD.search(gpus[0].name or ""))
    return not alone or machine.nvidia_driver.fabric_manager.installed is not False


_NOT_READY = (
    *("cuda-802", "cuda-802-of-wrappers", "fabric-manager-of-other-driver", "nccl-nvls-fabric"),
    *("nccl-multicast-refused", "fabric-state-in-progress"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    driver, manager = machine.nvidia_driver, machine.nvidia_driver.fabric_manager
    gpus = machine.of_vendor("nvidia")
    waiting = [g for g in gpus if g.fabric_state in _WAITING]
    done = bool(gpus) and all(g.fabric_state == "completed" for g in gpus)
    if machine.torch.available or (done and not waiting):
        return
    switches = any(d.kind == "nvswitch" for d in machine.pci or ())
    on_host = switches and driver.loaded is True and not commands.in_container(machine)
    named = len(gpus) > 1 and all(_ON_BOARD.search(g.name or "") for g in gpus) and not machine.pci
    not_ready = machine.symptom(*_NOT_READY) is not None
    board = named and (not_ready or not commands.in_container(machine))
    whole = board and (not_ready or len(gpus) >= _OF_A_BOARD)
    stopped = (on_host and manager.running is False) or (whole and manager.installed is False)
    skewed = (on_host or board) and _differ(manager.version, driver.version)
    if not (waiting or stopped or skewed):
        return
    if skewed:
        summary = f"The fabric manager ({manager.version}) and driver ({driver.version}) must have the same version."
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
        remedies=advice(machine) if skewed or manager.installed is False else (_START,),
        verify=("systemctl", "is-active", "nvidia-fabricmanager"),
        source="https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/",
    )


def _differ(manager: str | None, driver: str | None) -> bool:
    """By the numbers that both have: people write 550.127 of 550.127.05."""
    ours, theirs = Dotted(manager or "").numbers, Dotted(driver or "").numbers
    width = min(len(ours), len(theirs))
    return ours[:width] != theirs[:width]
