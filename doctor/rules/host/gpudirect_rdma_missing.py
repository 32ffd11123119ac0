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
        {"rocm", "kernel.release", "symptom:verbs-adapter-told"},
    ],
    proven="synthetic",
    order=65,
    facts_decide=False,
    tags=("host", "rdma"),
    doc="""
## What it finds
RDMA devices that are up beside NVIDIA GPUs under the proprietary modules without nvidia_peermem (info); texts of
collectives or tools that say that the NIC cannot reach GPU memory, or that show InfiniBand and a search of lsmod for
the module that found nothing; texts of slow work between nodes where an RCCL of ROCm before 6.3 runs on Linux 6.8 or
newer, which it gives no GPUDirect RDMA.

## Why it matters
Traffic between nodes takes a detour through host memory.

## Not raised when
The open modules on a kernel from 5.12 on, which have DMA-BUF; no RDMA device is up near a GPU; inside a container; or
one of these is not known.

## How to confirm
`lsmod`: nvidia_peermem; or a kernel and driver with DMA-BUF.

## Fix
Load nvidia_peermem after the RDMA drivers, or use a kernel, driver and NIC stack with DMA-BUF. On AMD GPUs an RCCL
of ROCm 6.3 or newer.

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
    yield from _old_rccl(machine)
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


def _old_rccl(machine: Snapshot) -> Iterator[Finding]:
    """A text of slow work between nodes with verbs adapters, where the kernel is newer than this RCCL can use: before
    2.21.5, which came with ROCm 6.3, it turns GPUDirect RDMA off there."""
    installs = [i for i in machine.rocm or () if i.version]
    old = bool(installs) and all(Dotted(i.version or "") < "6.3" for i in installs)
    if not old or Dotted(machine.kernel.release or "0") < "6.8" or machine.symptom("net-path-with-gdr"):
        return
    if machine.symptom("verbs-adapter-told") is None or machine.symptom(*_BETWEEN_NODES) is None:
        return
    if machine.symptom(*_SLOW) is None:
        return
    yield Finding(
        severity=Severity.WARNING,
        basis="both",
        summary="RCCL before ROCm 6.3 has no GPUDirect RDMA on Linux 6.8: GPU memory goes through the host's.",
        subject=Subject(kind="driver", id="rccl"),
        evidence=evidence(
            machine, (f"rocm[{installs[0].key}].version", "kernel.release", "symptom:verbs-adapter-told")
        ),
        fixes=(Fix(text="Use RCCL 2.21.5 or newer (ROCm 6.3)."),),
        source="https://github.com/ROCm/legacy-rocm-build/issues/3772",
    )


_BETWEEN_NODES = ("machine-of-several-nodes-told",)
_SLOW = ("said-slow", "slower-than-before-told")
