"""Entries of the NVIDIA tables: products, CUDA, forward compatibility, known issues."""

from __future__ import annotations

from typing import Literal

from doctor.knowledge.entries import Entry


class NvidiaProduct(Entry):
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


class Distribution(Entry):
    """What one release of a distribution carries itself, and which vendor repository is made for it."""

    id: str
    os: tuple[str, ...]
    """`ID` of os-release."""
    version: str
    """How `VERSION_ID` begins: `24.04`, `9`; empty for a rolling release."""
    codename: str | None = None
    """`noble`: its name in package sources, and in os-release of systems that are built on this Ubuntu."""
    manager: Literal["apt", "dnf", "zypper", "pacman"]
    nvidia: dict[str, str | None] = {}
    """Branch of its own NVIDIA packages (`580`, `580-server`) → version; None: the branch is there, its number was not
    looked up."""
    package: str | None = None
    """Name of its own driver package, where the branch is not part of it."""
    nvidia_repository: str | None = None
    """The folder of NVIDIA's repository that is made for it; None: there is none."""
    hold: Literal["pinning", "module", "versionlock", "generation"] = "pinning"
    """How NVIDIA's repository is held on a branch."""
    generations: dict[str, str] = {}
    """SUSE: branch → the generation in the package's name."""
    rocm: str | None = None
    """ROCm of its own packages (HIP's version)."""
    amd_repository: str | None = None
    """The suite (`noble`) or folder (`el`) of AMD's repository that is made for it; None: there is none."""
    verified: bool = True
    """False: from memory; no version is promised."""
    note: str | None = None

    def carries(self, branch: str, server: bool) -> str | None:
        """The name of its own branch: `580-server`; None where it does not carry it."""
        names = (f"{branch}-server", branch) if server else (branch, f"{branch}-server")
        return next((name for name in names if name in self.nvidia), None)


class CompatPackage(Entry):
    """On which driver branches a forward-compatibility package works: supported, not_needed, not_supported."""

    package: str
    cuda: str
    by_driver_branch: dict[str, str]
