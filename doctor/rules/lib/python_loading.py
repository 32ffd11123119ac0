"""What the loader would take for torch's libraries, judged: another copy than torch's, two at once, or none."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import LoadedLibrary
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Remedy, Scope, Severity, Subject, evidence
from doctor.knowledge.requirements import unmet
from doctor.parsers.elf.gpu_library import COMPONENTS
from doctor.rules.lib.advice import by_hand, set_to, step, unset, way
from doctor.rules.lib.pip import python_after, python_of
from doctor.rules.lib.python_packages import pip_install

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


def stubs(machine: Snapshot) -> Iterator[Finding]:
    """The driver's library is a stub that is meant for linking: CUDA finds no device, error 34."""
    own = machine.nvidia_driver.libcuda
    if own.stub:
        taken = LoadedLibrary(key="libcuda.so.1", path=own.path, by=own.by)
        yield Finding(
            summary=f"libcuda.so.1 would load from {(own.path or '')[:100]}, a stub: CUDA cannot start with it.",
            severity=Severity.ERROR,
            subject=Subject(kind="library", id="libcuda.so.1"),
            evidence=evidence(machine, ("nvidia_driver.libcuda.path", "nvidia_driver.libcuda.by")),
            explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
            remedies=(_way_out(machine, taken),),
        )


def versions(machine: Snapshot) -> Iterator[Finding]:
    """A library of the system that is older than what was built against it: the loader gives up."""
    for held in machine.libraries or ():
        if held.missing_versions and held.path:
            yield Finding(
                summary=f"{held.key} lacks {', '.join(held.missing_versions[:3])[:60]}, which"
                f" {(held.wanted_by or '').rpartition('/')[2][:50]} needs.",
                severity=Severity.ERROR,
                subject=Subject(kind="library", id=held.key),
                evidence=(
                    Evidence(
                        text=f"{held.wanted_by} needs {', '.join(held.missing_versions)} of {held.path}"[:380],
                        source=machine.source("libraries"),
                    ),
                ),
                remedies=(_newer(machine, held),),
                verify=(python_of(machine), "-c", "import torch"),
            )


def _newer(machine: Snapshot, held: LoadedLibrary) -> Remedy:
    if held.by in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        return unset(machine, held.by, because=f": it leads to {held.path}")
    return by_hand(
        f"Let the program find a newer {held.key}.",
        Scope.ENVIRONMENT,
        "conda: install libstdcxx-ng and start the program with that environment's lib folder first.",
        "Else use a container or a system with a newer release of that library.",
        undo="Take the folder off the loader's path again.",
    )


def mixed_cudnn(machine: Snapshot) -> Iterator[Finding]:
    """cuDNN's libraries compare their releases when they are loaded and refuse each other."""
    dated = [held for held in machine.libraries or () if held.release]
    if len({held.release for held in dated}) < 2:
        return
    listed = ", ".join(f"{held.key} {held.release}" for held in dated)
    again = next((p for p in machine.packages or () if p.name.startswith("nvidia-cudnn-cu")), None)
    keep = "Keep one release of cuDNN on the loader's path."
    remedy, python = by_hand(keep, Scope.ENVIRONMENT, undo="Add the other folder again."), python_of(machine)
    if again and all("/nvidia/cudnn/" in (held.path or "") for held in dated):
        requirement = f"{again.name}=={again.version}"
        text = "Install cuDNN's package again, in the same version."
        remedy = pip_install(machine, text, "--force-reinstall", "--no-deps", requirement)
        python = python_after(machine)
    yield Finding(
        summary=f"cuDNN's libraries are of several releases: {listed[:120]}.",
        severity=Severity.ERROR,
        subject=Subject(kind="library", id="libcudnn"),
        evidence=tuple(
            Evidence(text=f"{held.key} {held.release}: {held.path} by {held.by}"[:380], source=f"file:{held.path}")
            for held in dated
        ),
        remedies=(remedy,),
        verify=(python, "-c", "import torch; print(torch.backends.cudnn.version())"),
    )


def conflicts(machine: Snapshot) -> Iterator[Finding]:
    """One finding for each way that leads to other copies: ten libraries of one folder are one fault."""
    wrong: dict[str, list[LoadedLibrary]] = {}
    for held in machine.libraries or ():
        if held.path and held.intended and not held.same_build:
            folder = held.path.rpartition("/")[0]
            wrong.setdefault(f"{held.by} {folder}", []).append(held)
    for libraries in wrong.values():
        yield _conflict(machine, libraries)
    for held in machine.libraries or ():
        if held.path and held.missing_symbols and not held.intended:
            yield _another_build(machine, held)


def _another_build(machine: Snapshot, held: LoadedLibrary) -> Finding:
    text = f"{held.path} lacks {', '.join((held.missing_symbols or ())[:3])}, which {held.wanted_by} needs"
    again = by_hand(
        f"Install the package that contains {held.path} again, in the version that torch requires.",
        Scope.ENVIRONMENT,
        undo="Install the other version again.",
    )
    return Finding(
        summary=f"{held.key[:40]} is of another build than {(held.wanted_by or '').rpartition('/')[2][:50]} needs.",
        severity=Severity.ERROR,
        subject=Subject(kind="library", id=held.key),
        evidence=(Evidence(text=text[:380], source=machine.source("libraries")),),
        remedies=(again,),
        verify=(python_of(machine), "-c", "import torch"),
    )


def _conflict(machine: Snapshot, libraries: list[LoadedLibrary]) -> Finding:
    first = libraries[0]
    more = f" and {len(libraries) - 1} more" if len(libraries) > 1 else ""
    folder = (first.path or "").rpartition("/")[0]
    by_variable = first.by in ("LD_LIBRARY_PATH", "LD_PRELOAD")
    subject = Subject(kind="variable" if by_variable else "library", id=(first.by or "") if by_variable else first.key)
    source = machine.source("libraries")
    lacking = [
        Evidence(text=f"{held.path} lacks {', '.join(held.missing_symbols[:3])}: the import fails"[:380], source=source)
        for held in libraries
        if held.missing_symbols
    ]
    return Finding(
        summary=f"{first.key[:40]}{more} would load from {folder[:80]} ({(first.by or '')[:40]}), not from torch.",
        severity=Severity.ERROR if lacking else Severity.WARNING,
        subject=subject,
        evidence=(
            *lacking[:2],
            *(
                Evidence(
                    text=f"{held.key}: {held.path} wins by {held.by}; {held.intended} loses, which came with torch "
                    f"(asked for by {(held.wanted_by or '').rpartition('/')[2]})"[:380],
                    source=source,
                )
                for held in libraries[:6]
            ),
        ),
        remedies=(_way_out(machine, first),),
        verify=("env", "LD_DEBUG=libs", python_of(machine), "-c", "import torch"),
    )


def _way_out(machine: Snapshot, held: LoadedLibrary) -> Remedy:
    folder = (held.path or "").rpartition("/")[0]
    if held.by == "LD_LIBRARY_PATH":
        path = (machine.environment or {}).get("LD_LIBRARY_PATH", "").split(":")
        rest = ":".join(part for part in path if part and part.rstrip("/") != folder)
        title = f"Take {folder} off LD_LIBRARY_PATH: torch has its own libraries."
        if rest:
            return set_to(machine, title, LD_LIBRARY_PATH=rest)
        return unset(machine, "LD_LIBRARY_PATH", because=": torch has its own libraries")
    if held.by in ("LD_PRELOAD", "/etc/ld.so.preload"):
        if held.by == "LD_PRELOAD":
            return unset(machine, "LD_PRELOAD", because=f": it loads {held.path} first")
        text = f"Remove {held.path} from /etc/ld.so.preload."
        return by_hand(text, Scope.HOST, undo="Add the line again.", root=True)
    if held.by == "ld.so.cache":
        return way(
            f"Take {folder} out of the loader's cache.",
            Scope.HOST,
            step(f"Remove the line {folder} from the files in /etc/ld.so.conf.d."),
            step("Rebuild the cache.", "ldconfig"),
            root=True,
            risk="other programs may need that folder",
            undo=(step("Add the line again, then run ldconfig."),),
        )
    return by_hand(f"Remove the package that contains {held.path}.", Scope.ENVIRONMENT, undo="Install it again.")


def not_found(machine: Snapshot) -> Iterator[Finding]:
    """GPU libraries that neither the loader nor torch's packages give: the import stops at the first."""
    for held in machine.libraries or ():
        if held.unfit:
            yield _of_another_cpu(machine, held)
    lacking = [held for held in machine.libraries or () if held.path is None and not held.unfit and is_gpu(held.key)]
    if not lacking:
        return
    first = lacking[0]
    brought = [f"nvidia-{_PACKAGES.get(held.key.partition('.so')[0], '?')}" for held in lacking]
    absent = [u for u in unmet(machine, ("torch",)) if u.held is None and any(name in u.wants for name in brought)]
    wanted = [f"{u.wants}{u.specifier}" for u in absent]
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    yield Finding(
        summary=f"The loader cannot find {first.key[:40]}{more}, which {_asker(first)} needs.",
        subject=Subject(kind="library", id=first.key),
        evidence=tuple(
            Evidence(
                text=f"{held.key}, asked for by {held.wanted_by}, is {_nowhere(machine)}"[:380],
                source=machine.source("libraries"),
            )
            for held in lacking[:6]
        ),
        remedies=(
            pip_install(machine, "Install the packages that torch's metadata requires.", *wanted)
            if wanted
            else by_hand(
                f"Install the package that contains {first.key}, or add its folder to LD_LIBRARY_PATH.",
                Scope.ENVIRONMENT,
                f"`find / -name '{first.key}*' -not -path '/proc/*'` shows whether a copy is here.",
                undo="Take the folder off LD_LIBRARY_PATH again.",
            ),
        ),
        verify=(python_after(machine) if wanted else python_of(machine), "-c", "import torch"),
    )


def _nowhere(machine: Snapshot) -> str:
    if machine.environment is None:
        return "in none of RPATH, RUNPATH, ld.so.cache and the default folders, nor in a folder of /usr/local or /opt"
    return "in none of RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache and the default folders"


def _of_another_cpu(machine: Snapshot, held: LoadedLibrary) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        summary=f"{held.key[:50]}, which {_asker(held)} needs, is built for another CPU than its Python.",
        subject=Subject(kind="library", id=held.key),
        evidence=tuple(Evidence(text=text[:380], source=machine.source("libraries")) for text in held.unfit[:4]),
        remedies=(
            by_hand(
                f"Install the package that contains {held.key} again, with this environment's own pip.",
                Scope.ENVIRONMENT,
                "Files copied from a machine with another CPU do not run here.",
                undo="None: the file does not work.",
            ),
        ),
        verify=(python_of(machine), "-c", "import torch"),
    )


def _asker(held: LoadedLibrary) -> str:
    path = held.wanted_by or ""
    return "torch" if "/torch/" in path or "/nvidia/" in path else path.rpartition("/")[2][:60] or "torch"


def is_gpu(name: str) -> bool:
    """Whether a soname is of the GPU stack."""
    stem = name.partition(".so")[0]
    return stem in _PACKAGES or stem in COMPONENTS or stem.startswith((*_ROCM, "libcudnn_", "libnvshmem"))


def system_libraries(machine: Snapshot) -> Iterator[tuple[LoadedLibrary, Evidence]]:
    """Libraries of the system that torch's libraries need and that are nowhere."""
    for held in machine.libraries or ():
        if held.path is None and not held.unfit and not is_gpu(held.key):
            text = f"{held.key}, asked for by {held.wanted_by}, is {_nowhere(machine)}"
            yield held, Evidence(text=text[:380], source=machine.source("libraries"))
