"""GPUs of a rack-scale NVLink fabric, and no IMEX service or no channel of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-imex-not-running",
    severity=Severity.WARNING,
    title="The IMEX service of a rack-scale NVLink fabric is not running.",
    needs=[{"gpus", "nvidia_driver.imex.running"}, {"gpus", "nvidia_driver.imex.installed"}],
    proven="synthetic",
    order=16,
    explains=("gpu-fabric-degraded",),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
GPUs of a rack-scale system (GB200, GB300) that are joined to their fabric, and the IMEX service not installed or not
running; or running, and this node without a channel (/dev/nvidia-caps-imex-channels).

## Why it matters
Memory can't be shared between the nodes of the rack: NCCL falls back from NVLink to the network, or fails with
"CUDA driver error: not permitted" (800) when it asks for a fabric handle.

## Not raised when
The GPUs are of one node alone (HGX, PCIe), their fabric was never started, or this is a container without the service's
files: the service runs on the host. A container without a channel is information: a job of one node needs none.

## How to confirm
`systemctl status nvidia-imex`, `nvidia-imex-ctl -N`, `ls /dev/nvidia-caps-imex-channels`

## Fix
Name the nodes in /etc/nvidia-imex/nodes_config.cfg, start the service on each, and create a channel.

## Fix safety
Starting it does not touch running jobs; a restart ends jobs that share memory between nodes.

## References
https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
""",
)
_START = Fix(
    text="Name the rack's nodes in /etc/nvidia-imex/nodes_config.cfg and start the service on each of them.",
    command=("systemctl", "enable", "--now", "nvidia-imex"),
    root=True,
    risk="a restart ends jobs that share memory between nodes",
)
_CHANNEL = Fix(
    text="Let the driver make channel 0: options nvidia NVreg_CreateImexChannel0=1 in /etc/modprobe.d, then restart.",
    root=True,
    reboot=True,
    risk="ends every job on the node",
)
_PASS = Fix(
    text="If the job spans nodes: start the container with a channel of the host.",
    command=("docker", "run", "--device", "/dev/nvidia-caps-imex-channels/channel0", "IMAGE"),
    where="host",
)
FIXES = (_START,)
_RACK = ("GB200", "GB300")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a node: service, else channel."""
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
        what, fix = "here without a channel", _PASS if inside else _CHANNEL
    else:
        return
    names = ("nvidia_driver.imex.installed", "nvidia_driver.imex.running", "nvidia_driver.imex.channels")
    yield Finding(
        severity=Severity.INFO if inside else Severity.WARNING,
        summary=f"IMEX is {what}: {len(racked)} GPUs of a rack-scale fabric can't share memory between nodes.",
        subject=Subject(kind="service", id="nvidia-imex"),
        evidence=evidence(machine, (*names, f"gpus[{racked[0].key}].fabric_state")),
        fixes=(fix,),
        verify=("nvidia-imex-ctl", "-N"),
    )
