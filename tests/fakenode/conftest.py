"""One run of all machines, shared by the tests; and what happens where the kernel allows no run."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import pytest

from tests.fakenode import REQUIRE, Node, Support, run_all, support
from tests.fakenode.cases import BROKEN, HEALTHY, NEAR_MISSES
from tests.fakenode.stand_in import COMPILERS, compiler

Reports = dict[str, dict[str, Any]]
"""Report by the machine's name."""


def refuse(why: str, *, unless: tuple[str, ...] = ("1", "root")) -> None:
    """A skip with its reason; a failure where DOCTOR_REQUIRE_FAKENODE is one of `unless`."""
    if os.environ.get(REQUIRE) in unless:
        pytest.fail(f"{why}, and {REQUIRE}={os.environ[REQUIRE]} requires it")
    pytest.skip(why)


@pytest.fixture(scope="session")
def live() -> Support:
    """How live a run can be; skips where it can't."""
    if support() is Support.NONE:
        refuse("neither root nor a user namespace may make a mount namespace here")
    if compiler() is None:
        refuse(f"NVML's stand-in needs a C compiler ({', '.join(COMPILERS)})")
    return support()


@pytest.fixture(scope="session")
def reports(live: Support) -> Reports:
    """Of every machine in cases.py; without root, those about owners are left out."""
    nodes: dict[str, Node] = {**HEALTHY, **NEAR_MISSES}
    nodes |= {case.name: case.node for case in BROKEN if live is Support.ROOT or not case.needs_owners}
    with contextlib.ExitStack() as stack:
        jobs = {
            n: stack.enter_context(node.laid_out()).job(("doctor", "check", "--format", "json"))
            for n, node in nodes.items()
        }
        results = dict(zip(jobs, run_all(list(jobs.values())), strict=True))
    silent = {name: result.stderr for name, result in results.items() if not result.stdout}
    assert silent == {}
    return {name: json.loads(result.stdout) for name, result in results.items()}
