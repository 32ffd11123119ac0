"""Every table of the catalogue: its file, the model of its entries, and where its facts come from.

A table is `data/NAME.json`: `{"schema": "doctor.NAME/1", "entries": {key: entry}}`. It is read when the first question
about it is asked. `facts` is the file and list of the folder of sourced facts that scripts/refresh_knowledge.py carries
it from, `key` the fields of that list that make an entry's key.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, cast

from doctor.knowledge.entries import Entry


class Table(NamedTuple):
    name: str
    model: str
    """`module:Class` under doctor.knowledge."""
    facts: str
    """`amd/gpus.yaml:gpus`"""
    key: tuple[str, ...]
    title: str

    @property
    def area(self) -> str:
        """`amd`, `nvidia`, `frameworks`, `flags`, `field`."""
        return self.facts.split("/")[0]

    def entry_type(self) -> type[Entry]:
        """The model of its entries; imports it."""
        module, _, name = self.model.partition(":")
        return cast("type[Entry]", getattr(import_module(f"doctor.knowledge.{module}"), name))


def _rows(area: str, module: str, *rows: tuple[str, str, str, str, str]) -> tuple[Table, ...]:
    return tuple(
        Table(name, f"{module}:{model}", f"{area}/{facts}", tuple(key.split()), title)
        for name, model, facts, key, title in rows
    )


_AMD = _rows(
    "amd",
    "amd",
    ("hipblaslt_releases", "HipblasltRelease", "hipblaslt.yaml:hipblaslt_per_rocm", "rocm", "hipBLASLt of each ROCm"),
    ("rocblas_releases", "RocblasRelease", "hipblaslt.yaml:rocblas_per_rocm", "rocm", "rocBLAS of each ROCm"),
    ("blas_selection", "BlasSelection", "hipblaslt.yaml:selection", "torch", "Which library torch takes for a GEMM"),
    ("addmm_rules", "AddmmRule", "hipblaslt.yaml:addmm_rules", "torch", "Which library torch takes for addmm"),
    ("blas_variables", "BlasVariable", "hipblaslt.yaml:env_vars", "name component", "Variables of the BLAS libraries"),
    ("tunableop_variables", "TunableOpVariable", "hipblaslt.yaml:tunableop_vars", "name", "Variables of TunableOp"),
    ("tunableop_facts", "TunableOpFact", "hipblaslt.yaml:tunableop_facts", "torch", "How TunableOp behaves"),
    ("blas_proofs", "BlasProof", "hipblaslt.yaml:runtime_proof", "id", "What proves which BLAS library ran"),
    ("blas_files", "BlasFiles", "hipblaslt.yaml:library_files", "library", "Kernel files of the BLAS libraries"),
    ("kmd_user_windows", "KmdWindow", "kmd-user-compat.yaml:kmd_to_user", "kmd", "ROCm releases of each amdgpu driver"),
    ("user_kmd_windows", "UserWindow", "kmd-user-compat.yaml:user_to_kmd", "rocm", "amdgpu drivers of each ROCm"),
    ("amdgpu_drivers", "AmdgpuDriver", "kmd-user-compat.yaml:drivers", "version", "Releases of the amdgpu driver"),
    ("amdgpu_driver_rules", "DriverRule", "kmd-user-compat.yaml:rules", "id", "How drivers and ROCm are supported"),
    ("amd_known_issues", "AmdIssue", "known-issues.yaml:issues", "id", "Known issues on AMD"),
    ("rocm_torch", "RocmTorch", "rocm-pytorch.yaml:torch_releases", "version", "ROCm builds of each torch"),
    ("therock_torch", "TheRockTorch", "rocm-pytorch.yaml:therock_torch", "rocm", "torch releases that TheRock builds"),
    (
        "amd_supported_torch",
        "SupportedTorch",
        "rocm-pytorch.yaml:amd_supported_torch",
        "rocm family",
        "torch that AMD supports",
    ),
    ("rocm_images", "RocmImage", "rocm-pytorch.yaml:docker_images", "image tag", "AMD's container images"),
    ("rocm_frameworks", "RocmFramework", "rocm-pytorch.yaml:frameworks", "framework rocm", "Frameworks of each ROCm"),
    ("rocm_torch_notes", "Fact", "rocm-pytorch.yaml:notes", "id", "Notes on ROCm builds of torch"),
    ("rocm_os_kernels", "OsKernels", "rocm-releases.yaml:os_kernels", "os version", "Kernels of each supported OS"),
    ("rocm_notes", "Fact", "rocm-releases.yaml:notes", "id", "Notes on ROCm releases"),
    (
        "rvs_gemm_targets",
        "GemmTarget",
        "rvs-targets.yaml:gemm_targets",
        "gpu action data_type",
        "GEMM floors of ROCm Validation Suite",
    ),
    (
        "rvs_power_targets",
        "PowerTarget",
        "rvs-targets.yaml:power_targets",
        "gpu action",
        "Power floors of ROCm Validation Suite",
    ),
    ("kfd_node_properties", "KfdProperty", "sysfs.yaml:kfd_node_properties", "path key", "Properties of KFD nodes"),
    ("kfd_files", "SysfsFile", "sysfs.yaml:kfd_topology_files", "path", "Files of the KFD topology"),
    ("kfd_capability_bits", "CapabilityBit", "sysfs.yaml:capability_bits", "bit", "Bits of a KFD node's capability"),
    ("amdgpu_drm_files", "DrmFile", "sysfs.yaml:drm_device_files", "path", "Files of amdgpu's DRM device"),
    ("amdgpu_other_files", "SysfsFile", "sysfs.yaml:other_files", "path", "Other files of amdgpu and its host"),
    ("amdgpu_decode_rules", "DecodeRule", "sysfs.yaml:decode_rules", "topic", "How sysfs values are read"),
    ("amd_tool_fields", "ToolField", "sysfs.yaml:tool_crosscheck", "tool field", "What AMD's tools read for a field"),
)
_AMD_TYPED = _rows(
    "amd",
    "entries",
    ("amd_gpus", "AmdGpu", "gpus.yaml:gpus", "id", "AMD's GPUs"),
    ("gfx_targets", "GfxTarget", "gpus.yaml:gfx_target_versions", "gfx_target_version", "KFD's numbers of gfx targets"),
    ("rocm_releases", "RocmRelease", "rocm-releases.yaml:releases", "version", "ROCm releases"),
)
_NVIDIA = _rows(
    "nvidia",
    "nvidia",
    ("nvidia_products", "NvidiaProduct", "gpus.yaml:gpus", "name", "NVIDIA's GPUs"),
    (
        "open_module_rules",
        "OpenModuleRule",
        "gpus.yaml:open_module_rules",
        "rule",
        "Which kernel module an architecture takes",
    ),
    ("nvlink_generations", "NvlinkGeneration", "gpus.yaml:nvlink_per_gpu_bidirectional_gbs", "generation", "NVLink"),
    ("nvswitches", "NvSwitch", "gpus.yaml:nvswitch_pci_ids", "id", "NVSwitch chips"),
    ("nvidia_traps", "Text", "gpus.yaml:traps", "text", "What is easily got wrong about NVIDIA's GPUs"),
    ("cuda_rules", "Text", "cuda-releases.yaml:rules", "id", "How CUDA, driver and GPU go together"),
    ("cuda_minors", "CudaMinor", "cuda-releases.yaml:minors", "minor", "GPUs and compilers of each CUDA minor"),
    ("cudnn_rules", "CudnnRule", "cuda-releases.yaml:cudnn_rules", "cudnn cuda", "Drivers and GPUs of each cuDNN"),
    ("cudnn_builds", "CudnnBuild", "cuda-releases.yaml:cudnn_builds", "cudnn", "CUDA builds of each cuDNN"),
    (
        "nvidia_driver_systems",
        "DriverSystems",
        "cuda-releases.yaml:supported_os_610",
        "id",
        "Systems of NVIDIA's driver",
    ),
    ("driver_branch_rules", "Text", "driver-branches.yaml:rules", "id", "How driver branches are kept"),
    (
        "forward_compat_branches",
        "CompatBranch",
        "forward-compat.yaml:driver_branch_cuda",
        "branch",
        "CUDA of each branch",
    ),
    (
        "forward_compat_packages",
        "CompatPackage",
        "forward-compat.yaml:packages",
        "package",
        "Forward-compatibility packages",
    ),
    ("forward_compat_gpus", "CompatGpus", "forward-compat.yaml:gpu_classes", "class", "Which GPUs may use them"),
    ("forward_compat_rules", "Text", "forward-compat.yaml:rules", "id", "How forward compatibility works"),
    ("forward_compat_files", "CompatFile", "forward-compat.yaml:libraries", "file", "Files of those packages"),
    ("cuda_errors", "CudaError", "forward-compat.yaml:errors", "code", "CUDA's error codes"),
    ("xid_rules", "XidRule", "xid.yaml:rules", "id", "How Xids are read"),
    ("xid_log_patterns", "LogPattern", "xid.yaml:log_patterns", "id", "Lines of the kernel log that carry Xids"),
    ("unused_xids", "UnusedXids", "xid.yaml:unused_xids", "id", "Xid numbers that are not in use"),
    ("nvidia_files", "ProcFile", "nvml-and-proc.yaml:files", "path", "Files of NVIDIA's driver"),
    ("nvidia_device_nodes", "NvidiaNode", "nvml-and-proc.yaml:device_nodes", "path", "Device nodes of NVIDIA's driver"),
    ("nvidia_detection", "Detection", "nvml-and-proc.yaml:detection", "id", "How driver states are told apart"),
    ("nvml_calls", "NvmlCall", "nvml-and-proc.yaml:nvml_calls", "function topic", "Calls of NVML"),
    ("nvml_fields", "NvmlField", "nvml-and-proc.yaml:nvml_fields", "name", "Fields of NVML"),
    ("nvml_enums", "NvmlEnum", "nvml-and-proc.yaml:nvml_enums", "name", "Enumerations of NVML"),
    ("nvml_errors", "NvmlError", "nvml-and-proc.yaml:nvml_error_reading", "code", "What NVML's errors mean"),
    ("nvidia_log_strings", "LogString", "nvml-and-proc.yaml:kernel_log_strings", "contains", "Lines of the kernel log"),
    ("nvidia_module_parameters", "ModuleParameters", "nvml-and-proc.yaml:params_all", "id", "Parameters of the module"),
    ("nvidia_known_issues", "NvidiaIssue", "known-issues.yaml:issues", "id", "Known issues on NVIDIA"),
)
_CONTAINERS = _rows(
    "nvidia",
    "containers",
    ("container_cve_floors", "CveFloor", "cloud-native.yaml:version_floors", "cve component", "Fixed versions of CVEs"),
    ("container_floor", "ContainerFloor", "cloud-native.yaml:recommended_floor", "id", "Oldest container stack to run"),
    ("container_rules", "ContainerRule", "cloud-native.yaml:rules", "id", "How the container stack goes together"),
    ("container_toolkits", "ContainerToolkit", "cloud-native.yaml:container_toolkit", "version", "Container toolkit"),
    ("gpu_operators", "GpuOperator", "cloud-native.yaml:gpu_operator", "version", "GPU Operator"),
    (
        "cloud_native_stacks",
        "CloudNativeStack",
        "cloud-native.yaml:cloud_native_stack",
        "version platform os",
        "Cloud Native Stack",
    ),
)
_NVIDIA_TYPED = _rows(
    "nvidia",
    "entries",
    ("nvidia_gpus", "NvidiaGpu", "pci-ids.yaml:ids", "id", "PCI ids of NVIDIA's GPUs"),
    ("compute_capabilities", "ComputeCapability", "gpus.yaml:compute_capabilities", "cc", "Compute capabilities"),
    ("cuda_majors", "CudaMajor", "cuda-releases.yaml:majors", "major", "Driver floors of CUDA"),
    ("early_cuda", "EarlyCuda", "early_cuda.toml:driver", "minor", "Driver floors of CUDA before 11"),
    ("cuda_toolkits", "Toolkit", "cuda-releases.yaml:releases", "version", "CUDA toolkits"),
    ("driver_branches", "DriverBranch", "driver-branches.yaml:branches", "branch", "Branches of NVIDIA's driver"),
    ("xids", "Xid", "xid.yaml:xids", "xid", "Xids"),
    ("sxids", "SXid", "xid.yaml:sxids", "sxid", "SXids"),
)
_FRAMEWORKS = _rows(
    "frameworks",
    "frameworks",
    ("torch_rules", "TorchRule", "pytorch.yaml:rules", "id", "How torch's builds are made"),
    (
        "code_to_device",
        "CodeToDevice",
        "pytorch.yaml:code_to_device",
        "code_sm",
        "Which GPUs run code made for another",
    ),
    ("torch_wheels", "TorchWheel", "pytorch.yaml:releases", "version", "What torch's wheels hold and ask for"),
    ("package_rules", "PackageRule", "companions.yaml:rules", "package", "What packages beside torch need"),
    ("packages", "PackageRelease", "companions.yaml:releases", "package version", "Releases of packages beside torch"),
    ("package_ways", "PackageWay", "package_ways.toml:way", "id", "How packages are installed for which GPUs"),
    ("tool_support", "ToolSupport", "tool_support.toml:tool", "id", "Which GPUs compilers and profilers serve"),
    (
        "flash_attn_prebuilt",
        "FlashAttnBuild",
        "companions.yaml:flash_attn_prebuilt",
        "version",
        "flash-attn's binaries",
    ),
    ("tensorflow_builds", "TensorflowBuild", "companions.yaml:tensorflow_tested_builds", "tensorflow", "TensorFlow"),
)
_FRAMEWORKS_TYPED = _rows(
    "frameworks",
    "entries",
    ("torch_builds", "TorchBuild", "pytorch.yaml:releases", "version", "Builds of each torch and their GPUs"),
    ("companions", "Companions", "pytorch.yaml:releases", "version", "torchvision and torchaudio of each torch"),
)
FLAG_FILES = (
    "amd_blas", "amd_hip_clr", "amd_miopen", "amd_rccl", "amd_rocr_hsa", "build", "containers", "fw_flash_aiter",
    "fw_jax_xla_tf_ort", "fw_megatron_deepspeed_hf_ray", "fw_pytorch", "fw_sglang", "fw_torch_nccl",
    "fw_torchinductor", "fw_transformer_engine", "fw_triton", "fw_tunableop", "fw_vllm", "net_ucx_ofi_mpi",
    "nv_cublas_cudnn", "nv_cuda", "nv_nccl", "nv_nvshmem", "threads_loader",
)  # fmt: skip
"""Flags lie in one table a component family, `flags/NAME`, so that a run reads only those whose names it met."""
_FLAGS = tuple(
    Table(f"flags/{name}", "flags:Flag", f"flags/{name}.yaml:flags", ("name", "component"), f"Flags: {name}")
    for name in FLAG_FILES
) + _rows(
    "flags",
    "flags",
    ("flags/names", "FlagName", "*.yaml:flags", "name", "In which tables a flag is described"),
    ("flags/grammars", "Grammar", "grammars.yaml:grammars", "id", "How components read values"),
    ("flags/interactions", "Interaction", "interactions.yaml:rules", "id", "Rules between flags"),
    ("flags/conditions", "Condition", "flag_conditions.toml", "id", "When rules between flags hold"),
    ("flags/recommended", "FlagSet", "recommended.yaml:sets", "id", "Sets of flags that guides give"),
    ("flags/renames", "Rename", "renames.yaml:names", "name component", "Old names of flags"),
    ("flags/known_names", "KnownNames", "known_names.yaml:components", "component", "Names that components mention"),
)
_FIELD = _rows(
    "field",
    "entries",
    ("vocabulary", "Word", "labels.yaml:*", "id", "The causes that findings name"),
    ("conflicts", "Conflict", "conflicts", "id", "Where sources contradict each other"),
)
TABLES = (
    *_AMD_TYPED, *_AMD, *_NVIDIA_TYPED, *_NVIDIA, *_CONTAINERS, *_FRAMEWORKS_TYPED, *_FRAMEWORKS, *_FLAGS, *_FIELD
)  # fmt: skip
"""All of them, by area."""


def named(name: str) -> Table | None:
    return next((t for t in TABLES if t.name == name), None)
