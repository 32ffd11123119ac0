"""Findings of `doctor env` for programs that place them in a file: SARIF 2.1.0 and GitHub's annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.files import Looked


def sarif(looked: Sequence[Looked]) -> str:
    from doctor.flags.places import place
    from doctor.report import in_files

    rows = []
    for finding in (f for one in looked for f in one.findings):
        where = place(finding) or ("", 1, 1)
        row = in_files.Row(finding.rule, finding.severity.value, _message(finding), *where, finding.fingerprint)
        rows.append(row)
    return in_files.sarif("doctor env", rows, {})


def github(looked: Sequence[Looked]) -> str:
    from doctor.flags.places import place
    from doctor.report.formats.github import annotation

    found = (f for one in looked for f in one.findings)
    return "".join(f"{annotation(f.severity.value, f.rule, _message(f), place(f))}\n" for f in found)


def _message(finding: Finding) -> str:
    from doctor.report.words import clean

    return clean(" ".join([finding.summary, *(remedy.title for remedy in finding.remedies[:2])]))
