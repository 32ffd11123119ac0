"""Where a finding of a file stands: `file:line:column` of its first evidence."""

from __future__ import annotations

import re

from doctor.findings import Finding

_ID = re.compile(r"[a-z0-9-]{2,60}")
_PLACE = re.compile(r"(.{1,4000}?):(\d{1,7})(?::(\d{1,7}))?")


def place(finding: Finding) -> tuple[str, int, int] | None:
    found = _PLACE.fullmatch(finding.evidence[0].source) if finding.evidence else None
    return (found[1], int(found[2]), int(found[3] or 1)) if found else None


def line(finding: Finding) -> int:
    """0 where it has none."""
    return (place(finding) or ("", 0))[1]


def ids(finding: Finding) -> list[str]:
    """What a fault of the file or of the way is called behind its rule: `secrets-in-env`, `sudo`."""
    return [e.text for e in finding.evidence if _ID.fullmatch(e.text)]
