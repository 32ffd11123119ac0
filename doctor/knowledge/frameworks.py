"""Entries of the framework tables: torch's builds and the packages beside it."""

from __future__ import annotations

from doctor.knowledge.entries import Entry


class TorchRule(Entry):
    """How torch's builds are made."""

    id: str
    text: str
    map: dict[str, str] = {}


class CodeToDevice(Entry):
    """Which devices (as `sm` numbers) run code compiled for `code_sm`: torch's own table."""

    code_sm: int
    device_sm_from: int | None = None
    device_sm_to: int | None = None
    exclude: tuple[int, ...] = ()
    device_sm_only: tuple[int, ...] = ()
    no_exclude_from_cuda: str | None = None


class TorchWheel(Entry):
    """What the wheels of one torch release hold and ask for."""

    version: str
    minor: str
    built: str
    requires_python: str
    wheel_pythons_linux_x86_64: tuple[str, ...]
    platforms: tuple[str, ...]
    pypi_cuda: str
    min_driver: str
    cudnn: str
    pins: dict[str, str]
    sm_x86_64: tuple[int, ...]
    git_version: str
    torchaudio: tuple[str, ...]
    released: str | None = None
    pypi_cuda_aarch64: str | None = None
    nccl: str | None = None
    cusparselt: str | None = None
    nvshmem: str | None = None
    cuda_toolkit: str | None = None
    triton: str | None = None
    sm_aarch64: tuple[int, ...] = ()
    cuda_variants_in_build_table: tuple[str, ...] = ()
    release_cc_table: dict[str, dict[str, tuple[int, ...]]] = {}
    torchvision_range: str | None = None
    torchaudio_pinned: bool | None = None
    cuda_variants: tuple[str, ...] = ()
    rocm_variants: tuple[str, ...] = ()
    torchvision: tuple[str, ...] = ()
    cublas: str | None = None
    extra_cuda_variants: tuple[str, ...] = ()
    variant_pythons: dict[str, tuple[str, ...]] = {}
    cuda_runtime: str | None = None
    nvjitlink: str | None = None
    variant_pins: dict[str, dict[str, str]] = {}
    cxx11_abi: bool | None = None
    variant_arch_list: dict[str, str] = {}


class PackageRule(Entry):
    """What a package beside torch needs."""

    package: str
    text: str
    cc_min: str | None = None
    min_driver_cuda12: str | None = None
    min_driver_cuda13: str | None = None


class PackageRelease(Entry):
    """A release of a package beside torch: its requirements on torch and others, Pythons and platforms."""

    package: str
    version: str
    built: str | None = None
    requires_python: str | None = None
    wheel_pythons: tuple[str, ...] = ()
    linux_platforms: tuple[str, ...] = ()
    torch: str | None = None
    torchvision: str | None = None
    torchaudio: str | None = None
    pins: dict[str, str] = {}
    extras: dict[str, dict[str, str]] = {}
    wheels: str | None = None
    triton: str | None = None
    metadata: str | None = None


class FlashAttnBuild(Entry):
    """For what a flash-attn release has prebuilt binaries."""

    package: str
    version: str
    date: str
    prebuilt_torch: tuple[str, ...]
    prebuilt_cuda: tuple[str, ...]
    prebuilt_python: tuple[str, ...]
    cxx11_abi: tuple[str, ...]


class TensorflowBuild(Entry):
    """With what a TensorFlow release was built and tested."""

    tensorflow: str
    python: str
    compiler: str
    bazel: str
    cudnn: str
    cuda: str
