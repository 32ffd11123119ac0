"""The machines that the tests run, all in one process (conftest.py): healthy ones, broken ones, near misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakenode import Node
from tests.fakenode import faults_amd as amd
from tests.fakenode import faults_host as host
from tests.fakenode import faults_nvidia as nvidia
from tests.fakenode.machine import RENDER, USER, VIDEO
from tests.fakenode.node import Fault

_NOBLE = "ubuntu-24.04"


def _h100(*faults: Fault, count: int = 2, **more: Any) -> Node:
    return Node("h100", count, faults=faults, **more)


def _server(*faults: Fault) -> Node:
    return _h100(*faults, count=8)


def _desktop(*faults: Fault, **more: Any) -> Node:
    return Node("rtx4090", distribution=_NOBLE, faults=faults, **more)


def _mi300x(*faults: Fault, **more: Any) -> Node:
    return Node("mi300x", 2, faults=faults, **{"rocm": ("6.4.1",), **more})


def _radeon(*faults: Fault, **more: Any) -> Node:
    return Node("rx7900xtx", distribution=_NOBLE, faults=faults, **{"rocm": ("6.4.1",), **more})


HEALTHY: dict[str, Node] = {
    "eight H100 with NVSwitches": _h100(count=8, cuda=("12.8", "12.9")),
    "an RTX 4090": _desktop(),
    "an RTX 5090": Node("rtx5090", distribution=_NOBLE),
    "a GTX 1080, proprietary module": Node("gtx1080", flavour="proprietary"),
    "two A100 on Rocky with an old driver": Node(
        "a100", 2, driver="470.256.02", flavour="proprietary", distribution="rocky-9"
    ),
    "a GH200": Node("gh200", arch="aarch64", distribution=_NOBLE),
    "eight MI300X": Node("mi300x", 8, rocm=("6.3.4", "6.4.1")),
    "eight MI300X in CPX": Node("mi300x", 8, rocm=("6.4.1",), partition="CPX"),
    "an RX 7900 XTX": _radeon(),
    "an APU beside an RX 7900 XTX": _radeon(beside=("radeon-610m",)),
    "two H100 in a Docker container": _h100(container="docker"),
    "two MI300X in a Podman container": _mi300x(container="podman"),
    "two MI300X in a pod": _mi300x(container="kubernetes"),
    "an RTX 4090 in WSL": Node("rtx4090", distribution="wsl-ubuntu-24.04", wsl=True),
}


@dataclass(frozen=True)
class Case:
    """A machine whose first finding must be this rule, at this severity."""

    name: str
    rule: str
    severity: str
    node: Node
    needs_owners: bool = False
    """Whether it is about the owners of device nodes, or about an account other than root."""


_IN_GROUPS, _IN_NONE = amd.account(USER, USER, VIDEO, RENDER), amd.account(USER, USER)

BROKEN: tuple[Case, ...] = (
    Case("module not loaded", "nvidia-driver-not-loaded", "error", _desktop(nvidia.driver_not_loaded)),
    Case("driver not installed", "nvidia-driver-not-loaded", "error", _desktop(nvidia.driver_not_installed)),
    Case(
        "Pascal with a branch that dropped it", "nvidia-driver-not-loaded", "error",
        Node("gtx1080", flavour="proprietary", driver="590.44.01", faults=(nvidia.gpu_not_served,)),
    ),
    Case("nouveau bound", "nouveau-loaded", "error", _desktop(nvidia.nouveau_bound)),
    Case("the only GPU given to vfio", "gpu-bound-to-other-driver", "error", _desktop(nvidia.vfio_bound)),
    Case("one of two GPUs given to vfio", "gpu-bound-to-other-driver", "warning", _h100(nvidia.vfio_bound)),
    Case("secure boot refuses the module", "secure-boot-blocks-module", "error", _desktop(nvidia.secure_boot_refuses)),
    Case(
        "libraries newer than the module", "nvidia-driver-library-mismatch", "error",
        _h100(nvidia.libraries_of("580.105.08")),
    ),
    Case("nvidia_uvm not loaded", "nvidia-uvm-missing", "warning", _h100(nvidia.uvm_not_loaded)),
    Case("no /dev/nvidia-uvm", "nvidia-uvm-missing", "info", _h100(nvidia.uvm_node_missing)),
    Case(
        "container without NVIDIA's nodes", "container-missing-gpu-passthrough", "error",
        _h100(nvidia.no_nodes, container="docker"),
    ),
    Case(
        "container without /dev/nvidiactl", "container-missing-gpu-passthrough", "error",
        _h100(nvidia.no_control_node, container="docker"),
    ),
    Case(
        "container without the driver's libraries", "container-missing-gpu-passthrough", "error",
        _h100(nvidia.no_libraries, container="docker"),
    ),
    Case("a stub of libcuda comes first", "gpu-libs-conflict", "error", _h100(nvidia.stub_first)),
    Case("Xid 79", "nvidia-xid-fatal", "error", _h100(nvidia.xid(79))),
    Case("GPU lost by NVML", "nvidia-xid-fatal", "error", _h100(nvidia.gpu_lost)),
    Case("Xid 13", "nvidia-xid-nonfatal", "info", _h100(nvidia.xid(13, "Graphics Exception: ESR 0x505730=0x30009"))),
    Case("fabric manager stopped", "nvidia-fabricmanager-not-running", "error", _server(nvidia.fabric_manager_stopped)),
    Case("no fabric manager", "nvidia-fabricmanager-not-running", "error", _server(nvidia.fabric_manager_absent)),
    Case("uncorrected memory errors", "gpu-ecc-errors", "error", _h100(nvidia.ecc_uncorrected)),
    Case("row remap failed", "gpu-ecc-errors", "error", _h100(nvidia.row_remap_failed)),
    Case("row remap pending", "gpu-ecc-errors", "error", _h100(nvidia.row_remap_pending)),
    Case("MIG waits for a reset", "mig-misconfigured", "warning", _h100(nvidia.mig_waits)),
    Case("a link at 2.5 GT/s at work", "pcie-link-degraded", "warning", _h100(nvidia.slow_link(busy=True))),
    Case("a driver without libcuda", "nvidia-driver-library-mismatch", "error", _h100(nvidia.no_libcuda)),
    Case("modprobe keeps the module out", "nvidia-driver-not-loaded", "error", _desktop(nvidia.kept_out)),
    Case(
        "NCCL_IB_HCA of another machine", "collective-flag-misconfigured", "warning",
        _server(host.adapters("mlx5_0", "mlx5_1"), host.environment(NCCL_IB_HCA="mlx5_9")),
    ),
    Case(
        "a GPU that torch's CUDA dropped", "torch-missing-gpu-arch", "error",
        Node("gtx1080", flavour="proprietary", faults=(host.python_needs(torch="2.9.1+cu130"),)),
    ),
    Case("persistence off", "persistence-mode-off", "info", _h100(nvidia.persistence_off)),
    Case("compute mode prohibited", "compute-mode-exclusive", "error", _h100(nvidia.compute_mode(2))),
    Case("MIG without instances", "mig-misconfigured", "error", _h100(nvidia.mig(0))),
    Case("hot and slowed down", "gpu-throttled", "warning", _h100(nvidia.throttled)),
    Case("four lanes of sixteen", "pcie-link-degraded", "warning", _h100(nvidia.narrow_link(4))),
    Case("two NVLinks down", "gpu-fabric-degraded", "warning", _server(nvidia.nvlink_down)),
    Case("nvidia-smi hangs and NVML fails", "smi-tool-slow", "error", _h100(nvidia.smi_hangs)),
    Case("NVML answers Unknown Error", "framework-sees-no-gpu", "error", _h100(nvidia.nvml_unknown_error)),
    Case(
        "NVML answers Unknown Error in a container", "container-lost-devices", "error",
        _h100(nvidia.nvml_unknown_error, container="docker"),
    ),
    Case(
        "Blackwell, proprietary module", "nvidia-open-module-required", "error",
        Node("rtx5090", flavour="proprietary"),
    ),
    Case("Pascal, open module", "nvidia-open-module-unsupported-gpu", "error", Node("gtx1080", flavour="open")),
    Case(
        "driver too old for torch", "nvidia-driver-too-old", "error",
        _desktop(host.python_needs(torch="2.9.1+cu130"), driver="535.183.01"),
    ),
    Case("torch for the CPU", "torch-cpu-only-build", "error", _desktop(host.python_needs(torch="2.9.1+cpu"))),
    Case(
        "torch for the other vendor", "torch-built-for-other-vendor", "error",
        _desktop(host.python_needs(torch="2.9.1+rocm6.4")),
    ),
    Case(
        "CUDA_VISIBLE_DEVICES empty", "visible-devices-conflict", "error",
        _h100(host.environment(CUDA_VISIBLE_DEVICES="")),
    ),
    Case(
        "CUDA_VISIBLE_DEVICES of another machine", "visible-devices-conflict", "error",
        _h100(host.environment(CUDA_VISIBLE_DEVICES="GPU-00000000-1111-2222-3333-444444444444")),
    ),
    Case(
        "a MIG instance, and MIG is off", "visible-devices-conflict", "error",
        _h100(host.environment(CUDA_VISIBLE_DEVICES="MIG-3f1c1b7e-8f2f-5d3c-9c62-1f8f0f4b9b11")),
    ),
    Case("a GPU that the driver can't initialise", "nvidia-driver-not-loaded", "error", _h100(nvidia.not_initialised)),
    Case(
        "a PTX compiler of another driver", "nvidia-driver-library-mismatch", "warning",
        _h100(nvidia.compiler_of("575.57.08")),
    ),
    Case(
        "a default runtime that is not defined", "container-runtime-not-configured", "error",
        _h100(host.docker(), host.default_runtime("nvidia")),
    ),
    Case(
        "a default runtime without its program", "container-runtime-not-configured", "error",
        _mi300x(host.docker(), host.default_runtime("amd", "/usr/bin/amd-container-runtime")),
    ),
    Case(
        "a CDI spec that is cut off", "cdi-spec-missing-or-stale", "warning", _h100(host.docker(), host.cdi_spec_cut),
    ),
    Case(
        "daemon.json that can't be read", "container-runtime-not-configured", "error",
        _h100(host.docker(), host.broken_daemon_json),
    ),
    Case(
        "no-cgroups under Docker", "container-no-cgroups-misconfigured", "warning",
        _h100(host.docker(), host.no_cgroups),
    ),
    Case(
        "CDI spec of another driver", "cdi-spec-missing-or-stale", "warning",
        _h100(host.docker(), host.cdi_spec_of("570.86.15")),
    ),
    Case("machine check", "host-machine-check", "warning", _h100(host.machine_check)),
    Case("out of memory", "host-memory-exhausted", "warning", _h100(host.out_of_memory)),
    Case("Docker's small /dev/shm", "container-shm-too-small", "info", _h100(host.small_shm, container="docker")),
    Case(
        "WSL without /dev/dxg", "wsl-gpu-misconfigured", "error",
        Node("rtx4090", distribution="wsl-ubuntu-24.04", wsl=True, faults=(host.dxg_missing,)),
    ),
    Case(
        "a Linux driver inside WSL", "wsl-gpu-misconfigured", "error",
        Node("rtx4090", distribution="wsl-ubuntu-24.04", wsl=True, faults=(nvidia.linux_driver_in_wsl,)),
    ),
    Case(
        "WSL without libcuda", "wsl-gpu-misconfigured", "error",
        Node("rtx4090", distribution="wsl-ubuntu-24.04", wsl=True, faults=(nvidia.no_libcuda,)),
    ),
    Case("no firmware for amdgpu", "amdgpu-driver-not-loaded", "error", _mi300x(amd.firmware_missing)),
    Case("one of two GPUs not in KFD", "amdgpu-driver-not-loaded", "warning", _mi300x(amd.one_not_in_kfd)),
    Case("ROCm without HSA's runtime", "gpu-libs-not-found", "error", _mi300x(amd.no_hsa_runtime)),
    Case("/opt/rocm leads nowhere", "rocm-path-broken", "warning", _mi300x(amd.rocm_moved)),
    Case("amdgpu not loaded", "amdgpu-driver-not-loaded", "error", _radeon(amd.amdgpu_not_loaded)),
    Case("amdgpu blacklisted", "amdgpu-driver-not-loaded", "error", _radeon(amd.amdgpu_blacklisted)),
    Case("nomodeset", "amdgpu-driver-not-loaded", "error", _radeon(amd.nomodeset)),
    Case("amdgpu without KFD", "amdgpu-driver-not-loaded", "error", _radeon(amd.kfd_missing)),
    Case(
        "container without /dev/kfd", "container-missing-gpu-passthrough", "error",
        _mi300x(amd.kfd_node_missing, container="docker"),
    ),
    Case(
        "container without AMD's nodes", "container-missing-gpu-passthrough", "error",
        _mi300x(amd.no_nodes, container="docker"),
    ),
    Case("account outside of render", "device-node-permission", "error", _radeon(_IN_NONE), needs_owners=True),
    Case(
        "nodes of root alone", "device-node-permission", "error",
        _radeon(amd.nodes_of_root, _IN_GROUPS), needs_owners=True,
    ),
    Case(
        "render group without a name", "device-node-permission", "error",
        _radeon(amd.render_group(993, named=False), _IN_NONE), needs_owners=True,
    ),
    Case(
        "container's render group is another number", "container-render-group-mismatch", "error",
        _mi300x(amd.render_group(993, named=False), _IN_GROUPS, container="docker"), needs_owners=True,
    ),
    Case("ring timeout, reset failed", "amdgpu-gpu-hang", "error", _radeon(amd.ring_timeout)),
    Case("uncorrected RAS errors", "gpu-ecc-errors", "error", _mi300x(amd.ras_uncorrectable)),
    Case("slot without PCIe atomics", "pcie-atomics-missing", "error", _radeon(amd.no_atomics)),
    Case("ROCM_PATH of a removed release", "rocm-path-broken", "warning", _radeon(amd.rocm_link_broken)),
    Case("resizable BAR off", "large-bar-disabled", "info", _radeon(amd.small_bar)),
    Case("amd-smi hangs", "smi-tool-slow", "warning", _mi300x(amd.smi_hangs)),
    Case("amdgpu too old for ROCm", "amdgpu-rocm-version-skew", "warning", _mi300x(rocm=("7.2.1",), amdgpu="6.2.4")),
    Case(
        "amdgpu of a series that no patch of ROCm 7.2 lists", "amdgpu-rocm-version-skew", "warning",
        _mi300x(rocm=("7.2.0",), amdgpu="6.2.4"),
    ),
    Case("no /dev/kfd on a host with KFD", "device-node-permission", "error", _radeon(amd.kfd_node_missing)),
    Case(
        "ROCm older than the GPU", "amd-gpu-unsupported-by-rocm", "warning",
        Node("rx9070xt", rocm=("6.2.0",), distribution=_NOBLE),
    ),
    Case(
        "override of another generation", "hsa-override-misuse", "error",
        _radeon(host.environment(HSA_OVERRIDE_GFX_VERSION="10.3.0")),
    ),
    Case(
        "HIP_VISIBLE_DEVICES out of range", "visible-devices-conflict", "error",
        _mi300x(host.environment(HIP_VISIBLE_DEVICES="7")),
    ),
    Case(
        "HIP_VISIBLE_DEVICES=1 where one GPU was passed", "visible-devices-conflict", "error",
        _mi300x(amd.one_render_node, host.environment(HIP_VISIBLE_DEVICES="1"), container="docker"),
    ),
    Case("IOMMU translates", "iommu-not-passthrough", "warning", _mi300x(host.iommu_translates)),
    Case("NUMA balancing", "numa-balancing-enabled", "warning", _mi300x(host.numa_balancing)),
)  # fmt: skip

NEAR_MISSES: dict[str, Node] = {
    "H100: corrected errors, exclusive process, MIG with instances, secure boot with signed modules": _h100(
        nvidia.ecc_corrected, nvidia.compute_mode(3), nvidia.mig(3), nvidia.secure_boot_on
    ),
    "H100: an Xid of the day before and a CDI spec of this driver": _h100(
        nvidia.xid(13, "Graphics Exception: ESR 0x505730=0x30009", at=600), host.docker(),
        host.cdi_spec_of("580.95.05"), host.environment(CUDA_VISIBLE_DEVICES="0,1"),
    ),
    "RTX 4090: torch that this driver serves, persistence off": _desktop(
        host.python_needs(torch="2.9.1+cu128"), nvidia.persistence_off
    ),
    "MI300X: corrected RAS errors, all GPUs named, torch for ROCm": _mi300x(
        amd.ras_correctable, host.environment(HIP_VISIBLE_DEVICES="0,1"), host.python_needs(torch="2.9.1+rocm6.4")
    ),
    "H100: a list that ends with -1, and an old line of a GPU that answers": _h100(
        host.environment(CUDA_VISIBLE_DEVICES="0,1,-1"),
        host.log_line("NVRM: GPU 0000:15:00.0: RmInitAdapter failed! (0x62:0xffff:2477)"),
    ),
    "H100: an idle link, adapters by their prefix, options for the driver": _h100(
        nvidia.slow_link(busy=False), host.adapters("mlx5_0", "mlx5_1"), host.environment(NCCL_IB_HCA="mlx5"),
        nvidia.module_options,
    ),
    "RX 6700 XT: the usual override": Node(
        "rx6700xt", distribution=_NOBLE, rocm=("6.4.1",), faults=(host.environment(HSA_OVERRIDE_GFX_VERSION="10.3.0"),)
    ),
    "RX 7900 XTX: the kernel's own driver": _radeon(amdgpu=None),
    "RX 7900 XTX: an account of the groups": _radeon(_IN_GROUPS),
}  # fmt: skip
"""Close to a fault, and right: no error and no warning."""
