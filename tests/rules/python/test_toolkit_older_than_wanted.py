"""A toolkit that is older than the one with which a program says that it compiles."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.engine import registry
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from tests.rules.machines import build

(CHECK,) = (check for check in registry.checks() if check.rule.id == "toolkit-torch-mismatch")
FAILED = {"jit-fails-told": "the JIT of the sampler failed"}


def machine(version: str | None, told: str, failed: dict[str, str] = FAILED) -> Snapshot:
    toolkit: dict[str, Any] = {"cuda[shown].kind": "toolkit", "cuda[shown].path": "", "cuda[shown].version": version}
    return build({**(toolkit if version else {}), "symptoms": {"toolkit-floor-told": told, **failed}})


def told(machine: Snapshot) -> list[str]:
    return [f.summary for f in CHECK.run(machine, Knowledge(), None) if "is needed for compiling" in f.summary]


@pytest.mark.parametrize("version", ["12.9", "12.9.86", "13.0", None])
def test_silent_where_it_is_new_enough_or_not_known(version: str | None) -> None:
    assert told(machine(version, "it needs CUDA 12.9 or newer")) == []


def test_silent_where_nothing_is_compiled() -> None:
    assert told(machine("12.8", "it needs CUDA 12.9 or newer", {})) == []
