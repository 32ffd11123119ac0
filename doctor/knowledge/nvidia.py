"""Entries of the NVIDIA tables: products, CUDA, driver branches, forward compatibility, NVML, known issues."""

from __future__ import annotations

from doctor.knowledge.entries import Entry


class NvidiaProduct(Entry):
    """One NVIDIA product."""

    name: str
    architecture: str
    chip: str
    gpu_class: str
    compute_capability: str | None = None
    pci_ids: tuple[str, ...] = ()
    memory_gb: int | None = None
    memory_type: str | None = None
    memory_bandwidth_gbs: float | None = None
    board_power_w: int | None = None
    open_kernel_module: str | None = None
    last_driver_branch: str | None = None
    last_cuda_major: int | None = None
    nvlink_generation: int | None = None
    nvlink_gbs_per_gpu_bidirectional: int | None = None
    dense_tflops: dict[str, float] = {}
    nvml_names: tuple[str, ...] = ()
    first_listed_driver: str | None = None
    gpus_per_board: int | None = None
    fp16_accumulate: str | None = None
    min_driver_documented: str | None = None
    status: str | None = None
    unified_memory: bool | None = None
    nvml_memory_info: str | None = None
    cc_before_cuda13: str | None = None


class OpenModuleRule(Entry):
    """Which flavour of the kernel module architectures take."""

    rule: str
    architectures: tuple[str, ...]
    note: str | None = None


class NvlinkGeneration(Entry):
    """Bandwidth of an NVLink generation, GB/s a GPU in both directions."""

    generation: int
    gbs: int
    gpus: str


class NvSwitch(Entry):
    """A PCI id of NVSwitch."""

    id: str
    for_gpu: str


class Text(Entry):
    """A sourced remark."""

    text: str
    id: str | None = None


class CudaMinor(Entry):
    """GPUs (`sm` numbers that its compiler accepts) and host compilers of a CUDA minor release."""

    minor: str
    min_driver_same_major: str
    gcc_min: int
    gcc_max: int
    clang_min: int
    clang_max: int
    sm: tuple[int, ...] = ()
    cc_min: str | None = None
    cc_max: str | None = None
    cc_added: tuple[str, ...] = ()
    cc_dropped: tuple[str, ...] = ()
    glibc_note: str | None = None
    gcc_note: str | None = None


class CudnnRule(Entry):
    """The driver and GPUs that a cuDNN release needs."""

    cudnn: str
    cuda: str
    min_driver: str | None = None
    cc: str | None = None
    note: str | None = None


class CudnnBuild(Entry):
    """For which CUDA versions a cuDNN release is built."""

    cudnn: str
    cuda_builds: tuple[str, ...]


class DriverSystems(Entry):
    """Systems that NVIDIA's driver guide lists."""

    value: tuple[str, ...]
    id: str


class CompatBranch(Entry):
    """The CUDA that a driver branch serves by itself."""

    branch: str
    cuda: str


class CompatPackage(Entry):
    """On which driver branches a forward-compatibility package works: supported, not_needed, not_supported."""

    package: str
    cuda: str
    by_driver_branch: dict[str, str]


class CompatGpus(Entry):
    """Whether a class of GPUs may use forward compatibility."""

    gpu_class: str
    allowed: bool | str
    result: str | None = None


class CompatFile(Entry):
    """A library of the forward-compatibility packages."""

    file: str
    since: str | None = None


class CudaError(Entry):
    """An error code of the CUDA runtime or driver."""

    code: int
    name: str
    meaning: str
    area: str


class XidRule(Entry):
    """How Xids are read."""

    id: str
    text: str
    xids: tuple[int, ...] = ()


class LogPattern(Entry):
    """A line of the kernel log that carries an Xid."""

    id: str
    line: str
    regex: str
    implies_xid: int | None = None


class UnusedXids(Entry):
    """TODO Xid numbers that are not in use."""

    id: str
    codes: tuple[int, ...]


class ProcFile(Entry):
    """A file of NVIDIA's driver under /proc or /sys."""

    path: str
    gives: str
    keys: tuple[str, ...] = ()
    absent_means: str | None = None
    note: str | None = None


class NvidiaNode(Entry):
    """A device node of NVIDIA's driver."""

    path: str
    role: str
    major: int | str | None = None
    minor: int | None = None


class Detection(Entry):
    """How states of the driver are told apart."""

    id: str
    rule: str


class NvmlCall(Entry):
    """A call of NVML and where `nvidia-smi -q` shows its answer."""

    topic: str
    function: str
    gives: str
    nvidia_smi_q: str | None = None
    expect: str | None = None
    note: str | None = None


class NvmlField(Entry):
    """A field id of NVML."""

    name: str
    id: int


class NvmlEnum(Entry):
    """An enumeration of NVML."""

    name: str
    values: dict[str, int]


class NvmlError(Entry):
    """What an NVML error code means for a diagnosis."""

    code: int
    reading: str


class LogString(Entry):
    """A line of the kernel log and what it means."""

    contains: str
    reading: str


class ModuleParameters(Entry):
    """Names in /proc/driver/nvidia/params."""

    names: tuple[str, ...]
    note: str
    id: str


class NvidiaIssue(Entry):
    """A known issue of NVIDIA's stack, with the texts that show it."""

    id: str
    area: str
    severity: str
    strings: tuple[str, ...] = ()
    cause: str
    fix: tuple[str, ...] = ()
    detect: str | None = None
    cuda_codes: tuple[int, ...] = ()
    affected: str | None = None
