from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gemm import GemmProof
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import looks, unset
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gemm-library-unexpected",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="A matrix product did not run on the library that was set or predicted.",
    needs=({"gemm_proofs"},),
    proven="synthetic",
    order=71,
    tags=("bench", "blas"),
    doc="""
## What it finds
A library fell back with a warning (hipBLASLt on an unsupported GPU); a variable selects one library, but another one
ran; or another library ran than the selection tables predict.

## Why it matters
A flag that does nothing looks like a speed-up. A fallback can be several times slower and logs only one line.

## Not raised when
The library that ran is not known, or rocBLAS was predicted and passed the product to hipBLASLt.

## How to confirm
`doctor blas --prove --format json`: calls, kernels and files of each product.

## Fix
Unset the variable, or use a torch whose selection has the GPU; report a wrong prediction.

## Fix safety
Only the choice of library changes.

## References
https://github.com/pytorch/pytorch/issues/138067
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """Without the variables that ask for a library; of those that are set, where the environment is known."""
    names = [name for name in _ASKING if name in (machine.environment or _ASKING)]
    compare = looks("Measure both libraries.", "doctor", "bench", "gemm", where="environment")
    return (*((unset(machine, *names),) if names else ()), compare)


_ASKING = {"TORCH_BLAS_PREFER_HIPBLASLT": "rocm", "TORCH_BLAS_PREFER_CUBLASLT": ""}
_ASKED = {"1": ("hipblaslt", "cublaslt"), "0": ("rocblas", "cublas")}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Fallbacks first; then a flag without effect, which is reported once; then predictions that did not come true."""
    proofs = [p for p in machine.gemm_proofs or () if p.outcome in ("ran", "wrong")]
    fell = [p for p in proofs if any(_FALLBACK in w.lower() for w in p.warnings)]
    if fell:
        yield _fell_back(fell, machine)
    lost = _lost(machine, proofs)
    if lost:
        yield lost
        return
    missed = [p for p in proofs if p.predicted and p.library and _differs(p)]
    if missed:
        yield _missed(missed, machine)


_FALLBACK = "unsupported architecture"


def _fell_back(fell: list[GemmProof], machine: Snapshot) -> Finding:
    line = next(w for w in fell[0].warnings if _FALLBACK in w.lower())
    return Finding(
        summary="torch did not use hipBLASLt: it does not list this GPU as supported.",
        subject=Subject(kind="warning", id="hipblaslt-fallback"),
        evidence=(Evidence(text=line, source=machine.source(f"gemm_proofs[{fell[0].key}]")),),
        remedies=advice(machine),
    )


def _lost(machine: Snapshot, proofs: list[GemmProof]) -> Finding | None:
    """A variable that asks for a library, where torch.mm ran on the other one."""
    environment = machine.environment or {}
    for name, build in _ASKING.items():
        value = environment.get(name, "")
        if value not in _ASKED or (build and machine.torch.build != build):
            continue
        other = _ASKED["0" if value == "1" else "1"]
        against = [p for p in proofs if p.entry in ("mm", "bmm") and (p.through or p.library) in other]
        if against:
            ran = against[0]
            return Finding(
                summary=f"{name}={value} had no effect: {ran.entry} {ran.dtype} ran on {ran.library}.",
                subject=Subject(kind="variable", id=name),
                evidence=(
                    Evidence(text=f"{name}={value}", source=machine.source(f"environment[{name}]")),
                    Evidence(text=_seen(ran), source=machine.source(f"gemm_proofs[{ran.key}]")),
                ),
                remedies=advice(machine),
            )
    return None


def _differs(proof: GemmProof) -> bool:
    """A library of the CPU is none that a prediction names, for a GPU or for a CPU."""
    on_cpu = proof.predicted == "cpu" or proof.library in ("mkl", "onednn", "openblas", "torch")
    return not on_cpu and proof.predicted not in (proof.library, proof.through)


def _missed(missed: list[GemmProof], machine: Snapshot) -> Finding:
    first = missed[0]
    more = f", and {len(missed) - 1} more" if len(missed) > 1 else ""
    return Finding(
        summary=f"{first.entry} {first.dtype} ran on {first.library}; the prediction was {first.predicted}{more}.",
        severity=Severity.INFO,
        subject=Subject(kind="prediction"),
        evidence=tuple(Evidence(text=_seen(p), source=machine.source(f"gemm_proofs[{p.key}]")) for p in missed[:4]),
        remedies=(),
    )


def _seen(proof: GemmProof) -> str:
    shown = next(iter((*proof.kernels, *proof.calls)), "no line")
    return f"{proof.key}: {proof.library} by {proof.told_by or 'nothing'}: {shown[:140]}"
