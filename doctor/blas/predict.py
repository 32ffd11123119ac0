"""Which BLAS library each matrix product of torch will take, from facts, with the chain of reasons.

The rules of torch on ROCm changed four times, and one entry point goes its own way: see the table `blas_selection`
(`doctor knowledge show blas_selection`), read from torch's headers and pull requests. What no source tells is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from doctor.blas.selection import all_in, archs_of, is_fork, row_of
from doctor.facts.snapshot import Snapshot
from doctor.versions import Dotted

Library = Literal["hipblaslt", "rocblas", "cublas", "cublaslt", "cpu"]
ENTRIES = ("mm", "addmm", "linear", "linear-bias", "bmm", "baddbmm", "scaled_mm", "grouped_mm")
DTYPES: Mapping[str, tuple[str, ...]] = {
    "scaled_mm": ("float8",),
    "grouped_mm": ("bfloat16",),
}
"""Of the entry points that take less than these."""
_USUAL = ("float32", "bfloat16", "float16")
_PREFER = ("TORCH_BLAS_PREFER_HIPBLASLT", "TORCH_BLAS_PREFER_CUBLASLT")
_NO_FUSED_BIAS = "DISABLE_ADDMM_CUDA_LT"
_ON = ("1",)
"""torch reads its boolean variables as exactly 1 or 0; anything else warns and counts as unset (c10/util/env.cpp)."""
_FUSED_SOURCE = "https://github.com/pytorch/pytorch/pull/174350"


@dataclass(frozen=True)
class Reason:
    """One link of the chain: what holds, and where it is from (a fact's source, or a table's)."""

    text: str
    source: str


@dataclass(frozen=True)
class Prediction:
    """`library` None: no source tells."""

    entry: str
    dtype: str
    library: Library | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Choice:
    """What torch prefers for plain products, why, and whether hipBLASLt has code for every visible GPU."""

    library: Library | None
    reasons: tuple[Reason, ...]
    supported: bool | None = None


def predict(machine: Snapshot) -> tuple[Prediction, ...]:
    """One for each entry point and dtype. Empty where no torch is known."""
    if machine.torch.version is None or machine.torch.build is None:
        return ()
    choice = preferred(machine)
    ways = {entry: _of_entry(machine, entry, choice) for entry in ENTRIES}
    return tuple(Prediction(entry, dtype, *ways[entry]) for entry in ENTRIES for dtype in DTYPES.get(entry, _USUAL))


def preferred(machine: Snapshot) -> Choice:
    """The library of `torch.mm` on this machine's GPUs."""
    if machine.torch.build == "rocm":
        return on_rocm(machine)
    if machine.torch.build == "cuda":
        return _on_cuda(machine)
    if machine.torch.build == "cpu":
        return Choice("cpu", (Reason("this torch has no GPU build", machine.source("torch.build")),))
    return Choice(None, ())


def _of_entry(machine: Snapshot, entry: str, choice: Choice) -> tuple[Library | None, tuple[Reason, ...]]:
    if choice.library == "cpu":
        if entry not in ("scaled_mm", "grouped_mm"):
            return "cpu", choice.reasons
        return None, (Reason(f"no source says which library _{entry} uses on a CPU", "-"),)
    if _flag(machine, "PYTORCH_TUNABLEOP_ENABLED") in _ON:
        text = "TunableOp is on: each shape takes what its results file says, or what it measures"
        return None, (Reason(text, "environment:PYTORCH_TUNABLEOP_ENABLED"),)
    if entry == "scaled_mm":
        only = Reason("only this library has scaled products", "https://github.com/pytorch/pytorch/pull/122106")
        return "hipblaslt" if machine.torch.build == "rocm" else "cublaslt", (only,)
    if entry == "grouped_mm":
        return None, (Reason("no source says which library _grouped_mm uses", "-"),)
    if entry == "linear-bias":
        return _fused(machine, choice)
    return choice.library, choice.reasons


def _flag(machine: Snapshot, *names: str) -> str | None:
    environment = machine.environment or {}
    return next((environment[name] for name in names if name in environment), None)


def _on_cuda(machine: Snapshot) -> Choice:
    """cuBLAS, unless cuBLASLt is asked for (since 2.4)."""
    version = Dotted(machine.torch.version or "")
    source = "https://github.com/pytorch/pytorch/pull/122106"
    if version >= Dotted("2.4") and _flag(machine, "TORCH_BLAS_PREFER_CUBLASLT") in _ON:
        return Choice("cublaslt", (Reason("TORCH_BLAS_PREFER_CUBLASLT=1", "environment:TORCH_BLAS_PREFER_CUBLASLT"),))
    return Choice("cublas", (Reason("torch's default on CUDA", source),))


def on_rocm(machine: Snapshot) -> Choice:
    """The same for a torch that is known to be, or taken for, a build for ROCm."""
    version = Dotted(machine.torch.version or "")
    built = Reason(f"torch {machine.torch.version} for ROCm", machine.source("torch.version"))
    row = row_of(version, is_fork(machine.torch.version or ""))
    if row is None:
        return Choice(None, (built, Reason("the knowledge base has no selection rule for this torch", "-")))
    source = str(row.get("source", "-"))
    archs = visible_archs(machine)
    supported = all_in(archs, archs_of(row, "supported_archs", machine.torch.rocm), row.get("unsure_archs", ()))
    asked, variable = _asked(machine, version)
    if version < Dotted("2.4"):
        return Choice("rocblas", (built, Reason("before 2.4 plain products always use rocBLAS", source)), supported)
    if version < Dotted("2.5"):
        default: Library = "hipblaslt" if asked in _ON else "rocblas"
        said = f"{variable}=1" if asked in _ON else "2.4 uses rocBLAS by default"
        return _checked(default, (built, Reason(said, source)), supported, archs)
    if asked in _ON:
        return _checked("hipblaslt", (built, Reason(f"{variable}=1", f"environment:{variable}")), supported, archs)
    if version < Dotted("2.7"):
        if asked == "0":
            return Choice("rocblas", (built, Reason(f"{variable}=0", f"environment:{variable}")), supported)
        return _checked("hipblaslt", (built, Reason("2.5 and 2.6 use hipBLASLt by default", source)), supported, archs)
    return _by_list(machine, row, (built, *_ignored_zero(asked, variable, version)), archs, supported, asked, variable)


def _by_list(
    machine: Snapshot,
    row: Mapping[str, Any],
    reasons: tuple[Reason, ...],
    archs: Sequence[str] | None,
    supported: bool | None,
    asked: str | None,
    variable: str,
) -> Choice:
    """Since 2.7: hipBLASLt where every visible GPU is in the list of the preferred."""
    source = str(row.get("source", "-"))
    if asked == "0" and Dotted(machine.torch.version or "") >= Dotted("2.12"):
        return Choice("rocblas", (*reasons, Reason(f"{variable}=0", f"environment:{variable}")), supported)
    listed = archs_of(row, "preferred_archs", machine.torch.rocm)
    if archs is None or listed is None:
        return Choice(
            None,
            (*reasons, Reason("the visible GPUs, or the list of preferred GPUs, are not known", source)),
            supported,
        )
    outside = [arch for arch in archs if arch not in listed]
    if not outside:
        why = Reason(f"every visible GPU ({_these(archs)}) is preferred", source)
        return Choice("hipblaslt", (*reasons, why), True)  # what is preferred is supported
    alone = len(outside) < len(archs)
    text = f"{outside[0]} is not preferred" + (", and one such GPU decides for the whole process" if alone else "")
    return Choice("rocblas", (*reasons, Reason(text, source)), supported)


def _checked(
    library: Library, reasons: tuple[Reason, ...], supported: bool | None, archs: Sequence[str] | None
) -> Choice:
    """An unsupported GPU turns hipBLASLt into rocBLAS, with a warning."""
    if library == "rocblas":
        return Choice(library, reasons, supported)
    if supported is None:
        return Choice(None, (*reasons, Reason("whether every visible GPU is supported is not known", "-")), supported)
    if not supported:
        text = f"a visible GPU ({_these(archs)}) is not supported: torch warns and overrides to rocBLAS"
        return Choice(
            "rocblas", (*reasons, Reason(text, "https://github.com/pytorch/pytorch/issues/138067")), supported
        )
    return Choice(library, reasons, supported)


def _ignored_zero(asked: str | None, variable: str, version: Dotted) -> Iterator[Reason]:
    if asked == "0" and version < Dotted("2.12"):
        source = "https://github.com/pytorch/pytorch/pull/174377"
        yield Reason(f"{variable}=0 is ignored by torch 2.7 to 2.11: it counts as the default", source)


def _asked(machine: Snapshot, version: Dotted) -> tuple[str | None, str]:
    """2.5 and 2.6 do not read the name with CUBLASLT on ROCm; of the two a 1 counts before a 0 (ATen/Context.h)."""
    names = _PREFER[:1] if Dotted("2.5") <= version < Dotted("2.7") else _PREFER
    environment = machine.environment or {}
    for value in (*_ON, "0"):
        name = next((name for name in names if environment.get(name) == value), None)
        if name:
            return value, name
    return None, _PREFER[0]


def _fused(machine: Snapshot, choice: Choice) -> tuple[Library | None, tuple[Reason, ...]]:
    """addmm with a bias of one dimension, which is what F.linear with a bias calls."""
    version, off = Dotted(machine.torch.version or ""), _flag(machine, _NO_FUSED_BIAS)
    switched = Reason(f"{_NO_FUSED_BIAS}=1 disables the fused path", f"environment:{_NO_FUSED_BIAS}")
    if machine.torch.build == "cuda":
        if off in _ON:
            return choice.library, (switched, *choice.reasons)
        return "cublaslt", (Reason("a fused bias is an epilogue of cuBLASLt", _FUSED_SOURCE),)
    if version < Dotted("2.4"):
        source = "https://github.com/pytorch/pytorch/issues/119081"
        return choice.library, (*choice.reasons, Reason("the fused bias is off by default on ROCm", source))
    if off in _ON:
        return choice.library, (switched, *choice.reasons)
    if off is None and version >= Dotted("2.12"):
        follows = Reason("since 2.12 the fused bias follows what is preferred", _FUSED_SOURCE)
        return choice.library, (*choice.reasons, follows)
    if choice.supported is None:
        return None, (*choice.reasons, Reason("whether hipBLASLt supports every visible GPU is not known", "-"))
    if not choice.supported:
        return choice.library, (*choice.reasons, Reason("hipBLASLt does not support every visible GPU", _FUSED_SOURCE))
    if version < Dotted("2.12"):
        text = "before 2.12 the fused bias takes hipBLASLt whatever is preferred"
        return "hipblaslt", (Reason(text, "https://github.com/pytorch/pytorch/pull/174377"),)
    kept = Reason(f"{_NO_FUSED_BIAS}={off} keeps the fused path", f"environment:{_NO_FUSED_BIAS}")
    return "hipblaslt", (kept,)


def visible_archs(machine: Snapshot) -> tuple[str, ...] | None:
    """gfx targets of the AMD GPUs that a process sees; None where one is not known."""
    gpus = machine.of_vendor("amd")
    seen = [g for g in gpus if g.index.visible is not None] if any(g.index.visible is not None for g in gpus) else gpus
    archs = [g.arch.split(":")[0] if g.arch else None for g in seen]
    if not archs or None in archs:
        return None
    return tuple(dict.fromkeys(a for a in archs if a))


def _these(archs: Sequence[str] | None) -> str:
    return ", ".join(archs or ()) or "unknown"
