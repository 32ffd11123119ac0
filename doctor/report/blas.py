"""`doctor blas` as text and as `doctor.blas/1`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from doctor.blas.predict import Library, Prediction, visible_archs
from doctor.facts.gemm import GemmProof
from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding
from doctor.redaction.pseudonyms import Site
from doctor.report.bench import finding_lines
from doctor.report.key import redactor_for
from doctor.report.words import plural

_NAMED = {
    "hipblaslt": "hipBLASLt",
    "rocblas": "rocBLAS",
    "cublas": "cuBLAS",
    "cublaslt": "cuBLASLt",
    "ck": "CK",
    "aiter": "AITER",
    "mkl": "MKL",
    "onednn": "oneDNN",
    "openblas": "OpenBLAS",
    "torch": "torch's own code",
    "cpu": "the CPU's library",
    None: "not known",
}
_FILES: dict[str, tuple[str, ...]] = {
    "hipblaslt": ("libhipblaslt.so",),
    "rocblas": ("librocblas.so",),
    "cublas": ("libcublas.so",),
    "cublaslt": ("libcublasLt.so",),
    "cpu": ("libmkl_rt.so", "libopenblas", "libblas.so"),
}
_TYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float8": "fp8"}


def data(
    machine: Snapshot,
    predictions: Sequence[Prediction],
    findings: Sequence[Finding],
    withheld: Sequence[str] = (),
    proved: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Without `--prove`, `proofs` is null: nothing was run."""
    return {
        "schema": "doctor.blas/1",
        "torch": machine.torch.version,
        "build": machine.torch.build,
        "interpreter": machine.interpreter.path,
        "predictions": [
            {
                "entry": p.entry,
                "dtype": p.dtype,
                "library": p.library,
                "reasons": [{"text": r.text, "source": r.source} for r in p.reasons],
                "files": list(files(machine, p.library)),
            }
            for p in predictions
        ],
        "process": proved,
        "proofs": None if machine.gemm_proofs is None else [p.model_dump(mode="json") for p in machine.gemm_proofs],
        "withheld": list(withheld),
        "findings": [f.model_dump(mode="json") for f in findings],
    }


def render(data: dict[str, Any], *, redacted: bool = False, site: Site | None = None) -> str:
    """As JSON, redacted; the ids of a bundle are pseudonyms already where `redacted`."""
    redactor = redactor_for(site=site, redacted=redacted)
    redactor.learn(data)
    kept = {key: data[key] for key in ("schema",)}
    return json.dumps({**redactor.again(redactor.data(data)), **kept}, indent=2, ensure_ascii=True) + "\n"


def text(
    machine: Snapshot,
    predictions: Sequence[Prediction],
    findings: Sequence[Finding],
    withheld: Sequence[str] = (),
    trouble: str | None = None,
) -> str:
    """Entry points that go the same way share a row."""
    build = machine.torch.rocm or machine.torch.cuda or ""
    lines = [f"torch {machine.torch.version} for {machine.torch.build} {build}".rstrip(), ""]
    lines += ["What torch will choose", *_chosen(machine, predictions)]
    if machine.gemm_proofs is not None:
        lines += ["", "What ran", *_ran([p for p in machine.gemm_proofs if p.shape is None])]
        lines += _by_shape([p for p in machine.gemm_proofs if p.shape])
        if withheld:
            lines.append(f"  Not passed to the child process, because it runs as root: {', '.join(withheld)}")
    if trouble:
        lines += ["", f"Some products did not run: {trouble}"]
    lines += finding_lines(findings)
    ran = [proof for proof in machine.gemm_proofs or () if proof.outcome == "ran"]
    if ran and not findings and not trouble:
        lines += ["", f"No problems found in the {plural(len(ran), 'product')} that ran."]
    if machine.gemm_proofs is None:
        lines += ["", "Predicted from files and flags. To run one small product of each kind: doctor blas --prove"]
    return "\n".join(lines) + "\n"


def _chosen(machine: Snapshot, predictions: Sequence[Prediction]) -> Iterator[str]:
    ways: dict[tuple[Any, ...], list[Prediction]] = {}
    for one in predictions:
        ways.setdefault((one.library, one.reasons), []).append(one)
    for (library, reasons), together in ways.items():
        yield f"  {_NAMED.get(library, library)}: {_entries(together)}"
        yield from (f"    because {r.text} [{r.source}]" for r in reasons)
        yield from (f"    file {name}" for name in files(machine, library))


def files(machine: Snapshot, library: Library | None) -> Iterator[str]:
    """`PATH (by what the loader takes it)` of a library, and which visible GPUs its kernel files leave out."""
    for loaded in machine.libraries or ():
        if loaded.path and loaded.key.startswith(_FILES.get(library or "", ("\0",))):
            yield f"/{loaded.path.lstrip('/')}" + (f" ({loaded.by})" if loaded.by else "")
    for binary in machine.binaries or ():
        if binary.package == library and binary.gfx:
            archs = visible_archs(machine) or ()
            bare = {g.split(":")[0] for g in binary.gfx}
            without = [a for a in archs if a not in bare]
            said = f"no kernel files for {', '.join(without)}" if without else f"kernel files for {len(bare)} targets"
            yield f"/{binary.key.lstrip('/')}: {said}"
    bundled = (machine.torch.bundled or {}).get(library or "")
    if bundled:
        yield f"came with torch: {library} {bundled}"


def _entries(together: Sequence[Prediction | GemmProof]) -> str:
    types: dict[str, list[str]] = {}
    for one in together:
        types.setdefault(one.entry, []).append(_TYPES.get(one.dtype, one.dtype))
    same = dict.fromkeys(tuple(t) for t in types.values())
    rows = [(", ".join(e for e, t in types.items() if tuple(t) == kinds), " ".join(kinds)) for kinds in same]
    return "; ".join(f"{entries} ({kinds})" for entries, kinds in rows)


def _ran(proofs: Sequence[GemmProof]) -> Iterator[str]:
    ways: dict[tuple[Any, ...], list[GemmProof]] = {}
    for one in proofs:
        kernel = one.kernels[0][:90] if one.kernels else None
        detail = one.detail if one.outcome != "ran" else None
        ways.setdefault((one.outcome, one.library, one.through, one.told_by, one.file, kernel, detail), []).append(one)
    for (outcome, library, through, told_by, file, kernel, detail), together in ways.items():
        if outcome not in ("ran", "wrong"):
            yield f"  {outcome}: {_entries(together)}: {detail}"
            continue
        way = f" through {_NAMED.get(through, through)}" if through else ""
        wrong = " WRONG VALUES" if outcome == "wrong" else ""
        yield f"  {_NAMED.get(library, library)}{way}: {_entries(together)}{wrong}"
        shown = (("by", told_by), ("kernel", kernel), ("file", file))
        yield from (f"    {label} {value}" for label, value in shown if value)
        if detail:
            yield f"    {detail}"


def _by_shape(proofs: Sequence[GemmProof]) -> Iterator[str]:
    """For each kind of product the libraries, by how many shapes they ran; of all but the first which shapes."""
    if proofs:
        yield f"\nBy shape (MxNxK; {plural(len({p.shape for p in proofs}), 'shape')})"
    kinds: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in proofs:
        way = f" through {_NAMED.get(one.through, one.through)}" if one.through else ""
        name = f"{_NAMED.get(one.library, one.library)}{way}" if one.outcome in ("ran", "wrong") else one.outcome
        kinds.setdefault((one.entry, one.dtype), {}).setdefault(name, []).append(str(one.shape))
    for (entry, dtype), took in kinds.items():
        rows = sorted(took.items(), key=lambda row: -len(row[1]))
        rest = [f"{name} {len(shapes)}: {', '.join(shapes)}" for name, shapes in rows[1:]]
        yield f"  {entry} {_TYPES.get(dtype, dtype)}: {'; '.join([f'{rows[0][0]} {len(rows[0][1])}', *rest])}"
