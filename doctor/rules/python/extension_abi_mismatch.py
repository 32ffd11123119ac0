"""An extension was built against another torch, CUDA or C++ ABI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import python_files, work_done
from doctor.rules.framework_pins import torch_series
from doctor.rules.missing_libraries import sought_of_another_cuda, sought_of_another_rocm
from doctor.rules.python_packages import pip_install, release, shown
from doctor.rules.torch_install import python_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="extension-abi-mismatch",
    severity=Severity.ERROR,
    title="An extension was built against another torch, CUDA or C++ ABI.",
    needs=(
        {"packages", "torch.version"},
        {"torch.cuda", "symptom:cuda-library-not-found"},
        {"cuda", "symptom:cuda-library-not-found"},
        {"torch.rocm", "symptom:rocm-library-not-found"},
        {"torch.version", "symptom:extension-told-for-a-torch"},
        {"torch.cuda", "symptom:extension-told-for-a-torch"},
    ),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A compiled extension (flash-attn, xformers, sgl-kernel, TransformerEngine …) made for another release of torch. From
facts: a wheel whose version names the torch it was built for, or an xformers whose release pins another torch. An
extension that looks for a library of another CUDA than torch's or the installed one, or for the HIP runtime of another
ROCm than torch's. What a text says that a wheel or compiled kernels were made for, where torch is of another release
and nothing is said to work.

## Why it matters
Its import ends in an undefined symbol or a DLL that can't be loaded.

## Not raised when
The version of the wheel names no torch, its release pins none and no error text was seen, or torch is the named one.

## How to confirm
`python -c 'import torch, flash_attn'`: the symbol that the error names demangles to one of c10, at or torch.

## Fix
Install the wheel built for this torch, or build the extension in this environment.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://github.com/Dao-AILab/flash-attention#installation-and-features
""",
)

FIXES = (
    Fix(
        text="Reinstall the named extension for the installed torch: its own wheel, or built here.",
        where="environment",
    ),
)

_BUILT_FOR = Lazy(r"\+(?:cu\d+)?torch(\d+\.\d+)|\+pt(\d)(\d{1,2})(?=cu|cpu|rocm|$)")
"""`2.7.4+cu12torch2.6cxx11abiFALSE` and `2.1.2+pt20cu117`, as release assets of flash-attn and torch-scatter are."""
_BUILT_FOR_CUDA = Lazy(r"\+(?:pt\d+)?cu(\d{2})(?:\d)?(?=torch|$)")
_SAID_FOR = Lazy(
    r"(?i)\b(?:for|against|with|needs?|requires?|expects?|wants?) (?:py)?torch(?:==|[ -])?v?(\d\.\d{1,2})\b"
)
_SAID_FOR_CUDA = Lazy(r"(?i)\b(?:needs?|requires?|expects?|wants?) cu(\d{2})(\d)\b")
_TORCH_OWN = ("torch", "torchvision", "torchaudio", "pytorch", "jaxlib", "vllm", "torchcodec")


def unheard(machine: Snapshot) -> bool:
    """Where xformers was given tensors on the CPU: no build of it has kernels for these."""
    return machine.torch.build != "cpu" and machine.symptom("attention-given-cpu-tensors-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Wheels that name their torch or CUDA, and xformers, whose releases pin one torch."""
    yield from python_files.extension_abi(machine)
    yield from _for_another_cuda(machine)
    yield from _for_another_rocm(machine)
    yield from _said_for_another(machine)
    torch = release(machine.torch.version)
    for held in machine.packages or ():
        built_for = _other_than(held, torch, machine.torch.cuda)
        if not torch or not built_for or held.name in _TORCH_OWN:
            continue
        wanted = f"{held.name}=={held.version.partition('+')[0]}"
        yield Finding(
            summary=f"{held.name} was built for {built_for}; torch {machine.torch.version} is installed."[:200],
            severity=Severity.WARNING if work_done.ran(machine) else Severity.ERROR,
            subject=Subject(kind="package", id=held.name),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
            fixes=(
                pip_install(
                    machine, "Build it against this torch.", "--no-build-isolation", "--no-cache-dir",
                    "--force-reinstall", "--no-deps", wanted,
                ),
            ),
            verify=(python_of(machine), "-c", "import torch; print(torch.__version__)"),
        )  # fmt: skip


def _said_for_another(machine: Snapshot) -> Iterator[Finding]:
    """What people say that a wheel was made for, beside the torch that is here; nothing is said to work."""
    told = machine.symptom("extension-told-for-a-torch")
    if told is None or machine.symptom("all-works-told", "something-works-told") is not None:
        return
    torch, cuda = release(machine.torch.version), machine.torch.cuda
    named, label = _SAID_FOR.search(told.text), _SAID_FOR_CUDA.search(told.text)
    if named and torch and Dotted(torch).series() != named[1]:
        wanted, fact = f"torch {named[1]}; torch {torch[:20]} is here", "torch.version"
    elif label and cuda and cuda != f"{label[1]}.{label[2]}":
        wanted, fact = f"CUDA {label[1]}.{label[2]}; torch's is {cuda[:8]}", "torch.cuda"
    else:
        return
    yield Finding(
        summary=f"A compiled extension is said to be built for {wanted}.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="extension"),
        basis="both",
        evidence=(Evidence(text=told.text, source=told.source), *evidence(machine, (fact,))),
        fixes=FIXES,
    )


def _for_another_cuda(machine: Snapshot) -> Iterator[Finding]:
    for missing, wanted in sought_of_another_cuda(machine):
        ours = machine.torch.cuda or max((i.version for i in machine.cuda or () if i.version), default="")
        yield Finding(
            summary=f"What looks for {missing.library} was built for {wanted}; CUDA {ours[:12]} is here.",
            severity=Severity.WARNING,
            subject=Subject(kind="library", id=missing.library),
            basis="both",
            evidence=(
                Evidence(text=missing.symptom.text, source=missing.symptom.source),
                *evidence(machine, ("torch.version", "cuda")),
            ),
            fixes=FIXES,
        )


def _for_another_rocm(machine: Snapshot) -> Iterator[Finding]:
    for missing in sought_of_another_rocm(machine):
        yield Finding(
            summary=f"What looks for {missing.library} was built for ROCm {missing.major}; torch is of ROCm "
            f"{(machine.torch.rocm or '')[:12]}.",
            severity=Severity.WARNING,
            subject=Subject(kind="library", id=missing.library),
            basis="both",
            explains=("gpu-libs-not-found",),
            evidence=(
                Evidence(text=missing.symptom.text, source=missing.symptom.source),
                *evidence(machine, ("torch.version", "rocm")),
            ),
            fixes=FIXES,
        )


def _other_than(held: Package, torch: str | None, cuda: str | None) -> str | None:
    """`torch 2.6` or `CUDA 11`, where the package was built for that and another is installed."""
    here, version = Dotted(torch or "").series(), held.version[:100]
    named = _BUILT_FOR.search(version)
    series = (named[1] or f"{named[2]}.{named[3]}") if named else None
    if held.name == "xformers" and not named:
        series = torch_series("xformers", version)
    if series and series != here:
        return f"torch {series}"
    made = _BUILT_FOR_CUDA.search(version)
    if made and cuda and int(made[1]) != Dotted(cuda).major:
        return f"CUDA {made[1]}"
    return None
