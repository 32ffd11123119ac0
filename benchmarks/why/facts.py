"""Pairs of fake nodes that differ in what can't be carried over, among 200 harmless differences."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.why.nodes import noisy, reports
from doctor.knowledge import Knowledge
from doctor.why.ranking import why
from doctor.why.symptom import read
from tests.fakenode import Node
from tests.fakenode import faults_amd as amd
from tests.fakenode import faults_host as host
from tests.fakenode import faults_nvidia as nvidia
from tests.fakenode.machine import RENDER, USER, VIDEO


@dataclass(frozen=True)
class FactPair:
    """`cause` are names of which each is right; `symptom` is what a person would paste."""

    what: str
    cause: frozenset[str]
    good: Node
    bad: Node
    symptom: str = ""


def _torch(version: str) -> Any:
    return {"faults": (host.python_needs(torch=version),)}


_RENDER = amd.account(USER, USER, VIDEO, RENDER)
_MI300X: Any = {"board": "mi300x", "count": 2, "rocm": ("7.2.1",)}
FIRST = (
    FactPair(
        "driver 580 and 535 below torch for CUDA 13.0", frozenset({"nvidia_driver"}),
        Node("rtx4090", **_torch("2.9.1+cu130")), Node("rtx4090", driver="535.183.01", **_torch("2.9.1+cu130")),
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
    ),
    FactPair(
        "torch for CUDA 13.0 on driver 570; GOOD has an older driver and torch for 12.6",
        frozenset({"packages[torch]"}),
        Node("h100", 2, driver="560.35.03", **_torch("2.7.1+cu126")),
        Node("h100", 2, driver="570.86.15", **_torch("2.9.1+cu130")),
    ),
    FactPair(
        "amdgpu of ROCm 6.2 below ROCm 7.2", frozenset({"amdgpu_driver"}),
        Node(**_MI300X, amdgpu="6.14.14"), Node(**_MI300X, amdgpu="6.2.4"),
    ),
    FactPair(
        "nvidia_uvm is not loaded", frozenset({"nvidia_driver", "nodes"}),
        Node("h100", 2), Node("h100", 2, faults=(nvidia.uvm_not_loaded,)), "CUDA unknown error",
    ),
    FactPair(
        "the container lacks /dev/kfd", frozenset({"nodes"}),
        Node(**_MI300X, container="docker"), Node(**_MI300X, container="docker", faults=(amd.kfd_node_missing,)),
        "RuntimeError: No HIP GPUs are available",
    ),
    FactPair(
        "64 MiB of /dev/shm", frozenset({"host.shm_bytes"}),
        Node("h100", 2, container="docker"), Node("h100", 2, container="docker", faults=(host.small_shm,)),
        "RuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that dataloader's "
        "workers are out of shared memory. Please try to raise your shared memory limit.",
    ),
    FactPair(
        "the IOMMU translates", frozenset({"host.iommu", "kernel"}),
        Node(**_MI300X), Node(**_MI300X, faults=(host.iommu_translates,)),
        "NCCL WARN Missing \"iommu=pt\" from kernel command line which can lead to system instablity or hang!",
    ),
    FactPair(
        "a GPU fell off the bus", frozenset({"kernel_log", "gpus", "nvidia_driver"}),
        Node("h100", 2), Node("h100", 2, faults=(nvidia.xid(79),)),
    ),
)  # fmt: skip

SECOND = (
    FactPair(
        "secure boot refuses the module",
        frozenset({"kernel", "kernel.secure_boot", "nvidia_driver", "kernel_log"}),
        Node("rtx4090"),
        Node("rtx4090", faults=(nvidia.secure_boot_refuses,)),
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    ),
    FactPair(
        "the account is not in render",
        frozenset({"account", "nodes"}),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(_RENDER,)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.account(USER, USER),)),
        "Unable to open /dev/kfd read-write: Permission denied",
    ),
    FactPair(
        "MIG is on, without instances",
        frozenset({"gpus"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.mig(0),)),
        "RuntimeError: No CUDA GPUs are available",
    ),
    FactPair(
        "the fabric manager stopped",
        frozenset({"gpus", "nvidia_driver", "fabric"}),
        Node("h100", 8),
        Node("h100", 8, faults=(nvidia.fabric_manager_stopped,)),
        "RuntimeError: CUDA error: system not yet initialized",
    ),
    FactPair(
        "a stub of libcuda comes first",
        frozenset({"loader", "environment[LD_LIBRARY_PATH]", "nvidia_driver"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.stub_first,)),
        "CUDA driver is a stub library",
    ),
    FactPair(
        "torch for the CPU",
        frozenset({"packages[torch]", "torch"}),
        Node("rtx4090", **_torch("2.9.1+cu130")),
        Node("rtx4090", **_torch("2.9.1+cpu")),
        "AssertionError: Torch not compiled with CUDA enabled",
    ),
    FactPair(
        "HIP_VISIBLE_DEVICES names a third GPU of two",
        frozenset({"environment[HIP_VISIBLE_DEVICES]"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(host.environment(HIP_VISIBLE_DEVICES="2"),)),
        "RuntimeError: No HIP GPUs are available",
    ),
    FactPair(
        "the driver's libraries were upgraded, the module was not",
        frozenset({"nvidia_driver", "loader"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.libraries_of("580.105.08"),)),
        "Failed to initialize NVML: Driver/library version mismatch",
    ),
)

THIRD = (
    FactPair(
        "amdgpu is blacklisted",
        frozenset({"amdgpu_driver", "kernel", "nodes"}),
        Node("rx7900xtx", rocm=("6.4.1",)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.amdgpu_blacklisted,)),
        "ROCk module is NOT loaded, possibly no GPU devices",
    ),
    FactPair(
        "one of two GPUs is kept for a virtual machine",
        frozenset({"gpus"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.vfio_bound,)),
        "RuntimeError: CUDA error: invalid device ordinal",
    ),
    FactPair(
        "ROCm without HSA's runtime",
        frozenset({"rocm", "libraries", "loader"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(amd.no_hsa_runtime,)),
        "ImportError: libhsa-runtime64.so.1: cannot open shared object file: No such file or directory",
    ),
    FactPair(
        "four PCIe lanes of sixteen",
        frozenset({"gpus"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.narrow_link(4),)),
    ),
    FactPair(
        "the compute mode refuses",
        frozenset({"gpus"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.compute_mode(2),)),
        "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    ),
)


FOURTH = (
    FactPair(
        "amdgpu is loaded and KFD is off",
        frozenset({"kfd", "nodes", "amdgpu_driver"}),
        Node("rx7900xtx", rocm=("6.4.1",)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.kfd_missing,)),
        "hsa_init Failed, possibly no supported GPU devices",
    ),
    FactPair(
        "the slot has no PCIe atomics",
        frozenset({"kernel_log", "gpus", "pci"}),
        Node("rx7900xtx", rocm=("6.4.1",)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.no_atomics,)),
    ),
    FactPair(
        "NUMA balancing is on",
        frozenset({"host.numa_balancing"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(host.numa_balancing,)),
    ),
    FactPair(
        "nouveau has the GPU",
        frozenset({"gpus", "nvidia_driver", "pci"}),
        Node("rtx4090"),
        Node("rtx4090", faults=(nvidia.nouveau_bound,)),
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.",
    ),
    FactPair(
        "memory rows of a GPU could not be remapped",
        frozenset({"gpus", "kernel_log"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.row_remap_failed,)),
    ),
    FactPair(
        "Docker has no runtime for GPUs",
        frozenset({"engines", "toolkits"}),
        Node("h100", 2, faults=(host.docker(),)),
        Node("h100", 2, faults=(host.docker(runtime=False),)),
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
    ),
    FactPair(
        "ROCR_VISIBLE_DEVICES hides what HIP_VISIBLE_DEVICES names",
        frozenset({"environment[ROCR_VISIBLE_DEVICES]"}),
        Node(**_MI300X, faults=(host.environment(HIP_VISIBLE_DEVICES="1"),)),
        Node(**_MI300X, faults=(host.environment(HIP_VISIBLE_DEVICES="1", ROCR_VISIBLE_DEVICES="0"),)),
        "RuntimeError: No HIP GPUs are available",
    ),
    FactPair(
        "two NVLinks are down",
        frozenset({"gpus", "fabric"}),
        Node("h100", 8),
        Node("h100", 8, faults=(nvidia.nvlink_down,)),
        "busbw of all_reduce_perf is half of the other node's",
    ),
)


FIFTH = (
    FactPair(
        "memory errors of a GPU could not be corrected",
        frozenset({"gpus", "kernel_log"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(amd.ras_uncorrectable,)),
    ),
    FactPair(
        "ROCm was moved away",
        frozenset({"rocm", "libraries", "loader", "environment[ROCM_PATH]"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(amd.rocm_moved,)),
        "error while loading shared libraries: libamdhip64.so.7: cannot open shared object file",
    ),
    FactPair(
        "amdgpu's firmware is missing",
        frozenset({"kernel_log", "amdgpu_driver", "gpus", "kfd", "nodes"}),
        Node(**_MI300X),
        Node(**_MI300X, faults=(amd.firmware_missing,)),
        "RuntimeError: No HIP GPUs are available",
    ),
    FactPair(
        "the driver's libraries are gone",
        frozenset({"loader", "libraries", "nvidia_driver"}),
        Node("h100", 2),
        Node("h100", 2, faults=(nvidia.no_libraries,)),
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
    ),
    FactPair(
        "the device nodes are root's alone",
        frozenset({"nodes", "account"}),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(_RENDER,)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(_RENDER, amd.nodes_of_root)),
        "Unable to open /dev/kfd read-write: Permission denied",
    ),
    FactPair(
        "resizable BAR is off",
        frozenset({"gpus", "pci"}),
        Node("rx7900xtx", rocm=("6.4.1",)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.small_bar,)),
    ),
)


SIXTH = (
    FactPair(
        "amdgpu is not loaded", frozenset({"amdgpu_driver", "kfd", "nodes", "gpus"}),
        Node(**_MI300X), Node(**_MI300X, faults=(amd.amdgpu_not_loaded,)),
        "ROCk module is NOT loaded, possibly no GPU devices",
    ),
    FactPair(
        "nomodeset", frozenset({"kernel", "amdgpu_driver", "kfd", "nodes"}),
        Node("rx7900xtx", rocm=("6.4.1",)), Node("rx7900xtx", rocm=("6.4.1",), faults=(amd.nomodeset,)),
        "RuntimeError: No HIP GPUs are available",
    ),
    FactPair(
        "the container has another number for render", frozenset({"account", "nodes"}),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(_RENDER,)),
        Node("rx7900xtx", rocm=("6.4.1",), faults=(_RENDER, amd.render_group(39))),
        "Unable to open /dev/kfd read-write: Permission denied",
    ),
    FactPair(
        "NVIDIA's driver is not loaded", frozenset({"nvidia_driver", "nodes", "gpus"}),
        Node("h100", 2), Node("h100", 2, faults=(nvidia.driver_not_loaded,)),
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    ),
    FactPair(
        "/dev/nvidia-uvm is missing in the container", frozenset({"nodes"}),
        Node("h100", 2, container="docker"), Node("h100", 2, container="docker", faults=(nvidia.uvm_node_missing,)),
        "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment",
    ),
    FactPair(
        "/opt/rocm leads nowhere", frozenset({"rocm", "libraries", "loader", "environment[ROCM_PATH]"}),
        Node(**_MI300X), Node(**_MI300X, faults=(amd.rocm_link_broken,)), "hipcc: command not found",
    ),
)  # fmt: skip


SEVENTH = (
    FactPair(
        "a GPU is lost", frozenset({"gpus", "nvidia_driver", "kernel_log", "pci"}),
        Node("h100", 2), Node("h100", 2, faults=(nvidia.gpu_lost,)),
        "Unable to determine the device handle for GPU0000:C1:00.0: Unknown Error",
    ),
    FactPair(
        "one of two render nodes was passed", frozenset({"nodes", "gpus"}),
        Node(**_MI300X, container="docker"), Node(**_MI300X, container="docker", faults=(amd.one_render_node,)),
        "torch.cuda.device_count() is 1",
    ),
    FactPair(
        "libcuda is missing", frozenset({"libraries", "loader", "nvidia_driver"}),
        Node("rtx4090"), Node("rtx4090", faults=(nvidia.no_libcuda,)),
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
    ),
    FactPair(
        "/dev/nvidiactl is missing", frozenset({"nodes", "nvidia_driver"}),
        Node("h100", 2, container="docker"), Node("h100", 2, container="docker", faults=(nvidia.no_control_node,)),
        "Failed to initialize NVML: Unknown Error",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    pair: FactPair
    place: int
    lead: str
    seconds: float


def answers(chosen: Sequence[FactPair]) -> Iterator[Answer]:
    """Where each cause stands in the ranking, from 1."""
    nodes = {f"{n}{side}": getattr(one, side) for n, one in enumerate(chosen) for side in ("good", "bad")}
    found, kb = reports(nodes), Knowledge()
    for number, one in enumerate(chosen):
        good, bad = noisy(found[f"{number}good"], "1"), noisy(found[f"{number}bad"], "2")
        began = time.perf_counter()
        ranked = [d.name for d in why(good, bad, kb, read(one.symptom)).ranked]
        place = next((n for n, name in enumerate(ranked, 1) if name in one.cause), 0)
        yield Answer(one, place, ranked[0] if ranked else "nothing", time.perf_counter() - began)


def main() -> None:
    print(
        json.dumps(
            [
                (a.pair.what, a.place, a.lead)
                for a in answers((*FIRST, *SECOND, *THIRD, *FOURTH, *FIFTH, *SIXTH, *SEVENTH))
            ],
            indent=1,
        )
    )
