"""`clear` is earned: without a fact that showed a fault, the rule could not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from doctor.engine import registry
from doctor.engine.judge import judge
from doctor.engine.outcome import known_of, run
from doctor.facts import Snapshot
from doctor.facts.model import Model
from doctor.facts.watched import watched
from doctor.findings import Report
from doctor.knowledge import Knowledge
from tests.fakenode.conftest import Reports

_OF_PROFILES = {"profile-expectation-unmet"}
pytestmark = pytest.mark.fakenode
_STEP = re.compile(r"([a-z0-9_]+)(?:\[([^\]]*)\])?")


def without_each_fact(model: Model, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The name of a fact, and the model without it: every one, of each list the first member's, and all members'."""
    for field, about in type(model).model_fields.items():
        value, name = getattr(model, field), prefix + field
        if value is None or field in ("origins", "symptoms", "key"):
            continue
        if about.default is None and not about.is_required():
            yield name, model.model_copy(update={field: None})
        inner = [("", value)] if isinstance(value, Model) else []
        if isinstance(value, tuple) and value and isinstance(value[0], Model) and hasattr(value[0], "key"):
            inner = [(f"[{value[0].key}]", value[0])]
            yield from _of_all(model, field, name, value)
        for key, one in inner:
            for lost, rest in without_each_fact(one, f"{name}{key}."):
                yield lost, model.model_copy(update={field: (rest, *value[1:]) if key else rest})


def _of_all(model: Model, field: str, name: str, members: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for part, about in type(members[0]).model_fields.items():
        if about.default is None and any(getattr(one, part) is not None for one in members):
            rest = tuple(one.model_copy(update={part: None}) for one in members)
            yield f"{name}[{members[0].key}].{part}", model.model_copy(update={field: rest})


def forgotten(machine: Snapshot, name: str) -> Snapshot:
    """With no origin of the fact, nor of what it holds."""
    pattern = re.compile(re.sub(r"\\\[.*?\\\]", r"\\[[^\\]]*\\]", re.escape(name)) + r"([.\[]|$)")
    begin = name.partition("[")[0]  # most begin otherwise
    kept = {n: o for n, o in machine.origins.items() if not (n.startswith(begin) and pattern.match(n))}
    return machine.model_copy(update={"origins": kept})


def is_unknown(machine: Snapshot, name: str) -> bool:
    """False where other facts say that there is no such fact: a module that is not loaded has no version."""
    seen: dict[str, None] = {}
    here: Any = watched(machine, seen)
    for step, key in _STEP.findall(name):
        here = getattr(here, step)
        if key and here is not None:
            here = next(one for one in here if one.key == key)
        if not isinstance(here, (BaseModel, tuple)):
            break
    return bool(seen)


def ending(report: Report, rule: str) -> str:
    if any(f.rule == rule for f in report.findings):
        return "finding"
    if rule in report.clear:
        return "clear"
    return "unchecked" if any(u.rule == rule for u in report.unchecked) else "not applicable"


def test_no_rule_is_clear_without_the_fact_that_showed_its_fault(reports: Reports) -> None:
    kb = Knowledge()
    checks = {check.rule.id: check for check in registry.checks()}
    wrong: dict[tuple[str, str], str] = {}
    fired: set[str] = set()
    for told in reports.values():
        machine = Snapshot.model_validate(told["snapshot"])
        rules = {f["rule"] for f in told["findings"]} - fired - _OF_PROFILES
        fired |= rules
        for name, poorer in without_each_fact(machine) if rules else ():
            here = forgotten(poorer, name)
            for rule in rules:
                if not run(checks[rule], here, kb, None, known_of([checks[rule]], here, None)).findings and is_unknown(
                    here, name
                ):
                    wrong[rule, name] = ending(judge(here, kb, checks=[checks[rule]]), rule)
    wrong = {where: end for where, end in wrong.items() if end != "unchecked"}
    assert len(fired) > 40
    assert wrong == {}
