"""What the loader would take for torch's libraries, judged: another copy than torch's, two at once, or none."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import LoadedLibrary
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Severity, Subject
from doctor.knowledge.requirements import unmet
from doctor.readers.gpu_library import COMPONENTS
from doctor.rules.python_packages import pip_install
from doctor.rules.torch_install import python_of

_PACKAGES = {
    "libcudart": "cuda-runtime", "libnvrtc": "cuda-nvrtc", "libcupti": "cuda-cupti", "libnvToolsExt": "nvtx",
    "libcublas": "cublas", "libcublasLt": "cublas", "libcudnn": "cudnn", "libcufft": "cufft", "libcurand": "curand",
    "libcusolver": "cusolver", "libcusparse": "cusparse", "libcusparseLt": "cusparselt", "libnccl": "nccl",
    "libnvJitLink": "nvjitlink", "libnvshmem_host": "nvshmem", "libcufile": "cufile",
}  # fmt: skip
"""Library → what the package is called between `nvidia-` and `-cu12` (wheels of torch 2.1 to 2.14)."""
_ROCM = (
    "libamdhip64", "libhsa-runtime64", "librocblas", "libhip", "libroc", "librccl", "libMIOpen", "libamd_",
    "libmigraphx",
)  # fmt: skip


def conflicts(machine: Snapshot) -> Iterator[Finding]:
    """One finding for each way that leads to other copies: ten libraries of one folder are one fault."""
    wrong: dict[str, list[LoadedLibrary]] = {}
    for held in machine.libraries or ():
        if held.path and held.intended and not held.same_build:
            folder = held.path.rpartition("/")[0]
            wrong.setdefault(f"{held.by} {folder}", []).append(held)
    for libraries in wrong.values():
        yield _conflict(machine, libraries)


def _conflict(machine: Snapshot, libraries: list[LoadedLibrary]) -> Finding:
    first = libraries[0]
    more = f" and {len(libraries) - 1} more" if len(libraries) > 1 else ""
    folder = (first.path or "").rpartition("/")[0]
    by_variable = first.by in ("LD_LIBRARY_PATH", "LD_PRELOAD")
    subject = Subject(kind="variable" if by_variable else "library", id=(first.by or "") if by_variable else first.key)
    return Finding(
        summary=f"{first.key[:40]}{more} would come from {folder[:80]} ({(first.by or '')[:40]}), not torch's own.",
        severity=Severity.WARNING,
        subject=subject,
        evidence=tuple(
            Evidence(
                text=f"{held.key}: {held.path} wins by {held.by}; {held.intended} loses, which came with torch "
                f"(asked for by {(held.wanted_by or '').rpartition('/')[2]})"[:380],
                source=machine.source("libraries"),
            )
            for held in libraries[:6]
        ),
        fixes=(_way_out(first),),
        verify=("env", "LD_DEBUG=libs", python_of(machine), "-c", "import torch"),
    )


def _way_out(held: LoadedLibrary) -> Fix:
    folder = (held.path or "").rpartition("/")[0]
    if held.by == "LD_LIBRARY_PATH":
        text = f"Start the program without {folder} in LD_LIBRARY_PATH: torch brings its own libraries."
        return Fix(text=text, command=("env", "-u", "LD_LIBRARY_PATH", "COMMAND"), where="environment")
    if held.by in ("LD_PRELOAD", "/etc/ld.so.preload"):
        command = ("env", "-u", "LD_PRELOAD", "COMMAND") if held.by == "LD_PRELOAD" else None
        return Fix(text=f"Start the program without {held.path} in {held.by}.", command=command, where="environment")
    if held.by == "ld.so.cache":
        text = f"Take {folder} out of /etc/ld.so.conf.d and run ldconfig, or remove that copy."
        return Fix(text=text, root=True, risk="Other programs may rely on that folder.")
    return Fix(text=f"Remove {held.path}, or the package that brought it.", where="environment")


def not_found(machine: Snapshot) -> Iterator[Finding]:
    """GPU libraries that neither the loader nor torch's packages give: the import stops at the first."""
    lacking = [held for held in machine.libraries or () if held.path is None and is_gpu(held.key)]
    if not lacking:
        return
    first = lacking[0]
    absent = [u for u in unmet(machine, ("torch",)) if u.held is None and _brings(u.wants, lacking)]
    wanted = [f"{u.wants}{u.specifier}" for u in absent]
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    yield Finding(
        summary=f"{first.key[:40]}{more}, which torch needs, is nowhere that the loader looks.",
        subject=Subject(kind="library", id=first.key),
        evidence=tuple(
            Evidence(
                text=f"{held.key}, asked for by {held.wanted_by}, is in none of RPATH, LD_LIBRARY_PATH, RUNPATH, "
                "ld.so.cache and the default folders"[:380],
                source=machine.source("libraries"),
            )
            for held in lacking[:6]
        ),
        fixes=(
            pip_install(machine, "Install the packages that torch's metadata asks for.", *wanted)
            if wanted
            else Fix(
                text=f"Install the package that holds {first.key}, or put its folder into LD_LIBRARY_PATH.",
                where="environment",
            ),
        ),
        verify=(python_of(machine), "-c", "import torch"),
    )


def is_gpu(name: str) -> bool:
    """Whether a soname is of the GPU stack."""
    stem = name.partition(".so")[0]
    return stem in _PACKAGES or stem in COMPONENTS or stem.startswith((*_ROCM, "libcudnn_", "libnvshmem"))


def _brings(package: str, lacking: list[LoadedLibrary]) -> bool:
    return any(f"nvidia-{_PACKAGES.get(held.key.partition('.so')[0], '?')}" in package for held in lacking)


def system_libraries(machine: Snapshot) -> Iterator[tuple[LoadedLibrary, Evidence]]:
    """Libraries of the system that torch's libraries need and that are nowhere."""
    for held in machine.libraries or ():
        if held.path is None and not is_gpu(held.key):
            text = f"{held.key}, asked for by {held.wanted_by}, is nowhere that the loader looks"
            yield held, Evidence(text=text[:380], source=machine.source("libraries"))
