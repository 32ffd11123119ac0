"""The rules between flags, GPUs and versions that hold in a situation.

>>> from doctor.flags.situation import Situation
>>> [h.id for h in found(Situation({"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}))][0]
'nccl-p2p-and-shm'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from doctor.flags import conditions
from doctor.flags.situation import Situation
from doctor.knowledge.store import kept, table

_IN_PRODUCTION = "ctx production"


class Held(NamedTuple):
    """An interaction whose condition holds."""

    id: str
    severity: str
    """error, warning, info"""
    problem: str
    fix: str
    variables: tuple[str, ...]
    """The set ones, the first to be blamed; () where one that should be set is not."""
    source: str
    audit: str
    """Whether it was checked against the component's code."""
    rule: str
    if_production: bool = False
    """It is a fault in production only, and what the job is for was not stated."""

    @property
    def audited(self) -> bool:
        return self.audit.startswith(("confirmed", "corrected"))


def found(situation: Situation) -> Iterator[Held]:
    """Those that hold, the severe ones first. One that was not checked against code is a warning at most."""
    hits = [hit for name, row in table("flags/conditions").items() if (hit := _judged(name, row, situation))]
    yield from sorted(hits, key=lambda h: ("error", "warning", "info").index(h.severity))


def _judged(name: str, row: dict[str, Any], situation: Situation) -> Held | None:
    lines = row.get("lines")
    if not lines or not _may_hold(row, situation):
        return None
    verdict = conditions.all_hold(lines, situation)
    supposed = verdict is None and _IN_PRODUCTION in lines
    if supposed:
        stated = {**situation.stated, "production": True}
        verdict = conditions.all_hold(lines, replace(situation, stated=stated))
    if not verdict or (situation.partial and not conditions.variables(lines, situation)):
        return None
    return _held(name, row, situation, supposed=supposed)


def _held(name: str, row: dict[str, Any], situation: Situation, *, supposed: bool) -> Held:
    said = table("flags/interactions")[name]
    audit = str(row.get("audit") or said["audit"])
    severity = str(row.get("severity") or said["severity"])
    if severity == "error" and not audit.startswith(("confirmed", "corrected")):
        severity = "warning"
    return Held(
        id=name,
        severity="info" if supposed else severity,
        problem=str(row.get("problem") or said["problem"]),
        fix=str(row.get("fix") or said["fix"]),
        variables=conditions.variables(row["lines"], situation),
        source="; ".join(row.get("shown") or (str(said["source"]),)),
        audit=audit,
        rule=str(row.get("rule") or "env-flags-conflict"),
        if_production=supposed,
    )


@kept
def speaks_of(name: str) -> bool:
    """Whether an evaluated interaction is about that variable."""
    rows = table("flags/conditions").values()
    return any(a.subject == name for row in rows for line in row.get("lines", ()) for a in conditions.atoms(line))


def _may_hold(row: dict[str, Any], situation: Situation) -> bool:
    """Whether one of the names is set without which it can't hold; the table has them, so that most are passed over."""
    names = row.get("triggers")
    return not names or any(True for name in names for _ in conditions.matching(name, situation))


def contexts() -> frozenset[str]:
    """Kinds of job that conditions ask for: `serving`, `fsdp`, `deterministic` …"""
    rows = table("flags/conditions").values()
    found = (a for row in rows for line in row.get("lines", ()) for a in conditions.atoms(line))
    return frozenset(a.value for a in found if a.subject == "ctx")
