"""Entries of the AMD tables: BLAS libraries, driver windows, ROCm builds, known issues."""

from __future__ import annotations

from doctor.knowledge.entries import Entry


class HipblasltRelease(Entry):
    """The hipBLASLt of a ROCm release. `gfx` empty: not known; `gfx_added`: what is known to have been added."""

    rocm: str
    evidence: str
    hipblaslt: str | None = None
    gfx: tuple[str, ...] = ()
    note: str | None = None
    gfx_added: tuple[str, ...] = ()


class RocblasRelease(Entry):
    """The rocBLAS of a ROCm release."""

    rocm: str
    rocblas: str
    evidence: str
    gfx: tuple[str, ...] = ()
    gfx_added: tuple[str, ...] = ()


class BlasSelection(Entry):
    """Which library a range of torch releases takes for a GEMM on ROCm, and what overrides it."""

    torch: str
    default_rule: str
    api: str | None = None
    env_override: str | None = None
    note: str | None = None
    supported_archs: tuple[dict[str, str], ...] = ()
    arch_check: str | None = None
    fallback_warning: str | None = None
    preferred_archs: tuple[dict[str, str], ...] = ()


class KmdWindow(Entry):
    """User-space ROCm releases that an amdgpu driver supports; `5.7.x` is a series."""

    kmd: str
    user_space: tuple[str, ...]
    basis: str


class UserWindow(Entry):
    """amdgpu drivers that a ROCm release lists; `30.10.x` is a series."""

    rocm: str
    kmd: tuple[str, ...]
    radeon: tuple[str, ...] = ()
    """Those for Radeon, where they are fewer."""
    note: str | None = None


class AmdgpuDriver(Entry):
    """A release of the amdgpu driver. `module_version` is what /sys/module/amdgpu/version prints, another number."""

    version: str
    module_version: str | None = None
    ships_with_rocm: str | None = None
    adds: tuple[str, ...] = ()
    """gfx targets that no release before this one drives, where its release notes say so."""
    note: str | None = None
    release_date: str | None = None


class AmdIssue(Entry):
    """A known issue of AMD's stack. `affected` names what it touches: rocm, torch, gfx, kernel …"""

    id: str
    title: str
    category: str
    severity: str
    affected: dict[str, tuple[str, ...] | str] = {}
    detect: str | None = None
    fix: str | None = None
    symptom: tuple[str, ...] = ()
    fixed_in: str | None = None


class RocmTorch(Entry):
    """The ROCm builds of a torch minor release."""

    version: str
    release_date: str
    python: str
    stable_rocm: str | None = None
    rocm_arch: tuple[str, ...] = ()
    rocm_arch_evidence: str | None = None
    rocm_wheels: tuple[str, ...] = ()
    wheel_local_versions: tuple[str, ...] = ()
    triton_pin: str | None = None
    aotriton: str | None = None


class TheRockTorch(Entry):
    """The torch releases that TheRock builds for a ROCm release; `2.10a` is a pre-release."""

    rocm: str
    torch: tuple[str, ...]


class SupportedTorch(Entry):
    """The torch releases that AMD supports on a ROCm release, by product family."""

    rocm: str
    family: str
    torch: tuple[str, ...]
    python: tuple[str, ...] = ()


class RocmImage(Entry):
    """A container image of AMD's."""

    image: str
    tag: str
    rocm: str
    python: str | None = None
    framework_version: str | None = None
    os: str | None = None


class RocmFramework(Entry):
    """Releases of a framework that go with a ROCm release."""

    framework: str
    rocm: str
    versions: tuple[str, ...]
    note: str | None = None
    env: tuple[str, ...] = ()
    torch: str | None = None
    triton: str | None = None
    python: str | None = None
    base_image: str | None = None
    gfx: tuple[str, ...] = ()
    aiter_gfx: tuple[str, ...] = ()
    aiter: str | None = None
    flash_attention: str | None = None
    backend: str | None = None
    gfx_note: str | None = None
    build_flags: tuple[str, ...] = ()


class Fact(Entry):
    """A sourced remark."""

    id: str
    fact: str


class OsKernels(Entry):
    """The kernels of a system that ROCm supports."""

    os: str
    version: str
    kernels: tuple[str, ...]
    glibc: str | None = None
    note: str | None = None


class GemmTarget(Entry):
    """A GEMM floor that ROCm Validation Suite ships, in GFLOP/s."""

    gpu: str
    action: str
    data_type: str
    m: int
    n: int
    k: int
    blas: str
    target_gflops: int
    matrix_init: str | None = None
    partition: str | None = None
    tolerance: float | None = None


class PowerTarget(Entry):
    """A power floor that ROCm Validation Suite ships, in watts."""

    gpu: str
    action: str
    target_watts: int
    duration_ms: int
    ops: str | None = None
