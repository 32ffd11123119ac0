"""What each captured machine's findings must be: read by eye against the index of the captures, once, on 2026-11-21.

A row is a file of the machine (or `tree`, its captured root), the GPUs that it shows (None: it tells of none), and
every finding at warning or above as (rule, severity, subject). A row without findings must stay without.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    machine: str
    file: str
    gpus: int | None
    loud: frozenset[tuple[str, str, str]] = frozenset()

    def __str__(self) -> str:
        return f"{self.machine}/{self.file}"


def _one(*finding: str) -> frozenset[tuple[str, str, str]]:
    rule, severity, *subjects = finding
    return frozenset((rule, severity, subject) for subject in subjects)


_CAPTURE = "nvidia-rtx2080super-4drivers-capture/sections"
_RTX = "geforce-rtx-2080-super"

TREES = (
    Row("amd-mi25-1gpu-kfd", "tree", 1),
    Row("amd-rx580-drm-sysfs", "tree", 1),
    Row("amd-vega56-drm-sysfs", "tree", 1),
    Row("amd-rx5700xt-drm-sysfs", "tree", 1),
    Row("amd-rx6600xt-drm-sysfs", "tree", 1),
    Row("amd-rx6900xt-drm-sysfs", "tree", 1),
    Row("amd-rx7600s-drm-sysfs", "tree", 1),
    Row("amd-rx7800xt-drm-sysfs", "tree", 1),
    Row("amd-rx9070xt-drm-sysfs", "tree", 1),
    Row("amd-phoenix-drm-sysfs", "tree", 1),
    Row("amd-r9-280-drm-sysfs", "tree", 1),
    Row("amd-hd7870-drm-sysfs", "tree", 1, _one("gpu-bound-to-other-driver", "warning", "0000:01:00.0")),
    Row("intel-a380-i915-drm-sysfs", "tree", 1),
    Row("nvidia-rtx4080-drm-sysfs", "tree", 1),
    Row("nvidia-h100-infiniband-class-gpud", "tree", None),
)
LARGE_TREES = (
    Row("amd-mi300x-8gpu-cpx-kfd", "tree", 8),
    Row("nvidia-v100-power9-gpunuma-fsroot", "tree", 6),
    Row("nvidia-p100-vm-ghw-snapshot", "tree", 1),
    Row("cpu-x86-64-epyc-7451-lscpu-dump", "tree", None),
)
"""Unpacking these takes seconds."""

TEXTS = (
    Row("amd-mi100-6gpu-rocm571-telegraf", "mi100_rocm571.json", 6),
    Row("amd-rx6700xt-4rocm-telegraf", "rx6700xt_rocm430.json", 1),
    Row("amd-rx6700xt-4rocm-telegraf", "rx6700xt_rocm571.json", 1),
    Row("amd-rx6700xt-4rocm-telegraf", "rx6700xt_rocm602.json", 1),
    Row("amd-rx6700xt-4rocm-telegraf", "rx6700xt_rocm612.json", 1),
    Row("amd-mi50-8gpu-vega20-telegraf", "vega-20-WKS-GL-XE.json", 1),
    Row("amd-mi250-rocm5-wandb", "rocm-smi-a.json", 1),
    Row("amd-mi300x-4gpu-gls", "rocm-smi.txt", 4),
    Row("amd-mi300x-4gpu-gls", "rocm-smi-a.txt", 4),
    Row("amd-mi300x-4gpu-gls", "rocminfo.txt", 4),
    Row("amd-strix-halo-rocm712-localdoc", "amd_smi_static.txt", 1),
    Row("amd-strix-halo-rocm712-localdoc", "amd_smi_metric.txt", 1),
    Row("amd-strix-halo-rocm712-localdoc", "rocminfo.txt", 1),
    Row("amd-strix-halo-rocm712-localdoc", "rocm_smi_performance.txt", 1),
    Row("amd-strix-halo-rocm712-localdoc", "hipconfig_full.txt", None),
    Row("amd-framework16-rx7700s-780m-pcp", "amd-smi-0.txt", 2),
    Row("amd-framework16-rx7700s-780m-pcp", "amd-smi-1.txt", 2),
    Row("amd-mi210-amdsmi-static-json-dme", "amd-smi-static.json", 1),
    Row("amd-mi300x-vf-visionguard", "rocm-smi.txt", 1),
    Row("amd-mi300x-8gpu-mlengineering", "rocm-smi.txt", 8),
    Row("amd-smi-changelog-samples-a", "rocm-6.3.0/amd-smi-metric-throttle.txt", None),
    Row("amd-smi-changelog-samples-a", "rocm-6.1.2/amd-smi-metric-ecc-block.txt", 1),
    Row("amd-mi300x-cpx-rocm-smi-changelog", "rocm-smi-cpx-after.txt", 2),
    Row("amd-mi210-4gpu-ctk-docs", "rocm-smi.txt", 4),
    Row("amd-mi300a-4gpu-tpx-rocmsmi610-changelog", "rocm-smi-showbus-a.txt", 1),
    Row(
        "amd-rx6700xt-ring-timeout-reset-ok-journal", "journal.txt", None,
        _one("amdgpu-gpu-hang", "warning", "0000:0b:00.0"),
    ),
    Row("docker-inspect-amd-rocm-pai", "docker_inspect_amd.json", None),
    Row("amd-pollara-rdma-link-json", "rdma-link.json", None),
    Row("nvidia-a100-sxm4-80g-mig-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-a10g-aws-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-gtx1660ti-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-quadro-p400-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-quadro-p2000-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-rtx3080-win536-linux595-telegraf", "nvidia-smi-q-536.40-windows.xml", 1),
    Row("nvidia-rtx3080-win536-linux595-telegraf", "nvidia-smi-q-595.58.03.xml", 1),
    Row("nvidia-rtx3060-telegraf", "nvidia-smi-q.xml", 1),
    Row("nvidia-rtx2080-windows-netdata", "nvidia-smi-q.xml", 1),
    Row("nvidia-rtx3060-laptop-netdata", "nvidia-smi-q.xml", 1),
    Row("nvidia-p100-netdata", "nvidia-smi-q.xml", 1),
    Row("nvidia-k80-4gpu-azure-pai", "nvidia-smi-q.xml", 4),
    Row("nvidia-rtx2080ti-2gpu-pai", "nvidia-smi-q.xml", 2),
    Row("nvidia-gtx680-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-gtx1050ti-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-a100sxmx4-gls", "nvidia-smi.txt", 4),
    Row("nvidia-a100sxmx4-gls", "nvidia-smi-q.txt", 4, _one("gpu-ecc-errors", "warning", "0000:9e:00.0")),
    Row("nvidia-a40x10-gls", "nvidia-smi-q.txt", 10),
    Row("nvidia-rtx3080-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx3090-gls", "nvidia-smi-q.txt", 2),
    Row("nvidia-l40s-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx2000ada-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx4060ti-gls", "nvidia-smi-q.txt", 2, _one("pcie-link-degraded", "warning", "0000:03:00.0")),
    Row("nvidia-rtx6000ada-x8-gls", "nvidia-smi-q.txt", 8),
    Row("nvidia-h100sxmx8-gls", "nvidia-smi-q.txt", 8),
    Row("nvidia-gh200-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx5090-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-a10-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx3070-gls", "nvidia-smi-q.txt", 1),
    Row("nvidia-rtx4000ada-gls", "nvidia-smi-q.txt", 1),
    Row(_CAPTURE, f"linux-{_RTX}-595.71.05/load-q.txt", 1),
    Row(_CAPTURE, f"linux-{_RTX}-610.57.04/idle-q.txt", 1),
    Row(_CAPTURE, f"windows-{_RTX}-610.62/idle-q.txt", 1),
    Row("nvidia-h100-and-mig-capture/sections", "linux-h100-80gb-hbm3-590.48.01/idle-q.txt", 1),
    Row("nvidia-h100-and-mig-capture/sections", "linux-h100-mig-590.48.01/idle-q.txt", 1),
    Row("nvidia-l40s-capture/sections", "linux-l40s-595.80/load-q.txt", 1),
    Row("nvidia-xid119-gsp-timeout-kmsg-gpud", "dmesg-T.log", None, _one("nvidia-xid-fatal", "error", "0000:9b:00.0")),
    Row("nvidia-550-load-kmsg-gpud", "pstore-dmesg-erst.txt", None),
    Row("nvidia-550-load-kmsg-gpud", "dev-kmsg-records.log", None),
    Row("nvidia-550-load-kmsg-gpud", "dev-kmsg-peermem.log", None),
    Row("nvidia-a100-azure-nhc", "orig_nvsmi8_output.txt", 8),
    Row(
        "nvidia-a100-azure-nhc", "bad_nvsmi8_output.txt", 8,
        _one("gpu-ecc-errors", "warning", *(f"000{n}:00:00.0" for n in (2, 4, 6, 8))),
    ),
    Row("nvidia-rtx6000ada-4gpu-esc8000a-stelline", "lspci-vvv-s-01-00-0.txt", 1),
    Row("nvidia-rtx6000ada-4gpu-esc8000a-stelline", "nvidia-smi.txt", 4),
    Row("nvidia-a100-topo-and-remap-mlengineering", "nvidia-smi-topo-m-a100-8gpu.txt", 8),
    Row(
        "nvidia-a100-topo-and-remap-mlengineering", "nvidia-smi-q-remapped-row.txt", 1,
        _one("gpu-ecc-errors", "warning", "0000:10:1c.0"),
    ),
    Row("nvidia-a100-mig-450-ncpdocs", "nvidia-smi-mig-disabled.txt", 1),
    Row(
        "nvidia-a100-mig-450-ncpdocs", "nvidia-smi-mig-enabled-no-devices.txt", 1,
        _one("mig-misconfigured", "error", "0000:00:04.0"),
    ),
    Row("nvidia-h100-mig-list-ncpdocs", "nvidia-smi-L-mixed.txt", 1),
)  # fmt: skip

PITFALLS = (
    ("nvidia-a10g-aws-telegraf", "nvidia-smi-q.xml", "pcie-link-degraded"),
    ("nvidia-gh200-gls", "nvidia-smi-q.txt", "pcie-link-degraded"),
    ("nvidia-rtx5090-gls", "nvidia-smi-q.txt", "pcie-link-degraded"),
    ("nvidia-a40x10-gls", "nvidia-smi-q.txt", "gpu-throttled"),
    ("nvidia-a10-gls", "nvidia-smi-q.txt", "gpu-throttled"),
    ("nvidia-k80-4gpu-azure-pai", "nvidia-smi-q.xml", "gpu-throttled"),
    ("nvidia-k80-4gpu-azure-pai", "nvidia-smi-q.xml", "nvidia-driver-too-old"),
    ("nvidia-rtx2080-windows-netdata", "nvidia-smi-q.xml", "persistence-mode-off"),
    ("amd-framework16-rx7700s-780m-pcp", "amd-smi-0.txt", "gpu-throttled"),
    ("amd-strix-halo-rocm712-localdoc", "hipconfig_full.txt", "rocm-path-broken"),
    ("amd-strix-halo-rocm712-localdoc", "amd_smi_static.txt", "amdgpu-driver-not-loaded"),
    ("amd-strix-halo-rocm712-localdoc", "amd_smi_metric.txt", "amdsmi-mismatch"),
    ("amd-mi250-rocm5-wandb", "rocm-smi-a.json", "pcie-link-degraded"),
    ("amd-mi300x-8gpu-mlengineering", "rocm-smi.txt", "gpu-memory-exhausted"),
    ("amd-rx6700xt-ring-timeout-reset-ok-journal", "journal.txt", "amdgpu-firmware-bad"),
    ("amd-rx6700xt-ring-timeout-reset-ok-journal", "journal.txt", "amdgpu-driver-not-loaded"),
    ("nvidia-550-load-kmsg-gpud", "pstore-dmesg-erst.txt", "secure-boot-blocks-module"),
    ("nvidia-h100-and-mig-capture/sections", "linux-h100-mig-590.48.01/idle-q.txt", "mig-misconfigured"),
    ("nvidia-h100-and-mig-capture/sections", "linux-h100-mig-590.48.01/idle-q.txt", "nvidia-driver-library-mismatch"),
    ("nvidia-rtx6000ada-4gpu-esc8000a-stelline", "lspci-vvv-s-01-00-0.txt", "pcie-atomics-missing"),
    ("nvidia-gtx1660ti-telegraf", "nvidia-smi-q.xml", "nvidia-driver-too-old"),
)
"""(machine, file, rule) that the index's pitfalls invite and that must not be raised at any severity."""

TOLD = (
    ("amd-rx580-drm-sysfs", "tree", "large-bar-disabled"),
    ("amd-vega56-drm-sysfs", "tree", "large-bar-disabled"),
    ("nvidia-k80-4gpu-azure-pai", "nvidia-smi-q.xml", "gpu-ecc-errors"),
    ("nvidia-gh200-gls", "nvidia-smi-q.txt", "gpu-ecc-errors"),
    ("nvidia-l40s-capture/sections", "linux-l40s-595.80/load-q.txt", "persistence-mode-off"),
)
"""(machine, file, rule) that is told as information."""
