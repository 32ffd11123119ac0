"""`doctor bench tune`: check, measure again or make TunableOp's results within a time budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.bench.runner import Runner
    from doctor.bench.tunableop import Tuning
    from doctor.cli.site_options import Destination
    from doctor.facts import Snapshot
    from doctor.findings import Finding

_TO_LOAD = "PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=0 PYTORCH_TUNABLEOP_FILENAME"


def tune(
    machine: Snapshot,
    runner: Runner,
    device: str | None,
    shapes: list[str],
    budget: float,
    results: Path | None,
    format_: str,
    to: Destination,
) -> int:
    """Writes what was tuned beside `-o` (never over a file), and compares. The variables that load it are printed, not
    set. With `results` that file is checked, and its entries are measured again."""
    from doctor.bench import tunableop
    from doctor.errors import ExitCode, InputError

    gpu = device or "cuda:0"
    no_gpu = machine.torch.build == "cpu" or device == "cpu"
    done = tunableop.Tuning()
    if results is not None:
        lines, todo, validators = _judged_file(results, machine, done)
        if no_gpu:
            return _written([*lines, "not measured again: torch has no GPU here"], format_, None, [], to)
        _again(runner, gpu, todo, results, validators, done)
        where = to
    else:
        if no_gpu:
            raise InputError("TunableOp needs a GPU; torch sees none here")
        lines, where = _made(runner, gpu, shapes, budget, to.path, done), to._replace(path=None)
    lines += [f"not reached within the budget: {key}" for key in done.left]
    lines += [f"not measured again: {why}" for why in done.refused]
    if done.trouble:
        lines.append(f"trouble: {done.trouble}")
    from doctor.cli import measured

    findings = list(measured.report_of(machine, {"tuned": tuple(done.tuned)}).counted())
    code = _written(lines, format_, done, findings, where)
    return ExitCode.FINDINGS if done.trouble else code


def _made(runner: Runner, gpu: str, shapes: list[str], budget: float, output: Path | None, done: Tuning) -> list[str]:
    """Tunes within the budget, writes, and measures with and without. Raises InputError before anything is run where
    the file is there already."""
    import shlex
    import tempfile

    from doctor.bench import tunableop
    from doctor.bench.plan import GEMM_SHAPES
    from doctor.cli import waiting
    from doctor.cli.output import deliver
    from doctor.errors import InputError
    from doctor.parsers.blas import tunableop_csv

    file, variable = tunableop.placed(output, gpu) if output else (None, "")
    if file is not None and file.exists():
        raise InputError(f"-o {output}: {file} already exists; doctor does not overwrite it")
    todo = tunableop.cases(shapes or list(GEMM_SHAPES), "bfloat16")
    with tempfile.TemporaryDirectory(prefix="tune-") as scratch:
        held = Path(scratch) / "results.csv"
        for event in tunableop.make(runner, gpu, todo, str(held), budget, done):
            waiting.say(event.what)
        made = held.read_text(encoding="utf-8", errors="replace") if held.is_file() else ""
        lines = [f"{len(tunableop_csv.entries(made))} entries tuned within {budget:g} s"]
        if made and file is not None:
            deliver(made, file)
            lines.append(f"written to {file}; to use it, set")  # torch puts the GPU's number into the name
            lines.append(f"  {_TO_LOAD}={shlex.quote(variable)}")
        if made:
            reached = [case for case in todo if not any(left.startswith(case["key"]) for left in done.left)]
            for event in tunableop.measure(runner, gpu, reached, str(held), done):
                waiting.say(event.what)
        waiting.hush()
    return lines


def _again(
    runner: Runner, gpu: str, todo: list[dict[str, Any]], results: Path, validators: dict[str, str], done: Tuning
) -> None:
    """A copy is read: torch opens the file of its own variable for writing."""
    import tempfile

    from doctor.bench import tunableop
    from doctor.cli import waiting
    from doctor.system.given import read_given

    with tempfile.TemporaryDirectory(prefix="tune-") as scratch:
        held = Path(scratch) / results.name
        held.write_text(read_given(results), encoding="utf-8")
        for event in tunableop.measure(runner, gpu, todo, str(held), done, validators):
            waiting.say(event.what)
        waiting.hush()


def _judged_file(
    results: Path, machine: Snapshot, done: Tuning
) -> tuple[list[str], list[dict[str, Any]], dict[str, str]]:
    """(lines about it, the entries to measure again, its validators)"""
    from collections import Counter

    from doctor.bench import tunableop
    from doctor.errors import InputError, ParserError
    from doctor.flags.situation import Situation
    from doctor.flags.tunable import stale
    from doctor.parsers.blas import tunableop_csv
    from doctor.system.given import read_given

    text = read_given(results)
    try:
        made = tunableop_csv.read(text).get("torch.tunableop_validators") or {}
    except ParserError as error:
        raise InputError(f"--results: {error}") from error
    entries = tunableop_csv.entries(text)
    todo, done.refused = tunableop.cases_of(entries)
    libraries = Counter(entry.library for entry in entries)
    by = ", ".join(f"{count} {name}" for name, count in sorted(libraries.items()))
    lines = [f"{len(entries)} entries: {by or 'none'}"]
    lines += [f"stale, so torch ignores it: {why}" for why in stale(made, Situation({}, machine))]
    repeated = len(entries) - len({(entry.operator, entry.shape) for entry in entries})
    if repeated:
        lines.append(f"{repeated} duplicate entries: torch uses the first of each product")
    return lines, todo, made


def _written(lines: list[str], format_: str, outcome: Tuning | None, findings: list[Finding], to: Destination) -> int:
    import json

    from doctor.errors import ExitCode

    tuned = [t.model_dump(mode="json") for t in outcome.tuned] if outcome else []
    if format_ == "json":
        data = {"schema": "doctor.tuning/2", "lines": lines, "tuned": tuned}
        data["findings"] = [f.model_dump(mode="json") for f in findings]
        to.write(json.dumps(data, indent=2) + "\n")
    else:
        lines += [
            f"  {one.key}: {one.ratio.p50:.3f} of the default's time ({one.ratio.low:.3f} to {one.ratio.high:.3f})"
            for one in (outcome.tuned if outcome else ())
            if one.ratio
        ]
        lines += [f"{f.severity.value}: {f.summary} [{f.rule}]" for f in findings]
        to.write("\n".join(lines) + "\n", prose=True)
    stale = any(line.startswith("stale") for line in lines)
    return ExitCode.FINDINGS if stale or any(f.severity.rank < 2 for f in findings) else ExitCode.OK
