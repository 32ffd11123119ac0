"""The ways of a file's variables -> findings: what is set and never arrives.

A finding is raised where a file starts programs that the stack's variables are for, and none of them gets what the file
sets. Where one gets it, or where that is not known, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.findings import Evidence, Finding
from doctor.flags import spelling
from doctor.flags.lint import finding
from doctor.flags.names import described
from doctor.flags.way.frame import Followed
from doctor.flags.way.model import Alt, Process, Step
from doctor.parsers.text.shell_lexer import HOLE
from doctor.redaction.secrets import masked

RULE = "env-flag-not-passed-on"
_PAYLOAD = re.compile(
    r"(?:\S*/)?(?:python[\d.]*|torchrun|vllm|sglang|ray|text-generation-launcher|trtllm-\S+|\w+_perf|jupyter\S*|ollama"
    r"|llama-\S+|rocminfo|\(.*\)|\S+\.py)(?:\s|$)"
)
_RANKS = re.compile(r"\beach (?:rank|task)|\branks on")
_ELSEWHERE = re.compile(r"ranks? (?:of deepspeed )?on other (?:hosts|nodes)$|Ray workers of vLLM$")
_JOB = re.compile(r"(?:\S*/)?(?:python[\d.]*\s(?:-u\s)?(?:-m\s|\S+\.py)|vllm|sglang|\w+_perf|\S+\.py)")
"""A job, and no question that the script asks of the machine."""
_ALSO = ("unit-section", "unit-assignment", "env-file-export")
"""Reported for every variable, not only the stack's."""
_CURES = {
    "sudo": "Write `sudo --preserve-env={name} …`, or `sudo env {name}=\"${name}\" …`.",
    "su-login": "Set it in the command that su runs, or pass `-w {name}`.",
    "env-i": "Write `env -i {name}=\"${name}\" …`.",
    "container": "Pass it: `-e {name}`.",
    "ssh": "Set it in the command: `ssh HOST \"{name}=${name} …\"`.",
    "mpirun": "Pass it to the other hosts: `-x {name}`.",
    "srun-export": "Pass it: `--export=ALL,{name}`, or no --export at all.",
    "srun-export-job": "Write `srun --export=ALL …`, or `unset SLURM_EXPORT_ENV` in the job.",
    "sbatch-export": "Set it in the batch script, or name it in --export.",
    "deepspeed": "Write it into .deepspeed_env beside the script.",
    "ray": "Name it in env_vars of --runtime-env-json.",
    "vllm-ray": "Set it above `ray start`, or name it in VLLM_RAY_EXTRA_ENV_VARS_TO_COPY.",
    "systemd-run": "Pass it: `--setenv={name}`.",
}  # fmt: skip


class Fault(NamedTuple):
    """A variable that is set and does not arrive, or a line that sets nothing."""

    id: str
    name: str
    severity: str
    problem: str
    cure: str
    steps: Sequence[Step]
    """Where it is set, and where it is lost."""

    @property
    def shown(self) -> Iterator[tuple[Step, str]]:
        for step in self.steps:
            text = step.what if "=" in step.what else f"{self.name} = {step.what or '…'}"
            yield step, masked(text[:200])

    @property
    def summary(self) -> str:
        return f"{masked(self.problem.replace(HOLE, '…'))}."[:400]


class Lost(NamedTuple):
    process: Process
    alt: Alt
    step: Step


def findings(found: Followed, text: str) -> Iterator[Finding]:
    for fault in faults(found, text):
        places = [Evidence(text=problem, source=f"{step.file}:{step.line}:1") for step, problem in fault.shown]
        evidence = (*places, Evidence(text=fault.id, source=places[0].source))
        yield finding(RULE, fault.severity, fault.name, fault.summary.rstrip("."), fault.cure, fault.id, evidence)


def faults(found: Followed, text: str) -> Iterator[Fault]:
    for remark in found.remarks:
        if described(remark.name) or remark.id in _ALSO:
            place = Step(remark.file, remark.line, "")
            yield Fault(remark.id, remark.name, remark.severity, remark.said, remark.cure, (place,))
    payloads = [p for p in found.processes if _PAYLOAD.match(p.label)]
    payloads = [p for p in payloads if _RANKS.search(p.where)] or payloads  # what prepares the job is not the job
    if not payloads or len(payloads) > 60:
        return
    names = {name for p in payloads for name in p.sees.held if described(name)}
    for name in sorted(n for n in names if not re.search(rf"\$\{{?{n}\b", text) and not _is_dead(n)):
        gone = lost(name, payloads) or lost(name, [p for p in payloads if _ELSEWHERE.search(p.where)])
        if gone:
            logs = all(flag["kind"] == "debug" for flag in described(name)) and _ELSEWHERE.search(gone.process.where)
            yield _of_loss(name, gone)._replace(severity="info" if logs else "warning")
    yield from _too_late(found, payloads)


def _is_dead(name: str) -> bool:
    """Nothing reads it any more: that is said, and where it goes is then of no use."""
    return any(row["still_read"] == "no" for row in spelling.gone(name))


def _too_late(found: Followed, payloads: Sequence[Process]) -> Iterator[Fault]:
    """Exported below the last program of the file, and by no line above it."""
    payloads = [p for p in payloads if _JOB.match(p.label)]
    left, last = found.left, max(payloads, key=lambda p: p.line, default=None)
    if last is None:
        return
    for name in sorted(n for n in (left.names() if left else ()) if described(n)):
        held = left.get(name) if left else ()
        steps = held[0].steps if len(held) == 1 and held[0].exported == "yes" and held[0].text is not None else ()
        late = bool(steps) and all(s.file == p.file and s.line > p.line for s in steps for p in found.processes)
        if late and all(alt.outer for p in payloads for alt in p.sees.of(name)):
            problem = (
                f"{name} is exported in line {steps[-1].line}, after `{last.label[:60]}` (line {last.line}) was started"
            )
            yield Fault("export-too-late", name, "warning", problem, "Move the line above the command.", steps)


def lost(name: str, payloads: Sequence[Process]) -> Lost | None:
    """What takes it away from the first program, where no program is left that may have it."""
    first: Lost | None = None
    for process in payloads:
        for alt in process.sees.of(name):
            if alt.text is not None or alt.outer in ("any", "set"):
                return None
            step = next((s for s in alt.steps if s.id in _CURES), None)
            before = alt.steps[: alt.steps.index(step)] if step else ()
            if step and before and first is None:
                first = Lost(process, alt, step)
    return first


def _of_loss(name: str, gone: Lost) -> Fault:
    start = gone.alt.steps[0]
    where = f" ({gone.process.where})" if gone.process.where else ""
    problem = f"{name}, set in line {start.line}, does not reach `{gone.process.label[:60]}`{where}: {gone.step.what}"
    cure = cure_of(gone.step.id, name)
    if gone.step.id == "sudo" and "container" in gone.process.where:  # which would need it passed on a second time
        cure = f'Pass the value itself: `-e {name}="${name}"`.'
    return Fault(gone.step.id, name, "warning", problem, cure, (start, gone.step))


def cure_of(step: str, name: str) -> str:
    return _CURES[step].replace("{name}", name)
