"""Reports of any form: none costs the others their verdict, none is called good that says nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.findings import drains
from doctor.fleet.answers import Answer, of_folder
from doctor.fleet.page import render as page
from doctor.fleet.schema import Fleet
from doctor.fleet.tally import Tally
from doctor.fleet.text import as_data, markdown, render
from doctor.fleet.verdict import judged
from tests.each import each
from tests.fleet.test_verdict import node

ODD: tuple[Any, ...] = (
    None, True, -1, 1e308, "", "\ud800\x1b[31m\n", [], [[]], [None, 3, "x"], [{}], {}, {"a": {"b": [1]}}, "x" * 5000,
)  # fmt: skip


def full() -> dict[str, Any]:
    """A report that has each part that is read."""
    report = node(
        nodes=[{"key": "/dev/nvidia0", "kind": "nvidia", "mode": 0o666, "uid": 0, "gid": 0}],
        rdma=[{"key": "mlx5_0", "state": "4: ACTIVE", "firmware": "28"}],
        bench=[{"key": "gemm", "unit": "TFLOP/s", "value": {"p50": 600.0}}],
        cuda=[{"path": "/usr/local/cuda", "version": "12.9"}],
        engines=[{"key": "docker", "version": "28.1"}],
    )
    gpu = report["snapshot"]["gpus"][0]
    gpu.update(errors={"uncorrected": 0}, link={"width": 16}, links=[{"up": True}], firmware={"smc": "1"}, slot="1")
    report["findings"] = [{"rule": "r", "severity": "error", "summary": "s", "scope": "hardware", "action": "drain"}]
    return {**report, "created": "2026-11-23T08:00:00Z"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


@each("path", places(full()))
def test_any_value_in_any_place_leaves_a_verdict(path: tuple[Any, ...]) -> None:
    tally = Tally(now=2e9)
    for number in range(4):
        tally.add(Answer(f"n{number}", full()))
    for number, odd in enumerate(ODD):
        report = copy.deepcopy(full())
        held = report
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = odd
        tally.add(Answer(f"odd{number}", report))
    verdict = judged(tally)
    Fleet.model_validate(as_data(verdict))
    for text in (render(verdict), markdown(verdict), page(verdict)):
        assert "\x1b" not in text
        text.encode()


def test_a_folder_of_odd_files_is_read_to_its_end(tmp_path: Path) -> None:
    contents = {
        "empty.json": b"", "null.json": b"null", "list.json": b"[1]", "deep.json": b"[" * 100_000, "nul.json": b"\0{",
        "other.json": b'{"schema": "doctor.report/2"}', "cut.json": b'{"schema": "doctor.rep', "latin.out": b"\xff\xfe",
        "findings.json": b'{"schema": "doctor.report/2", "findings": [[]]}', "nan.json": b'{"schema": NaN}',
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "good.json").write_text(json.dumps(node()))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    tally = Tally().add_all(of_folder(tmp_path))
    assert tally.nodes == ["good", "other"]
    assert len(tally.silent) == 9
    assert not judged(tally).good()


def test_a_report_that_says_of_no_layer_that_it_was_checked_is_not_good() -> None:
    report = {**node(), "layers": {}}
    verdict = judged(Tally().add_all(Answer(f"n{number}", report) for number in range(3)))
    assert not verdict.good()
    assert set(verdict.tally.unchecked()) == {"gpu", "driver", "devices"}


def test_a_severity_that_nobody_knows_is_no_remark() -> None:
    report = {**node(), "findings": [{"rule": "r", "severity": "fatal", "summary": "s"}]}
    assert Tally().add_all([Answer("n1", report)]).silent == {"n1": "its report is not in the form of doctor.report/2"}


def test_a_node_that_failed_and_then_answered_is_counted_once() -> None:
    for answers in (("silent", "good"), ("good", "silent")):
        tally = Tally()
        for which in answers:
            tally.add(Answer("n1", node() if which == "good" else None, "no answer within 60 s"))
        assert (tally.nodes, tally.silent, tally.twice) == (["n1"], {}, ["n1"])


def test_one_clock_that_is_ahead_makes_no_other_report_old() -> None:
    tally = Tally(now=1_795_000_000)
    for name, year in (("n1", 2026), ("n2", 2026), ("n3", 2031)):
        tally.add(Answer(name, {**node(), "created": f"{year}-11-18T08:00:00Z"}))
    data = as_data(judged(tally))
    assert (data["ahead"], data["stale"]) == ("n3", "")


@pytest.mark.parametrize(
    ("severity", "scope", "action", "drained"),
    [
        ("error", "hardware", "replace", True),
        ("error", "host", "reboot", True),
        ("error", "driver", "reconfigure", True),
        ("error", "driver", "inform", False),
        ("error", "host", "reconfigure", False),
        ("error", "environment", "reboot", False),
        ("error", "job", "drain", False),
        ("warning", "hardware", "drain", False),
        ("error", None, None, False),
        ("error", ["hardware"], {"x": 1}, False),
    ],
)
def test_what_drains(severity: str, scope: Any, action: Any, drained: bool) -> None:
    assert drains(severity, scope, action) is drained
