"""The whole check on a machine where everything goes wrong in one way: a report comes out, and is honest."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import get_args

import pytest

from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.report.formats.json import render
from doctor.system.live import LiveSystem
from tests.system.faulty import FaultySystem, Mode

MODES = get_args(Mode)


def children() -> set[int]:
    """Processes that this one started and that still are there."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):  # it ended meanwhile
            continue
        if parent == os.getpid():
            found.add(int(folder.name))
    return found


def report_of(mode: Mode, folder: Path, total_s: float) -> Report:
    before = children()
    report = examine(FaultySystem(LiveSystem(), mode, folder), Options(total_s=total_s))
    ends = time.monotonic() + 2.0
    while (left := children() - before) and time.monotonic() < ends:  # on a busy machine a killed one takes a moment
        time.sleep(0.02)
    assert left == set()
    return report


@pytest.mark.parametrize("mode", MODES)
def test_a_report_comes_out_and_is_honest(mode: Mode, tmp_path: Path) -> None:
    began = time.monotonic()
    report = report_of(mode, tmp_path, 1.0)
    assert time.monotonic() - began < 3.0
    told = json.loads(render(report, unredacted=False))
    assert told["schema"] == "doctor.report/2"
    assert report.status != "ok"
    assert [u for u in report.unchecked if u.crashed] == []
    assert report.unchecked, "what could not be checked is named"


@pytest.mark.parametrize("mode", [m for m in MODES if m != "cut"])
def test_a_fault_is_never_a_finding(mode: Mode, tmp_path: Path) -> None:
    errors = [f for f in report_of(mode, tmp_path, 1.0).findings if f.severity.value == "error"]
    assert [(f.rule, f.summary) for f in errors] == []


@pytest.mark.parametrize("mode", MODES)
def test_no_probe_crashes(mode: Mode, tmp_path: Path) -> None:
    report = report_of(mode, tmp_path, 1.0)
    failed = {n: o.detail for n, o in report.snapshot.origins.items() if n.startswith("probes.")}
    late = ("not done within", "not begun, since others hung, within")
    assert {n: d for n, d in failed.items() if not (d or "").startswith(late)} == {}


@pytest.mark.slow
def test_a_machine_that_hangs_everywhere_is_reported_on_within_15_seconds() -> None:
    began = time.monotonic()
    report = report_of("hangs", Path(), Options().total_s)
    assert time.monotonic() - began < 15.0
    assert (report.status, report.snapshot.gpus) == ("unknown", None)
    assert {o.state.value for n, o in report.snapshot.origins.items() if n.startswith("probes.")} == {"timed-out"}
