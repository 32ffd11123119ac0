from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import process_maps, python_files, python_loading, run_line, wheel_runtime
from doctor.rules.lib.advice import by_hand, unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.python_packages import package, pip_install, release, shown
from doctor.rules.lib.torch_install import torch_again
from doctor.versions import Dotted

RULE = Rule(
    id="gpu-libs-conflict",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="Several copies of a GPU library conflict, and the wrong one is loaded.",
    needs=(
        {"packages"},
        {"libraries"},
        {"nvidia_driver.libcuda.stub"},
        {"environment", "torch.build"},
        {"process.libraries"},
        {"host.wsl", "torch.rocm"},
    ),
    proven="live",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
From files: doctor follows the loader's search for every library that torch needs (RPATH, LD_LIBRARY_PATH, RUNPATH,
ld.so.cache, default folders), and another copy than torch's own wins; or cuDNN's libraries are of several releases.
Packages in another release than torch pins.
A GPU library that is not the one the framework was built with: packages for CUDA 12 and 13 that install the same
file, a library of another release than torch pins, a ROCm wheel's own HSA runtime under WSL, or an error message that
shows it. In a pasted text, LD_LIBRARY_PATH that points a wheel to another ROCm or CUDA.

## Why it matters
The loader takes the first copy it finds: undefined symbols, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, crashes.

## Not raised when
LD_LIBRARY_PATH points to the release that torch was built with, or its release is not known and no error message
shows it. In a pasted text in which nothing fails to load or crashes, the path to a CUDA of another major is
information: its libraries have other names.

## How to confirm
`LD_DEBUG=libs python -c 'import torch' 2>&1 | grep -E 'calling init.*(cudnn|nccl|cublas|amdhip)'`

## Fix
Keep one copy: unset LD_LIBRARY_PATH for this program, or remove the package of the other CUDA.

## References
https://man7.org/linux/man-pages/man8/ld.so.8.html
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """The path that leads to other copies first; then the second package."""
    which = by_hand(
        "Uninstall the second package that contains the library in the error.",
        Scope.ENVIRONMENT,
        "`pip list | grep -i -E 'nvidia|rocm|cudnn|nccl'` shows two packages of one library, such as nvidia-cudnn-cu11 "
        "beside nvidia-cudnn-cu12.",
        undo="Install it again.",
    )
    return *_without_path(machine), which


def _without_path(machine: Snapshot) -> tuple[Remedy, ...]:
    return (unset(machine, "LD_LIBRARY_PATH", because=": wheels bring their own libraries"),)


_PINNED = ("nvidia-cudnn", "nvidia-cublas", "nvidia-nccl", "nvidia-nvjitlink", "nvidia-cusparselt", "nvidia-cusparse")
_FAILED = (
    "cublas-or-cudnn-call-failed", "cublas-call-failed", "cuda-library-undefined-symbol",
    "cuda-library-undefined-symbol-of-another", "nvjitlink-symbol-missing", "cudnn-sublibrary-version-mismatch",
)  # fmt: skip
"""Symptoms that make a library from elsewhere on the loader's path, or another release than torch pins, the cause."""
_ELSEWHERE = Lazy(r"/(?:usr/local/cuda[\w.-]*|opt/rocm[\w.-]*|opt/cuda[\w.-]*|[\w/.-]*cudnn[\w./-]*)/lib(?:64)?\b")
_STACK = Lazy(r"/(?:rocm|cuda)-(\d{1,2}(?:\.\d{1,2})?)")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Packages that overwrite each other, then the loader's path."""
    yield from process_maps.twice(machine)
    yield from process_maps.replaced(machine)
    yield from process_maps.displaced(machine)
    yield from python_loading.stubs(machine)
    yield from python_loading.mixed_cudnn(machine)
    yield from python_loading.conflicts(machine)
    yield from python_files.gpu_packages(machine)
    for stem in python_files.STANDALONE:
        # The packages for CUDA 12 and CUDA 13 install the same files (published wheels, 2026-11-20).
        held = [p for cuda in ("11", "12", "13") if (p := package(machine, f"{stem}-cu{cuda}"))]
        if len(held) > 1 and machine.torch.build != "rocm":
            yield Finding(
                summary=f"{held[0].name} and {held[1].name} install the same files.",
                severity=Severity.WARNING,
                subject=Subject(kind="package", id=stem),
                evidence=shown(machine, *held),
                remedies=(
                    pip_install(
                        machine,
                        "Remove both copies, then install torch's own.",
                        *torch_again(machine),
                        remove=tuple(p.name for p in held),
                    ),
                ),
            )
    yield from wheel_runtime.conflict(machine)
    yield from _loader_path(machine)
    yield from _unpinned(machine, kb)


def _loader_path(machine: Snapshot) -> Iterator[Finding]:
    """Of a pasted text; of a machine the loader's search was followed."""
    if not run_line.from_text(machine, "environment"):
        return
    path = (machine.environment or {}).get("LD_LIBRARY_PATH", "")[:4000]
    stack = {"rocm": "rocm", "cuda": "cuda"}.get(machine.torch.build or "", "-")
    ours = {"rocm": machine.torch.rocm, "cuda": machine.torch.cuda}.get(stack)
    led = [m[1] for m in _STACK.finditer(path) if m[0].startswith(f"/{stack}-")]
    other = [v for v in led if ours and Dotted(v).major != Dotted(ours).major]
    foreign = [] if other or stack == "-" or not _felt(machine) else _ELSEWHERE.findall(path)
    if foreign:
        yield Finding(
            summary=f"LD_LIBRARY_PATH puts {foreign[0][:60]} before torch's own libraries, and one fails.",
            severity=Severity.WARNING,
            subject=Subject(kind="variable", id="LD_LIBRARY_PATH"),
            evidence=evidence(machine, ("environment[LD_LIBRARY_PATH]", "torch.version")),
            remedies=_without_path(machine),
        )
    if other:
        yield Finding(
            summary=f"LD_LIBRARY_PATH points to {stack.upper()} {other[0]}; torch was built with {(ours or '')[:12]}.",
            # Libraries of another CUDA have other names (libcudart.so.11.0, libcudart.so.12): a text in which none
            # fails to load shows no harm. ROCm's keep theirs, and a live loader shows what it takes.
            severity=Severity.INFO if (harmless := stack == "cuda" and _nothing_fails(machine)) else Severity.WARNING,
            suspect=2 if harmless else 0,
            subject=Subject(kind="variable", id="LD_LIBRARY_PATH"),
            evidence=evidence(machine, ("environment[LD_LIBRARY_PATH]", "torch.version", "torch.build")),
            remedies=_without_path(machine),
        )


def _nothing_fails(machine: Snapshot) -> bool:
    """Whether no library fails in the text, and nothing crashes or fails to import."""
    return not _felt(machine) and machine.symptom("program-crashed") is None


def _felt(machine: Snapshot) -> bool:
    return any(s.key in _FAILED for s in machine.symptoms)


def _unpinned(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """A library of another release than the installed torch pins: often harmless, the first suspect when it fails."""
    build = kb.torch_build(release(machine.torch.version)) if machine.torch.build in ("cuda", None) else None
    if build is None or (machine.torch.cuda and machine.torch.cuda != build.default_cuda):
        return
    for held in machine.packages or ():
        pin = build.pins.get(held.name, "")
        pinned = held.name.startswith(_PINNED) and pin.startswith("==") and release(held.version)
        if pinned and Dotted(pin.removeprefix("==")).compare(held.version):
            yield Finding(
                summary=f"{held.name} {held.version[:20]} is installed, but torch {build.version} pins {pin[2:]}.",
                severity=Severity.WARNING if _felt(machine) else Severity.INFO,
                subject=Subject(kind="package", id=held.name),
                evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
                remedies=(pip_install(machine, "Install the release that torch pins.", f"{held.name}{pin}"),),
                source=build.source[:200],
            )
