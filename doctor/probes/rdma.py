"""RDMA devices (InfiniBand, RoCE), their ports' state, and the GPU that each is nearest to on the PCI tree.

Three small files a device; no command, no root. `probe` runs at the end of the PCI probe, whose GPUs it joins with.
"""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.readers import pci_ids
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:sys/class/infiniband public",
    "link:sys/class/infiniband/*/device public",
    "file:sys/class/infiniband/*/ports/*/{state,rate,link_layer} public",
)

_CLASS = "sys/class/infiniband"
_MOST = 256
_ALWAYS_THERE = frozenset({"mem", "net", "tty"})
"""Classes that every Linux machine has, containers too."""
_GPU = re.compile(r"^gpus\[([^\]]+)\]\.vendor$")


def probe(system: System, sheet: FactSheet) -> None:
    listing = system.list_dir(_CLASS)
    if not listing.value:
        # A module makes this class: that it is missing counts only where the classes of any machine are shown.
        classes = system.list_dir("sys/class").value or ()
        if listing.value is not None or (listing.is_absent and _ALWAYS_THERE & set(classes)):
            sheet.absent("rdma", listing.source, [])
        elif listing.is_absent:
            state = State.NOT_RECORDED if system.kind == "tree" else State.FAILED
            sheet.miss("rdma", state, listing.source, "a part of sys/class only is shown")
        else:
            listing.into(sheet, "rdma")
        return
    gpus = {
        address: bridges(system, f"sys/bus/pci/devices/{address}")
        for address in (m[1] for m in map(_GPU.match, [e.name for e in sheet]) if m)
    }
    for device in listing.value[:_MOST]:
        _put(system, sheet, pci_ids.clean(device, 64).replace("]", ""), device, gpus)


def bridges(system: System, folder: str) -> tuple[str, ...]:
    """Addresses of the bridges above a PCI device, from the root port down; () where the bus's tree is not shown."""
    real = system.real(folder).value or ""
    steps = [step for step in real.split("/") if pci_ids.address(step)]
    return tuple(steps[:-1])


def _put(system: System, sheet: FactSheet, key: str, device: str, gpus: dict[str, tuple[str, ...]]) -> None:
    name = f"rdma[{key}]"
    ports = system.list_dir(f"{_CLASS}/{device}/ports")
    port = f"{_CLASS}/{device}/ports/{(ports.value or ('1',))[0]}"
    state = system.read_text(f"{port}/state").then(lambda t: pci_ids.clean(t.partition(":")[2] or t, 40))
    state.into(sheet, f"{name}.state")
    for field in ("rate", "link_layer"):
        system.read_text(f"{port}/{field}").then(lambda t: pci_ids.clean(t, 60)).into(sheet, f"{name}.{field}")
    folder = f"{_CLASS}/{device}/device"
    place = system.real(folder)
    address = pci_ids.address((place.value or "").rpartition("/")[2])
    if not address:
        sheet.miss(f"{name}.pci_address", place.state, place.source, "its PCI device is not shown")
        return
    sheet.put(f"{name}.pci_address", address, place.source)
    sheet.put(f"pci[{address}].kind", "nic", place.source)
    vendor = system.read_text(f"{folder}/vendor").then(pci_ids.hex_id)
    vendor.into(sheet, f"pci[{address}].vendor_id")
    system.read_text(f"{folder}/numa_node").then(pci_ids.number).into(sheet, f"pci[{address}].numa_node")
    nearest = near_gpu(bridges(system, folder), gpus)
    if nearest:
        sheet.put(f"{name}.near_gpu", nearest, place.source)
        sheet.put(f"pci[{address}].near_gpu", nearest, place.source)


def near_gpu(above: tuple[str, ...], gpus: dict[str, tuple[str, ...]]) -> str | None:
    """The GPU that shares the most bridges from the root port down; None where none shares one. Among equals, the one
    with the lowest address."""
    best, depth = None, 0
    for address in sorted(gpus):
        shared = 0
        for mine, theirs in zip(above, gpus[address], strict=False):
            if mine != theirs:
                break
            shared += 1
        if shared > depth:
            best, depth = address, shared
    return best
