"""RDMA devices (InfiniBand, RoCE): state and rate of their first port, firmware, GIDs, error counters, and the GPU that
each is nearest to on the PCI tree.

Some thirty small files a device; no command, no root. `probe` runs at the end of the PCI probe, whose GPUs it joins.
"""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import pci_ids
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:sys/class/infiniband public",
    "link:sys/class/infiniband/*/device public",
    "file:sys/class/infiniband/*/ports/*/{state,phys_state,rate,link_layer} public",
    "file:sys/class/infiniband/*/{fw_ver,board_id} public",
    "dir:sys/class/infiniband/*/ports/*/gids public",
    "file:sys/class/infiniband/*/ports/*/gids/* name",
    "file:sys/class/infiniband/*/ports/*/{counters,hw_counters}/* public",
)

_CLASS = "sys/class/infiniband"
_MOST = 256
_GIDS = 16
"""Entries of the GID table that are looked at; the first ones are the port's own."""
_COUNTERS = (
    "counters/link_downed", "counters/link_error_recovery", "counters/symbol_error", "counters/port_rcv_errors",
    "counters/local_link_integrity_errors", "counters/port_xmit_discards", "counters/port_rcv_remote_physical_errors",
    "hw_counters/out_of_sequence", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
    "hw_counters/roce_adp_retrans", "hw_counters/rnr_nak_retry_err",
)  # fmt: skip
"""Counters of errors in both drivers' names (docs.kernel.org/infiniband, mlx5's hw_counters)."""
ALWAYS_THERE = frozenset({"mem", "net", "tty"})
"""Classes that every Linux machine has, containers too."""
_GPU = re.compile(r"^gpus\[([^\]]+)\]\.vendor$")


def probe(system: System, sheet: FactSheet) -> None:
    listing = system.list_dir(_CLASS)
    if not listing.value:
        # A module makes this class: that it is missing counts only where the classes of any machine are shown.
        classes = system.list_dir("sys/class").value or ()
        if listing.value is not None or (listing.is_absent and ALWAYS_THERE & set(classes)):
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
    _port(system, sheet, name, port)
    firmware = system.read_text(f"{_CLASS}/{device}/fw_ver").then(lambda t: pci_ids.clean(t, 40))
    firmware.into(sheet, f"{name}.firmware")
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
    node = system.read_text(f"{folder}/numa_node").then(pci_ids.number)
    node.into(sheet, f"pci[{address}].numa_node")
    node.into(sheet, f"{name}.numa_node")
    nearest = near_gpu(bridges(system, folder), gpus)
    if nearest:
        sheet.put(f"{name}.near_gpu", nearest, place.source)
        sheet.put(f"pci[{address}].near_gpu", nearest, place.source)


def _port(system: System, sheet: FactSheet, name: str, port: str) -> None:
    """The port's physical state, how many GIDs are set, and the error counters that are not zero."""
    state = system.read_text(f"{port}/phys_state").then(lambda t: pci_ids.clean(t.partition(":")[2] or t, 40))
    state.into(sheet, f"{name}.physical_state")
    gids = system.list_dir(f"{port}/gids")
    numbers = sorted((n for n in gids.value or () if n.isdigit()), key=int)[:_GIDS]
    if numbers:
        held = [system.read_text(f"{port}/gids/{n}").value or "" for n in numbers]
        sheet.put(f"{name}.gids", sum(_is_set(gid) for gid in held), gids.source)
    counts = {c.rpartition("/")[2]: system.read_text(f"{port}/{c}").then(pci_ids.number).value for c in _COUNTERS}
    if any(value is not None for value in counts.values()):
        sheet.put(f"{name}.counters", {k: v for k, v in counts.items() if v}, f"file:/{port}/counters")


def _is_set(gid: str) -> bool:
    """A GID of zeros, or of the link-local prefix alone, is an empty entry."""
    return bool(gid.replace(":", "").replace("0", "").strip()) and not re.fullmatch(
        r"fe80:(?:0000:){3}(?:0000:?){4}", gid.strip()
    )


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
