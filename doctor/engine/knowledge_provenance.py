"""Which release of the knowledge a report rests on, and which of its entries are old."""

from __future__ import annotations

import datetime

from doctor.findings import KnowledgeUsed
from doctor.knowledge import Knowledge, store
from doctor.knowledge.age import LIMIT_DAYS, days_old


def knowledge_provenance(kb: Knowledge, today: datetime.date) -> KnowledgeUsed:
    """What the answers since the last report rested on."""
    release = store.in_use()
    aged = [f"{name} ({as_of})" for name, as_of in sorted(kb.rested().items()) if days_old(as_of, today) > LIMIT_DAYS]
    return KnowledgeUsed(
        release=release.version,
        as_of=release.as_of,
        file=release.file,
        signer=release.signer,
        aged=tuple(aged),
        changed=tuple(sorted(set(store.changed_since))),
    )
