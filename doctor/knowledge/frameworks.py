"""Entries of the framework tables: torch's builds and the packages beside it."""

from __future__ import annotations

from typing import Literal

from doctor.knowledge.entries import Entry


class CodeToDevice(Entry):
    """Which devices (as `sm` numbers) run code compiled for `code_sm`: torch's own table."""

    code_sm: int
    device_sm_from: int | None = None
    device_sm_to: int | None = None
    exclude: tuple[int, ...] = ()
    device_sm_only: tuple[int, ...] = ()
    no_exclude_from_cuda: str | None = None


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
    sha256: str | None = None
    """Of the wheel whose METADATA was read."""


class FlashAttnBuild(Entry):
    """For what a flash-attn release has prebuilt binaries."""

    version: str
    prebuilt_torch: tuple[str, ...]
    prebuilt_cuda: tuple[str, ...]
    prebuilt_python: tuple[str, ...]


class TensorflowBuild(Entry):
    """The cuDNN that a TensorFlow release was built and tested with."""

    cudnn: str


class PackageWay(Entry):
    """One way to install a package: for which releases, GPUs, builds of torch and Pythons it holds, and the command."""

    id: str
    package: str
    vendor: str = "any"
    """`nvidia`, `amd`, `any`"""
    kind: str = "wheel"
    """`wheel`, `source` (compiled on the machine), `image` (a container image instead of a package), `none` (on no
    index: `note` says where it is)."""
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
    local_rocm: bool = False
    """It uses the ROCm that is installed on the machine, and brings none."""
    cc_min: str | None = None
    gpus: tuple[str, ...] = ()
    """Targets that it has code for: `gfx942`, `sm_90`; empty: any."""
    python: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    glibc: str | None = None
    driver: str | None = None
    install: tuple[str, ...] = ()
    """Requirements for the command; `{version}` stands for the release."""
    index: tuple[str, ...] = ()
    """Further indexes, with `{version}`; `{torch}` stands for the one that torch's build comes from."""
    options: tuple[str, ...] = ()
    """Further options of pip and uv."""
    code: str | None = None
    """The package whose wheel alone has its GPU code: what that wheel has no code for does not run."""
    image: str | None = None
    needs: str | None = None
    """What must be there before the command works."""
    note: str | None = None


class RecordedResolution(Entry):
    """uv's answer about one stack for one Python and processor. `source` names the indexes that it asked."""

    id: str
    """Requirements, further indexes, `python=3.12` and the processor, as doctor.resolve.resolver.Question.key."""
    by: str
    """`uv 0.13.9`"""
    resolved_from: str | None = None
    """The lowest glibc that it resolved for."""
    refused_to: str | None = None
    """The highest glibc that it was refused for."""
    detail: str = ""
    """What it resolved to in numbers; alone: why uv could say neither yes nor no."""
    refusal: str | None = None


class WheelContent(Entry):
    """What the shared objects of one wheel ask for and hold, read from the wheel itself (scripts/read_wheels.py)."""

    id: str
    package: str
    version: str
    machine: str = "x86_64"
    file: str
    sha256: str
    objects: int
    """Shared objects that were read."""
    unread: int = 0
    needed: tuple[str, ...]
    """Libraries of CUDA and ROCm that the loader must find: `libcudart.so.12`."""
    opens: tuple[str, ...] = ()
    """Those that the code opens while it runs."""
    archs: tuple[str, ...]
    """`sm_90`, `compute_90` (PTX), `gfx942`: the code of all objects together."""
    most: tuple[str, ...] = ()
    """The longest list that objects of it were compiled for, where there are several: its other objects are kernels for
    some GPUs."""
    variants: dict[str, tuple[str, ...]] = {}
    """The code of libraries that exist once for each `cuda130`, `rocm72`."""
    glibc: str | None = None


class CLibrary(Entry):
    """The C library of a system's release; no wheel for glibc installs on musl."""

    id: str
    os: str
    """As os-release's ID."""
    version: str
    """Empty: every release."""
    libc: Literal["glibc", "musl"]
    glibc: str | None = None


class DeviceWheels(Entry):
    """An index of torch whose kernels come apart, by GPU: `torch[device-gfx1036]`."""

    id: str
    channel: Literal["release", "nightly"]
    index: str
    gpus: tuple[str, ...]
    torch: tuple[str, ...]
    """Series of torch that it holds."""
    rocm: str | None = None
    """The release whose wheels they are; None: whatever is newest."""
    pins: dict[str, str] = {}
    """What AMD's guide installs, by package: `2.14.0+rocm10.1.0`."""
    python: tuple[str, ...] = ()
    """() where no source says."""


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
