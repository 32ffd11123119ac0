"""`doctor why` over pairs of fake nodes: a healthy machine, and the same one with a planted fault.

    python -m benchmarks.why --nodes    # prints how often the planted fault comes first; root, or a user namespace

Each pair differs in one fault of tests/fakenode/cases.py, in 100 variables and
in the versions of 100 packages that nothing reads.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace

from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.why.differences import Difference
from doctor.why.ranking import why
from tests.fakenode import Node, run_all
from tests.fakenode.cases import BROKEN

_HARMLESS = 100


def reports(nodes: Mapping[str, Node]) -> dict[str, Report]:
    """What `doctor check` says on each of these machines."""
    with contextlib.ExitStack() as stack:
        laid = {name: stack.enter_context(node.laid_out()) for name, node in nodes.items()}
        jobs = [one.job(("doctor", "check", "--format", "json")) for one in laid.values()]
        results = dict(zip(laid, run_all(jobs), strict=True))
    return {name: Report.model_validate(json.loads(r.stdout)) for name, r in results.items()}


def noisy(report: Report, version: str) -> Report:
    """The same machine with variables and packages that nothing reads."""
    machine = report.snapshot
    packages = [{"name": f"helper-{n}", "version": f"{version}.{n}"} for n in range(_HARMLESS)]
    made = type(machine).model_validate({"packages": packages}).packages or ()
    variables = {f"APP_SETTING_{n}": version for n in range(_HARMLESS)}
    update = {
        "environment": {**(machine.environment or {}), **variables},
        "packages": (*(machine.packages or ()), *made),
    }
    return report.model_copy(update={"snapshot": machine.model_copy(update=update)})


def harmless(one: Difference) -> bool:
    return one.name.startswith(("environment[APP_SETTING_", "packages[helper-"))


def main() -> None:
    whole: dict[str, Node] = {}
    for case in BROKEN:
        whole.setdefault(repr(replace(case.node, faults=())), replace(case.node, faults=()))
    names = {key: f"healthy {number}" for number, key in enumerate(whole)}
    found = reports({**{names[key]: node for key, node in whole.items()}, **{c.name: c.node for c in BROKEN}})
    kb, pairs, first, explained, began = Knowledge(), 0, 0, 0, time.perf_counter()
    for case in BROKEN:
        good = noisy(found[names[repr(replace(case.node, faults=()))]], "1")
        answer = why(good, noisy(found[case.name], "2"), kb)
        if any(f.rule == case.rule for f in good.findings):
            continue  # what its description says is the fault: there is no healthy one to compare with
        pairs += 1
        named = any(one.by and one.finding.rule == case.rule for one in answer.explained)
        leads = bool(answer.ranked) and not harmless(answer.ranked[0])
        explained, first = explained + named, first + leads
        if not (named and leads):
            lead = answer.ranked[0].name if answer.ranked else "nothing"
            print(f"{case.name}: {case.rule}: first {lead}; explained {named}")
    took = (time.perf_counter() - began) / pairs
    print(f"{pairs} pairs: planted difference first {first}, its finding explained {explained}, {took:.2f} s a pair")
