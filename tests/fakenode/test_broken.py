"""Broken machines: the fault is named first, by its rule, at its severity."""

from __future__ import annotations

import pytest

from tests.fakenode import Support
from tests.fakenode.cases import BROKEN, Case
from tests.fakenode.conftest import Reports, refuse

pytestmark = pytest.mark.fakenode


def misjudged(cases: list[Case], reports: Reports) -> dict[str, object]:
    """What stands first where something else should, by machine."""
    wrong: dict[str, object] = {}
    for case in cases:
        findings = [(f["rule"], f["severity"]) for f in reports[case.name]["findings"]]
        relevant = [f for f in findings if f[0] != "profile-expectation-unmet"]
        if relevant[:1] != [(case.rule, case.severity)]:
            wrong[case.name] = {"wanted": (case.rule, case.severity), "found": findings}
    return wrong


def test_every_fault_is_named_first(reports: Reports) -> None:
    assert misjudged([c for c in BROKEN if not c.needs_owners], reports) == {}


def test_every_fault_of_owners_and_accounts_is_named_first(reports: Reports, live: Support) -> None:
    if live is not Support.ROOT:
        refuse("device nodes get their owners by root alone", unless=("root",))
    assert misjudged([c for c in BROKEN if c.needs_owners], reports) == {}


def test_the_names_of_machines_are_distinct() -> None:
    names = [case.name for case in BROKEN]
    assert sorted(set(names)) == sorted(names)
