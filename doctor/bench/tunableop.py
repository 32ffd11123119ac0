"""TunableOp's results: checked against this stack, measured again beside the default, and made within a budget.

Tuning is on in a child only: nothing of it stays in the environment, and the results are written beside, never loaded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from doctor.bench.plan import sizes
from doctor.bench.results import times_of, word
from doctor.bench.runner import Runner
from doctor.bench.statistics import paired_ratio
from doctor.facts.gemm import Tuned
from doctor.findings import Progress
from doctor.parsers.blas.tunableop_csv import Entry

_START_S = 90.0
"""Beside the budget: importing torch, waking the GPU, loading code objects."""


@dataclass
class Tuning:
    """`left`: products that the budget did not reach; `refused`: entries that could not be measured again, and why."""

    tuned: list[Tuned] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    trouble: str | None = None


def cases(shapes: Sequence[str], dtype: str) -> list[dict[str, Any]]:
    """Raises InputError for a shape that is none."""
    for shape in shapes:
        sizes(shape)
    return [{"key": f"{dtype}/{shape}", "dtype": dtype, "shape": shape} for shape in shapes]


def cases_of(entries: Sequence[Entry]) -> tuple[list[dict[str, Any]], list[str]]:
    """Entries that can be measured again (the first of each product, as torch takes it), and why others can not."""
    found: dict[str, dict[str, Any]] = {}
    refused = []
    for entry in entries:
        key = f"{entry.operator}/{entry.shape}"
        if entry.sizes is None or _of_a_part(entry):
            refused.append(f"{key}: part of a larger matrix, or an unknown form")
        elif entry.library != "default":
            case = {"key": key, "operator": entry.operator, "shape": entry.shape, "sizes": list(entry.sizes)}
            found.setdefault(key, {**case, "batch": entry.batch, "solution": entry.solution})
    return list(found.values()), refused


def _of_a_part(entry: Entry) -> bool:
    """Whether its rows lie further apart than the matrix is wide: BLAS counts columns first."""
    match = re.match(r"([nt])([nt])_\d+_\d+_\d+(?:_B_\d+)?_ld_(\d+)_(\d+)_(\d+)", entry.shape)
    if match is None or entry.sizes is None:
        return False  # before torch 2.7 the shape had nothing of it
    m, n, k = entry.sizes
    dense = (m if match[1] == "n" else k, k if match[2] == "n" else n, m)
    return tuple(int(match[number]) for number in (3, 4, 5)) != dense


def make(
    runner: Runner, device: str, todo: Sequence[Mapping[str, Any]], file: str, budget_s: float, done: Tuning
) -> Iterator[Progress]:
    """Tunes, and writes results to `file`. The budget holds within a product too: its process is ended then, and what
    was tuned until then is in the file."""
    request = {"mode": "tune", "device": device, "cases": list(todo), "file": file, "budget_s": budget_s}
    child = runner.child(request, budget_s + _START_S, {"PYTORCH_TUNABLEOP_FILENAME": file})
    child.silence_s = budget_s + _START_S
    begun, began = "", 0.0
    for event in child.events():
        kind, key = event.get("event"), word(event.get("case"))
        if kind == "begin":
            begun, began = key, began or time.monotonic()
            child.until(lambda ends=began + budget_s: time.monotonic() > ends or runner.over.is_set())  # type: ignore[misc]
            yield Progress(f"tuning {key}")
        elif kind == "left":
            done.left.append(key)
        elif kind == "tuned":
            begun = ""
    if child.ended.state in ("stopped", "out-of-time"):
        keys = [str(case["key"]) for case in todo]
        done.left = [f"{begun} (begun)", *keys[keys.index(begun) + 1 :]] if begun in keys else done.left
    elif child.ended.state != "finished":
        done.trouble = child.ended.detail or child.ended.state


def measure(
    runner: Runner,
    device: str,
    todo: Sequence[Mapping[str, Any]],
    file: str,
    done: Tuning,
    validators: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Progress]:
    """Each product with the results of `file` and without, in turn."""
    request: dict[str, Any] = {"mode": "tuned", "device": device, "cases": list(todo), "file": file, "repeats": 100}
    child = runner.child(request, _START_S + 30.0 * len(todo), {"PYTORCH_TUNABLEOP_FILENAME": file})
    for event in child.events():
        kind = event.get("event")
        if kind == "begin":
            yield Progress(word(event.get("case")))
        elif kind == "loaded" and not event.get("taken"):
            reason = ", ".join(_other(event.get("validators"), validators)) or "its validators belong to another stack"
            done.trouble = f"torch did not load the file: {reason}"
        elif kind == "case" and event.get("refused"):
            done.refused.append(f"{word(event.get('case'), 200)}: {word(event['refused'], 200)}")
        elif kind == "case":
            done.tuned += _compared(event, file)
    if child.ended.state != "finished":
        done.trouble = child.ended.detail or child.ended.state


def _other(here: object, made: Mapping[str, str]) -> Iterator[str]:
    """Validators that this torch has otherwise: it compares their text."""
    for one in here[:20] if isinstance(here, list) else ():
        if isinstance(one, list) and len(one) == 2 and made.get(str(one[0]), str(one[1])) != str(one[1]):
            yield f"{word(one[0], 40)} is {word(made[str(one[0])], 80)} in the file, {word(one[1], 80)} on this machine"


def placed(output: Path, device: str) -> tuple[Path, str]:
    """(the file, what PYTORCH_TUNABLEOP_FILENAME has to say): torch puts the number of the GPU before the last dot of
    that variable, or in the place of %d (ATen/cuda/tunable/Tunable.cpp), so that a file of the variable's own name is
    never found.

    >>> [str(one) for one in placed(Path("out/tuned.csv"), "cuda:3")]
    ['out/tuned3.csv', 'out/tuned.csv']
    >>> [str(one) for one in placed(Path("tuned0.csv"), "cuda:0")]
    ['tuned0.csv', 'tuned.csv']
    """
    number = device.rpartition(":")[2] or "0"
    name = str(output)
    if "%d" in name:
        return Path(name.replace("%d", number, 1)), name
    stem, dot, suffix = name.rpartition(".")
    if "/" in suffix:  # the last dot is a folder's: torch would put the number there
        return Path(name + number), name + "%d"
    if not dot:
        stem, suffix = name, ""
    if stem.endswith(number) and not stem[: -len(number)].endswith(("/", *"0123456789")) and stem != number:
        return output, f"{stem[: -len(number)]}{dot}{suffix}"
    return Path(f"{stem}{number}{dot}{suffix}"), name


def _compared(event: Mapping[str, Any], file: str) -> list[Tuned]:
    sent = event.get("times")
    times = {str(n): times_of(t) for n, t in sent.items()} if isinstance(sent, dict) else {}
    shape = word(event.get("case"), 300)
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
