"""Report -> one POSIX script of its fixes, causes first.

Of each finding the chosen alternative is live and the others are comments. Started without `--yes` the script prints
what it would do; it stops at the first failure and asks before a reboot. The doctor prints it and never runs it.

A command that needs a word of yours (IMAGE, COMMAND), starts your own program, or belongs inside a container is a
comment; so is what comes after a step that no command does. Texts of the machine reach comments and quoted words alone.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.findings import Finding, Remedy, Report, Scope, Severity, Step
from doctor.report.words import clean, cost, has_placeholder, not_checked, plural
from doctor.rules.lib.command_effects import STARTERS, changes, undo_of

_WIDTH = 100
_PLACES = {"host": "On the host", "environment": "In the Python environment", "container": "Inside the container"}
_LETTERS = "ABCDEFGH"
_HEAD = """#!/bin/sh
# What `doctor check` suggests for this machine, causes first. Without --yes it only prints the commands.
set -eu
yes=no
if [ "${1:-}" = --yes ]; then yes=yes; fi
run() {
  printf '+ %s\\n' "$*"
  if [ "$yes" = yes ]; then "$@"; fi
}
as_root() { if [ "$(id -u)" -eq 0 ]; then run "$@"; else run sudo "$@"; fi; }
"""
_REBOOT = """# Reboot once, last: it stops every job on this machine.
if [ "$yes" = yes ]; then
  printf 'Reboot now? [y/N] '
  read -r answer
  if [ "$answer" != y ]; then exit 0; fi
fi
as_root systemctl reboot
"""


def render(report: Report, choose: Sequence[str] = ()) -> str:
    """The script. `choose` holds RULE=B or FINGERPRINT=B. Raises InputError for a choice that no finding has."""
    findings = [f for f in report.counted() if f.severity is not Severity.INFO and f.remedies]
    chosen = _chosen(findings, choose)
    plan = _Plan(report.snapshot)
    for finding in findings:
        plan.add(finding, chosen.get(finding.fingerprint, 0))
    lines = [_HEAD, *(_comment(line) for line in _limits(report, bool(findings)))]
    if plan.stops_jobs:
        lines += ["", *map(_comment, _drain(report.snapshot))]
    for place, rows in plan.places.items():
        if rows:
            lines += ["", _comment(f"== {_PLACES[place]} =="), *rows]
    if plan.reboots:
        lines += ["", _REBOOT]
    if findings:
        lines += ["", _comment("Afterwards: doctor check")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _chosen(findings: Sequence[Finding], choose: Sequence[str]) -> dict[str, int]:
    """Fingerprint → place of the alternative that was chosen."""
    chosen: dict[str, int] = {}
    for word in choose:
        name, _, letter = word.partition("=")
        hits = [f for f in findings if name in (f.rule, f.fingerprint)]
        if not hits:
            raise InputError(f"--choose {word}: no finding with a fix is called {name}")
        place = _LETTERS.find(letter.upper()) if len(letter) == 1 else -1
        for finding in hits:
            if not 0 <= place < len(finding.remedies):
                last = _LETTERS[len(finding.remedies) - 1]
                raise InputError(f"--choose {word}: {finding.rule} has the alternatives A to {last}")
            chosen[finding.fingerprint] = place
    return chosen


def _limits(report: Report, fixes: bool) -> Iterator[str]:
    """What an empty or a short script must not be taken for."""
    if report.status == "unknown":
        yield f"{not_checked(report)} An empty plan does not mean that the machine is healthy."
    elif not fixes:
        yield "Nothing to do: no error or warning has a fix."
    if report.unchecked:
        yield f"{plural(len(report.unchecked), 'check')} skipped; `doctor check -v` lists them."


class _Plan:
    """The script's lines by where they run; each command once."""

    def __init__(self, machine: Snapshot) -> None:
        self.machine = machine
        self.places: dict[str, list[str]] = {place: [] for place in _PLACES}
        self.reboots = self.stops_jobs = False
        self.done: set[str] = set()

    def add(self, finding: Finding, chosen: int) -> None:
        heads: set[str] = set()
        by_hand = False
        for place, remedy in enumerate(finding.remedies):
            letter = f"{_LETTERS[place]}: " if len(finding.remedies) > 1 else ""
            live = place == chosen
            for step in remedy.steps:
                rows = self.places[step.where]
                if step.where not in heads:
                    heads.add(step.where)
                    rows += ["", _comment(f"{finding.severity.value}: {finding.summary} ({finding.rule})")]
                    rows += [_comment(f"seen: {row.text}"[:300]) for row in finding.evidence[:2]]
                if step is remedy.steps[0]:
                    what = f"{letter}{remedy.title.rstrip('.')} ({cost(remedy)})"
                    rows.append(_comment(what if live else f"instead, {what}"))
                    if live and remedy.risk:
                        rows.append(_comment(f"risk: {remedy.risk}"))
                waits = by_hand and live and step.command is not None
                after = _comment(f"after the step above: {_quoted(step.command or ())}")
                rows += [after] if waits else self._step(step, remedy, live=live)
                by_hand |= live and _by_hand(step, remedy)
            self.reboots |= live and remedy.reboot and not by_hand
            risk = remedy.risk or ""
            self.stops_jobs |= live and (remedy.reboot or "job" in risk or "process" in risk)

    def _step(self, step: Step, remedy: Remedy, *, live: bool) -> Iterator[str]:
        argv = step.command
        if argv is None:
            if step.text.rstrip(".") != remedy.title.rstrip("."):
                yield _comment(step.text)
            return
        if argv[:2] == ("systemctl", "reboot"):
            return  # once, last
        line = _quoted(argv)
        if not live:
            yield _comment(line)
        elif line in self.done:
            yield _comment(f"done above: {line}")
        elif reason := _not_for_a_script(step, argv):
            yield _comment(f"{reason}: {line}")
        else:
            self.done.add(line)
            undo = undo_of(argv, self.machine)
            known = remedy.undo if step.where == "environment" else ()  # what was there is known to the remedy
            for back in (known or (undo,)) if undo else ():
                yield _comment(f"undo: {_quoted(back.command) if back.command else back.text}")
            if "$" in line:  # for the inner shell, or for the file that it writes
                yield "# shellcheck disable=SC2016"
            yield f"{'as_root' if remedy.root else 'run'} {line}"


def _drain(machine: Snapshot) -> Iterator[str]:
    """How the node's scheduler empties it, and who holds the GPUs now."""
    environment = machine.environment or {}
    yield "Drain this node first: a step below stops the jobs on its GPUs."
    if any(name.startswith("SLURM_") for name in environment):
        yield "scontrol update NodeName=THIS_NODE State=DRAIN Reason=doctor"
    if "KUBERNETES_SERVICE_HOST" in environment:
        yield "kubectl drain THIS_NODE --ignore-daemonsets --delete-emptydir-data"
    held = [f"{h.name} (pid {h.pid})" for h in machine.holders or () if h.nodes]
    if held:
        yield f"Now holding a GPU: {', '.join(held[:12])}"
    if machine.holders is not None and machine.host.processes_seen != "all":
        yield "Processes of other accounts or containers may hold one too; they could not be seen."


def _by_hand(step: Step, remedy: Remedy) -> bool:
    """Whether what follows must wait for whoever runs the script. For hardware the script's head says to drain."""
    if remedy.scope is Scope.HARDWARE:
        return False
    return step.command is None or _not_for_a_script(step, step.command) is not None


def _not_for_a_script(step: Step, argv: tuple[str, ...]) -> str | None:
    if has_placeholder(argv):
        return "put your own words in place of those in capitals"
    if argv[0] in STARTERS and not changes(argv):
        return "start your program this way"
    return "inside the container" if step.where == "container" else None


def _quoted(argv: Sequence[str]) -> str:
    """The command as a shell reads it; control characters, which no command of ours has, become `?`."""
    return shlex.join(clean(word) for word in argv)


def _comment(text: str) -> str:
    """Comment lines of the text, which can't leave them."""
    lines = textwrap.wrap(clean(text), _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"# {line}" if place == 0 else f"#   {line}" for place, line in enumerate(lines))
