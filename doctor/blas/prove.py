"""Matrix products under the user's Python, and what really ran: library, kernel, file.

Three witnesses: the libraries' own logs, the profiler's kernel names, and the memory map of the process. A product that
kills the process costs itself alone: the rest runs in another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from doctor.blas.predict import Prediction
from doctor.facts.gemm import GemmProof, Outcome
from doctor.findings import Progress
from doctor.parsers.blas import gemm_kernel, gemm_log
from doctor.parsers.lib.printable import clean
from doctor.system.user_python import Bounds, Child, Ended, environment, tunable

SCRIPT = Path(__file__).parent / "scripts/prove_child.py"
BOUNDS = Bounds(total_s=300, silence_s=90, memory_bytes=16 << 30)
"""The first product of a GPU process loads code objects of gigabytes; no product takes a minute by itself."""
_FULL_S = 1200.0
_MOST_CHILDREN = 6
_ROWS = (1, 16, 128, 1000, 4096)
_WEIGHTS = ((4096, 4096), (6144, 4096), (4096, 14336), (14336, 4096), (1280, 8192), (50257, 768))
"""(N, K) of layers of language models; the last has a size that no vector divides."""
_SHAPED = (("bfloat16", ("mm", "linear", "linear-bias", "addmm", "bmm")), ("float8", ("scaled_mm",)))
LOGGING: Mapping[str, str] = {
    "HIPBLASLT_LOG_MASK": "32",
    "ROCBLAS_LAYER": "11",
    "CUBLASLT_LOG_LEVEL": "2",
    "CUBLAS_LOGINFO_DBG": "1",
    "CUBLAS_LOGDEST_DBG": "stderr",
    "MKL_VERBOSE": "1",
    "ONEDNN_VERBOSE": "1",
}
"""11: rocBLAS's trace, bench and internal layers; the last since ROCm 7.0."""
_ELSEWHERE = (
    "HIPBLASLT_LOG_FILE",
    "HIPBLASLT_LOG_LEVEL",
    "ROCBLAS_LOG_PATH",
    "ROCBLAS_LOG_TRACE_PATH",
    "ROCBLAS_LOG_BENCH_PATH",
    "ROCBLAS_LOG_PROFILE_PATH",
    "CUBLASLT_LOG_FILE",
    "CUBLASLT_LOG_MASK",
    "MKL_VERBOSE_OUTPUT_FILE",
    "DNNL_VERBOSE",
)
"""Would send the logs to where they are not read."""
_FILES = {
    "hipblaslt": ("libhipblaslt.so",),
    "rocblas": ("librocblas.so",),
    "ck": ("libtorch_hip.so",),
    "cublas": ("libcublas.so",),
    "cublaslt": ("libcublasLt.so",),
    "mkl": ("libmkl_rt.so", "libmkl_core.so", "libtorch_cpu.so"),
    "onednn": ("libdnnl.so", "libmkldnn.so", "libtorch_cpu.so"),
    "openblas": ("libopenblas",),
    "torch": ("libtorch_cpu.so",),
}
"""Where a library's code lies: its own file, or torch's where it is linked in; the first that is mapped."""


@dataclass
class Proved:
    """All products, what torch says of itself, and how the processes ended."""

    proofs: list[GemmProof] = field(default_factory=list)
    torch: dict[str, str] = field(default_factory=dict)
    """`version`, `hip`, `cuda`, `device`, `gpu`, `arch`, `preferred`"""
    files: tuple[str, ...] = ()
    ended: list[Ended] = field(default_factory=list)
    trouble: str | None = None
    """Why no product could be run at all."""


def shaped(cpu: bool) -> list[str]:
    """Products of 30 shapes: from one row, as in decoding, to those of training. For a CPU an eighth of each size."""
    by = 8 if cpu else 1
    sizes = [(max(1, rows // by), n // by, k // by) for n, k in _WEIGHTS for rows in _ROWS]
    return [f"{entry}/{dtype}/{m}x{n}x{k}" for dtype, entries in _SHAPED for entry in entries for m, n, k in sizes]


def prove(
    python: str,
    predictions: Sequence[Prediction],
    environ: Mapping[str, str],
    bounds: Bounds = BOUNDS,
    device: str | None = None,
    script: Path = SCRIPT,
    more: Sequence[str] = (),
) -> Iterator[Progress | Proved]:
    """Yields progress, and at last what was proved: of each prediction, and of `more` products with a shape. The caller
    has seen to it that `python` may be run."""
    proved = Proved()
    events: list[dict[str, Any]] = []
    cases = [*(f"{p.entry}/{p.dtype}" for p in predictions), *more]
    left, total = list(cases), len(cases)
    if more:
        bounds = replace(bounds, total_s=_FULL_S)
    env = environment(environ, LOGGING, (*_ELSEWHERE, *tunable(environ)))
    for _ in range(_MOST_CHILDREN):
        if not left:
            break
        child = Child(python, script, {"cases": left, "device": device}, env, bounds)
        begun: str | None = None
        for event in child.events():
            events.append(event)
            if event.get("event") == "begin":
                begun = str(event.get("case"))
                yield Progress(f"{total - len(left) + 1} of {total}: {begun}")
            elif event.get("event") == "case" and event.get("case") in left:
                left.remove(str(event["case"]))
                begun = None
        proved.ended.append(child.ended)
        if child.ended.state == "finished" and begun is None:
            break
        why = child.ended.detail or "ended without a word"
        if begun is None or begun not in left:
            proved.trouble = why
            break
        events.append({"event": "died", "case": begun, "state": child.ended.state, "detail": why})
        left.remove(begun)
    yield from_events(events, predictions, proved, more)


def from_events(
    events: Sequence[Mapping[str, Any]],
    predictions: Sequence[Prediction],
    proved: Proved | None = None,
    more: Sequence[str] = (),
) -> Proved:
    proved = proved or Proved()
    small = {f"{p.entry}/{p.dtype}": p.library for p in predictions}
    predicted = {**small, **{key: small.get(key.rpartition("/")[0]) for key in more}}
    files: dict[str, None] = {}
    speaking: set[str] = set()
    logs = {id(e): gemm_log.read(str(e.get("log") or "")) for e in events if e.get("event") == "case"}
    for event in events:
        if event.get("event") in ("torch", "end"):
            proved.torch.update({k: clean(str(v), 200) for k, v in event.items() if v is not None and k in _TOLD})
        files.update(dict.fromkeys(clean(str(f), 1000) for f in list(event.get("files") or ())[:400]))
        if id(event) in logs:
            speaking |= logs[id(event)].speaking
    proved.files = tuple(files)
    for event in events:
        key = str(event.get("case"))
        if event.get("event") == "case" and key in predicted:
            proved.proofs.append(_proof(event, logs[id(event)], speaking, proved, predicted[key]))
        elif event.get("event") == "died":
            state: Outcome = _DIED.get(str(event["state"]), "crashed")
            detail = clean(str(event["detail"]), 300)
            proved.proofs.append(GemmProof(**_named(key), outcome=state, detail=detail, predicted=predicted.get(key)))
    seen = {p.key for p in proved.proofs}
    for key, library in predicted.items():
        if key not in seen:
            said = proved.trouble or "an earlier product ended the process"
            proved.proofs.append(GemmProof(**_named(key), outcome="not-run", detail=said, predicted=library))
    return proved


def _named(key: str) -> dict[str, Any]:
    entry, dtype, *shape = key.split("/")
    return {"key": key, "entry": entry, "dtype": dtype, "shape": shape[0] if shape else None}


_TOLD = ("version", "hip", "cuda", "device", "gpu", "arch", "preferred")
_DIED: Mapping[str, Outcome] = {"hung": "hung", "out-of-time": "hung", "out-of-memory": "out-of-memory"}
_OUTCOMES: Mapping[str, Outcome] = {"ran": "ran", "wrong": "wrong", "refused": "refused", "not-run": "not-run"}


def _proof(
    event: Mapping[str, Any], log: gemm_log.GemmLog, speaking: set[str], proved: Proved, predicted: str | None
) -> GemmProof:
    key = str(event["case"])
    kernels = tuple(clean(str(k), 300) for k in event.get("kernels") or () if gemm_kernel.is_product(str(k)))[:8]
    outcome = _OUTCOMES.get(str(event.get("outcome")), "refused")
    on_gpu = str(proved.torch.get("device", "cpu")).startswith("cuda")
    found = witness(log, kernels, speaking, on_gpu) if outcome in ("ran", "wrong") else Witness(None, None)
    if found.library in (None, "torch") and not on_gpu and outcome in ("ran", "wrong"):
        found = _silent(key.split("/")[1], speaking, proved.files) or found
    error = event.get("error")
    relative = float(error) if isinstance(error, (int, float)) else None
    detail = event.get("detail")
    if outcome == "wrong":
        detail = f"relative error {relative:.2g}; {event.get('tolerance')} is allowed"
    return GemmProof(
        **_named(key),
        outcome=outcome,
        detail=clean(str(detail), 300) if detail else None,
        device=proved.torch.get("gpu") or proved.torch.get("device"),
        library=found.library,
        told_by=found.told_by,
        through=found.through,
        kernels=kernels or tuple(c.kernel for c in log.calls if c.kernel)[:4],
        calls=tuple(c.line for c in log.calls)[:6],
        warnings=log.warnings[:6],
        file=_file(found.library, proved.files),
        predicted=predicted,
        relative_error=relative,
    )


@dataclass(frozen=True)
class Witness:
    library: str | None
    told_by: str | None
    through: str | None = None


def witness(log: gemm_log.GemmLog, kernels: Sequence[str], speaking: Set[str], on_gpu: bool) -> Witness:
    """The library whose kernel ran. Where log and kernel differ the kernel is what ran, and the log says through whom:
    rocBLAS hands products on to hipBLASLt."""
    called = list(dict.fromkeys(c.library for c in log.calls))
    if on_gpu:
        called = [c for c in called if c not in ("mkl", "onednn")]
    makers = list(dict.fromkeys(m for k in kernels if (m := gemm_kernel.library(k))))
    made = makers[0] if makers else None
    if made == "nvidia":
        # cuBLAS runs on cuBLASLt's kernels and may call it: the outermost library is the one that torch chose.
        chosen = "cublas" if "cublas" in called else "cublaslt" if "cublaslt" in called else None
        return Witness(chosen, "log and kernel name" if chosen else None)
    if made is not None:
        through = next((c for c in called if c != made), None)
        return Witness(made, "log and kernel name" if made in called else "kernel name", through)
    if "rocblas" in called and ("hipblaslt" in called or "hipblaslt" in log.backends):
        return Witness("hipblaslt", "log", "rocblas")
    if "cublas" in called:
        return Witness("cublas", "log")
    if called:
        return Witness(called[-1], "log")
    if not on_gpu and speaking & {"mkl", "onednn"}:
        return Witness("torch", "the logs of MKL and oneDNN, which did not see it")
    return Witness(None, None)


def _silent(dtype: str, speaking: Set[str], files: Sequence[str]) -> Witness | None:
    """OpenBLAS logs nothing: it is what a torch without MKL calls for the types that BLAS has."""
    if dtype != "float32" or "mkl" in speaking:
        return None
    if any("openblas" in f for f in files):
        return Witness("openblas", "memory map; no log of another library saw it")
    return Witness(None, None) if any("/libblas.so" in f for f in files) else None


def _file(library: str | None, files: Sequence[str]) -> str | None:
    for name in _FILES.get(library or "", ()):
        found = next((f for f in files if name in f.rpartition("/")[2]), None)
        found = found or (next((f for f in files if "openblas" in f), None) if library == "openblas" else None)
        if found:
            return found
    return None
