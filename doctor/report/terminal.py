"""Report -> text for people: the machine in one line, a block for each problem with its fixes, then each part of the
stack and one line of counts.

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

from doctor.findings import Finding, ProfileVerdict, Report, Severity
from doctor.redaction.secrets import masked
from doctor.report import details
from doctor.report.words import (
    best_guess,
    clean,
    cost,
    has_placeholder,
    headline,
    layer_signs,
    machine_line,
    reader_failures,
)

_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "cyan",
    "ok": "bold green",
    "unknown": "bold magenta",
    "partial": "bold magenta",
}
_SHOWN = 4
_PLAIN_SIGNS = {"error": "ERROR:", "warning": "WARNING:", "info": "NOTE:"}
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
    def of_stdout(cls, *, colour: bool = True) -> Look:
        """What fits this process's stdout and environment."""
        import shutil

        tty = sys.stdout is not None and sys.stdout.isatty()
        dumb = os.environ.get("TERM", "") in ("", "dumb")
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        return cls(
            width=min(shutil.get_terminal_size((80, 24)).columns, 120) if tty else 80,
            colour=colour and tty and not (dumb or os.environ.get("NO_COLOR")),
            unicode=encoding.startswith("utf") and not dumb,
            plain=not tty,
        )


def render(report: Report, look: Look | None = None, verbose: int = 0) -> str:
    look = look or Look()
    lines = list(_lines(report, look, verbose))
    if not look.unicode:
        lines = [(_ascii(text), style) for text, style in lines]
    if not look.colour:
        return "".join(f"{text}\n" for text, _ in lines)
    return _coloured(lines)


def _ascii(text: str) -> str:
    for sign, stand_in in (
        ("×", "x"),
        ("…", "..."),
        ("→", "->"),
        ("·", "-"),
        ("≥", ">="),
        ("–", "-"),
        ("—", "-"),
        (" °", " "),
        ("✗", "x"),
        ("✓", "ok"),
    ):
        text = text.replace(sign, stand_in)
    return text.encode("ascii", "replace").decode()


def _coloured(lines: Iterable[Line]) -> str:
    """rich draws only here, and is imported only where there is colour."""
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
    yield from _block(machine_line(report), "", "  ", width, "bold")
    shown = [f for f in counted if verbose or f.severity is not Severity.INFO or f.remedies or f.ask is not None]
    seen: dict[str, str] = {}
    guesses = [f for f in shown if f.suspect and f.severity is Severity.INFO and f.basis == "symptom"]
    briefly = [] if verbose else guesses if shown != guesses else guesses[1:]
    for finding in shown:
        if finding in briefly:
            continue
        yield "", ""
        above = None if verbose else seen.get(_advice(finding))
        seen.setdefault(_advice(finding), finding.rule)
        yield from _finding(finding, report, look, width, verbose, above)
    for place, guess in enumerate(briefly):
        if not place:
            yield "", ""
        yield from _block(f"{masked(clean(guess.summary))} (doctor explain {guess.rule})", "", "  ", width)
    if hint := best_guess(report):  # beside the findings, never among them
        yield "", ""
        yield from _block(f"A guess (not sure): {clean(hint.title)} Please add {hint.ask}.", "", "  ", width)
    yield "", ""
    yield from _closing(report, counted, look, width, verbose)
    if verbose:
        for text, row_style in details.lines(report.snapshot, width, verbose):
            indent = " " * (len(text) - len(text.lstrip()) + 2)
            yield from [(text, row_style)] if look.plain else _block(text, "", indent, width, row_style)


def _advice(finding: Finding) -> str:
    """What two findings have in common that need the same fix, each for its own subject."""
    return repr(finding.remedies).replace(finding.subject.id, "") if finding.remedies else finding.fingerprint


def _finding(
    finding: Finding, report: Report, look: Look, width: int, verbose: int, above: str | None
) -> Iterator[Line]:
    """`above`: the rule whose finding above has the same fix."""
    sign = ({"error": "✗", "warning": "!", "info": "i"} if not look.plain else _PLAIN_SIGNS)[finding.severity.value]
    head = f"{sign} {masked(clean(finding.summary))}"
    style = _STYLES[finding.severity.value]
    if len(head) + len(finding.rule) + 2 <= width:
        yield f"{head}{' ' * (width - len(head) - len(finding.rule))}{finding.rule}", style
    else:
        yield from _block(head, "", "  ", width, style)
        yield f"    {finding.rule}", ""
    if finding.why and finding.severity is not Severity.INFO and above != finding.rule:
        yield from _block(clean(finding.why), "  ", "  ", width)
    shown = finding.evidence if verbose else finding.evidence[:_SHOWN]
    for row in shown:
        yield from _block(f"{masked(clean(row.text))} ({clean(row.source)})", "    ", "      ", width)
    if len(finding.evidence) > len(shown):
        yield from _block(f"and {len(finding.evidence) - len(shown)} more (-v)", "    ", "      ", width)
    if finding.basis == "symptom" and verbose:
        yield from _block("Based only on this error message.", "  ", "    ", width)
    if above:
        which = f"for {clean(finding.subject.id)}" if above == finding.rule else f"see {above}"
        yield from _block(f"Fix: as above, {which} (-v)", "  ", "    ", width)
    else:
        yield from _remedies(finding, width)
    if finding.verify and not above:
        yield f"  Check: {command(finding.verify)}", ""
    if finding.ask:
        yield from _block(clean(finding.ask), "  Please add: ", "    ", width)
    follow = [f for f in report.findings if f.explained_by == finding.fingerprint]
    if follow:
        texts = dict.fromkeys(masked(clean(f.summary)) for f in follow)
        yield from _block(f"This explains: {'; '.join(text.rstrip('.') for text in texts)}.", "  ", "    ", width)


def _remedies(finding: Finding, width: int) -> Iterator[Line]:
    many = len(finding.remedies) > 1
    if many:
        yield "  Choose one:", ""
    for letter, remedy in zip("ABCDEFGH", finding.remedies, strict=False):
        first = f"    {letter}  " if many else "  Fix: "
        rest = " " * len(first)
        yield from _block(f"{clean(remedy.title).rstrip('.')} ({cost(remedy)})", first, rest, width)
        for step in remedy.steps:
            differs = step.text.rstrip(".") != remedy.title.rstrip(".")
            if len(remedy.steps) > 1 or (differs and (not step.command or has_placeholder(step.command))):
                yield from _block(clean(step.text), rest, rest, width)
            if step.command:
                yield f"{rest}  {command(step.command)}", "bold"
        if remedy.risk:
            yield from _block(f"Risk: {clean(remedy.risk)}", rest, rest, width)
        for step in remedy.undo:
            undo = command(step.command) if step.command else clean(step.text)
            yield from _block(f"Undo: {undo}", rest, rest, width)


def command(argv: Iterable[str]) -> str:
    """An argv as a line that can be pasted into a shell; never wrapped."""
    return shlex.join(clean(word) for word in argv)


def _closing(report: Report, counted: list[Finding], look: Look, width: int, verbose: int) -> Iterator[Line]:
    if signs := layer_signs(report, plain=look.plain or not look.unicode):
        yield from _block(signs, "", "  ", width)
    yield from _block(headline(report), "", "  ", width, _STYLES[report.status])
    crashed = [u for u in report.unchecked if u.crashed]
    if verbose:
        reasons: dict[str, list[str]] = {}
        for row in report.unchecked:
            reasons.setdefault(clean(row.reason), []).append(row.rule)
        for reason, rules in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
            yield from _block(f"{reason}: {', '.join(rules)}", "  - ", "    ", width)
    if crashed:
        yield from _block(f"Crashed: {', '.join(u.rule for u in crashed)}. Please report this.", "", "  ", width)
    for line in reader_failures(report.snapshot):
        yield from _block(line, "", "  ", width)
    if report.suppressed:
        names = ", ".join(dict.fromkeys(row.rule for row in report.suppressed))
        yield from _block(f"Suppressed by your allow-list: {names}.", "", "  ", width)
    if report.profile:
        yield from _profile(report.profile, width, verbose)
    elif report.profile_note and verbose:
        yield from _block(f"Not compared with a profile: {clean(report.profile_note)}.", "", "  ", width)
    used = report.knowledge
    for note in used.notes() if used and (verbose or used.file or used.changed) else ():
        yield from _block(clean(note), "", "  ", width)
    if counted and report.status in ("error", "warning"):
        yield from _block(f"More on a finding: doctor explain {counted[0].rule}", "", "  ", width)


def _profile(p: ProfileVerdict, width: int, verbose: int) -> Iterator[Line]:
    """How its expectations came out, and the status of each: one a line with -v."""
    differs = f"{len(p.deviates)} difference{'s' * (len(p.deviates) != 1)}" if p.deviates else "no differences"
    unknown = f", {len(p.unknown)} not checked" if p.unknown else ""
    more = "" if verbose else " (-v)"
    yield from _block(f"Compared with profile {clean(p.name)}: {differs}{unknown}{more}.", "", "  ", width)
    for row in p.judged if verbose else ():
        found = clean(row.found) if row.found is not None else "not known"
        words = {"holds": "holds", "deviates": "does not hold", "unknown": "could not be checked"}[row.outcome]
        line = f"{clean(row.fact)} {words}: {clean(row.wants)} is expected, it is {found} ({row.status}, {row.as_of})"
        yield from _block(line, "  - ", "    ", width)


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
