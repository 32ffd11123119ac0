"""What a symptom's text says of the cause."""

from __future__ import annotations

from pathlib import Path

from doctor.system.given import read_given_bytes

_LIMIT = 64 << 20


def suspects(symptom: str | None) -> tuple[str, ...]:
    """The rules that a symptom's text, or the file that holds it, speaks of; the surest first."""
    if not symptom:
        return ()
    from doctor.engine.pasted import judge_pasted
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_pasted

    path = Path(symptom)
    text = read_given_bytes(path, _LIMIT) if len(symptom) < 4096 and path.is_file() else symptom.encode()
    read = judge_pasted(read_pasted([text]), Knowledge())
    return tuple(dict.fromkeys([*(f.rule for f in read.findings), *(h.rule for h in read.hints)]))
