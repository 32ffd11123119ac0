"""Every table of the catalogue: its file, the model of its entries, and what it holds.

A table is `data/NAME.json`: `{"schema": "doctor.NAME/1", "entries": {key: entry}}`, one entry a line, edited there: the
files are the one source. It is read when the first question about it is asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, cast

from doctor.knowledge.entries import Entry


class Table(NamedTuple):
    name: str
    model: str
    """`module:Class` under doctor.knowledge."""
    area: str
    """`amd`, `nvidia`, `frameworks`, `flags`, `field`."""
    title: str

    def entry_type(self) -> type[Entry]:
        module, _, name = self.model.partition(":")
        return cast("type[Entry]", getattr(import_module(f"doctor.knowledge.{module}"), name))


def _rows(area: str, module: str, *rows: tuple[str, str, str]) -> tuple[Table, ...]:
    return tuple(Table(name, f"{module}:{model}", area, title) for name, model, title in rows)


_AMD = _rows(
    "amd",
    "amd",
    ("hipblaslt_releases", "HipblasltRelease", "hipBLASLt of each ROCm"),
    ("rocblas_releases", "RocblasRelease", "rocBLAS of each ROCm"),
    ("blas_selection", "BlasSelection", "Which library torch takes for a GEMM"),
    ("kmd_user_windows", "KmdWindow", "ROCm releases of each amdgpu driver"),
    ("user_kmd_windows", "UserWindow", "amdgpu drivers of each ROCm"),
    ("amdgpu_drivers", "AmdgpuDriver", "Releases of the amdgpu driver"),
    ("amd_known_issues", "AmdIssue", "Known issues on AMD"),
    ("amd_supported_torch", "SupportedTorch", "torch that AMD supports"),
    ("rocm_os_kernels", "OsKernels", "Kernels of each supported OS"),
)
_AMD_TYPED = _rows(
    "amd",
    "entries",
    ("amd_gpus", "AmdGpu", "AMD's GPUs"),
    ("gfx_targets", "GfxTarget", "KFD's numbers of gfx targets"),
    ("rocm_releases", "RocmRelease", "ROCm releases"),
)
_NVIDIA = _rows(
    "nvidia",
    "nvidia",
    ("nvidia_products", "NvidiaProduct", "NVIDIA's GPUs"),
    ("cuda_minors", "CudaMinor", "GPUs and compilers of each CUDA minor"),
    ("distributions", "Distribution", "What each distribution carries"),
    ("forward_compat_packages", "CompatPackage", "Forward-compatibility packages"),
)
_NVIDIA_TYPED = _rows(
    "nvidia",
    "entries",
    ("nvidia_gpus", "NvidiaGpu", "PCI ids of NVIDIA's GPUs"),
    ("compute_capabilities", "ComputeCapability", "Compute capabilities"),
    ("cuda_majors", "CudaMajor", "Driver floors of CUDA"),
    ("early_cuda", "EarlyCuda", "Driver floors of CUDA before 11"),
    ("cuda_toolkits", "Toolkit", "CUDA toolkits"),
    ("driver_branches", "DriverBranch", "Branches of NVIDIA's driver"),
    ("xids", "Xid", "Xids"),
    ("sxids", "SXid", "SXids"),
)
_FRAMEWORKS = _rows(
    "frameworks",
    "frameworks",
    ("code_to_device", "CodeToDevice", "Which GPUs run code made for another"),
    ("packages", "PackageRelease", "Releases of packages beside torch"),
    ("wheel_contents", "WheelContent", "What the libraries in wheels ask for and hold"),
    ("package_ways", "PackageWay", "How packages are installed for which GPUs"),
    ("c_libraries", "CLibrary", "C library of each system"),
    ("device_wheels", "DeviceWheels", "AMD's wheels of torch by GPU"),
    ("resolutions", "RecordedResolution", "A resolver's answers about stacks"),
    ("tool_support", "ToolSupport", "Which GPUs compilers and profilers serve"),
    ("flash_attn_prebuilt", "FlashAttnBuild", "flash-attn's binaries"),
    ("tensorflow_builds", "TensorflowBuild", "TensorFlow"),
)
_FRAMEWORKS_TYPED = _rows(
    "frameworks",
    "entries",
    ("torch_builds", "TorchBuild", "Builds of each torch and their GPUs"),
    ("companions", "Companions", "torchvision and torchaudio of each torch"),
)
FLAG_FILES = (
    "amd_blas", "amd_hip_clr", "amd_miopen", "amd_rccl", "amd_rocr_hsa", "build", "containers", "fw_flash_aiter",
    "fw_jax_xla_tf_ort", "fw_megatron_deepspeed_hf_ray", "fw_pytorch", "fw_sglang", "fw_torch_nccl",
    "fw_torchinductor", "fw_transformer_engine", "fw_triton", "fw_tunableop", "fw_vllm", "net_ucx_ofi_mpi",
    "nv_cublas_cudnn", "nv_cuda", "nv_nccl", "nv_nvshmem", "threads_loader",
)  # fmt: skip
"""Flags lie in one table a component family, `flags/NAME`, so that a run reads only those whose names it met."""
_FLAGS = tuple(Table(f"flags/{name}", "flags:Flag", "flags", f"Flags: {name}") for name in FLAG_FILES) + _rows(
    "flags",
    "flags",
    ("flags/names", "FlagName", "In which tables a flag is described"),
    ("flags/grammars", "Grammar", "How components read values"),
    ("flags/witnesses", "Witness", "What flags were when they were run"),
    ("flags/interactions", "Interaction", "Rules between flags"),
    ("flags/conditions", "Condition", "When rules between flags hold"),
    ("flags/recommended", "FlagSet", "Sets of flags that guides give"),
    ("flags/renames", "Rename", "Old names of flags"),
    ("flags/known_names", "KnownNames", "Names that components mention"),
)
_FIELD = _rows(
    "field",
    "entries",
    ("conflicts", "Conflict", "Where sources contradict each other"),
)
TABLES = (
    *_AMD_TYPED, *_AMD, *_NVIDIA_TYPED, *_NVIDIA, *_FRAMEWORKS_TYPED, *_FRAMEWORKS, *_FLAGS, *_FIELD
)  # fmt: skip
"""All of them, by area."""


def named(name: str) -> Table | None:
    return next((t for t in TABLES if t.name == name), None)
