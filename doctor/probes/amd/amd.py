"""AMD's kernel side: the amdgpu module, KFD's topology with every node's numbers, and (amd_drm) each card's files.

Files under sys only, about twenty a GPU and one a link; no command, no root, no device is opened. A node whose files a
device cgroup refuses (EPERM) is there and not readable, which is not the same as missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.amd import kfd_properties, kfd_topology
from doctor.parsers.amd.kfd_topology import GpuNodes
from doctor.parsers.kernel import pci_ids
from doctor.probes.lib import amd_drm
from doctor.probes.lib.rdma import ALWAYS_THERE
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "dir:sys/module/amdgpu public",
    "file:sys/module/amdgpu/version public",
    "file:sys/module/amdgpu/parameters/* public",
    "dir:sys/class/kfd/kfd/topology/nodes public",
    "file:sys/class/kfd/kfd/topology/nodes/*/properties serial",
    "file:sys/class/kfd/kfd/topology/nodes/*/gpu_id public",
    "file:sys/class/kfd/kfd/topology/nodes/*/{mem_banks,io_links}/*/properties public",
    "dir:sys/bus/pci/devices public",
    *amd_drm.READS,
)

_MODULE = "sys/module/amdgpu"
_NODES = "sys/class/kfd/kfd/topology/nodes"
_PARAMETERS = [
    "noretry",
    "gpu_recovery",
    "ras_enable",
    "vm_fragment_size",
    "gttsize",
    "discovery",
    "mtype_local",
    "use_xgmi_p2p",
    "cwsr_enable",
    "sched_policy",
    "hws_max_conc_proc",
    "bad_page_threshold",
    "runpm",
    "pcie_p2p",
    "ppfeaturemask",
    "dpm",
    "mes",
    "no_system_mem_limit",
]
_MOST_NODES, _MOST_LINKS = 1024, 128
_DIES_APART_MB_S = 200_000
"""Four xGMI links of 50 GB/s join the two dies of an MI250 or MI250X; other pairs have fewer (amdgpu_xgmi.c)."""

Nodes = dict[int, dict[str, int]]


def probe(system: System, sheet: FactSheet) -> None:
    _module(system, sheet)
    nodes = _kfd(system, sheet)
    cards = amd_drm.cards(system)
    for card in cards:
        amd_drm.put(system, sheet, card)
    groups = kfd_topology.group(nodes, system.list_dir("sys/bus/pci/devices").value or ())
    _gpus(system, sheet, nodes, groups)
    _smi_numbers(sheet, groups, [c.address for c in cards if c.driver == "amdgpu"])


def _module(system: System, sheet: FactSheet) -> None:
    folder = system.stat(_MODULE)
    if folder.known:
        sheet.put("amdgpu_driver.loaded", True, folder.source)
        version = system.read_text(f"{_MODULE}/version").then(lambda t: pci_ids.clean(t, 60))
        version.into(sheet, "amdgpu_driver.version")
        if version.known or version.is_absent:
            means = "dkms" if version.known else "in-tree"
            sheet.put("amdgpu_driver.source", means, version.source, "only the DKMS driver has a version of its own")
        values = {p: system.read_text(f"{_MODULE}/parameters/{p}").value for p in _PARAMETERS}
        known = {p: pci_ids.clean(v, 60) for p, v in values.items() if v is not None}
        if known:
            sheet.put("amdgpu_driver.params", known, f"file:/{_MODULE}/parameters")
        return
    modules = system.list_dir("sys/module")
    if folder.is_absent and modules.known:
        sheet.absent("amdgpu_driver.loaded", folder.source, False)
        sheet.absent("amdgpu_driver.source", folder.source, "absent")
    else:
        state = modules.state if folder.is_absent else folder.state
        sheet.miss("amdgpu_driver.loaded", _unseen(state), folder.source, folder.detail)


def _unseen(state: State) -> State:
    """A folder that is missing in a tree without its parents was not recorded."""
    return State.NOT_RECORDED if state is State.ABSENT else state


def _kfd(system: System, sheet: FactSheet) -> Nodes:
    """Puts every node and returns the numbers of those that can be read."""
    listing = system.list_dir(_NODES)
    if listing.value is None:
        classes = system.list_dir("sys/class")
        if listing.is_absent and "kfd" not in (classes.value or ()) and ALWAYS_THERE & set(classes.value or ()):
            sheet.absent("kfd.present", listing.source, False)
        else:
            sheet.miss("kfd.present", _unseen(listing.state), listing.source, listing.detail)
        return {}
    sheet.put("kfd.present", True, listing.source)
    nodes: Nodes = {}
    numbers = sorted(int(n) for n in listing.value if n.isdigit() and len(n) < 6)[:_MOST_NODES]
    if not numbers:
        sheet.put("kfd.nodes", [], listing.source)
    for number in numbers:
        reading = system.read_text(f"{_NODES}/{number}/properties").then(kfd_properties.read)
        _put_node(system, sheet, number, reading)
        if reading.value is not None:
            nodes[number] = reading.value
    return nodes


def _put_node(system: System, sheet: FactSheet, number: int, reading: Reading[dict[str, int]]) -> None:
    name = f"kfd.nodes[{number}]"
    sheet.put(f"{name}.node", number, f"file:/{_NODES}")
    if reading.value is None:
        if reading.state is State.DENIED:
            sheet.put(f"{name}.readable", False, reading.source, reading.detail or "refused by a device cgroup")
        else:
            sheet.miss(f"{name}.readable", reading.state, reading.source, reading.detail)
        return
    own = reading.value
    sheet.put(f"{name}.readable", True, reading.source)
    sheet.put(f"{name}.properties", own, reading.source)
    for field, key in (("cpu_cores", "cpu_cores_count"), ("simd_count", "simd_count")):
        if key in own:
            sheet.put(f"{name}.{field}", own[key], reading.source)
    system.read_text(f"{_NODES}/{number}/gpu_id").then(pci_ids.number).into(sheet, f"{name}.gpu_id")
    if kfd_topology.is_gpu(own):
        _put_gpu_node(system, sheet, number, own, reading.source)


def _put_gpu_node(system: System, sheet: FactSheet, number: int, own: Mapping[str, int], source: str) -> None:
    name = f"kfd.nodes[{number}]"
    values = {
        "gfx": kfd_topology.gfx(own.get("gfx_target_version", 0)),
        "render_minor": own.get("drm_render_minor") or None,
        "unique_id": f"{own['unique_id']:016x}" if own.get("unique_id") else None,
        "hive_id": f"{own['hive_id']:016x}" if own.get("hive_id") else None,
        "xcc_count": own.get("num_xcc"),
        "compute_units": kfd_topology.compute_units(own),
        "fw_version": own.get("fw_version"),
        "sdma_fw_version": own.get("sdma_fw_version"),
    }
    for field, value in values.items():
        if value is not None:
            sheet.put(f"{name}.{field}", value, source)
        elif field in own:
            sheet.absent(f"{name}.{field}", source, detail="the kernel says 0: it has none")
    banks, where = _members(system, number, "mem_banks")
    size = kfd_topology.vram(banks)
    if size:
        sheet.put(f"{name}.vram_bytes", size, where)
    else:
        sheet.miss(f"{name}.vram_bytes", State.NOT_RECORDED, where, "no bank of frame buffer is shown")


def _members(system: System, number: int, kind: str) -> tuple[list[dict[str, int]], str]:
    """The numbers of a node's memory banks or links, and where they were read."""
    folder = f"{_NODES}/{number}/{kind}"
    listing = system.list_dir(folder)
    members = sorted((n for n in listing.value or () if n.isdigit()), key=int)[:_MOST_LINKS]
    readings = [system.read_text(f"{folder}/{m}/properties").then(kfd_properties.read) for m in members]
    return [r.value for r in readings if r.value is not None], listing.source


def _gpus(system: System, sheet: FactSheet, nodes: Nodes, groups: tuple[GpuNodes, ...]) -> None:
    owner = {number: group.address for group in groups for number in group.nodes}
    order = {number: place for place, number in enumerate(owner)}
    for group in groups:
        first = group.nodes[0]
        source = f"file:/{_NODES}/{first}/properties"
        name = f"gpus[{group.address}]"
        sheet.put(f"{name}.vendor", "amd", source)
        sheet.put(f"{name}.pci_address", group.address, source)
        sheet.put(f"{name}.index.kfd", first, source)
        sheet.put(f"{name}.index.hip", order[first], f"file:/{_NODES}", "HIP counts the GPU nodes that it may read")
        _put_shape(sheet, name, group, nodes, source)
        _put_memory(sheet, name, group, nodes)
        _put_partitions(sheet, name, group, nodes)
        for number in group.nodes:
            sheet.put(f"kfd.nodes[{number}].pci_address", group.address, f"file:/{_NODES}/{number}/properties")
        _put_links(system, sheet, group, owner, nodes)


def _put_shape(sheet: FactSheet, name: str, group: GpuNodes, nodes: Nodes, source: str) -> None:
    own = nodes[group.nodes[0]]
    arch = kfd_topology.gfx(own.get("gfx_target_version", 0))
    whole = kfd_topology.memory_is_whole(len(group.nodes))
    if arch:
        sheet.put(f"{name}.arch", arch, source)
        sheet.put(f"{name}.integrated", arch in kfd_topology.INTEGRATED, source)
    if own.get("vendor_id") and own.get("device_id"):
        sheet.put(f"{name}.pci_id", f"{own['vendor_id']:04x}:{own['device_id']:04x}", source)
    if own.get("drm_render_minor"):
        sheet.put(f"{name}.render_node", f"renderD{own['drm_render_minor']}", source)
    units = [kfd_topology.compute_units(nodes[n]) for n in group.nodes]
    if "num_xcc" in own and whole:
        sheet.put(f"{name}.xcc_count", sum(nodes[n].get("num_xcc", 0) for n in group.nodes), source)
    if whole and all(u is not None for u in units) and _partitioned(group, nodes):
        sheet.put(f"{name}.compute_units", sum(u or 0 for u in units), source)


def _partitioned(group: GpuNodes, nodes: Nodes) -> bool:
    """Whether the group's nodes are the parts of one GPU (or the GPU itself), and not one node shown twice."""
    functions = [kfd_topology.location(nodes[n]).function for n in group.nodes]
    return len(set(functions)) == len(functions)


def _put_memory(sheet: FactSheet, name: str, group: GpuNodes, nodes: Nodes) -> None:
    """From the memory banks, for want of DRM's number. An integrated GPU's banks are system memory, so they don't
    count; neither does a sum over partitions of which some are hidden."""
    if kfd_topology.gfx(nodes[group.nodes[0]].get("gfx_target_version", 0)) in kfd_topology.INTEGRATED:
        return
    if not kfd_topology.memory_is_whole(len(group.nodes)):
        return
    parts = group.nodes if _partitioned(group, nodes) else group.nodes[:1]
    sizes = [sheet.get(f"kfd.nodes[{n}].vram_bytes") for n in parts]
    if all(sizes):
        sheet.put(f"{name}.memory_bytes", sum(sizes), f"file:/{_NODES}/{parts[0]}/mem_banks")


def _put_partitions(sheet: FactSheet, name: str, group: GpuNodes, nodes: Nodes) -> None:
    if len(group.nodes) < 2 or not _partitioned(group, nodes):
        if sheet.get(f"{name}.compute_partition") == "SPX":
            sheet.put(f"{name}.partitions", [], f"file:/{_NODES}")
        elif len(group.nodes) == 1 and not sheet.get(f"{name}.compute_partition"):
            sheet.absent(f"{name}.partitions", f"file:/{_NODES}", detail="one KFD node, and no file that says a mode")
        return
    for number in group.nodes:
        own, source = nodes[number], f"file:/{_NODES}/{number}/properties"
        part = f"{name}.partitions[{kfd_topology.location(own).function}]"
        sheet.put(f"{part}.kind", "compute", source)
        sheet.put(f"{part}.kfd", number, source)
        if own.get("drm_render_minor"):
            sheet.put(f"{part}.render_node", f"renderD{own['drm_render_minor']}", source)
        size = sheet.get(f"kfd.nodes[{number}].vram_bytes")
        if size:
            sheet.put(f"{part}.memory_bytes", size, f"file:/{_NODES}/{number}/mem_banks")


def _put_links(system: System, sheet: FactSheet, group: GpuNodes, owner: dict[int, str], nodes: Nodes) -> None:
    """xGMI links of the GPU's first node; links between partitions of one GPU are not links to a peer."""
    first = group.nodes[0]
    rows, source = _members(system, first, "io_links")
    xgmi = [r for r in rows if r.get("type") == kfd_topology.XGMI and r.get("node_to") in owner]
    peers: dict[str, int] = {}
    for row in xgmi:
        peer = owner[row["node_to"]]
        if peer != group.address:
            peers[peer] = max(peers.get(peer, 0), row.get("max_bandwidth", 0))
    if rows:
        sheet.put(f"kfd.nodes[{first}].xgmi_peers", sorted({r["node_to"] for r in xgmi}), source)
        links = [{"kind": "xgmi", "index": place, "up": True, "peer": peer} for place, peer in enumerate(sorted(peers))]
        sheet.put(f"gpus[{group.address}].links", links, source)
    twins = [peer for peer, speed in peers.items() if speed >= _DIES_APART_MB_S]
    if kfd_topology.gfx(nodes[first].get("gfx_target_version", 0)) == "gfx90a" and len(twins) == 1:
        package = min(group.address, twins[0])
        sheet.put(f"gpus[{group.address}].package", package, source, "the die that four links lead to shares the card")


def _smi_numbers(sheet: FactSheet, groups: tuple[GpuNodes, ...], cards: list[str]) -> None:
    """amd-smi and rocm-smi count in PCI order, each partition once."""
    parts = {group.address: len(group.nodes) for group in groups}
    number = 0
    for address in sorted({*cards, *parts}):
        sheet.put(f"gpus[{address}].index.smi", number, "file:/sys/class/drm", "amd-smi counts in PCI order")
        number += parts.get(address, 1)
