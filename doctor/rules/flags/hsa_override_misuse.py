from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts.gpu import Gpu
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.knowledge.names import gpu_by_name
from doctor.knowledge.overrides import override_of
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, unset, way
from doctor.rules.lib.blas_support import rocblas_has, rocm_of
from doctor.rules.lib.error_texts import failing
from doctor.rules.lib.flags_read import evaluated
from doctor.rules.lib.hardware import gfx_version
from doctor.rules.lib.integrated import is_integrated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="hsa-override-misuse",
    severity=Severity.ERROR,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="HSA_OVERRIDE_GFX_VERSION is wrong for this GPU, or not needed.",
    needs=({"environment"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=50,
    facts_decide=False,
    tags=(
        "flags",
        "amd",
    ),
    doc="""## What it finds
HSA_OVERRIDE_GFX_VERSION, also in its form for one node of KFD, on a GPU that ROCm supports natively, with another
instruction set, with a value that is not a version, or for node 0, which is the CPU.

## Why it matters
Code objects of another chip replace the right ones: memory faults, 'invalid device function', hangs of the driver.

## Not raised when
It is unset. On a GPU that ROCm does not support, a relative of the same generation (gfx1031 as 10.3.0, a processor's
gfx90c as 9.0.0) is information only; in a pasted text so is the GPU's own number, which changes nothing. So is a chip
of the same family (gfx1101 as 11.0.0), whose code runs, where the failure is not one that foreign code causes.

## How to confirm
`env | grep HSA_OVERRIDE` and `rocminfo | grep gfx`.

## Fix
Unset it where the program is started: `env -u HSA_OVERRIDE_GFX_VERSION COMMAND`; remove it from compose files, units
and shell profiles. For a card that AMD does not support, see the value that its owners use in
amd-gpu-unsupported-by-rocm.

## References
https://github.com/ROCm/ROCm/issues/5238
https://github.com/ROCm/rocm-systems/issues/3531
""",
)

_NAME = "HSA_OVERRIDE_GFX_VERSION"


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error message says it: the value is not known."""
    return (unset(machine, _NAME),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Judges each override against the GPUs it applies to; integrated GPUs beside a discrete one are left out."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    if not machine.of_vendor("amd") and machine.of_vendor("nvidia"):
        return
    overrides = {n: v for n, v in (machine.environment or {}).items() if n == _NAME or n.startswith(f"{_NAME}_")}
    gpus = [g for g in machine.of_vendor("amd") if g.arch]
    chosen = [g for g in gpus if not is_integrated(g)] or gpus
    for name, value in overrides.items():
        if value[:1] in ("$", "%", "<", "{", "("):
            continue  # it is taken from elsewhere, or left out by who wrote the text
        if not value and run_line.from_text(machine, f"environment[{name}]") and not run_line.sees_none(machine):
            continue  # so people show that it is not set; where it is, as compose files do, ROCm lists no GPU
        node = name.removeprefix(f"{_NAME}_")
        meant = [g for g in chosen if name == _NAME or str(g.index.kfd) == node]
        faults = [f for f in (_fault(machine, kb, _chip(g, value), value) for g in meant) if f]
        if node == "0" and not meant and not any(g.index.kfd == 0 for g in gpus):
            faults = [(Severity.WARNING, _OF_PROCESSOR)]
        if not gpus and _malformed(value):
            faults = [(Severity.ERROR, _MALFORMED)]
        if not faults:
            continue
        severity, why = min(faults, key=lambda f: f[0].rank)
        pasted = run_line.from_text(machine, "environment")
        usual = False
        idle = pasted and all(fault.endswith(_ANYWAY) for _, fault in faults)  # it changes nothing, and breaks nothing
        of_kin = pasted and all(fault.endswith(_NATIVE) and _kin(g, value) for g in meant for _, fault in faults)
        apart = of_kin and failing(machine) and machine.symptom(*_BROUGHT_ABOUT) is None
        hangs = _COUNTED in why or why.startswith(_ANOTHER_SET)
        # Of a name that many have, tools may show the very number that the override pretends.
        pretended = idle and all(gpu.name is not None and gpu_by_name(gpu.name) is None for gpu in meant)
        weak = 0 if pretended or usual or apart else 1 if idle else 2 if severity is Severity.INFO and pasted else 0
        yield Finding(
            summary=f"{name}={value[:20]} {_PRETENDED if pretended else why}.",
            severity=Severity.INFO if idle or apart else severity,
            suspect=weak,
            explains=(*RULE.explains, *_ALSO.get(why, ()), *(_HANGS if hangs else ())),
            subject=Subject(kind="variable", id=name),
            evidence=(
                Evidence(text=f"{name}={value[:40]}", source="environment"),
                *evidence(machine, [f"gpus[{g.key}].arch" for g in meant[:8]]),
            ),
            remedies=() if why.endswith(_OFTEN) else tuple(_remedies(machine, name, meant, value)),
            verify=("env", "-u", name, "rocminfo"),
        )


def _remedies(machine: Snapshot, name: str, meant: Sequence[Gpu], value: str) -> Iterator[Remedy]:
    """Without the override; or with the value that owners of such a card use, where the table has one."""
    archs = {gpu.arch for gpu in meant}
    known = override_of(next(iter(archs)) or "") if len(archs) == 1 else None
    if known and known.value and known.value != value:
        keep = step(
            "Start the program (COMMAND) this way; if it works, change the value where it is set now.",
            *("env", f"{name}={known.value}", "COMMAND"),
            where="environment",
        )
        yield way(f"Set {name}={known.value} (unofficial, AMD does not test this).", Scope.JOB, keep, vendor="amd")
    yield unset(machine, name)


def _kin(gpu: Gpu, value: str) -> bool:
    """Whether the override names a chip of the GPU's own family: gfx1100 to gfx1103 differ in their stepping only."""
    mine = gfx_version(gpu.arch or "")
    return mine is not None and mine[0] > _LAST_APART and value.startswith(f"{mine[0]}.{mine[1]}.")


_LAST_APART = 9
"""Up to gfx9, each stepping is a separate instruction set (gfx900, gfx906, gfx908, gfx90a)."""
_OF_VEGA = ("gfx902", "gfx909", "gfx90c")
"""Processors of Vega's own instruction set: they run the code of gfx900
(llvm.org/docs/AMDGPUUsage.html: gfx9-generic)."""
_BROUGHT_ABOUT = (
    *("amd-memory-access-fault", "hip-launch-failure", "program-crashed"),
    *(
        "cuda-no-kernel-image",
        "hip-invalid-device-function",
        "hip-shared-object-init-failed",
        "rocblas-tensile-missing",
    ),
    *("rocclr-no-compatible-code-objects", "hsa-incompatible-kernel-object", "hsa-init-out-of-resources"),
    *("amdgpu-ring-timeout", "amdgpu-vm-fault"),
    *(*run_line.NO_GPU_SEEN,),
)
_NATIVE = "which ROCm supports natively"
_ANYWAY = "is not needed"
_PRETENDED = "hides which GPU this is: tools show the override instead"
_OFTEN = "unsupported, but often works"
_FEWER_REGISTERS = ((11, 0, 2), (11, 0, 3), (11, 5, 0), (11, 5, 2), (11, 5, 3))
"""gfx1100, gfx1101 and gfx1151 have half as many vector registers more, and their code counts them in other steps
(FeatureGFX11FullVGPRs in llvm/lib/Target/AMDGPU/AMDGPU.td)."""
_COUNTED = "which its code counts differently (11.0.2 has as many)"
_ASTRAY = (
    "amdgpu-ring-timeout",
    "amdgpu-vm-fault",
    "amd-memory-access-fault",
    "hip-launch-failure",
)
_OF_PROCESSOR = "applies to node 0, the CPU; KFD numbers GPUs after the last CPU"
_MALFORMED = "is not MAJOR.MINOR.STEPPING, so ROCm finds no GPU"
_ANOTHER_SET = "selects another instruction set"
_ALSO = {_MALFORMED: ("container-missing-gpu-passthrough",), _OF_PROCESSOR: ("torch-missing-gpu-arch",)}
"""What follows of it as well."""
_HANGS = ("amdgpu-gpu-hang", "amdgpu-firmware-bad")
"""Code that is not the GPU's leaves its scheduler without an answer: the ring is reset, its firmware is not at fault
(https://github.com/ROCm/rocm-systems/issues/3531)."""


def _malformed(value: str) -> bool:
    parts = value.split(".")
    return len(parts) != 3 or not all(p.isdigit() and len(p) < 4 for p in parts)


def _chip(gpu: Gpu, value: str) -> str:
    """The architecture; of the product's name where tools show the very one that the override pretends."""
    arch = gpu.arch or ""
    pretended = ".".join(map(str, gfx_version(arch) or ())) == value
    named = gpu_by_name(gpu.name) if pretended and gpu.name else None
    return named.arch if named and named.vendor == "amd" and named.arch else arch


def _fault(machine: Snapshot, kb: Knowledge, arch: str, value: str) -> tuple[Severity, str] | None:
    mine = gfx_version(arch)
    if _malformed(value):
        return Severity.ERROR, _MALFORMED
    asked = tuple(int(p) for p in value.split("."))
    if mine is None:
        return None
    if asked == mine:
        return Severity.WARNING, f"is the GPU's own target ({arch}) and {_ANYWAY}"
    if asked[0] != mine[0]:
        return Severity.ERROR, f"{_ANOTHER_SET} than {arch} has"
    if _native(machine, kb, arch):
        return Severity.ERROR, f"replaces the right code for {arch}, {_NATIVE}"
    if mine[0] == 9 and not (arch in _OF_VEGA and value == "9.0.0"):
        return Severity.ERROR, f"selects a gfx9 target that {arch} cannot run"
    if mine in _FEWER_REGISTERS and asked not in _FEWER_REGISTERS:
        severity = Severity.WARNING if machine.symptom(*_ASTRAY) is not None else Severity.INFO
        return severity, f"makes {arch} pass for a chip with more registers, {_COUNTED}: {_OFTEN}"
    return Severity.INFO, f"makes {arch} pass for a related chip: {_OFTEN}"


def _native(machine: Snapshot, kb: Knowledge, arch: str) -> bool:
    if arch in (machine.torch.arch_list or ()) or rocblas_has(rocm_of(machine), arch):
        return True
    releases: list[str | None] = [i.version for i in machine.rocm or () if i.version]
    releases = releases or [machine.torch.rocm]
    return any(kb.rocm_supports(r, arch) is True for r in releases if r)
