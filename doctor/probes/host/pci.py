"""GPUs of every vendor, NVSwitches and RDMA devices as the PCI bus shows them, whatever driver they have or lack.

Reads a dozen small files a GPU; no command, no root (without it ACS and atomics stay unknown). A suspended GPU is not
asked for its link or configuration space, which would wake it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import pci_config, pci_ids
from doctor.probes.lib import rdma
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "dir:sys/bus/pci/devices public",
    "file:sys/bus/pci/devices/*/{class,vendor,device,revision,subsystem_vendor,subsystem_device,uevent} public",
    "file:sys/bus/pci/devices/*/{numa_node,resource,config,power/runtime_status,sriov_totalvfs} public",
    "file:sys/bus/pci/devices/*/{current,max}_link_{speed,width} public",
    "link:sys/bus/pci/devices/*/{driver,iommu_group,physfn} public",
    "dir:sys/bus/pci/slots public",
    "file:sys/bus/pci/slots/*/address public",
    "file:sys/bus/pci/devices/*/sriov_numvfs public",
    "dir:sys/class/drm public",
    "file:sys/class/drm/card*/device/* public",
    *rdma.READS,
)

_DEVICES = "sys/bus/pci/devices"
_DRM = "sys/class/drm"
_MOST = 8192
_MOST_SLOTS = 512
_CONFIG_BYTES = 4096
_NO_CAPABILITY = "the device has no such capability"


@dataclass(frozen=True)
class _Device:
    address: str
    folder: str
    kind: str
    pci_class: str
    vendor: str
    device: str
    uevent: pci_ids.Uevent | None

    @property
    def maker(self) -> str:
        return pci_ids.VENDORS.get(self.vendor, "other")


def probe(system: System, sheet: FactSheet) -> None:
    listing = system.list_dir(_DEVICES)
    if listing.value is None:
        _without_bus(system, sheet, listing)
        return
    addresses = [a for a in listing.value[:_MOST] if pci_ids.address(a)]
    devices, unread = _devices(system, [(a, f"{_DEVICES}/{a}") for a in addresses])
    _put_all(system, sheet, devices)
    for reading in unread[:1]:
        sheet.miss("gpus", reading.state, reading.source, f"the class of {len(unread)} PCI devices is not known")
    if not unread and not any(d.kind in ("gpu", "accelerator") for d in devices):
        if any(d.vendor == pci_ids.HYPER_V for d in devices):
            sheet.miss("gpus", State.NOT_ASKED, listing.source, "Hyper-V's display adapter hides the GPU behind it")
        else:
            sheet.put("gpus", [], listing.source, f"none of {len(addresses)} PCI devices is a GPU")
    if not devices and not unread:
        sheet.put("pci", [], listing.source)
    rdma.probe(system, sheet)


def _without_bus(system: System, sheet: FactSheet, listing: Reading[tuple[str, ...]]) -> None:
    """A tree that holds no PCI bus may hold DRM cards; these show GPUs, and never that there is none."""
    cards = system.list_dir(_DRM).value or ()
    folders = [("", f"{_DRM}/{c}/device") for c in cards if re.fullmatch(r"card\d{1,4}", c)]
    devices, _ = _devices(system, folders)
    _put_all(system, sheet, devices)
    if not devices:
        state = State.NOT_RECORDED if listing.is_absent and system.kind != "live" else listing.state
        for name in ("gpus", "pci"):
            sheet.miss(name, state, listing.source, listing.detail or "no PCI bus is shown here")
    rdma.probe(system, sheet)


def _devices(system: System, folders: list[tuple[str, str]]) -> tuple[list[_Device], list[Reading[str]]]:
    """The devices that matter, by address, and the readings of those whose class is not known."""
    found: dict[str, _Device] = {}
    unread: list[Reading[str]] = []
    for name, folder in folders:
        code = system.read_text(f"{folder}/class").then(pci_ids.class_code)
        uevent = None
        if code.value is None:
            uevent = system.read_text(f"{folder}/uevent").then(pci_ids.uevent).value
            if not uevent or not uevent.pci_class:
                unread.append(code)
                continue
        device = _identify(system, name, folder, code.value or (uevent and uevent.pci_class) or "", uevent)
        if device:
            found.setdefault(device.address, device)
    return [found[a] for a in sorted(found)], unread


def _identify(system: System, name: str, folder: str, code: str, uevent: pci_ids.Uevent | None) -> _Device | None:
    if code[2:4] not in ("03", "12") and not code.startswith("0x0680"):
        return None
    vendor = system.read_text(f"{folder}/vendor").then(pci_ids.hex_id).value
    device = system.read_text(f"{folder}/device").then(pci_ids.hex_id).value
    if not (vendor and device and name) and uevent is None:
        uevent = system.read_text(f"{folder}/uevent").then(pci_ids.uevent).value
    if uevent and uevent.pci_id:
        vendor, device = vendor or uevent.pci_id[:4], device or uevent.pci_id[5:]
    address = pci_ids.address(name) or (uevent.address if uevent else None)
    kind = pci_ids.kind(code, vendor or "", device or "")
    if not address or not kind:
        return None
    return _Device(address, folder, kind, code, vendor or "", device or "", uevent)


def _is_gpu(device: _Device) -> bool:
    """An accelerator of Intel's class 12 is an NPU, not a GPU."""
    return device.kind == "gpu" or (device.kind == "accelerator" and device.vendor != "8086")


def _put_all(system: System, sheet: FactSheet, devices: list[_Device]) -> None:
    places: dict[str, int] = {}
    for device in devices:
        _put_device(system, sheet, device)
        if _is_gpu(device):
            place = places.setdefault(device.maker, 0)
            places[device.maker] += 1
            sheet.put(f"gpus[{device.address}].index.pci", place, f"file:/{_DEVICES}")
            _put_gpu(system, sheet, device)
    _slots(system, sheet, [d.address for d in devices if _is_gpu(d)])
    bridges: set[str] = set()
    for device in devices:
        if _is_gpu(device):
            bridges.update(rdma.bridges(system, device.folder))
    for bridge in sorted(bridges):
        _put_bridge(system, sheet, bridge)


def _slots(system: System, sheet: FactSheet, gpus: list[str]) -> None:
    """The slot's name as the firmware gives it, by the address without its function (`0000:c1:00`). The slot may be
    that of a bridge above the GPU."""
    if not gpus:
        return
    listing = system.list_dir("sys/bus/pci/slots")
    named: dict[str, str] = {}
    for slot in (listing.value or ())[:_MOST_SLOTS]:
        place = system.read_text(f"sys/bus/pci/slots/{slot}/address").then(lambda text: pci_ids.clean(text, 40).lower())
        if place.value:
            named[place.value] = pci_ids.clean(slot, 40)
    for gpu in gpus if named else ():
        above = [gpu, *reversed(rdma.bridges(system, f"{_DEVICES}/{gpu}"))]
        slot_of = next((named[a.rpartition(".")[0]] for a in above if a.rpartition(".")[0] in named), None)
        if slot_of:
            sheet.put(f"gpus[{gpu}].slot", slot_of, listing.source)


def _put_device(system: System, sheet: FactSheet, device: _Device) -> None:
    name, source = f"pci[{device.address}]", f"file:/{device.folder}"
    for field, value in (
        ("kind", device.kind),
        ("pci_class", device.pci_class),
        ("vendor_id", device.vendor),
        ("device_id", device.device),
    ):
        if value:
            sheet.put(f"{name}.{field}", value, source)
    _driver(system, device).into(sheet, f"{name}.driver", absent="none")
    _number(system, device.folder, "numa_node").into(sheet, f"{name}.numa_node")


def _put_gpu(system: System, sheet: FactSheet, device: _Device) -> None:
    name, folder = f"gpus[{device.address}]", device.folder
    source = f"file:/{folder}"
    if device.vendor:
        sheet.put(f"{name}.vendor", device.maker, source)
    sheet.put(f"{name}.pci_address", device.address, source)
    if device.vendor and device.device:
        sheet.put(f"{name}.pci_id", f"{device.vendor}:{device.device}", source)
    _driver(system, device).into(sheet, f"{name}.driver", absent="none")
    _subsystem(system, device).into(sheet, f"{name}.subsystem_id")
    system.read_text(f"{folder}/revision").then(pci_ids.revision).into(sheet, f"{name}.revision")
    _number(system, folder, "numa_node").into(sheet, f"{name}.numa_node")
    system.read_text(f"{folder}/resource").then(pci_ids.bars).into(sheet, f"{name}.bar_bytes")
    group = system.link(f"{folder}/iommu_group").then(lambda t: pci_ids.number(t.rpartition("/")[2]))
    group.into(sheet, f"{name}.iommu_group")
    status = system.read_text(f"{folder}/power/runtime_status").then(lambda t: pci_ids.clean(t, 20))
    status.into(sheet, f"{name}.runtime_status")
    _virtual_function(system, sheet, name, folder)
    if device.vendor == "8086" and device.address.startswith("0000:00:"):
        sheet.put(f"{name}.integrated", True, source, "on the CPU's own bus")
    if status.value in ("suspended", "suspending"):
        for fact in (*_LINK, "atomics_requester"):
            sheet.miss(f"{name}.{fact}", State.NOT_ASKED, source, "the GPU is suspended, and asking would wake it")
        return
    _put_link(system, sheet, name, _slot_folder(system, device))
    _config(system, folder, pci_config.atomics_requester).into(sheet, f"{name}.atomics_requester")


_LINK = ("link.speed_gt_s", "link.max_speed_gt_s", "link.width", "link.max_width")


def _put_link(system: System, sheet: FactSheet, name: str, folder: str) -> None:
    for fact, file, reader in (
        ("speed_gt_s", "current_link_speed", pci_ids.speed),
        ("max_speed_gt_s", "max_link_speed", pci_ids.speed),
        ("width", "current_link_width", pci_ids.width),
        ("max_width", "max_link_width", pci_ids.width),
    ):
        reading: Reading[Any] = system.read_text(f"{folder}/{file}").then(reader)
        reading.into(sheet, f"{name}.link.{fact}")
    has, could = sheet.get(f"{name}.link.width"), sheet.get(f"{name}.link.max_width")
    above = rdma.bridges(system, folder) if has and could and has < could else ()
    if above:
        slot = system.read_text(f"{_DEVICES}/{above[-1]}/max_link_width").then(pci_ids.width)
        slot.into(sheet, f"{name}.link.slot_width")


def _slot_folder(system: System, device: _Device) -> str:
    """The end of the card that faces the slot. AMD cards since Navi carry a switch, and the GPU behind it always
    reports a full link; the outermost of AMD's own bridges (vendor 1002) is what the slot sees."""
    if device.vendor != "1002":
        return device.folder
    outermost = device.folder
    for bridge in reversed(list(rdma.bridges(system, device.folder))):
        if system.read_text(f"{_DEVICES}/{bridge}/vendor").then(pci_ids.hex_id).value != "1002":
            break
        outermost = f"{_DEVICES}/{bridge}"
    return outermost


def _virtual_function(system: System, sheet: FactSheet, name: str, folder: str) -> None:
    physical = system.link(f"{folder}/physfn")
    if physical.known:
        sheet.put(f"{name}.virtual_function", True, physical.source)
        return
    total = system.read_text(f"{folder}/sriov_totalvfs")
    if total.known:
        made = system.read_text(f"{folder}/sriov_numvfs").then(pci_ids.number)
        made.into(sheet, f"{name}.virtual_functions")
        sheet.put(f"{name}.virtual_function", False, total.source, "it can have virtual functions of its own")
    else:
        sheet.miss(
            f"{name}.virtual_function", physical.state, physical.source, "a guest can't see whose function it is"
        )


def _put_bridge(system: System, sheet: FactSheet, address: str) -> None:
    folder = f"{_DEVICES}/{address}"
    redirect = _config(system, folder, pci_config.acs_redirect)
    if redirect.is_absent and redirect.detail != _NO_CAPABILITY:
        return
    name = f"pci[{address}]"
    sheet.put(f"{name}.kind", "other", f"file:/{folder}")
    system.read_text(f"{folder}/class").then(pci_ids.class_code).into(sheet, f"{name}.pci_class")
    redirect.into(sheet, f"{name}.acs_redirect", absent=False)


def _config(system: System, folder: str, reader: Callable[[bytes], bool | None]) -> Reading[bool]:
    """A flag of configuration space: `denied` to plain accounts, `absent` with a detail where the capability is not."""
    raw = system.read_bytes(f"{folder}/config", length=_CONFIG_BYTES)
    if raw.value is None:
        return Reading(raw.state, raw.source, None, raw.detail)
    if len(raw.value) == 64 or not raw.value:
        return Reading(State.DENIED, raw.source, None, "only root may read beyond 64 bytes of configuration space")
    flag = raw.then(reader)
    if flag.known and flag.value is None:
        return Reading(State.ABSENT, raw.source, None, _NO_CAPABILITY)
    return Reading(flag.state, flag.source, flag.value, flag.detail)


def _driver(system: System, device: _Device) -> Reading[str]:
    """`absent` when the bus shows the device and no driver; a DRM card always has one, named in its uevent."""
    link = system.link(f"{device.folder}/driver")
    if link.known:
        return link.then(lambda target: pci_ids.clean(target.rstrip("/").rpartition("/")[2], 60))
    if device.uevent and device.uevent.driver:
        return Reading(State.VALUE, f"file:/{device.folder}/uevent", device.uevent.driver)
    if link.is_absent and (device.folder.startswith(_DRM) or not device.vendor):  # a tree with parts of a device
        return Reading(State.NOT_RECORDED, link.source)
    return link


def _subsystem(system: System, device: _Device) -> Reading[str]:
    maker = system.read_text(f"{device.folder}/subsystem_vendor").then(pci_ids.hex_id)
    board = system.read_text(f"{device.folder}/subsystem_device").then(pci_ids.hex_id)
    if maker.value and board.value:
        return maker.then(lambda text: f"{text}:{board.value}")
    if device.uevent and device.uevent.subsystem_id:
        return Reading(State.VALUE, f"file:/{device.folder}/uevent", device.uevent.subsystem_id)
    return maker if not maker.known else board


def _number(system: System, folder: str, file: str) -> Reading[int]:
    return system.read_text(f"{folder}/{file}").then(pci_ids.number)
