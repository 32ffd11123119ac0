"""A container's seccomp profile (Docker's JSON, or an OCI runtime's resolved one) -> whether NUMA calls get through.

>>> refused = '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mbind"], "action": "SCMP_ACT_ERRNO"}]}'
>>> mempolicy(refused, ()), mempolicy('{"defaultAction": "SCMP_ACT_ALLOW"}', ())
('refused', 'allowed')

The format: https://docs.docker.com/engine/security/seccomp/ and the OCI runtime specification, "seccomp".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Literal

from doctor.errors import ParserError

MAX_TEXT = 1 << 20
CALLS = ("set_mempolicy", "mbind")
_LET = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_TRACE", "SCMP_ACT_NOTIFY")
_ROWS = 2000


def mempolicy(profile: str | Mapping[str, Any], capabilities: Collection[str]) -> Literal["allowed", "refused"]:
    """`capabilities` without their `CAP_`: a rule of Docker's may hold with one of them alone. Raises ParserError where
    it is no profile."""
    table = _table(profile)
    default = str(table.get("defaultAction", ""))
    if not default.startswith("SCMP_ACT_"):
        raise ParserError("no defaultAction: not a seccomp profile")
    rows = table.get("syscalls")
    rows = rows[:_ROWS] if isinstance(rows, list) else []
    for call in CALLS:
        actions = [str(row.get("action")) for row in rows if isinstance(row, dict) and _of(row, call, capabilities)]
        # Rules that allow and rules that refuse one call: libseccomp takes the one that was added last for it.
        if (actions[-1] if actions else default) not in _LET:
            return "refused"
    return "allowed"


def _table(profile: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(profile, str):
        return profile
    if len(profile) > MAX_TEXT:
        raise ParserError(f"{len(profile)} characters; a seccomp profile has at most {MAX_TEXT}")
    try:
        table = json.loads(profile)
    except (ValueError, RecursionError):
        raise ParserError("not JSON") from None
    if not isinstance(table, dict):
        raise ParserError("not a seccomp profile: no mapping")
    return table


def _of(row: Mapping[str, Any], call: str, capabilities: Collection[str]) -> bool:
    """Whether a row is about the call, without conditions on its arguments, and holds for those capabilities."""
    names = row.get("names") if isinstance(row.get("names"), list) else [row.get("name")]
    if call not in (names or ()) or row.get("args"):
        return False
    wanted, barred = _capabilities(row, "includes"), _capabilities(row, "excludes")
    return wanted <= set(capabilities) and not barred & set(capabilities)


def _capabilities(row: Mapping[str, Any], side: str) -> set[str]:
    held = row.get(side)
    caps = held.get("caps") if isinstance(held, dict) else None
    return {str(cap).removeprefix("CAP_") for cap in caps} if isinstance(caps, list) else set()
