"""GPUDirect RDMA's kernel module or setting is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import commands
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpudirect-rdma-missing",
    severity=Severity.WARNING,
    title="GPUDirect RDMA's kernel module or setting is missing.",
    needs=[
        {"rdma", "nvidia_driver.peermem_loaded", "nvidia_driver.flavour"},
        {"rdma", "nvidia_driver.peermem_loaded"},
    ],
    proven="synthetic",
    order=65,
    facts_decide=False,
    tags=("host", "rdma"),
    doc="""
## What it finds
RDMA devices that are up beside NVIDIA GPUs under the proprietary modules without nvidia_peermem (info); texts of
collectives or tools that say that the NIC cannot reach GPU memory, or that show InfiniBand and a search of lsmod for
the module that found nothing.

## Why it matters
Traffic between nodes takes a detour through host memory.

## Not raised when
The open modules on a kernel from 5.12 on, which have DMA-BUF; no RDMA device is up near a GPU; inside a container; or
one of these is not known.

## How to confirm
`lsmod`: nvidia_peermem; or a kernel and driver with DMA-BUF.

## Fix
Load nvidia_peermem after the RDMA drivers, or use a kernel, driver and NIC stack with DMA-BUF.

## Fix safety
Harmless.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (Fix(text="Load the module.", command=("modprobe", "nvidia_peermem"), root=True),)


def excludes(machine: Snapshot) -> bool:
    """Where a log shows that it is in use, and no line of another path."""
    return bool(machine.symptom("nccl-uses-gdrdma") and not machine.symptom("net-path-without-gdr"))


def unheard(machine: Snapshot) -> bool:
    """Where the module is loaded that is said to be missing. Where no adapter speaks RDMA, GPU memory has none to go
    to."""
    return machine.nvidia_driver.peermem_loaded is True or machine.symptom("no-verbs-device-told") is not None


_FACTS = ("nvidia_driver.peermem_loaded", "nvidia_driver.flavour", "kernel.release")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where RDMA devices are up beside NVIDIA GPUs, and neither way to reach GPU memory is there."""
    driver = machine.nvidia_driver
    up = [d for d in machine.rdma or () if d.state == "ACTIVE" and d.near_gpu]
    gpus = [g for g in machine.of_vendor("nvidia") if g.driver == "nvidia"]
    # The open modules export DMA-BUFs, which NCCL and UCX use without nvidia_peermem on kernels from 5.12 on.
    by_dmabuf = driver.flavour != "proprietary" and Dotted(machine.kernel.release or "") >= "5.12"
    yield from _text(machine)
    if not up or len(gpus) < 2 or driver.peermem_loaded is not False or by_dmabuf or commands.in_container(machine):
        return
    yield Finding(
        severity=Severity.INFO,
        summary=f"{len(up)} RDMA devices are up, and nvidia_peermem is not loaded: no GPUDirect RDMA.",
        subject=Subject(kind="driver", id="nvidia_peermem"),
        evidence=evidence(machine, (*_FACTS, *(f"rdma[{d.key}].state" for d in up[:8]))),
        fixes=FIXES,
    )


def _text(machine: Snapshot) -> Iterator[Finding]:
    """A text that shows InfiniBand (NCCL's log names it as its network) and a search for the module that found none."""
    links = [d for d in machine.rdma or () if d.link_layer == "InfiniBand"]
    searched = machine.source("nvidia_driver.peermem_loaded").startswith("text:")
    if not searched or not links or machine.nvidia_driver.peermem_loaded is not False:
        return
    if machine.nvidia_driver.flavour == "open" or machine.symptom("net-path-with-gdr"):
        return
    yield Finding(
        severity=Severity.WARNING,
        summary="InfiniBand is used and nvidia_peermem is not loaded: GPU memory goes through the host's.",
        subject=Subject(kind="driver", id="nvidia_peermem"),
        evidence=evidence(machine, ("nvidia_driver.peermem_loaded", f"rdma[{links[0].key}].link_layer")),
        fixes=FIXES,
    )
