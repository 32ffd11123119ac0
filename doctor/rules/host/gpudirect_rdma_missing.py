from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import commands
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.versions import Dotted

RULE = Rule(
    id="gpudirect-rdma-missing",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="GPUDirect RDMA lacks its kernel module or setting.",
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
collectives or tools that the NIC cannot reach GPU memory; texts with InfiniBand where lsmod lacks the module; texts
of slow work between nodes where RCCL of ROCm before 6.3 runs on Linux 6.8 or newer, without GPUDirect RDMA.

## Why it matters
Traffic between nodes goes through host memory.

## Not raised when
The open modules on a kernel from 5.12 on, which have DMA-BUF; no RDMA device is up near a GPU; inside a container; or
one of these is not known.

## How to confirm
`lsmod`: nvidia_peermem; or a kernel and driver with DMA-BUF.

## Fix
Load nvidia_peermem after the RDMA drivers, or use a kernel, driver and NIC stack with DMA-BUF. On AMD GPUs, use an
RCCL of ROCm 6.3 or newer.

## Fix safety
Harmless.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
REMEDIES = (commands.load_module("nvidia_peermem", "Load nvidia_peermem, which lets RDMA adapters reach GPU memory."),)


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
        summary=f"GPUDirect RDMA does not work: nvidia_peermem is not loaded ({len(up)} RDMA devices are up).",
        subject=Subject(kind="driver", id="nvidia_peermem"),
        evidence=evidence(machine, (*_FACTS, *(f"rdma[{d.key}].state" for d in up[:8]))),
        remedies=REMEDIES,
    )


def _text(machine: Snapshot) -> Iterator[Finding]:
    """A text that shows InfiniBand (NCCL's log names it as its network) and a search for the module that found none."""
    links = [d for d in machine.rdma or () if d.link_layer == "InfiniBand"]
    searched = machine.source("nvidia_driver.peermem_loaded").startswith("text:")
    if not searched or not links or machine.nvidia_driver.peermem_loaded is not False:
        return
    if machine.nvidia_driver.flavour == "open" or machine.symptom("nccl-uses-gdrdma"):
        return
    yield Finding(
        severity=Severity.WARNING,
        summary="nvidia_peermem is not loaded, so InfiniBand copies GPU memory through the host's.",
        subject=Subject(kind="driver", id="nvidia_peermem"),
        evidence=evidence(machine, ("nvidia_driver.peermem_loaded", f"rdma[{links[0].key}].link_layer")),
        remedies=REMEDIES,
    )
