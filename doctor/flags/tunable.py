"""TunableOp's own look: is it on, does it tune, are its results there and of this stack, which of them lose, what
memory is at risk.

torch takes a results file only where every validator is its own, and the first row of a shape (TuningResultsManager:
a later one is ignored); after a mismatch a tuning run overwrites the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.findings import Evidence, Finding, Remedy, Severity, Subject, fingerprint
from doctor.flags.situation import Situation, release
from doctor.knowledge.store import table
from doctor.parsers.blas import tunableop_csv

RULE = "tunableop-misconfigured"
ENABLED, TUNING, FILENAME = "PYTORCH_TUNABLEOP_ENABLED", "PYTORCH_TUNABLEOP_TUNING", "PYTORCH_TUNABLEOP_FILENAME"
_DEFAULT_FILE = "tunableop_results.csv"
_BYTES = {"double": 8, "float": 4, "Half": 2, "BFloat16": 2, "Float8": 1}


class File(NamedTuple):
    """A results file that was looked for. `text` None: it is not there."""

    path: str
    text: str | None


def is_on(env: Mapping[str, str]) -> bool:
    return env.get(ENABLED) == "1"


def tunes(env: Mapping[str, str]) -> bool:
    """Tuning is on unless it is turned off."""
    return is_on(env) and env.get(TUNING, "1") != "0"


def names(env: Mapping[str, str], devices: int) -> tuple[str, ...]:
    """The files that torch looks for, one a device: %d, or the ordinal before the ending.

    >>> names({}, 2), names({"PYTORCH_TUNABLEOP_FILENAME": "/r/t%d.csv"}, 1)
    (('tunableop_results0.csv', 'tunableop_results1.csv'), ('/r/t0.csv',))
    """
    text = env.get(FILENAME) or _DEFAULT_FILE
    if "%d" in text:
        return tuple(text.replace("%d", str(n)) for n in range(devices))
    stem, dot, ending = text.rpartition(".")
    return tuple(f"{stem}{n}.{ending}" if dot else f"{text}{n}" for n in range(devices))


def look(situation: Situation, files: tuple[File, ...]) -> Iterator[Finding]:
    """What is wrong with TunableOp here; nothing where it is off and no results lie about."""
    env = situation.env
    there = [f for f in files if f.text is not None]
    if is_on(env):
        if not there and files and not tunes(env):
            missing = ", ".join(f.path for f in files[:4])
            yield _finding(
                "error", f"TunableOp is on without tuning, and no results are at {missing}", "tunable-no-file", env
            )
        elif there and len(there) < len(files):
            missing = ", ".join(f.path for f in files if f.text is None)
            yield _finding("warning", f"some GPUs have no results: {missing}"[:300], "tunable-no-file", env)
        if tunes(env):
            yield _tuning(situation, there)
    for file in there:
        yield from _results(file, situation)


def _tuning(situation: Situation, there: list[File]) -> Finding:
    grave = "error" if situation.context("serving") else "warning" if situation.context("production") else "info"
    text = "TunableOp tunes each new shape while the program runs"
    if situation.env.get(TUNING) is None:
        text += f": {TUNING} is 1 unless it is set to 0"
    extra = tuple(_memory(situation, there))
    made = _finding(grave, text, "tunable-tuning-in-prod", situation.env)
    return made.model_copy(update={"evidence": (*made.evidence, *extra)})


def _memory(situation: Situation, there: list[File]) -> Iterator[Evidence]:
    """What tuning may take: copies of the largest GEMM's matrices, the rotating buffer, leaks of that torch."""
    rotating = situation.env.get("PYTORCH_TUNABLEOP_ROTATING_BUFFER_SIZE", "")
    if rotating.isdigit() and int(rotating[:7]):
        yield Evidence(text=f"memory at risk: {rotating[:7]} MiB of rotating buffer a GPU", source="environment")
    sizes = [size for f in there for r in tunableop_csv.entries(f.text or "") if (size := _bytes(r))]
    if sizes:
        text = f"memory at risk: {max(sizes) >> 20} MiB, the matrices of the largest GEMM once more"
        yield Evidence(text=text, source=there[0].path)
    version = release(situation.version("torch"))[:2]
    for issue in table("amd_known_issues").values():
        affected = str((issue.get("affected") or {}).get("torch", ""))
        if "tunableop" in str(issue["id"]) and version and _within(version, affected):
            yield Evidence(text=f"{issue['id']}: {issue['title']}", source=str(issue["source"]))


def _within(version: tuple[int, ...], affected: str) -> bool:
    """2.5, or 2.3-2.4."""
    ends = [release(part) for part in re.findall(r"\d+\.\d+", affected)]
    return bool(ends) and ends[0][:2] <= version <= ends[-1][:2]


def _bytes(entry: tunableop_csv.Entry) -> int | None:
    """M·K + K·N + M·N elements, times the batch."""
    width = next((size for word, size in _BYTES.items() if f"_{word}" in entry.operator), None)
    if entry.sizes is None or width is None:
        return None
    m, n, k = entry.sizes
    return (m * k + k * n + m * n) * width * entry.batch


def _results(file: File, situation: Situation) -> Iterator[Finding]:
    text = file.text or ""
    try:
        made = tunableop_csv.read(text, file.path).get("torch.tunableop_validators") or {}
    except ParserError:
        summary = f"{file.path} has no validators: torch takes nothing of it"
        yield _finding("warning", summary, "tunable-file-rejected", {}, file.path)
        return
    mismatched = list(stale(made, situation))
    if mismatched:
        summary = f"{file.path} is of another stack and not used: {'; '.join(mismatched)}"
        yield _finding("warning", summary, "tunable-file-rejected", situation.env, file.path)
    rows = tunableop_csv.entries(text)
    losing = list(_losing(rows))
    if losing:
        first, better = losing[0]
        summary = (
            f"{file.path}:{first.line} keeps {first.solution} ({first.ms} ms) for {first.shape}, and "
            f"{better.solution} of line {better.line} took {better.ms} ms: torch keeps the first"
        )
        yield _finding("warning", f"{summary} ({len(losing)} such shapes)", "tunable-losing-entry", {}, file.path)
    defaults = [row for row in rows if row.library == "default"]
    if rows and len(defaults) == len(rows):
        summary = f"{file.path}: the default won all {len(rows)} shapes, so TunableOp gains nothing"
        yield _finding("info", summary, "tunable-only-defaults", {}, file.path)


def stale(made: Mapping[str, str], situation: Situation) -> Iterator[str]:
    """Validators that differ from what is known to be at hand. torch wants each to be its own, text for text."""
    yield from _frameworks(made, situation)
    for validator, component, rows in _LIBRARIES:
        if validator in made and (other := _other_library(made[validator], component, rows, situation)):
            yield f"{validator} {made[validator][:30]}, {other}"
    archs = [a for a in situation.archs or () if a.startswith("gfx")]
    there = made.get("GCN_ARCH_NAME", "").split(":")[0]
    if archs and there and there not in archs:
        yield f"GCN_ARCH_NAME {there[:20]}, the GPU is {archs[0]}"


_LIBRARIES = (
    ("HIPBLASLT_VERSION", "hipblaslt", "hipblaslt_releases"),
    ("ROCBLAS_VERSION", "rocblas", "rocblas_releases"),
)
"""Validator (the macros of the library's header that torch was compiled with), component, the table of its releases."""


def _other_library(said: str, component: str, rows: str, situation: Situation) -> str | None:
    """What is at hand instead: the library's own version, else those of torch's ROCm; None if it is the same."""
    head, at_hand = said.partition("-")[0], situation.version(component)
    mine = release(head)[:3]
    if head.isdecimal():  # 100201 is 1.2.1 (hipblaslt.h)
        mine = int(head[:-5] or 0), int(head[-5:-2] or 0), int(head[-2:])
    if at_hand:
        numbers = release(at_hand)[:3]
        width = 2 if len(numbers) < 3 or numbers[2] > 999 else 3  # a file's name has ROCm's release there
        return f"{component} is {at_hand[:20]}" if mine[:width] != numbers[:width] else None
    rocm = situation.version("rocm")
    known = _came_with(component, rows, release(rocm)[:2])
    is_other = known and mine not in {release(one)[:3] for one in known}
    return f"ROCm {rocm} has {' or '.join(sorted(known))}" if is_other else None


def _came_with(component: str, rows: str, rocm: tuple[int, ...]) -> frozenset[str]:
    """Versions of a component in all releases of that ROCm; empty where one of them is not known."""
    of = [row for key, row in table(rows).items() if len(rocm) == 2 and release(key)[:2] == rocm]
    releases = [str(row.get(component) or "") for row in of]
    return frozenset(releases) if releases and all(re.fullmatch(r"\d+\.\d+\.\d+", t) for t in releases) else frozenset()


def _frameworks(made: Mapping[str, str], situation: Situation) -> Iterator[str]:
    torch, rocm = situation.version("torch"), situation.version("rocm")
    if torch and made.get("PT_VERSION") and release(made["PT_VERSION"])[:3] != release(torch)[:3]:
        yield f"PT_VERSION {made['PT_VERSION'][:20]}, torch is {torch[:20]}"
    if rocm and made.get("ROCM_VERSION") and release(made["ROCM_VERSION"])[:2] != release(rocm)[:2]:
        yield f"ROCM_VERSION {made['ROCM_VERSION'][:20]}, ROCm is {rocm[:20]}"
    if rocm and re.fullmatch(r"\d{3,4}", made.get("HIP_VERSION", "")):
        major, minor = int(made["HIP_VERSION"][:-2]), int(made["HIP_VERSION"][-2:])
        if (major, minor) != release(rocm)[:2]:
            yield f"HIP_VERSION {made['HIP_VERSION']}, ROCm is {rocm[:20]}"


def _losing(rows: tuple[tunableop_csv.Entry, ...]) -> Iterator[tuple[tunableop_csv.Entry, tunableop_csv.Entry]]:
    """(the row that torch takes, a faster one of the same shape that it ignores)."""
    taken: dict[tuple[str, str], tunableop_csv.Entry] = {}
    for row in rows:
        first = taken.setdefault((row.operator, row.shape), row)
        if row.ms is not None and first.ms is not None and row.ms < first.ms:
            yield first, row


_CURES = {
    "tunable-no-file": f"Tune once and keep the files, or start with {ENABLED}=0.",
    "tunable-tuning-in-prod": f"Start with {TUNING}=0 and the results of an earlier tuning, or with {ENABLED}=0.",
    "tunable-file-rejected": "Tune again in this image; a tuning run overwrites the file.",
    "tunable-losing-entry": "Delete the slower row of each shape, or tune again into a new file.",
    "tunable-only-defaults": f"Start with {ENABLED}=0.",
}


def _finding(severity: str, text: str, what: str, env: Mapping[str, str], path: str = "") -> Finding:
    subject = Subject(kind="file", id=path) if path else Subject(kind="variable", id=ENABLED)
    shown = [n for n in env if n.startswith("PYTORCH_TUNABLEOP_")]
    return Finding(
        rule=RULE,
        severity=Severity(severity),
        summary=f"{text}."[:400],
        subject=subject,
        fingerprint=fingerprint(f"{RULE} {what}", subject),
        evidence=(
            *(Evidence(text=f"{n}={env[n][:80]}", source="environment") for n in shown[:8]),
            Evidence(text=what, source="aten/src/ATen/cuda/tunable"),
        ),
        remedies=(Remedy.by_hand(_CURES[what]),),
    )
