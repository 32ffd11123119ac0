"""Report -> one shell script of its fixes: causes first, each command once, the reboot last, and with every step its
risk, its way back, and what must be drained before. The doctor prints it and never runs it.

A command that wants a word of yours (IMAGE, COMMAND), or belongs inside a container or the start of a program, stands
there as a comment. Texts of the machine reach comments and quoted words alone.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Report, Severity
from doctor.report.rollback import way_back
from doctor.report.words import clean, plural, unjudged

_WIDTH = 100
_PLACEHOLDER = re.compile(r"^[A-Z][A-Z_]{2,}$")
_LOOKS = ("journalctl", "lspci", "modinfo", "lsmod", "ldconfig", "stat", "id", "ls")
"""Commands that only show something."""
_STARTERS = ("env", "docker", "podman", "sbatch", "srun", "wsl.exe")
"""Commands that start a program of yours another way: for you to repeat, not for a script to run."""
_HEAD = """#!/bin/sh
# What `doctor check` would do to this machine, in order: causes first. Read it before you run it, or any line of it.
set -eu
"""
_AS_ROOT = """
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
"""


def render(report: Report) -> str:
    """The script. It does nothing where nothing is to be mended."""
    findings = [f for f in report.counted() if f.severity is not Severity.INFO and f.fixes]
    steps = list(_steps(findings, report.snapshot))
    reboot = any(step.reboots for step in steps)
    lines = [_HEAD]
    if any(step.root for step in steps) or reboot:
        lines.append(_AS_ROOT)
    lines += map(_comment, _limits(report, bool(findings)))
    for number, step in enumerate(steps, 1):
        lines += ["", f"# {number}. {'-' * 60}", *step.lines]
    if reboot:
        lines += ["", f"# {len(steps) + 1}. {'-' * 60}", *_reboot()]
    lines += ["", *_checked(findings)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _limits(report: Report, mends: bool) -> Iterator[str]:
    """What an empty or a short script must not be taken for."""
    if report.status == "unknown":
        yield f"{unjudged(report)} An empty plan is not a healthy machine."
    elif not mends:
        yield "Nothing to mend: no finding at or above warning has a fix."
    if report.unchecked:
        yield f"{plural(len(report.unchecked), 'check')} could not tell; `doctor check` names them."


class _Step:
    """What one finding asks for, as lines of the script."""

    def __init__(self, finding: Finding, machine: Snapshot, done: dict[str, int], number: int) -> None:
        self.root = self.reboots = False
        self._machine, self._done, self._number = machine, done, number
        self.lines = [_comment(f"{finding.severity.value}: {finding.rule}: {finding.summary}")]
        for evidence in finding.evidence[:2]:
            self.lines.append(_comment(f"seen: {evidence.text}"[:300]))
        drains = any(fix.reboot or "job" in (fix.risk or "") or "process" in (fix.risk or "") for fix in finding.fixes)
        if drains and "drain" in done:
            self.lines.append(_comment(f"drain first, as in step {done['drain']}"))
        elif drains:
            done["drain"] = number
            self.lines += _drain(machine)
        for fix in finding.fixes:
            self._add(fix)

    def _add(self, fix: Fix) -> None:
        argv = fix.command
        if argv and argv[:2] == ("systemctl", "reboot"):
            self.reboots = True
            self.lines += ["", _comment(f"{fix.text} (once, at the end of this script)")]
            return
        self.lines += ["", _comment(fix.text)]
        if fix.risk:
            self.lines.append(_comment(f"risk: {fix.risk}"))
        self.reboots |= fix.reboot
        if argv is None:
            self.lines.append(_comment("by hand: no one command does this on every machine"))
        elif _quoted(argv) in self._done:
            self.lines.append(_comment(f"done in step {self._done[_quoted(argv)]}: {_quoted(argv)}"))
        elif reason := _not_for_a_script(fix, argv):
            self.lines.append(_comment(f"{reason}: {_quoted(argv)}"))
        else:
            self._done[_quoted(argv)] = self._number
            if argv[0] not in _LOOKS:
                self.lines.append(_comment(f"way back: {way_back(argv, self._machine)}"))
            self.root |= fix.root
            self.lines.append(f"{'as_root ' if fix.root else ''}{_quoted(argv)}")


def _steps(findings: Sequence[Finding], machine: Snapshot) -> Iterator[_Step]:
    done: dict[str, int] = {}
    for number, finding in enumerate(findings, 1):
        yield _Step(finding, machine, done, number)


def _not_for_a_script(fix: Fix, argv: tuple[str, ...]) -> str | None:
    if any(_PLACEHOLDER.match(word) for word in argv):
        return "with your own words in it"
    if argv[0] in _STARTERS and argv[1:2] != ("restart",):
        return "start your program this way"
    return "inside the container" if fix.where == "container" else None


def _drain(machine: Snapshot) -> list[str]:
    """How the node's scheduler empties it, and who holds the GPUs now."""
    environment = machine.environment or {}
    lines = [_comment("drain first: this ends the jobs on the GPUs.")]
    if any(name.startswith("SLURM_") for name in environment):
        lines.append(_comment("scontrol update NodeName=THIS_NODE State=DRAIN Reason=doctor"))
    if "KUBERNETES_SERVICE_HOST" in environment:
        lines.append(_comment("kubectl drain THIS_NODE --ignore-daemonsets --delete-emptydir-data"))
    held = [f"{h.name} (pid {h.pid})" for h in machine.holders or () if h.nodes]
    if held:
        lines.append(_comment(f"now holding a GPU: {', '.join(held[:12])}"))
    if machine.holders is not None and machine.host.processes_seen != "all":
        lines.append(_comment("processes of other accounts or containers may hold one too; they could not be seen"))
    return lines


def _reboot() -> list[str]:
    return [
        _comment("The steps above want one reboot; it comes last, once."),
        _comment("drain first: it ends every job of the node"),
        _comment("risk: stops every job on the node"),
        _comment("way back: none"),
        "as_root systemctl reboot",
    ]


def _checked(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    ways = dict.fromkeys(_quoted(f.verify) for f in findings if f.verify)
    shown = [_comment(f"afterwards ({plural(len(findings), 'finding')}): doctor check")]
    return [*shown, *(_comment(f"or: {way}") for way in list(ways)[:10])]


def _quoted(argv: Sequence[str]) -> str:
    """The command as a shell reads it; control characters, which no command of ours has, become `?`."""
    return shlex.join(clean(word) for word in argv)


def _comment(text: str) -> str:
    """Comment lines of the text, which can't leave them."""
    lines = textwrap.wrap(clean(text), _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"# {line}" if place == 0 else f"#   {line}" for place, line in enumerate(lines))
