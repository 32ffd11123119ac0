"""Variables that a file sets: those that the container does not get, and values that their library does not take."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.errors import ParserError
from doctor.facts.snapshot import Snapshot
from doctor.findings import Severity
from doctor.flags.files import look
from doctor.flags.way import findings, run
from doctor.images.lint.model import Fault, Level


def lost(source: str, text: str) -> Iterator[Fault]:
    """`RUN export`, `ARG`."""
    for fault in findings.faults(run.follow(source, text, "dockerfile"), text):
        if fault.id in ("run-export", "build-argument"):
            yield Fault(fault.steps[0].line, "image-flag-lost", "warning", fault.problem, fault.cure)


def wrong(source: str, text: str, kind: str) -> Iterator[Fault]:
    """What `doctor env` finds. An empty list of GPUs hides them on purpose."""
    try:
        found = look(source, text, kind, Snapshot(), {}).findings
    except ParserError:
        return
    for finding in found:
        value = finding.evidence[0].text.partition("=")[2]
        if finding.severity is Severity.INFO or (
            finding.subject.id.endswith("_VISIBLE_DEVICES") and not value.strip("'\"")
        ):
            continue
        level: Level = "error" if finding.severity is Severity.ERROR else "warning"
        line = int(finding.evidence[0].source.rsplit(":", 2)[1])
        yield Fault(
            line, "image-flag-wrong", level, finding.summary, finding.remedies[0].title if finding.remedies else ""
        )
