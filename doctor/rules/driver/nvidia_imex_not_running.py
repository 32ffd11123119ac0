from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import STOPS_NODE, step, way, writes
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.commands import REBOOT
from doctor.rules.lib.container_advice import recreate

RULE = Rule(
    id="nvidia-imex-not-running",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="The IMEX service of a rack-scale NVLink fabric is not running.",
    needs=[{"gpus", "nvidia_driver.imex.running"}, {"gpus", "nvidia_driver.imex.installed"}],
    proven="synthetic",
    order=16,
    explains=("gpu-fabric-degraded",),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
GPUs of a rack-scale system (GB200, GB300) that are joined to their fabric, and the IMEX service not installed or not
running; or IMEX running, but this node without a channel (/dev/nvidia-caps-imex-channels).

## Why it matters
The nodes of the rack cannot share memory: NCCL falls back from NVLink to the network, or fails with "CUDA driver
error: not permitted" (800) when it requests a fabric handle.

## Not raised when
The GPUs are of one node alone (HGX, PCIe), their fabric was never started, or this is a container without the service's
files: the service runs on the host. A container without a channel is information: a job of one node needs none.

## How to confirm
`systemctl status nvidia-imex`, `nvidia-imex-ctl -N`, `ls /dev/nvidia-caps-imex-channels`

## Fix
Name the nodes in /etc/nvidia-imex/nodes_config.cfg, start the service on each, and create a channel.

## Fix safety
Starting it does not affect running jobs; a restart stops jobs that share memory between nodes.

## References
https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
""",
)
_START = way(
    "Start IMEX on each node of the rack.",
    Scope.HOST,
    step("Write the IP address of each node of the rack to /etc/nvidia-imex/nodes_config.cfg, one per line."),
    step("Start the service now and at each boot.", "systemctl", "enable", "--now", "nvidia-imex"),
    root=True,
    risk="a restart stops jobs that share memory between nodes",
    vendor="nvidia",
)
_OPTION = "/etc/modprobe.d/nvidia-NVreg_CreateImexChannel0.conf"
_CHANNEL = way(
    "Let the driver create IMEX channel 0, then reboot.",
    Scope.DRIVER,
    writes(_OPTION, "options nvidia NVreg_CreateImexChannel0=1"),
    REBOOT,
    root=True,
    reboot=True,
    risk=STOPS_NODE,
    undo=(step("Remove the file.", "rm", _OPTION), REBOOT),
    vendor="nvidia",
)


def _pass(machine: Snapshot) -> Remedy:
    title = "If the job spans nodes, recreate the container with an IMEX channel of the host."
    return recreate(machine, title, "--device", "/dev/nvidia-caps-imex-channels/channel0", vendor="nvidia")


REMEDIES = (_START,)
_RACK = ("GB200", "GB300")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    imex = machine.nvidia_driver.imex
    racked = [
        g
        for g in machine.of_vendor("nvidia")
        if any(word in (g.name or "") for word in _RACK) and g.fabric_state in ("completed", "in-progress")
    ]
    if not racked:
        return
    inside = machine.container.inside is True
    if not inside and (imex.installed is False or imex.running is False):
        what, fix = "not installed" if imex.installed is False else "not running", _START
    elif imex.running is not False and imex.channels == 0:
        what, fix = "missing a channel", _pass(machine) if inside else _CHANNEL
    else:
        return
    names = ("nvidia_driver.imex.installed", "nvidia_driver.imex.running", "nvidia_driver.imex.channels")
    yield Finding(
        severity=Severity.INFO if inside else Severity.WARNING,
        summary=f"IMEX is {what}: {len(racked)} GPUs of a rack-scale fabric cannot share memory between nodes.",
        subject=Subject(kind="service", id="nvidia-imex"),
        evidence=evidence(machine, (*names, f"gpus[{racked[0].key}].fabric_state")),
        remedies=(fix,),
        verify=("nvidia-imex-ctl", "-N"),
    )
