"""`doctor bench`: how fast products, copies, attention and collectives are here, and whether their values are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Destination, Domain, Hide, Key, site_of

if TYPE_CHECKING:
    from doctor.bench.compare import Row
    from doctor.bench.results import Results
    from doctor.bench.runner import Runner
    from doctor.facts import Snapshot
    from doctor.findings import Report
    from doctor.profiles import Profile


def add(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="gemm, copy, host, p2p, l2, attention, flex, compile, launch, collectives (default: all); "
            "or `compare A B`, `report FILE`, `tune`."
        ),
    ] = None,
    level: Annotated[str, typer.Option(metavar="quick|full", help="quick takes at most 60 s.")] = "quick",
    device: Annotated[str | None, typer.Option(help="cpu or cuda:N (default: every GPU that torch sees).")] = None,
    python: Annotated[str | None, typer.Option(help="Python interpreter that has torch.")] = None,
    profile: Annotated[str | None, typer.Option(help="Compare with the baselines of this known-good stack.")] = None,
    shape: Annotated[list[str] | None, typer.Option(help="MxNxK of the matrix products; may be repeated.")] = None,
    memory: Annotated[int, typer.Option(help="Host memory limit of one process, in GiB.")] = 24,
    budget: Annotated[float, typer.Option(help="tune: time limit in seconds.")] = 300.0,
    results: Annotated[Path | None, typer.Option(help="tune: check and measure this file without tuning.")] = None,
    format_: TextOrJson = "text",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Measure matrix products, copies, attention and collectives. Exit 1 for findings of severity warning or error."""
    import os
    import re
    import time

    from doctor.errors import InputError
    from doctor.profiles import load

    began = time.monotonic()
    names = what or []
    to = Destination(output, site_of(hide, domain, key))
    if names[:1] == ["compare"]:
        return _compare(names[1:], format_, to)
    if names[:1] == ["report"]:
        return _report(names[1:], to)
    if device is not None and not re.fullmatch(r"cpu|cuda:\d{1,3}", device):
        raise InputError(f"invalid --device '{device[:20]}' (cpu or cuda:N)")
    if not 1 <= memory <= 4096 or not 1 <= budget <= 86400:
        raise InputError("--memory must be 1 to 4096 GiB, --budget 1 to 86400 seconds")
    if output is not None and not os.access(output.parent, os.W_OK):
        raise InputError(f"-o {output}: cannot write to {output.parent}; nothing was measured")
    loaded = load(profile) if profile else None
    tuning = names == ["tune"]
    if not tuning:
        from doctor.bench.plan import plan

        plan(names, level, device or "cpu", 1, shape or [])  # reports wrong words before anything runs
    machine, runner = _ready(python, memory, began if level == "quick" and not tuning else None)
    if tuning:
        from doctor.cli.tuning import tune

        return tune(machine, runner, device, shape or [], budget, results, format_, to)
    return _measure(machine, runner, names, level, device, loaded, shape or [], format_, to)


def _ready(python: str | None, memory: int, began: float | None) -> tuple[Snapshot, Runner]:
    """`began`: when a quick run began, all of which is over 60 seconds later."""
    import math
    import os

    from doctor.bench.plan import ENDS_S, QUICK_S
    from doctor.bench.runner import Runner
    from doctor.cli import measured
    from doctor.cli.check import _python
    from doctor.system.live import LiveSystem

    system = LiveSystem()
    machine = measured.facts(system, _python(python, live=True))
    ends = math.inf if began is None else began + QUICK_S - ENDS_S
    return machine, Runner(measured.interpreter(machine), dict(os.environ), system, memory << 30, ends=ends)


def _measure(
    machine: Snapshot,
    runner: Runner,
    names: list[str],
    level: str,
    device: str | None,
    profile: Profile | None,
    shapes: list[str],
    format_: str,
    to: Destination,
) -> int:
    from dataclasses import replace

    from doctor.bench.ceilings import ceiling
    from doctor.bench.plan import plan
    from doctor.bench.run import devices, run
    from doctor.cli import measured, waiting
    from doctor.errors import ExitCode, InputError
    from doctor.knowledge import Knowledge

    interrupted = False
    waiting.say("looking for GPUs")
    found = devices(runner, device)
    if found.trouble:
        waiting.hush()
        raise InputError(f"cannot measure: {found.trouble}")
    kb = Knowledge()
    found.devices = tuple(replace(d, ceiling=ceiling(machine, kb, d.pci)) for d in found.devices)
    wanted = [*shapes, *(s for s in _of_baselines(profile) if level == "full" and s not in shapes)]
    todo = plan(names, level, found.devices[0].torch, len(found.devices), wanted, runner.left())
    if not todo.cases and not todo.collectives:
        waiting.hush()
        why = "is measured at --level full, on a GPU" if level == "quick" else "needs a GPU; p2p and collectives, two"
        raise InputError(f"nothing to measure: {', '.join(names)} {why}")
    try:
        for event in run(runner, todo, found):
            waiting.say(event.what)
    except KeyboardInterrupt:
        if not found.measurements:
            raise
        interrupted, found.trouble = True, "interrupted; results up to then are shown"
    finally:
        waiting.hush()
    report = measured.report_of(machine, {"bench": tuple(found.measurements)}, profile)
    to.write(_rendered(found, level, _baselines(profile, found), report, format_), prose=format_ == "text")
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FINDINGS if any(f.severity.rank < 2 for f in report.counted()) else ExitCode.OK


def _rendered(found: Results, level: str, held: dict[str, Any], judged: Report, format_: str) -> str:
    import datetime
    import json

    from doctor.bench import saved
    from doctor.report import bench as report

    findings = list(judged.counted())
    if format_ == "text":
        return report.text(found.software, found.measurements, held, findings, found.trouble)
    when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return json.dumps(saved.as_data(found, when, level, held, findings), indent=2) + "\n"


def _of_baselines(profile: Profile | None) -> list[str]:
    """Shapes of the products that the profile has numbers for."""
    import re

    shapes = [b.shape.replace(" ", "") for b in (profile.baseline if profile else ()) if b.what.startswith("gemm")]
    return [s for s in dict.fromkeys(shapes) if re.fullmatch(r"\d{2,6}x\d{2,6}x\d{2,6}", s)]


def _baselines(profile: Profile | None, found: Results) -> dict[str, Any]:
    """Key -> the profile's number with all that says how it was made."""
    from doctor.rules.bench.bench_below_baseline import baseline_of, number_of

    held = {}
    for one in found.measurements:
        baseline = baseline_of(profile, one)
        if baseline is not None:
            held[one.key] = {
                "value": number_of(baseline),
                "kind": "published minimum" if baseline.value.floor is not None else "median measured elsewhere",
                **baseline.model_dump(mode="json", exclude={"value", "what"}),
            }
            held[one.key]["unit"] = baseline.value.unit
    return held


def _report(paths: list[str], to: Destination) -> int:
    from doctor.bench import saved
    from doctor.errors import ExitCode, InputError
    from doctor.report import bench_html

    if len(paths) != 1:
        raise InputError("bench report takes one result file: doctor bench report A.json -o bench.html")
    to.write(bench_html.page(*saved.load(Path(paths[0]))))
    return ExitCode.OK


def _compare(paths: list[str], format_: str, to: Destination) -> int:
    import json
    from dataclasses import asdict

    from doctor.bench import saved
    from doctor.bench.compare import compare_pairs
    from doctor.errors import ExitCode, InputError

    if not paths or len(paths) % 2:
        raise InputError(
            "bench compare takes pairs of result files: doctor bench compare A.json B.json [A2.json B2.json]"
        )
    loaded = [saved.load(Path(path)) for path in paths]
    pairs = [(a[1], b[1]) for a, b in zip(loaded[::2], loaded[1::2], strict=True)]
    rows = compare_pairs(pairs)
    when = [", ".join(str(data["when"]) for data, _ in loaded[side::2]) for side in (0, 1)]
    if format_ == "json":
        data = {"schema": "doctor.bench-comparison/1", "a": when[0], "b": when[1], "rows": [asdict(r) for r in rows]}
        to.write(json.dumps(data, indent=2) + "\n")
    else:
        names = (", ".join(paths[::2]), ", ".join(paths[1::2]))
        lines = [f"{letter}: {files} ({made})" for letter, files, made in zip("AB", names, when, strict=True)]
        to.write("\n".join([*lines, *map(_compared, rows)]) + "\n", prose=True)
    return ExitCode.FINDINGS if any(r.verdict == "worse" for r in rows) else ExitCode.OK


def _compared(row: Row) -> str:
    change = f" {row.a:.4g} -> {row.b:.4g} {row.unit} (x{row.change:.3f})" if row.a and row.b and row.change else ""
    return f"  {row.verdict:12} {row.key}{change}{f'; {row.note}' if row.note else ''}"
