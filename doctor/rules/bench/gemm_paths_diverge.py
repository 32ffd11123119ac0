from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gemm import GemmProof, Measurement, Spread
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import set_to
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gemm-paths-diverge",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="torch.matmul and F.linear use different libraries, or one is much slower.",
    needs=({"gemm_proofs"}, {"bench"}),
    proven="synthetic",
    order=70,
    tags=("bench", "blas"),
    doc="""
## What it finds
F.linear that ran on another library than torch.mm of the same type (hipBLASLt beside rocBLAS), or whose time differs
by more than 10 %: the whole interval of the paired ratio lies outside of 0.9 to 1.1. Both ways read the same operands
in the same layout: `F.linear(a, W)` is compared with `matmul(a, W.t())`. `F.linear(a, W, bias)` is compared with
`matmul(a, W.t()) + bias`, and reported only when it is slower: fusing the bias is meant to be faster.

## Why it matters
Models call F.linear, and benchmarks call matmul. If one of them is slow, a benchmark does not show it.

## Not raised when
cuBLAS ran beside cuBLASLt: they share their kernels, and torch computes a fused bias with cuBLASLt by design. The
interval of the ratio overlaps 0.9 to 1.1 or covers less than 95 %, or one of the two did not run.

## How to confirm
`doctor blas --prove`, and `doctor bench gemm`.

## Fix
Use one library for both: set TORCH_BLAS_PREFER_HIPBLASLT=1, or DISABLE_ADDMM_CUDA_LT=1 if the fused bias is slow.

## Fix safety
The variables affect one run; results differ in the last digits.

## References
https://github.com/pytorch/pytorch/pull/174377
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """Move one of the two paths to the other's library."""
    fused = set_to(machine, "Run F.linear on the library of torch.mm, then measure again.", DISABLE_ADDMM_CUDA_LT="1")
    if machine.torch.build == "cuda":
        return (fused,)
    plain = "Run torch.mm on hipBLASLt too, then measure again."
    return set_to(machine, plain, TORCH_BLAS_PREFER_HIPBLASLT="1"), fused


TOLERATED = (0.9, 1.1)
_SHARED = {frozenset({"cublas", "cublaslt"})}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """By library of each type, then by time of each measured pair."""
    proofs = {p.key: p for p in machine.gemm_proofs or () if p.outcome == "ran"}
    for dtype in dict.fromkeys(p.dtype for p in proofs.values()):
        pairs = [
            (plain, other)
            for plain in proofs.values()
            for entry in ("linear", "linear-bias")
            if plain.entry == "mm" and plain.dtype == dtype
            if (other := proofs.get(plain.key.replace("mm", entry, 1))) and _apart(plain, other)
        ]
        if pairs:
            yield _by_library(*pairs[0], machine, len({plain.shape for plain, _ in pairs if plain.shape}))
    for measured in machine.bench or ():
        timed = measured.what == "gemm linear" or (measured.what == "gemm linear-bias" and measured.device != "cpu")
        if timed and measured.outcome == "ran" and (ratio := measured.ratio) and ratio.firm:
            faster = ratio.high < TOLERATED[0] and not measured.what.endswith("bias")
            if ratio.low > TOLERATED[1] or faster:
                yield _by_time(measured, ratio, machine)


def _apart(one: GemmProof, other: GemmProof) -> bool:
    libraries = {one.library, other.library}
    on_gpu = libraries <= {"hipblaslt", "rocblas", "ck", "aiter", "cublas", "cublaslt"}
    return None not in libraries and len(libraries) == 2 and on_gpu and frozenset(libraries) not in _SHARED


def _by_library(plain: GemmProof, other: GemmProof, machine: Snapshot, shapes: int) -> Finding:
    """`shapes`: at how many of them the libraries differ."""
    name = "F.linear with a bias" if other.entry == "linear-bias" else "F.linear"
    where = f", {plain.shape} ({shapes} of the shapes)" if plain.shape else ""
    return Finding(
        summary=f"{plain.dtype}: {name} ran on {other.library}, torch.mm on {plain.library}{where}.",
        subject=Subject(kind="dtype", id=plain.dtype),
        evidence=tuple(
            Evidence(
                text=f"{p.entry}: {p.library} by {p.told_by}: {next(iter((*p.kernels, *p.calls)), '-')[:120]}",
                source=machine.source(f"gemm_proofs[{p.key}]"),
            )
            for p in (plain, other)
        ),
        remedies=advice(machine),
    )


def _by_time(measured: Measurement, ratio: Spread, machine: Snapshot) -> Finding:
    ways = ("F.linear", "torch.matmul")
    if measured.what.endswith("bias"):
        ways = ("F.linear with a bias", "torch.matmul plus the bias")
    slow, fast = ways if ratio.p50 > 1 else ways[::-1]
    factor = ratio.p50 if ratio.p50 > 1 else 1 / ratio.p50
    case = f"{measured.dtype} {measured.shape}"
    return Finding(
        summary=f"{slow} takes {factor:.2f} times as long as {fast} ({case}).",
        subject=Subject(kind="case", id=measured.key),
        evidence=(
            Evidence(
                text=f"time ratio = {ratio.p50:.3f} ({ratio.low:.3f} to {ratio.high:.3f}, {ratio.repeats} pairs)",
                source=machine.source(f"bench[{measured.key}]"),
            ),
        ),
        remedies=advice(machine) if measured.device.startswith("cuda") else (),
        verify=("doctor", "bench", "gemm"),
    )
