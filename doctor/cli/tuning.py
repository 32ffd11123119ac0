"""`doctor bench tune`: TunableOp's results judged, measured again, or made within a time budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.bench.run import Runner
    from doctor.facts import Snapshot
    from doctor.facts.gemm import Spread


def tune(
    machine: Snapshot,
    runner: Runner,
    device: str | None,
    shapes: list[str],
    budget: float,
    results: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Writes what was tuned to `-o` (never over a file), and compares. The variables that load it are printed, not
    set."""
    import tempfile

    from doctor.bench import tunableop
    from doctor.bench.plan import GEMM_SHAPES
    from doctor.cli import measured
    from doctor.errors import ExitCode, InputError
    from doctor.readers import tunableop_csv
    from doctor.system.given import read_given

    if output is not None and output.exists():
        raise InputError(f"-o {output}: is there already; results are written beside, never over others")
    given = read_given(results) if results else ""
    lines: list[str] = []
    if results:
        lines += list(_judged_file(given, machine))
    if machine.torch.build == "cpu" or device == "cpu":
        if results is None:
            raise InputError("TunableOp tunes products of a GPU, and there is none to tune for here")
        return _told([*lines, "not measured again: torch has no GPU here"], format_, None, ())
    with tempfile.TemporaryDirectory(prefix="tune-") as scratch:
        file = Path(scratch) / "results.csv"
        if results:
            file.write_text(given, encoding="utf-8")
        chosen = shapes or list(GEMM_SHAPES)
        outcome: Any = None
        for outcome in tunableop.tune(
            runner, device or "cuda:0", chosen, "bfloat16", str(file), budget, results is None
        ):
            if not isinstance(outcome, tunableop.Tuning):
                measured.say(outcome.what)
        measured.hush()
        made = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    if results is None and made and output is not None:
        from doctor.cli.output import deliver

        deliver(made, output)
        lines.append(f"written to {output}; a run takes it with")
        lines.append(f"  PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=0 PYTORCH_TUNABLEOP_FILENAME={output}")
    if results is None:
        lines.append(f"{len(tunableop_csv.entries(made))} entries tuned within {budget:g} s")
    lines += [f"not reached within the budget: {shape}" for shape in outcome.left]
    if outcome.memory_bytes:
        lines.append(f"memory on the GPU while tuning: {outcome.memory_bytes >> 20} MiB")
    if outcome.trouble:
        lines.append(f"trouble: {outcome.trouble}")
    _, findings = measured.judged(machine, {"tuned": tuple(outcome.tuned)})
    code = _told(lines, format_, outcome, findings)
    return ExitCode.FINDINGS if outcome.trouble else code


def _judged_file(text: str, machine: Snapshot) -> list[str]:
    from doctor.bench import tunableop
    from doctor.errors import InputError, ReaderError
    from doctor.readers import tunableop_csv

    try:
        made = tunableop_csv.read(text).get("torch.tunableop_validators") or {}
    except ReaderError as error:
        raise InputError(f"--results: {error}") from error
    judged = tunableop.judge_file(made, tunableop_csv.entries(text), machine)
    by = ", ".join(f"{count} {name}" for name, count in sorted(judged.by_library.items()))
    lines = [f"{judged.entries} entries: {by or 'none'}"]
    lines += [f"stale, and torch takes nothing of it: {why}" for why in judged.stale]
    lines.append(f"operands of its largest entry: {judged.operand_bytes >> 20} MiB")
    return lines


def _told(lines: list[str], format_: str, outcome: Any, findings: Any) -> int:
    import json

    from doctor.cli.output import deliver
    from doctor.errors import ExitCode

    tuned = [t.model_dump(mode="json") for t in outcome.tuned] if outcome else []
    if format_ == "json":
        told = {"schema": "doctor.tuning/1", "said": lines, "tuned": tuned}
        told["findings"] = [f.model_dump(mode="json") for f in findings]
        deliver(json.dumps(told, indent=2) + "\n", None)
    else:
        lines += [_row(one.key, one.ratio) for one in (outcome.tuned if outcome else ()) if one.ratio]
        lines += [f"{f.severity.value}: {f.summary} [{f.rule}]" for f in findings]
        deliver("\n".join(lines) + "\n", None)
    stale = any(line.startswith("stale") for line in lines)
    return ExitCode.FINDINGS if stale or any(f.severity.rank < 2 for f in findings) else ExitCode.OK


def _row(key: str, ratio: Spread) -> str:
    return f"  {key}: {ratio.p50:.3f} of the default's time ({ratio.low:.3f} to {ratio.high:.3f})"
