from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files, work_done
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.framework_pins import torch_series
from doctor.rules.lib.missing_libraries import sought_of_another_cuda, sought_of_another_rocm
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_packages import pip_install, release, shown
from doctor.versions import Dotted

RULE = Rule(
    id="extension-abi-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="An extension was built for another torch, CUDA or C++ ABI.",
    needs=(
        {"packages", "torch.version"},
        {"installed_faults"},
        {"torch.cuda", "symptom:cuda-library-not-found"},
        {"cuda", "symptom:cuda-library-not-found"},
        {"torch.rocm", "symptom:rocm-library-not-found"},
    ),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A compiled extension (flash-attn, xformers, sgl-kernel, TransformerEngine …) made for another release of torch. From
facts: a wheel whose version names the torch it was built for, or an xformers whose release pins another torch. An
extension that needs a library of another CUDA than torch's or the installed one, or the HIP runtime of another ROCm
than torch's. In a text: a wheel or compiled kernels for one torch where another is installed and nothing is reported
to work.

## Why it matters
Its import fails, for example with an undefined symbol or a DLL that cannot be loaded.

## Not raised when
The version of the wheel names no torch, its release pins none and no error message shows it, or torch is the named
one.

## How to confirm
`python -c 'import torch, flash_attn'`: the symbol that the error names demangles to one of c10, at or torch.

## Fix
Install the wheel built for this torch, or build the extension in this environment.

## References
https://github.com/Dao-AILab/flash-attention#installation-and-features
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """Where only an error text says it. pip's cache may hold the wheel that was built for another torch."""
    if any("bitsandbytes" in symptom.text for symptom in machine.symptoms):
        newer = "Upgrade bitsandbytes: newer releases have libraries for more releases of CUDA and ROCm."
        return (pip_install(machine, newer, "--upgrade", "bitsandbytes"),)
    text = " ".join(symptom.text for symptom in machine.symptoms)
    named, folder = _MODULE.search(text), _FOLDER.search(text)
    name = _OF_MODULE.get(named[1], named[1]) if named else "EXTENSION"
    what = name if named else f"{folder[1] if folder else 'the extension'} (EXTENSION: its package)"
    releases = kb.package_releases(name.replace("_", "-")) if kb else ()
    if any((release.torch or "").startswith("==") for release in releases[:1]):
        return (pip_install(machine, f"Install the torch that {name} is built for.", name),)
    # Without isolation: what has no wheel asks for the installed torch when it is built.
    fresh = ("--force-reinstall", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    return (
        pip_install(machine, f"Reinstall {what} for this torch.", *fresh, name),
        pip_install(machine, f"Build {what} here for the installed torch.", *fresh, "--no-binary", name, name),
    )


_MODULE = Lazy(r"\b(flash_attn|xformers|causal_conv1d|mamba_ssm|selective_scan|deep_gemm|vllm|sgl_kernel|torch_scatter"
               r"|transformer_engine_torch)(?:_2)?(?:_cuda)?(?=[/.]\S*\.so\b.*undefined symbol)")  # fmt: skip
"""Modules that bear the name of their package, or that of _OF_MODULE."""
_OF_MODULE = {"selective_scan": "mamba_ssm"}
_FOLDER = Lazy(r"-packages/(\w{1,60})/\S{1,200}\.so\b.{0,4}undefined symbol")


_BUILT_FOR = Lazy(r"\+(?:cu\d+)?torch(\d+\.\d+)|\+pt(\d)(\d{1,2})(?=cu|cpu|rocm|$)")
"""`2.7.4+cu12torch2.6cxx11abiFALSE` and `2.1.2+pt20cu117`, as release assets of flash-attn and torch-scatter are."""
_BUILT_FOR_CUDA = Lazy(r"\+(?:pt\d+)?cu(\d{2})(?:\d)?(?=torch|$)")
_TORCH_OWN = ("torch", "torchvision", "torchaudio", "pytorch", "jaxlib", "vllm", "torchcodec")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Wheels that name their torch or CUDA, and xformers, whose releases pin one torch."""
    yield from python_files.extension_abi(machine)
    yield from _without_binary(machine)
    yield from _for_another_cuda(machine)
    yield from _for_another_rocm(machine)
    torch = release(machine.torch.version)
    for held in machine.packages or ():
        built_for = _other_than(held, torch, machine.torch.cuda)
        if not torch or not built_for or held.name in _TORCH_OWN:
            continue
        wanted = f"{held.name}=={held.version.partition('+')[0]}"
        yield Finding(
            summary=f"{held.name} was built for {built_for}, but torch {machine.torch.version} is installed."[:200],
            severity=Severity.WARNING if work_done.ran(machine) else Severity.ERROR,
            subject=Subject(kind="package", id=held.name),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
            remedies=(
                pip_install(
                    machine, "Build it against this torch.", "--no-build-isolation", "--no-cache-dir",
                    "--force-reinstall", "--no-deps", wanted,
                ),
            ),
            verify=(python_after(machine), "-c", "import torch; print(torch.__version__)"),
        )  # fmt: skip


def _without_binary(machine: Snapshot) -> Iterator[Finding]:
    """bitsandbytes brings no library for torch's CUDA or ROCm."""
    for fault in machine.installed_faults or ():
        if fault.kind == "no-binary":
            yield Finding(
                summary=f"{fault.package} {(fault.version or '')[:20]} has no library for torch's {fault.detail}.",
                severity=Severity.ERROR,
                subject=Subject(kind="package", id=fault.package),
                evidence=(
                    *evidence(machine, ("torch.version",)),
                    *(Evidence(text=f"has {f}"[:300], source=machine.source("installed_faults")) for f in fault.files),
                ),
                remedies=(pip_install(machine, "Install a release for this CUDA.", "--upgrade", fault.package),),
                verify=(python_after(machine), "-m", fault.package),
            )


def _for_another_cuda(machine: Snapshot) -> Iterator[Finding]:
    for missing, wanted in sought_of_another_cuda(machine):
        ours = machine.torch.cuda or max((i.version for i in machine.cuda or () if i.version), default="")
        yield Finding(
            summary=f"The program that needs {missing.library} was built for {wanted}, but CUDA {ours[:12]} is here.",
            severity=Severity.WARNING,
            subject=Subject(kind="library", id=missing.library),
            basis="both",
            evidence=(
                Evidence(text=missing.symptom.text, source=missing.symptom.source),
                *evidence(machine, ("torch.version", "cuda")),
            ),
            remedies=advice(machine),
        )


def _for_another_rocm(machine: Snapshot) -> Iterator[Finding]:
    for missing in sought_of_another_rocm(machine):
        yield Finding(
            summary=f"The program that needs {missing.library} was built for ROCm {missing.major}, but torch has ROCm "
            f"{(machine.torch.rocm or '')[:12]}.",
            severity=Severity.WARNING,
            subject=Subject(kind="library", id=missing.library),
            basis="both",
            explains=("gpu-libs-not-found",),
            evidence=(
                Evidence(text=missing.symptom.text, source=missing.symptom.source),
                *evidence(machine, ("torch.version", "rocm")),
            ),
            remedies=advice(machine),
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
