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


class SupportedTorch(Entry):
    """The torch releases that AMD supports on a ROCm release, by product family."""

    rocm: str
    family: str
    torch: tuple[str, ...]
    python: tuple[str, ...] = ()


class OsKernels(Entry):
    os: str
    version: str
    kernels: tuple[str, ...]
    glibc: str | None = None
    note: str | None = None
