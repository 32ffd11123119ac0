"""The versions of one installation of ROCm or CUDA and of its components, by its own files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from doctor.facts.origin import State
from doctor.parsers.elf import gpu_library
from doctor.parsers.elf.gpu_library import Stack
from doctor.parsers.kernel import dpkg_status, install_version
from doctor.parsers.lib import version_macros
from doctor.parsers.python.dist_info import read as distribution_of
from doctor.system.base import Reading, System
from doctor.versions import Dotted

READS: tuple[str, ...] = (
    "dir:opt/rocm*/lib public",
    "file:opt/rocm*/{.info/version,share/hip/version,bin/.hipVersion} public",
    "file:opt/rocm*/include/** public",
    "dir:usr/local/cuda*/{lib64,lib,bin,dist-info} public",
    "file:usr/local/cuda*/{version.json,version.txt} public",
    "file:usr/local/cuda*/include/** public",
    "dir:usr/lib/* public",
    "stat:usr/bin/{nvcc,hipcc} public",
    "file:var/lib/dpkg/status public",
    "command:rpm -q public",
)
_HEADERS: dict[Stack, tuple[tuple[str, str], ...]] = {
    "rocm": (
        ("miopen", "include/miopen/version.h"),
        ("rccl", "include/rccl/rccl.h"),
        ("rocblas", "include/rocblas/internal/rocblas-version.h"),
        ("hipblaslt", "include/hipblaslt/hipblaslt-version.h"),
        ("hip", "include/hip/hip_version.h"),
        ("rocfft", "include/rocfft/rocfft-version.h"),
        ("rocsparse", "include/rocsparse/rocsparse-version.h"),
    ),
    "cuda": (
        ("cudnn", "include/cudnn_version.h"),
        ("nccl", "include/nccl.h"),
        ("cublas", "include/cublas_api.h"),
        ("cudart", "include/cuda_runtime_api.h"),
    ),
}
STACKS: tuple[Stack, ...] = ("rocm", "cuda")
_HEADER_BYTES = 64 << 10
_WHEELS = {"nvidia-cuda-nvcc": "nvcc", "nvidia-cuda-runtime": "cudart", "nvidia-cublas": "cublas"}
_PACKAGES: dict[Stack, tuple[str, ...]] = {
    "rocm": (
        "libamdhip64", "libhsa-runtime64", "librocblas", "libhipblaslt", "libmiopen", "librccl", "rocm-hip",
        "rocm-runtime", "rocblas", "hipblaslt", "miopen", "rccl",
    ),
    "cuda": ("nvidia-cuda-toolkit", "libcudart", "libcublas", "libcudnn", "libnccl"),
}  # fmt: skip
_MAIN: dict[Stack, tuple[str, ...]] = {
    "rocm": ("libamdhip64", "rocm-hip", "rocm-runtime", "libhsa-runtime64"),
    "cuda": ("nvidia-cuda-toolkit", "libcudart"),
}
"""Packages whose version is that of the whole, the best first."""
_RPM = {
    "rocm": ("rocm-hip", "rocm-runtime", "rocblas", "hipblaslt", "miopen", "rccl"),
    "cuda": ("cuda-cudart", "libcudnn9-cuda-12", "libnccl"),
}


@dataclass
class Found:
    """An installation. `path` has no leading slash; `sonames` are the GPU libraries in its folders with their paths."""

    stack: Stack
    path: str
    kind: str
    source: str
    version: str | None = None
    components: dict[str, str] = field(default_factory=dict)
    sonames: dict[str, str] = field(default_factory=dict)
    package: str | None = None


def prefix(system: System, stack: Stack, path: str) -> Found | None:
    """The installation under a folder of its own; None where the folder holds nothing of it."""
    found = Found(stack, path, "prefix", f"file:/{path}")
    for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
        _libraries(system.list_dir(f"{path}/{folder}"), f"{path}/{folder}", found)
    (_rocm if stack == "rocm" else _cuda)(system, found)
    for component, header in _HEADERS[stack]:
        if component not in found.components:
            text = system.read_bytes(f"{path}/{header}", length=_HEADER_BYTES).then(_decoded)
            if version := text.then(version_macros.read).value:
                found.components[component] = version
    if found.version is None and stack == "cuda":
        found.version = found.components.get("nvcc") or found.components.get("cudart")
    return found if found.version or found.sonames or found.components else None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _libraries(listing: Reading[tuple[str, ...]], folder: str, found: Found) -> None:
    """The longest name of a component tells most."""
    for name in listing.value or ():
        library = gpu_library.read(name) if name.startswith("lib") and ".so." in name else None
        if library is None or library.stack != found.stack:
            continue
        if name == library.soname:
            found.sonames.setdefault(library.soname, f"/{folder}/{name}")
        if library.version and library.component in gpu_library.TELLS_RELEASE:
            known = found.components.get(library.component, "")
            if Dotted(library.version).numbers > Dotted(known).numbers:
                found.components[library.component] = library.version


def _rocm(system: System, found: Found) -> None:
    for file, reader in (
        (".info/version", install_version.rocm),
        (".info/version-rocm", install_version.rocm),
    ):
        version = system.read_text(f"{found.path}/{file}", limit=1 << 16).then(reader)
        if version.value:
            found.version, found.source = version.value, version.source
            break
    for file in ("share/hip/version", "bin/.hipVersion"):
        hip = system.read_text(f"{found.path}/{file}", limit=1 << 16).then(install_version.hip)
        if hip.value:
            found.components["hip"] = hip.value
            break


def _cuda(system: System, found: Found) -> None:
    version = system.read_text(f"{found.path}/version.json").then(install_version.cuda_json)
    if version.value:
        parts = dict(version.value)
        found.version, found.source = parts.pop("version"), version.source
        found.components.update(parts)
        return
    text = system.read_text(f"{found.path}/version.txt", limit=1 << 16).then(install_version.cuda_text)
    if text.value:
        found.version, found.source = text.value, text.source
        return
    for name in system.list_dir(f"{found.path}/dist-info").value or ():
        wheel = distribution_of(name)
        if wheel and (component := _WHEELS.get(without_cuda(wheel.name))):
            found.components[component] = wheel.version


def without_cuda(name: str) -> str:
    """A wheel's name without the CUDA that it is for.

    >>> without_cuda("nvidia-cublas-cu12"), without_cuda("nvidia-cublas")
    ('nvidia-cublas', 'nvidia-cublas')
    """
    stem, _, tail = name.rpartition("-cu")
    return stem if stem and tail.isdigit() else name


def distribution(system: System, folders: tuple[str, ...]) -> list[Found]:
    """What the distribution's packages put among the system's own libraries, one for each stack."""
    held: dict[Stack, Found] = {}
    seen: set[str] = set()
    for folder in folders:
        real = system.real(folder).value
        if real is None or real in seen:
            continue
        seen.add(real)
        listing = system.list_dir(folder)
        for stack in STACKS:
            found = Found(stack, "usr", "distribution", listing.source)
            _libraries(listing, folder, found)
            if found.sonames:
                known = held.setdefault(found.stack, found)
                known.components = {**found.components, **known.components}
                known.sonames = {**found.sonames, **known.sonames}
    for found in held.values():
        _packaged(system, found)
    return list(held.values())


def _packaged(system: System, found: Found) -> None:
    """The release by the package that holds the runtime, else by the runtime's file name."""
    if found.stack == "rocm" and "hip" not in found.components:
        return  # libhsa-runtime alone comes along with network libraries: no ROCm to work with
    packages = _dpkg(system, found.stack) or _rpm(system, found.stack)
    for stem in _MAIN[found.stack]:
        name = next((n for n in sorted(packages) if n.startswith(stem)), None)
        if name:
            found.version, found.package = upstream(packages[name]), f"{name} {packages[name]}"
            break
    if found.version is None:
        runtime = found.components.get("hip" if found.stack == "rocm" else "cudart")
        found.version = Dotted(runtime).series(2) if runtime else None


def _dpkg(system: System, stack: Stack) -> Mapping[str, str]:
    status = system.read_text("var/lib/dpkg/status", limit=32 << 20)
    return status.then(partial(dpkg_status.read, prefixes=_PACKAGES[stack])).value or {}


def _rpm(system: System, stack: Stack) -> Mapping[str, str]:
    if not (system.stat("var/lib/rpm").known or system.stat("usr/lib/sysimage/rpm").known):
        return {}
    output = system.run(("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\\n", *_RPM[stack]))
    if output.state is not State.VALUE or output.value is None:
        return {}
    rows = (line.split() for line in output.value.stdout.splitlines()[:50])
    return {row[0]: row[1] for row in rows if len(row) == 2 and row[1][:1].isdigit()}


def upstream(version: str) -> str:
    """A package's version without epoch, revision and Debian's suffix.

    >>> upstream("5.2.3+dfsg-1"), upstream("1:6.2.0~rc1-3.fc41")
    ('5.2.3', '6.2.0')
    """
    epoch, colon, rest = version.partition(":")
    return Dotted(rest if colon and epoch.isdigit() else version).series(3)
