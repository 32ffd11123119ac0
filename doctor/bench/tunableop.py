"""TunableOp's results: judged against the stack at hand, measured again beside the default, and made within a budget.

Tuning is on in a child only: nothing of it stays in the environment, and the results are written beside, never loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doctor.bench.plan import sizes
from doctor.bench.results import times_of, word
from doctor.bench.run import Runner
from doctor.bench.statistics import paired_ratio
from doctor.facts.gemm import Tuned
from doctor.facts.snapshot import Snapshot
from doctor.findings import Progress
from doctor.readers.tunableop_csv import Entry
from doctor.versions import Dotted

_BYTES = {"BFloat16": 2, "Half": 2, "Float": 4, "double": 8, "float": 4, "Float8": 1}


@dataclass(frozen=True)
class Judged:
    """`stale`: why torch will not take the file at all. `operand_bytes`: of the largest entry's three matrices, which
    tuning holds once more for its check."""

    stale: tuple[str, ...]
    entries: int
    default: int
    """Entries that chose what torch takes anyway."""
    by_library: Mapping[str, int]
    operand_bytes: int


def judge_file(validators: Mapping[str, str], entries: Sequence[Entry], machine: Snapshot) -> Judged:
    """By the file and the facts alone."""
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.library] = counts.get(entry.library, 0) + 1
    largest = max((_operands(entry) for entry in entries), default=0)
    return Judged(tuple(_stale(validators, machine)), len(entries), counts.get("default", 0), counts, largest)


def _stale(validators: Mapping[str, str], machine: Snapshot) -> Iterator[str]:
    """Torch compares each validator's text with the stack at hand, and takes nothing where one differs."""
    version = (machine.torch.version or "").partition("+")[0]
    made = validators.get("PT_VERSION", "").partition("+")[0]
    if made and version and made != version:
        yield f"PT_VERSION is {made}, and torch {version} is here"
    rocm = validators.get("ROCM_VERSION", "")
    if rocm and machine.torch.rocm and Dotted(rocm).series() != Dotted(machine.torch.rocm).series():
        yield f"ROCM_VERSION is {rocm}, and torch is for {machine.torch.rocm}"
    arch = validators.get("GCN_ARCH_NAME", "").partition(":")[0]
    here = {str(g.arch).partition(":")[0] for g in machine.of_vendor("amd") if g.arch}
    if arch and here and arch not in here:
        yield f"GCN_ARCH_NAME is {arch}, and {', '.join(sorted(here))} is here"


def _operands(entry: Entry) -> int:
    if entry.sizes is None:
        return 0
    m, n, k = entry.sizes
    each = next((size for name, size in _BYTES.items() if name in entry.operator), 2)
    return (m * k + k * n + m * n) * each * entry.batch


@dataclass
class Tuning:
    """`file`: the results as text; `left`: shapes that the budget did not reach."""

    tuned: list[Tuned] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    memory_bytes: int | None = None
    trouble: str | None = None


def tune(
    runner: Runner, device: str, shapes: Sequence[str], dtype: str, file: str, budget_s: float, make: bool
) -> Iterator[Progress | Tuning]:
    """With `make` the results are tuned first and written to `file`; then each product is measured with them and
    without, in turn. Yields progress, and at last the outcome."""
    for shape in shapes:
        sizes(shape)
    done = Tuning()
    request: dict[str, Any] = {"mode": "tuned", "device": device, "shapes": list(shapes), "dtype": dtype, "file": file}
    request |= {"tune": make, "budget_s": budget_s, "repeats": 100}
    # A single product's tuning can't be interrupted from inside: the child's deadline is the hard end of the budget.
    child = runner.child(request, budget_s * 2 + 120.0 + 15.0 * len(shapes), {"PYTORCH_TUNABLEOP_FILENAME": file})
    child.silence_s = budget_s + runner.silence_s
    for event in child.events():
        kind = event.get("event")
        if kind == "begin":
            yield Progress(word(event.get("case")))
        elif kind == "left":
            done.left.append(word(event.get("shape")))
        elif kind == "loaded" and not event.get("taken"):
            done.trouble = "torch did not take the file: its validators are of another stack"
        elif kind == "case":
            done.tuned += _compared(event, file)
            memory = event.get("memory")
            if isinstance(memory, int):
                done.memory_bytes = max(memory, done.memory_bytes or 0)
    if child.ended.state != "finished":
        done.trouble = child.ended.detail or child.ended.state
    yield done


def _compared(event: Mapping[str, Any], file: str) -> list[Tuned]:
    sent = event.get("times")
    times = {str(n): times_of(t) for n, t in sent.items()} if isinstance(sent, dict) else {}
    shape = word(event.get("case")).removeprefix("tuned/")
    return [
        Tuned(
            key=f"{name}/{shape}",
            file=file.rpartition("/")[2],
            solution=name,
            ratio=paired_ratio(times[f"{name}+tuned"], taken),
            detail=word(event.get("wrong"), 300) or None,
        )
        for name, taken in times.items()
        if f"{name}+tuned" in times
    ]
