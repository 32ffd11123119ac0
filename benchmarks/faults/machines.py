"""Machines of tests/fakenode as cases: broken ones, healthy ones, near misses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.faults.broken import Case
from benchmarks.faults.environments import Environment
from tests.fakenode import Node, run_all
from tests.fakenode.cases import BROKEN, HEALTHY, NEAR_MISSES


def asked(only: str = "") -> Iterator[tuple[Case, tuple[int, str]]]:
    """Each machine with exit code and output of `doctor check`; none where the kernel allows no namespace."""
    nodes: dict[str, tuple[Node, Case]] = {}
    for broken in BROKEN:
        if broken.severity != "info":
            nodes[broken.name] = (broken.node, Case(broken.name, "machine", "", _nothing, (broken.rule,)))
    for name, node in (HEALTHY | NEAR_MISSES).items():
        nodes[name] = (node, Case(name, "machine", "", _nothing))
    with contextlib.ExitStack() as stack:
        wanted = {name: pair for name, pair in nodes.items() if only in name}
        jobs = [
            stack.enter_context(node.laid_out()).job(("doctor", "check", "--format", "json"))
            for node, _ in wanted.values()
        ]
        for (_, case), result in zip(wanted.values(), run_all(jobs), strict=True):
            yield case, (result.code, result.stdout)


def _nothing(_environment: Environment) -> None:
    pass
