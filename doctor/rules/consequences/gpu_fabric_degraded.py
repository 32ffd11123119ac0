from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.host import RdmaDevice
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import presence
from doctor.rules.lib.advice import drain, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-fabric-degraded",
    severity=Severity.WARNING,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="A GPU link or an RDMA port is down while its peers are up.",
    needs=[{"gpus[].links"}, {"rdma", "gpus"}, {"rdma", "kernel_log.events"}],
    proven="replay",
    order=64,
    tags=("consequences",),
    doc="""## What it finds
An NVIDIA GPU of an NVLink fabric with fewer links up than the others have, or an SXM GPU with none; an AMD GPU that
reaches fewer GPUs of its hive by xGMI than the others do; an InfiniBand or RoCE device beside a GPU whose port is not
active while those beside other GPUs are; an active RoCE port without any GID; a port whose link was lost three times or
more by the kernel log (information where the last was more than six hours ago).

## Why it matters
Collectives take a slower path, run at the speed of the slowest GPU, or do not start.

## Not raised when
- The links or ports are not known, or all are alike: without a bridge the links of PCIe cards are all down.
- A port that is near no GPU is down: many nodes leave some unused.
- A GPU is in MIG mode, which has no NVLink.
- Error counters alone are not zero: they count since the port came up, and some stop at 255.

## How to confirm
`nvidia-smi nvlink --status`, `amd-smi topology`, `ibstat`

## Fix
Check the cause first: a fatal Xid or SXid, the fabric manager, the cable. Reset the GPUs of the node together;
contact the vendor about a link that stays down.

## References
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ ; https://docs.kernel.org/infiniband/index.html
""",
)


def _reset(vendor: str, *argv: str) -> Remedy:
    return drain(
        "Drain the node, reset all of its GPUs together, then have the board or bridge checked if a link stays down.",
        step("Reset them; the links train again.", *argv),
        risk="stops every job on the node's GPUs",
        vendor=vendor,
    )


REMEDIES = (
    _reset("nvidia", "nvidia-smi", "--gpu-reset"),
    _reset("amd", "amd-smi", "reset", "--gpureset", "--gpu", "all"),
)


def _port_remedy(*argv: str) -> Remedy:
    show = (step("Show the port's state.", *argv),) if argv else ()
    title = "Check the port's cable, transceiver and switch, and the driver of the adapter."
    return way(title, Scope.HARDWARE, *show, step("Reseat or replace the cable; compare with a port that is up."))


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Of a port: NCCL reports no other link."""
    return (_port_remedy("ibstat"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from _nvlink(machine)
    yield from _xgmi(machine)
    yield from _ports(machine)
    yield from _flaps(machine)


_FLAPS = 3
"""A port loses its link once or twice while a machine starts or a cable is changed."""
_RECENT_S = 6 * 3600
"""Azure's node health check takes a node out for any lost link of these hours (Azure/azurehpc-health-checks)."""


def _flaps(machine: Snapshot) -> Iterator[Finding]:
    """Ports that lost their link again and again, by the kernel log; of RDMA devices that are known here."""
    held = {device.pci_address: device for device in machine.rdma or () if device.pci_address}
    for event in machine.kernel_log.events or ():
        device = held.get(event.device or "")
        if event.code != "nic-link-down" or device is None or event.count < _FLAPS:
            continue
        old = event.age_s is not None and event.age_s > _RECENT_S
        when = f", {presence.ago(event.age_s)}" if event.age_s is not None else ""
        yield Finding(
            severity=Severity.INFO if old else Severity.WARNING,
            summary=f"RDMA device {device.key[:40]} lost its link {event.count} times{when}.",
            subject=Subject(kind="rdma", id=f"{device.key}-flaps"),
            evidence=(
                Evidence(text=f"{presence.times(event)}{event.text}", source=machine.source("kernel_log.events")),
            ),
            remedies=(_port_remedy(),),
        )


def _nvlink(machine: Snapshot) -> Iterator[Finding]:
    gpus = [g for g in machine.of_vendor("nvidia") if any(link.kind == "nvlink" for link in g.links or ())]
    ups = {g.key: sum(link.up is True for link in g.links or ()) for g in gpus}
    most = max(ups.values(), default=0)
    switched = any(d.kind == "nvswitch" for d in machine.pci or ())
    for gpu in gpus:
        if gpu.mig_mode == "enabled":  # MIG turns a GPU's NVLinks off by design
            continue
        alone = most == 0 and "SXM" in (gpu.name or "") and all(link.up is False for link in gpu.links or ())
        if alone:  # the board of an SXM GPU joins it to others; in a virtual machine of one GPU nothing is joined
            if not machine.host.virtual_machine:
                yield _finding(machine, gpu, "none of its NVLinks is up")
            continue
        # Cards with bridges may be joined in pairs only; all GPUs of a switched fabric are joined alike.
        if ups[gpu.key] < most and (ups[gpu.key] or switched or "SXM" in (gpu.name or "")):
            down = [str(link.index) for link in gpu.links or () if link.up is False]
            yield _finding(machine, gpu, f"{ups[gpu.key]} of {most} NVLinks are up (down: {', '.join(down[:18])})")


def _xgmi(machine: Snapshot) -> Iterator[Finding]:
    """By the peers that the kernel's topology joins within one hive."""
    hives: dict[str, list[Gpu]] = {}
    hive_of = {n.pci_address: n.hive_id for n in machine.kfd.nodes or () if n.hive_id}
    for gpu in machine.of_vendor("amd"):
        hive = hive_of.get(gpu.pci_address)
        if hive and gpu.links is not None and gpu.pci_address:
            hives.setdefault(hive, []).append(gpu)
    for members in hives.values():
        peers = {g.key: len({link.peer for link in g.links or () if link.kind == "xgmi"}) for g in members}
        most = max(peers.values())
        for gpu in members:
            if peers[gpu.key] < most:
                yield _finding(
                    machine, gpu, f"reaches {peers[gpu.key]} GPUs of its hive over xGMI; others reach {most}"
                )


def _finding(machine: Snapshot, gpu: Gpu, summary: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        summary=f"GPU {gpu.pci_address or gpu.key}: {summary}.",
        subject=presence.subject(gpu),
        evidence=(Evidence(text=summary, source=machine.source(f"gpus[{gpu.key}].links")),),
        remedies=tuple(r for r in REMEDIES if r.vendor == gpu.vendor),
    )


def _ports(machine: Snapshot) -> Iterator[Finding]:
    beside = [d for d in machine.rdma or () if d.near_gpu and d.state]
    up = [d for d in beside if d.state == "ACTIVE"]
    for device in beside:
        alike = [d for d in up if d.link_layer == device.link_layer]
        if device.state != "ACTIVE" and len(alike) > len(beside) - len(up):
            words = f"is {device.state}" + (f" ({device.physical_state})" if device.physical_state else "")
            yield _port(machine, device, f"{words}; {len(alike)} others near GPUs are up")
        elif device.state == "ACTIVE" and device.link_layer == "Ethernet" and device.gids == 0:
            yield _port(machine, device, "is up but has no GID, so RoCE cannot connect")


def _port(machine: Snapshot, device: RdmaDevice, summary: str) -> Finding:
    names = (f"rdma[{device.key}].{n}" for n in ("state", "physical_state", "rate", "near_gpu", "gids"))
    return Finding(
        severity=Severity.WARNING,
        summary=f"RDMA device {device.key[:40]}, near GPU {device.near_gpu}, {summary}.",
        subject=Subject(kind="rdma", id=device.key),
        evidence=evidence(machine, names),
        remedies=(_port_remedy(*(("ibstat", device.key) if device.key.isidentifier() else ())),),
    )
