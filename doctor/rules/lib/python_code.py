"""Whether the GPU code of torch's companions runs on the GPUs that are there, by the objects of their libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import GpuBinary
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge.gpu_code import way
from doctor.rules.lib.hardware import named_gpu
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.lib.torch_install import install

if TYPE_CHECKING:
    from doctor.facts.gpu import Gpu
    from doctor.knowledge import Knowledge

_SHOWN_ARCHS = 12
_BLAS = ("rocblas", "hipblaslt")
"""Their kernel files are not of a package beside torch: rules/blas speaks of them."""
_FAIR_SHARE = 0.1
"""Of the objects of one file. vLLM 0.10.2 has 1 of 81 for sm_52, xformers 0.0.32 18 of 18 for sm_75, ONNX Runtime 1.31
217 of 609 for sm_75, the others for sm_90a alone (docs/slow-tier.md)."""


def library_archs(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Packages of which hardly an object runs on a GPU that is there. A fair share of one file is enough: others may be
    for other GPUs on purpose (sm_90a kernels of flash-attn 3). Where HSA_OVERRIDE_GFX_VERSION makes GPUs pass as
    others, AMD's are left out."""
    packages: dict[str, list[GpuBinary]] = {}
    for binary in machine.binaries or ():
        if binary.package and binary.package not in ("torch", *_BLAS) and binary.objects:
            packages.setdefault(binary.package, []).append(binary)
    overridden = any(name.startswith("HSA_OVERRIDE_GFX_VERSION") for name in machine.environment or {})
    for package, binaries in packages.items():
        for vendor in ("nvidia",) if overridden else ("nvidia", "amd"):
            yield from _unserved(machine, kb, package, binaries, vendor)


def _unserved(
    machine: Snapshot, kb: Knowledge, package: str, binaries: list[GpuBinary], vendor: str
) -> Iterator[Finding]:
    built = [b for b in binaries if _codes(b, vendor)]
    if not built and machine.torch.build != {"nvidia": "cuda", "amd": "rocm"}[vendor]:
        return
    gpus = one_an_arch(machine, vendor)
    kinds = {gpu.key: _served(machine, kb, built, gpu, vendor) for gpu in gpus}
    bad = [g for g in gpus if kinds[g.key] != "runs" and not (g.integrated and "runs" in kinds.values())]
    if bad:  # one a package: the next GPU says the same
        yield _lacking(machine, package, built or binaries, bad[0], kinds[bad[0].key] == "ptx-unserved", vendor)


def _served(machine: Snapshot, kb: Knowledge, binaries: list[GpuBinary], gpu: Gpu, vendor: str) -> str:
    """`runs`: in one of the files a fair share of the objects does. Single objects prove nothing: nvcc compiles those
    that name no architecture for its default, sm_52, and libraries that are linked in bring theirs."""
    cuda, driver = (machine.torch.cuda, machine.nvidia_driver.cuda_version) if vendor == "nvidia" else (None, None)
    found = "none"
    for binary in binaries:
        groups = binary.objects or ()
        ways = [way(kb, gpu.arch or "", group.archs, cuda=cuda, driver_cuda=driver) for group in groups]
        running = sum(group.number for group, each in zip(groups, ways, strict=True) if each.runs)
        if running >= _FAIR_SHARE * sum(group.number for group in groups):
            return "runs"
        if any(each.kind == "unknown" for each in ways):
            return "runs"
        if any(each.kind == "ptx-unserved" for each in ways):
            found = "ptx-unserved"
    return found


def _lacking(machine: Snapshot, package: str, binaries: list[GpuBinary], gpu: Gpu, old: bool, vendor: str) -> Finding:
    held = next((p for p in machine.packages or () if p.name == package), None)
    label = f"{package} {held.version[:30]}" if held else package
    groups = [g for g in binaries[0].objects or () if any(a in _codes(binaries[0], vendor) for a in g.archs)]
    most = max(groups, key=lambda g: g.number).archs if groups else ()
    what = (
        f"is built for {', '.join(most[:_SHOWN_ARCHS])} (most objects)" if most else "has code for other vendors only"
    )
    return Finding(
        summary=f"{label} has only PTX for {gpu.arch}, and the driver is too old to compile it."
        if old
        else f"{label} has no code for {named_gpu(gpu)}.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id=package),
        evidence=(
            Evidence(text=f"{binaries[0].key.rpartition('/')[2]} {what}"[:300], source=f"file:{binaries[0].key}"),
            *evidence(machine, (f"gpus[{gpu.key}].arch", "torch.version")),
        ),
        remedies=(
            pip_install(
                machine,
                f"Install a release of {package} with code for {gpu.arch}, or build it from source.",
                "--upgrade",
                package,
            ),
        ),
    )


def rocblas_kernels(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """GPUs for which torch runs, and for which the rocBLAS in its wheel has no kernel files. hipBLASLt has files for
    few GPUs on purpose: torch takes rocBLAS then."""
    held = next((b for b in machine.binaries or () if b.package == "rocblas" and b.gfx), None)
    if held is None or any(name.startswith("HSA_OVERRIDE_GFX_VERSION") for name in machine.environment or {}):
        return
    for gpu in one_an_arch(machine, "amd"):
        if not gpu.integrated and way(kb, gpu.arch or "", held.gfx or ()).kind == "none":
            yield Finding(
                summary=f"The rocBLAS that came with torch has no kernel files for {gpu.arch}.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=(
                    Evidence(text=f"kernel files for {', '.join(held.gfx or ())}"[:300], source=f"file:{held.key}"),
                    *evidence(machine, (f"gpus[{gpu.key}].arch", "torch.version")),
                ),
                remedies=(install(machine, "amd").model_copy(update={"effect": ()}),),  # the same again: files lack
            )


def _codes(binary: GpuBinary, vendor: str) -> tuple[str, ...]:
    return (*(binary.sass or ()), *(binary.ptx or ())) if vendor == "nvidia" else binary.gfx or ()


def one_an_arch(machine: Snapshot, vendor: str) -> list[Gpu]:
    found: dict[str, Gpu] = {}
    for gpu in machine.of_vendor(vendor):
        if gpu.arch:
            found.setdefault(gpu.arch, gpu)
    return list(found.values())
