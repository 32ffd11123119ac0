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


class PackageWay(Entry):
    """One way to install a package: for which releases, GPUs, builds of torch and Pythons it holds, and the command."""

    id: str
    package: str
    vendor: str = "any"
    """`nvidia`, `amd`, `any`"""
    kind: str = "wheel"
    """`wheel`, `source` (compiled on the machine), `image` (a container image instead of a package)."""
    versions: str = ""
    """Specifier of the releases that this way holds for; empty: all."""
    latest: str | None = None
    """The release to install, where the table of releases does not hold it."""
    torch: str | None = None
    """Requirement on torch, where the table of releases does not say it; `bundled`: comes with its own."""
    builds: tuple[str, ...] = ()
    """Builds of torch that it fits: `default` (the plain wheel's CUDA), `cu126`, `rocm7.2`; empty: any."""
    cuda: str | None = None
    """The CUDA that it brings or is built for, where it does not go by torch's."""
    rocm: tuple[str, ...] = ()
    """ROCm series whose user space it brings or is built for."""
    cc_min: str | None = None
    cc_max: str | None = None
    gpus: tuple[str, ...] = ()
    """gfx targets; empty: any."""
    python: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    glibc: str | None = None
    driver: str | None = None
    install: tuple[str, ...] = ()
    """Requirements for the command; `{version}` stands for the release."""
    index: tuple[str, ...] = ()
    """Further indexes, with `{version}`."""
    options: tuple[str, ...] = ()
    """Further options of pip and uv."""
    image: str | None = None
    needs: str | None = None
    """What must be there before the command works."""
    note: str | None = None


class ToolSupport(Entry):
    """For which GPUs, or up to which CUDA, a compiler, converter or profiler works. A GPU outside is not served."""

    id: str
    tools: tuple[str, ...]
    first: str
    last: str | None = None
    """Both belong to the range: `2022.2` holds 2022.2.1. Without `last` it has no end."""
    sm: tuple[int, ...] = ()
    """Every compute capability that is served, where that is known."""
    sm_min: int | None = None
    sm_max: int | None = None
    gfx: tuple[str, ...] = ()
    """gfx targets that are served, by how they begin."""
    cuda_max: str | None = None
    """Newest CUDA that it reads."""
    instead: str | None = None
