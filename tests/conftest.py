"""How much hypothesis tries, and which tests share a process."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("dev", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("ci", deadline=None, max_examples=100, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in the background, and in what that starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDERS = ("docker", "fakenode")
"""Whose tests share something that is made once: containers and device nodes, the run of all machines."""
THIS_MACHINE = ("bundle/test_replay.py", "cli/test_diff.py")
"""Files that look at this machine twice: not while the tests of `docker` make device nodes on it."""
CLUSTER = ("docker/test_slurm.py", "docker/test_fleet_ssh.py", "docker/test_ways.py")
"""Files that mostly wait for machines of their own: for Slurm's, and for those behind ssh."""
IMAGES = tuple(f"docker/test_{name}.py" for name in ("image", "image_other_ways", "classic_store"))
"""Files that share one image, which takes longest to build."""
ALONE = tuple(f"docker/test_{name}.py" for name in ("image_by_podman", "pre_commit", "shells"))
"""Files that share neither an image of docker's nor a device node."""
CAPTURES = (
    "triage/test_fieldlab.py", "live/test_read_by_eye.py", "live/test_fieldlab_roots.py", "machines/test_fieldlab.py",
)  # fmt: skip
"""Files that share the captures as they are read and judged."""

LONG = (
    "bundle/test_every_tool_hangs.py", "contracts/test_pages.py", "live/test_bundle_faults.py",
    "parsers/test_fuzz_structure.py", "why/test_prove.py", "report/test_ci_formats.py", "redaction/test_corpora.py",
    "triage/test_big_inputs.py",
)  # fmt: skip
"""Files that take long: one of them as the last would leave the other processes without work."""


def _group(nodeid: str) -> str:
    """What runs in one process, one after the other."""
    file = nodeid.removeprefix("tests/").partition("::")[0]
    folder = file.partition("/")[0]
    if file in IMAGES or file in CLUSTER:
        return "images" if file in IMAGES else "cluster"
    if file in ALONE:
        return file
    if file in THIS_MACHINE:
        return "docker"
    return folder if folder in FOLDERS else "captures" if file in CAPTURES else file


class OneFileOneProcess(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """xdist's own groups are by a suffix of an item's id, which pytest 9.2 no longer lets it add."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Tests of a file, and of those groups, share what they made."""
    config.option.loadscopereorder = False
    return OneFileOneProcess(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no process waits for another in the end."""
    first = ("images", "docker", "cluster", *ALONE, "fakenode", "captures", *LONG)
    items.sort(key=lambda item: first.index(group) if (group := _group(item.nodeid)) in first else len(first))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays until the end: looking through it for garbage again and again took a fifth
    of the time, and a page that is looked at is copied into each forked child."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
