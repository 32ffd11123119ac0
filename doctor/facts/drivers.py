"""The kernel drivers of both vendors and what belongs to them."""

from typing import Literal

from doctor.facts.model import Model


class LibraryFile(Model):
    """A versioned user-space library on disk."""

    path: str
    version: str | None = None


class DriverLibrary(Model):
    """The libcuda.so.1 that the loader gives a new program."""

    path: str | None = None
    by: str | None = None
    """`LD_LIBRARY_PATH`, `ld.so.cache`, `default folder`."""
    version: str | None = None
    stub: bool | None = None
    """A library to link against, as toolkits bring it: every call of it fails."""


class FabricManager(Model):
    """NVIDIA's fabric manager (or NVLink subnet manager), which NVSwitch systems need."""

    installed: bool | None = None
    running: bool | None = None
    version: str | None = None
    error: str | None = None


class Imex(Model):
    """NVIDIA's IMEX service, which GPUs of several nodes on one NVLink fabric (GB200 NVL72) need."""

    installed: bool | None = None
    running: bool | None = None
    channels: int | None = None
    """Channel nodes under /dev/nvidia-caps-imex-channels."""


class NvidiaDriver(Model):
    """The NVIDIA kernel module and its user space."""

    loaded: bool | None = None
    version: str | None = None
    """Of the loaded kernel module."""
    flavour: Literal["open", "proprietary"] | None = None
    cuda_version: str | None = None
    """The newest CUDA that the user-mode driver serves; not an installed toolkit."""
    user_version: str | None = None
    """Version of the user-space driver library that the loader takes (libnvidia-ml or libcuda)."""
    module_on_disk: str | None = None
    """Version of the module file for the running kernel."""
    nvml_error: str | None = None
    """What NVML answered when it could not be started: `NVML_ERROR_LIB_RM_VERSION_MISMATCH` …"""
    nvml_gpus: int | None = None
    """How many GPUs NVML lists; known where it came up."""
    smi_error: str | None = None
    """The message of nvidia-smi when it failed."""
    smi_seconds: float | None = None
    libraries: tuple[LibraryFile, ...] | None = None
    libcuda: DriverLibrary = DriverLibrary()
    libcuda_found: bool | None = None
    uvm_loaded: bool | None = None
    modeset_loaded: bool | None = None
    peermem_loaded: bool | None = None
    params: dict[str, str] | None = None
    proc_gpus: tuple[str, ...] | None = None
    """PCI addresses under /proc/driver/nvidia/gpus."""
    built_for: tuple[str, ...] | None = None
    """Kernel releases that DKMS says the module is built for."""
    fabric_manager: FabricManager = FabricManager()
    imex: Imex = Imex()
    module_stale: bool | None = None
    """The module file for the running kernel is another build than the loaded module: a reboot (or reload) is due."""


class AmdgpuDriver(Model):
    """The amdgpu kernel driver with its compute side, KFD."""

    loaded: bool | None = None
    version: str | None = None
    """Module number; only the DKMS driver has one. Not the driver release."""
    source: Literal["dkms", "in-tree", "absent"] | None = None
    release: str | None = None
    """The driver package's own number (`30.20.1`, `6.4.1`), where a text or a package says it."""
    built_for: tuple[str, ...] | None = None
    """Kernel releases that DKMS says the module is built for."""
    params: dict[str, str] | None = None
    smi_error: str | None = None
    smi_seconds: float | None = None
    smi_version: str | None = None
    module_stale: bool | None = None
    """The module file for the running kernel is another build than the loaded module: a reboot (or reload) is due."""


class KfdNode(Model):
    """One node of the KFD topology, decoded."""

    key: str
    node: int | None = None
    cpu_cores: int | None = None
    simd_count: int | None = None
    gfx: str | None = None
    pci_address: str | None = None
    render_minor: int | None = None
    unique_id: str | None = None
    hive_id: str | None = None
    gpu_id: int | None = None
    xcc_count: int | None = None
    compute_units: int | None = None
    vram_bytes: int | None = None
    fw_version: int | None = None
    sdma_fw_version: int | None = None
    readable: bool | None = None
    """False: a device cgroup refuses the node's files (EPERM)."""
    properties: dict[str, int] | None = None
    xgmi_peers: tuple[int, ...] | None = None


class Kfd(Model):
    """/sys/class/kfd. `present` False: the kernel has no KFD, or no driver made it."""

    present: bool | None = None
    nodes: tuple[KfdNode, ...] | None = None


class Install(Model):
    """A ROCm or CUDA installation on disk."""

    key: str
    path: str
    version: str | None = None
    kind: str | None = None
    """`prefix`, `distribution`, `wheel`, `conda`."""
    components: dict[str, str] | None = None
    """Component → version: `hip`, `rocblas`, `hipblaslt`, `miopen`, `rccl`; `nvcc`, `cudart`, `cublas`, `nccl` …"""
    package: str | None = None
    """The distribution's package (or wheel) with the version."""
    selected_by: tuple[str, ...] | None = None
    """What leads to it: `PATH`, `LD_LIBRARY_PATH`, `ROCM_PATH`, `/etc/ld.so.conf.d/rocm.conf` …; () for nothing."""
    missing: tuple[str, ...] | None = None
    """Libraries that HIP's runtime there needs and the loader finds nowhere."""


class Tool(Model):
    """A compiler, converter, profiler or debugger for GPUs. `key` is its path."""

    key: str
    name: str
    """`nvcc`, `hipcc`, `hipify-clang`, `ncu`, `nsys`, `rocprofv3`, `rocprof-sys-run`, `omnitrace-run` …"""
    kind: str
    """`compiler`, `converter`, `profiler`, `debugger`."""
    version: str | None = None
    """Of the folder that it lies in, of its toolkit or of its package; None where none of them says one."""
    of: str | None = None
    """The installation that it belongs to."""
