"""Report -> text for people: the verdict first, one block a problem, consequences under their cause, then what is fine
and what could not be told.

Width, colour and unicode are arguments. Nothing from outside reaches the terminal as an escape sequence or as markup:
colour is added by us alone, around text whose control characters are shown as `?`.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from doctor.findings import Finding, Fix, ProfileVerdict, Report, Severity
from doctor.redaction.secrets import masked
from doctor.report import details
from doctor.report.words import clean, gpu_line, plural, reader_failures, unjudged

_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "cyan", "ok": "bold green", "unknown": "bold magenta"}
_SHOWN = 6
_MIN_WIDTH = 24

Line = tuple[str, str]
"""Text and the style of its first word group ('' for none)."""


@dataclass(frozen=True)
class Look:
    """How the output looks. `plain`: words and indents only, for pipes, logs and screen readers."""

    width: int = 80
    colour: bool = False
    unicode: bool = True
    plain: bool = False

    @classmethod
    def of_stdout(cls, *, plain: bool = False, no_color: bool = False) -> Look:
        """What fits this process's stdout and environment."""
        import shutil

        tty = sys.stdout is not None and sys.stdout.isatty()
        dumb = os.environ.get("TERM", "") in ("", "dumb")
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        return cls(
            width=min(shutil.get_terminal_size((80, 24)).columns, 120) if tty else 80,
            colour=tty and not (dumb or plain or no_color or os.environ.get("NO_COLOR")),
            unicode=encoding.startswith("utf") and not dumb,
            plain=plain or not tty,
        )


def render(report: Report, look: Look | None = None, verbose: int = 0) -> str:
    """The whole text, with a newline at its end."""
    look = look or Look()
    lines = list(_lines(report, look, verbose))
    if not look.unicode:
        lines = [(_ascii(text), style) for text, style in lines]
    if not look.colour:
        return "".join(f"{text}\n" for text, _ in lines)
    return _coloured(lines)


def _ascii(text: str) -> str:
    for sign, stand_in in (("×", "x"), ("…", "..."), ("→", "->"), ("·", "-"), ("≥", ">="), ("–", "-"), ("—", "-")):
        text = text.replace(sign, stand_in)
    return text.encode("ascii", "replace").decode()


def _coloured(lines: Iterable[Line]) -> str:
    """rich draws only here, and is imported only where colour is wanted."""
    from rich.console import Console
    from rich.text import Text

    held = io.StringIO()
    console = Console(
        file=held, force_terminal=True, color_system="standard", width=10_000, highlight=False, markup=False
    )
    for text, style in lines:
        console.print(Text(text, style=style), soft_wrap=True)
    return held.getvalue()


def _lines(report: Report, look: Look, verbose: int) -> Iterator[Line]:
    width = max(look.width, _MIN_WIDTH)
    counted = [f for f in report.findings if not f.explained_by]
    yield from _block(_verdict(report, counted), "", "", width, _STYLES[report.status])
    yield from _block(gpu_line(report.snapshot), "", "", width)
    if report.source:
        yield from _block(f"Judged: {clean(report.source)}", "", "  ", width)
    number = 0
    for finding in counted:
        if finding.severity is Severity.INFO and not verbose and _is_remark(finding):
            continue
        number += 1
        yield "", ""
        yield from _finding(finding, number, report, width, verbose)
    yield "", ""
    yield from _closing(report, counted, width, verbose)
    if verbose:
        yield from details.lines(report.snapshot, width, verbose)


def _is_remark(finding: Finding) -> bool:
    return not finding.fixes and finding.ask is None


def _verdict(report: Report, counted: list[Finding]) -> str:
    errors = sum(f.severity is Severity.ERROR for f in counted)
    warnings = sum(f.severity is Severity.WARNING for f in counted)
    untold = len(report.unchecked)
    if report.status in ("error", "warning"):
        parts = [plural(errors, "error")] * bool(errors) + [plural(warnings, "warning")] * bool(warnings)
        worst = counted[0].summary if counted else ""
        return f"{report.status.upper()}: {', '.join(parts)}. First: {masked(clean(worst))}"
    if report.status == "unknown":
        why = unjudged(report, "here" if report.source else "on this machine")
        return f"UNKNOWN: {why[0].lower()}{why[1:]}"
    tail = f"; {plural(untold, 'check')} could not tell" if untold else ""
    return f"OK: no problem found by {plural(len(report.clear), 'check')}{tail}."


def _finding(finding: Finding, number: int, report: Report, width: int, verbose: int) -> Iterator[Line]:
    about = "" if finding.subject.id in ("-", "") else f" {finding.subject.kind} {clean(finding.subject.id)}"
    head = f"{number}. {finding.severity.value.upper()} {finding.rule}{about}"
    yield from _block(head, "", "   ", width, _STYLES[finding.severity.value])
    yield from _block(masked(clean(finding.summary)), "   ", "   ", width)
    shown = finding.evidence if verbose else finding.evidence[:_SHOWN]
    for row in shown:
        yield from _block(f"{masked(clean(row.text))} ({clean(row.source)})", "   seen: ", "     ", width)
    if len(finding.evidence) > len(shown):
        yield from _block(f"and {len(finding.evidence) - len(shown)} more (-v shows them)", "   seen: ", "     ", width)
    if finding.basis == "symptom":
        yield from _block("known from this error text alone; facts do not say", "   basis: ", "     ", width)
    for fix in finding.fixes:
        yield from _fix(fix, width)
    if finding.verify:
        yield f"   verify: {command(finding.verify)}", ""
    if finding.ask:
        yield from _block(clean(finding.ask), "   ask next: ", "     ", width)
    follow = [f for f in report.findings if f.explained_by == finding.fingerprint]
    if follow:
        texts = dict.fromkeys(f"{f.rule}: {masked(clean(f.summary))}" for f in follow)
        yield from _block("and it explains:", "   ", "     ", width)
        for text in texts:
            yield from _block(text, "     - ", "       ", width)


def _fix(fix: Fix, width: int) -> Iterator[Line]:
    notes = [f"in the {fix.where}"] if fix.where != "host" else ["on the host"]
    notes += ["as root"] * fix.root + ["reboot needed"] * fix.reboot
    yield from _block(f"{clean(fix.text)} ({', '.join(notes)})", "   fix: ", "     ", width)
    if fix.command:
        yield f"     $ {command(fix.command)}", "bold"
    if fix.risk:
        yield from _block(clean(fix.risk), "     risk: ", "       ", width)


def command(argv: Iterable[str]) -> str:
    """An argv as a line that can be pasted into a shell; never wrapped."""
    return shlex.join(clean(word) for word in argv)


def _closing(report: Report, counted: list[Finding], width: int, verbose: int) -> Iterator[Line]:
    hidden = sum(f.severity is Severity.INFO and _is_remark(f) for f in counted) if not verbose else 0
    crashed = [u for u in report.unchecked if u.crashed]
    untold = len(report.unchecked) - len(crashed)
    yield from _block(f"Clear: {plural(len(report.clear), 'check')}. Could not tell: {untold}.", "", "  ", width)
    reasons: dict[str, list[str]] = {}
    for row in report.unchecked:
        reasons.setdefault(clean(row.reason), []).append(row.rule)
    by_size = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, rules in by_size if verbose else by_size[:_SHOWN]:
        yield from _block(f"{reason}: {', '.join(rules)}", "  - ", "    ", width)
    if not verbose and len(by_size) > _SHOWN:
        yield from _block(f"{plural(len(by_size) - _SHOWN, 'more reason')} (-v shows them)", "  - ", "    ", width)
    if crashed:
        yield from _block(f"Crashed: {', '.join(u.rule for u in crashed)}. Please report this.", "", "  ", width)
    for line in reader_failures(report.snapshot):
        yield from _block(line, "", "  ", width)
    if hidden:
        yield from _block(f"Remarks: {hidden} (-v shows them).", "", "  ", width)
    if report.suppressed:
        yield from _block(f"Allowed by the allow-list, not shown: {len(report.suppressed)}.", "", "  ", width)
    if report.profile:
        yield from _profile(report.profile, width, verbose)
    elif report.profile_note:
        note = clean(report.profile_note)
        yield from _block(f"No profile was judged, only the generic checks: {note}.", "", "  ", width)
    for note in report.knowledge.notes() if report.knowledge else ():
        yield from _block(clean(note), "", "  ", width)
    if counted and report.status in ("error", "warning"):
        yield from _block(f"More on a finding: doctor explain {counted[0].rule}", "", "  ", width)


def _profile(p: ProfileVerdict, width: int, verbose: int) -> Iterator[Line]:
    """How its expectations came out, and who stands behind those that hold: each by itself with -v."""
    behind: dict[str, int] = {}
    for row in p.judged:
        if row.outcome == "holds":
            behind[row.status] = behind.get(row.status, 0) + 1
    holds = ", ".join(f"{count} {status}" for status, count in sorted(behind.items()))
    text = (
        f"{len(p.holds)} as expected{f' ({holds})' if holds else ''}, {len(p.deviates)} not, {len(p.unknown)} unknown"
    )
    yield from _block(f"Profile {clean(p.name)} ({p.chosen}, {p.status}): {text}.", "", "  ", width)
    for row in p.judged if verbose else ():
        found = clean(row.found) if row.found is not None else "not known"
        words = {"holds": "holds", "deviates": "does not hold", "unknown": "could not be checked"}[row.outcome]
        said = f"{clean(row.fact)} {words}: {clean(row.wants)} is expected, it is {found} ({row.status}, {row.as_of})"
        yield from _block(said, "  - ", "    ", width)


def _block(text: str, first: str, rest: str, width: int, style: str = "") -> Iterator[Line]:
    wrapped = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in wrapped or [first.rstrip()]:
        yield line, style
