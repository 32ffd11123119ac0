"""What the hardware can do at most: size of the caches, and theoretical peaks, each with its source.

Of whole GPUs only: the knowledge base does not say which part of the caches and bandwidth a partition has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doctor.facts import Snapshot

if TYPE_CHECKING:
    from doctor.facts.gpu import Gpu, PciLink
    from doctor.knowledge import Knowledge

_SHORT = {"bfloat16": "bf16", "float16": "fp16", "float8": "fp8", "float4": "fp4", "float32": "fp32"}
_MIB = 1 << 20


@dataclass(frozen=True)
class Ceiling:
    """`cache_bytes`: of all last-level caches of the device together. Bandwidths in GB/s, `link_gb_s` (PCIe) and
    `peer_gb_s` (one xGMI link, or all NVLinks together) of one direction; `tflops` by type, dense. None, or no entry:
    not known. `source`: the knowledge base's entry."""

    cache_bytes: int | None = None
    memory_gb_s: float | None = None
    link_gb_s: float | None = None
    peer_gb_s: float | None = None
    tflops: dict[str, float] = field(default_factory=dict)
    source: str | None = None


def ceiling(machine: Snapshot, kb: Knowledge, address: str | None) -> Ceiling:
    """Of the GPU at that PCI address. Of a partition the caches alone: the Infinity Cache serves all partitions."""
    gpu = next((g for g in machine.gpus or () if address and g.pci_address == address), None)
    if gpu is None:
        return Ceiling()
    link = link_peak(gpu.link)
    if gpu.vendor == "amd":
        whole = _amd(gpu, kb, link)
        return Ceiling(whole.cache_bytes) if len(gpu.partitions or ()) > 1 else whole
    if any(p.kind == "mig" for p in gpu.partitions or ()):
        return Ceiling()
    row = _nvidia(gpu)
    if row is None:
        return Ceiling(link_gb_s=link)
    boards = row.get("gpus_per_board") or 1
    bandwidth = row["memory_bandwidth_gbs"] / boards if row.get("memory_bandwidth_gbs") else None
    tflops = {} if boards > 1 else dict(row.get("dense_tflops") or {})
    nvlink = row.get("nvlink_gbs_per_gpu_bidirectional")
    peer = nvlink / 2 if nvlink and any(one.up for one in gpu.links or ()) else None
    return Ceiling(None, bandwidth, link, peer, tflops, f"knowledge:nvidia_products/{row['name']}")


def _nvidia(gpu: Gpu) -> Mapping[str, Any] | None:
    """By the PCI id, and where products share one by the name that NVML has."""
    from doctor.knowledge.store import table

    rows = [row for row in table("nvidia_products").values() if gpu.pci_id in (row.get("pci_ids") or ())]
    return rows[0] if len(rows) == 1 else next((row for row in rows if gpu.name in row.get("nvml_names", ())), None)


def _amd(gpu: Gpu, kb: Knowledge, link: float | None) -> Ceiling:
    row = kb.amd_gpu(gpu.pci_id, gpu.revision)
    if row is None:
        return Ceiling(link_gb_s=link)
    dies = row.gcds or 1
    cache = None if row.l2_mib is None else round((row.l2_mib + (row.l3_mib or 0)) * _MIB / dies)
    bandwidth = row.bandwidth_gbs / dies if row.bandwidth_gbs else None
    tflops = {name: value / dies for name, value in row.peak_tflops.items() if isinstance(value, (int, float))}
    peer = row.xgmi_link_gbs_per_direction if any(one.up for one in gpu.links or ()) else None
    return Ceiling(cache, bandwidth, link, peer, tflops, f"knowledge:amd_gpus/{row.id}")


def link_peak(link: PciLink | None) -> float | None:
    """GB/s of one direction of the fastest link that the GPU can have: lanes times transfers, less the line code, which
    is 8b/10b below 8 GT/s and 128b/130b up to 32 GT/s (PCI Express Base Specification). None beyond that.

    >>> from doctor.facts.gpu import PciLink
    >>> link_peak(PciLink(max_speed_gt_s=32, max_width=16))
    63.0
    """
    if link is None or not link.max_speed_gt_s or not link.max_width or link.max_speed_gt_s > 32:
        return None
    code = 0.8 if link.max_speed_gt_s < 8 else 128 / 130
    return round(link.max_speed_gt_s * link.max_width * code / 8, 1)


def peak(ceiling: Ceiling, what: str, dtype: str) -> float | None:
    """In the unit of that measurement: TFLOP/s of products, GB/s of copies."""
    if what.startswith("gemm"):
        return ceiling.tflops.get(_SHORT.get(dtype, dtype))
    if what.endswith(" memory"):
        return ceiling.memory_gb_s
    if what.startswith("p2p "):
        return ceiling.peer_gb_s
    return ceiling.link_gb_s if what.startswith("copy to-") else None


_UNKNOWN = {True: 512 * _MIB, False: 64 * _MIB}
_MOST = {True: 4 << 30, False: 64 * _MIB}


def flush(cache_bytes: int | None, gpu: bool) -> tuple[int, str]:
    """(bytes that are written before each cold repeat, how that is named): twice the caches, since they do not replace
    strictly by age; on a GPU at least 256 MiB, which take longer to write than a call takes to launch.

    >>> flush(288 << 20, True)
    (603979776, 'cold cache (576 MiB written before each repeat, caches hold 288 MiB)')
    """
    if not cache_bytes:
        size = _UNKNOWN[gpu]
        return size, f"{size >> 20} MiB written before each repeat, size of the cache not known"
    size = max((256 if gpu else 16) * _MIB, min(2 * cache_bytes, _MOST[gpu]))
    name = "cold cache" if size > cache_bytes else "partly cold cache"
    return size, f"{name} ({size >> 20} MiB written before each repeat, caches hold {max(1, cache_bytes >> 20)} MiB)"
