"""uv's recorded answers about stacks, for machines and tests without network."""

from __future__ import annotations

from doctor.knowledge import Knowledge
from doctor.resolve.model import Resolution
from doctor.resolve.resolver import MUSL, Question
from doctor.versions import Dotted


def recorded(kb: Knowledge, asked: Question) -> Resolution | None:
    """None where nothing was recorded that decides it. A stack that resolved on a glibc does on newer ones; one that
    was refused is refused on older ones."""
    found = kb.resolution(asked.key)
    if found is None or asked.glibc == MUSL:
        return None
    if found.resolved_from and Dotted(asked.glibc) >= found.resolved_from:
        answer = Resolution("resolved", found.by, found.source, found.as_of, found.detail, recorded=True)
    elif found.refused_to and Dotted(asked.glibc) <= found.refused_to:
        answer = Resolution("refused", found.by, found.source, found.as_of, found.refusal or "", recorded=True)
    else:
        return None
    return None if asked.left_out and answer.state == "resolved" else answer
