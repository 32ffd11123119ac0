"""An environment variable is set that suits only another GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, unset, way
from doctor.rules.lib.error_texts import pointing_to
from doctor.rules.lib.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-flag-wrong-for-gpu",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="An environment variable is set that suits only another GPU.",
    needs=({"environment", "gpus"},),
    proven="synthetic",
    order=50,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
A flag copied from a recipe for another GPU generation or vendor.

## Why it matters
Kernels are missing, results are wrong or slow, although the same line helps elsewhere.

## Not raised when
The flag suits a GPU of this machine, or no GPU's architecture is known.

## How to confirm
Unset the flag and run again.

## Fix
Unset the flag.

## References
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)

REMEDIES = (
    way(
        "Unset the variable that the message names (VARIABLE).",
        Scope.JOB,
        step("Start the program (COMMAND) without it.", "env", "-u", "VARIABLE", "COMMAND", where="environment"),
        step("If it works, remove it from the shell profile, service unit or job script.", where="environment"),
        undo=(step("Set it again.", where="environment"),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    archs = {str(g.arch).split(":")[0] for g in machine.gpus or () if g.arch}
    for name, value in (machine.environment or {}).items() if archs else ():
        for flag in _FLAGS:
            if (
                flag.name.fullmatch(name)
                and flag.value.fullmatch(value.strip())
                and not any(map(flag.fits.match, archs))
            ):
                yield _finding(machine, name, value, flag, sorted(archs))
                break
        else:
            yield from _build_list(machine, name, value, archs)


class _Flag(NamedTuple):
    name: re.Pattern[str]
    value: re.Pattern[str]
    fits: re.Pattern[str]
    """Architectures that it is for."""
    why: str
    strength: int
    """0: a warning; else how strong a suspect."""
    felt: re.Pattern[str] | None
    """How an error text names what the flag turns on: a warning then, and the error follows from it."""


def _flag(name: str, value: str, fits: str, why: str, strength: int = 0, felt: str = "") -> _Flag:
    named = re.compile(felt, re.IGNORECASE) if felt else None
    return _Flag(re.compile(name), re.compile(value, re.IGNORECASE), re.compile(fits), why, strength, named)


_ON = "1|true|yes|on"
_AITER = r"aiter|Get GPU arch from rocminfo failed"
_DEEP_GEMM = r"deep_?gemm|csrc/apis/gemm\.hpp"
_FA = r"\bFA ?(?:version ?)?[34]\b|flash_attn_interface|FlashAttention-?[34]"
_TURING = "sm_(?:7[5-9]|8|9|1)|gfx"
_AMPERE = "sm_(?:8|9|1)|gfx"
_FA2 = "FlashAttention only supports Ampere|Cannot use FlashAttention-2"
_SDMA = "HSA_ENABLE_SDMA"
_TRITON_OF_AMD = "FLASH_ATTENTION_TRITON_AMD_ENABLE"
_FLAGS = (
    _flag(r"VLLM_ROCM_USE_AITER_\w*(?:FP4|A4W4|MXFP4)\w*", _ON, "gfx95|sm_", "FP4 kernels are for gfx950"),
    _flag(
        r"(?:VLLM_ROCM|SGLANG)_USE_AITER\w*",
        _ON,
        "gfx9[45]|sm_",
        "AITER's kernels are for gfx942 and gfx950",
        0,
        _AITER,
    ),
    _flag(r"AITER_MXFP4_\w+", _ON, "gfx95|sm_", "MXFP4 is for gfx950", 4),
    _flag("USE_MNNVL|NCCL_MNNVL_ENABLE", "1|2", "sm_10[03]|gfx", "only rack systems have NVLink between nodes", 4),
    _flag("HSA_XNACK", "1", "gfx9|sm_", "RDNA has no XNACK", 3),
    _flag(_SDMA, "0", "gfx1[01]|gfx90[06c]|sm_", "it disables the copy engines", 2),
    _flag(_TRITON_OF_AMD, _ON, "gfx", "its Triton kernels are for AMD GPUs", 3),
    _flag(r"(?:HIP|ROCR|HSA|MIOPEN|RCCL|ROCBLAS|HIPBLASLT|AMD)_\w+", ".+", "gfx", "it is for AMD GPUs", 1),
    _flag(r"NVTE_FP8_\w+|NVTE_USE_FP8", _ON, "sm_(?:89|9|1)|gfx9[45]|gfx12", "FP8 needs a newer GPU", 3),
    _flag("VLLM_USE_DEEP_GEMM", _ON, "sm_(?:9|10)|gfx", "DeepGEMM is for sm_90 and sm_100", 3, _DEEP_GEMM),
    _flag("VLLM_ATTENTION_BACKEND", "FLASHMLA", "sm_(?:9|10)|gfx", "FlashMLA is for sm_90 and sm_100", 3, "flash_?mla"),
    _flag("VLLM_ATTENTION_BACKEND", r"FLASH_ATTN\w*", _AMPERE, "FlashAttention 2 is for Ampere and later", 3, _FA2),
    _flag("VLLM_ATTENTION_BACKEND", "FLASHINFER", _TURING, "FlashInfer is for Turing and later", 3, "flash-?infer"),
    _flag("VLLM_ATTENTION_BACKEND", "FLASHINFER", _AMPERE, "it calls FlashAttention 2, for Ampere and later", 1, _FA2),
    _flag("VLLM_FLASH_ATTN_VERSION", "3", "sm_9|gfx", "FlashAttention 3 is for Hopper", 3, _FA),
    _flag("VLLM_FLASH_ATTN_VERSION", "4", "sm_(?:9|10)|gfx", "FlashAttention 4 is for Hopper and Blackwell", 3, _FA),
    _flag(
        r"VLLM_ROCM_QUICK_REDUCE_QUANTIZATION",
        r"FP|INT\d|FP\d",
        "gfx9[45]|sm_",
        "quick reduce is for gfx942 and gfx950",
        3,
    ),
    _flag("NCCL_NVLS_ENABLE", "1", "sm_(?:9|10)|gfx", "NVLink SHARP needs Hopper or later", 3),
)
_BUILD = {
    "PYTORCH_ROCM_ARCH": "gfx",
    "GPU_ARCHS": "gfx",
    "TORCH_CUDA_ARCH_LIST": "sm_",
    "HCC_AMDGPU_TARGET": "gfx",
    "AMDGPU_TARGETS": "gfx",
}
_MISSING = ("hip-invalid-device-function", "cuda-no-kernel-image", "rocclr-no-compatible-code-objects")


def _finding(machine: Snapshot, name: str, value: str, flag: _Flag, archs: list[str]) -> Finding:
    suspected = run_line.from_text(machine, "environment") and name != _SDMA
    shown = _symptom_of(machine, flag)
    more = {"explains": _OF_LIBRARIES} if shown else {}
    return Finding(
        summary=f"{name}={value[:30]} on {', '.join(archs)[:60]}: {flag.why}.",
        severity=Severity.INFO if flag.strength and not shown else Severity.WARNING,
        suspect=flag.strength if suspected and not shown else 0,
        subject=Subject(kind="variable", id=name),
        evidence=(
            Evidence(text=f"{name}={value[:80]}", source=machine.source(f"environment[{name}]")),
            *((Evidence(text=shown.text[:300], source=shown.source),) if shown else ()),
        ),
        remedies=(unset(machine, name),),
        **more,
    )


_OF_LIBRARIES = ("library-missing-gpu-arch", "companion-kernel-lib-outdated", "torch-missing-gpu-arch")
"""What an error says about the library that the flag enables."""


def _symptom_of(machine: Snapshot, flag: _Flag) -> Symptom | None:
    """The error message that names what the flag enables, and says that it has no code for the GPU."""
    if flag.felt is None:
        return None
    seen = pointing_to(machine, *_OF_LIBRARIES)
    return seen if seen and flag.felt.search(seen.text) else None


def _build_list(machine: Snapshot, name: str, value: str, archs: set[str]) -> Iterator[Finding]:
    """A list of architectures to build for that has none of the GPUs'."""
    kind = _BUILD.get(name)
    mine = {a for a in archs if kind and a.startswith(kind)}
    listed = re.split(r"[;, ]{1,3}", value.strip())
    if not mine or not value.strip() or value.strip() in ("native", "all") or any("+PTX" in part for part in listed):
        return
    named = {p.split(":")[0] if kind == "gfx" else f"sm_{p.rstrip('af').replace('.', '')}" for p in listed}
    majors = {a[:-1] for a in named}
    if not mine & named and not (kind == "sm_" and {a[:-1] for a in mine} & majors):
        seen = machine.symptom(*_MISSING) is not None
        flag = _flag(name, ".*", "x", f"it builds for {value[:40]} only", 0 if seen else 3)
        yield _finding(machine, name, value, flag, sorted(mine))
