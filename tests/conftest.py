"""How much hypothesis tries, and which tests share a process."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("dev", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("ci", deadline=None, max_examples=100, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

TOGETHER = ("docker", "fakenode")
"""Folders whose tests share something that is made once: containers of one engine, the run of all machines."""


class OneFolderOneProcess(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """xdist's own groups are by a suffix of an item's id, which pytest 9.2 no longer lets it add."""

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.removeprefix("tests/").partition("/")[0]
        return folder if folder in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Tests of those folders run in one process, one after the other; all others where there is room."""
    return OneFolderOneProcess(config, log)
