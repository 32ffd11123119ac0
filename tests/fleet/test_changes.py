"""What changed between two times: worse, better, configured otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.fleet.changes import Changes, compared, side
from doctor.fleet.changes_text import render
from doctor.fleet.text import as_data
from doctor.fleet.verdict import Verdict
from tests.fleet.test_verdict import fleet, found, node

XID = {"scope": "hardware", "action": "drain"}


def changes(before: Verdict, after: Verdict) -> Changes:
    return compared(side(as_data(before)), side(as_data(after)))


def test_the_same_fleet_has_no_change() -> None:
    said = changes(fleet((9, node())), fleet((9, node())))
    assert not said.any()
    assert render(said) == "Fleet: no change.\n"


def test_a_node_with_a_new_error_is_newly_bad_and_the_way_back_is_better() -> None:
    good, bad = fleet((9, node())), fleet((8, node()), (1, found("nvidia-xid-fatal", **XID)))
    worse = changes(good, bad)
    assert worse.newly_bad == {"n09": "nvidia-xid-fatal"}
    assert worse.new == {("error", "nvidia-xid-fatal"): ["n09"]}
    better = changes(bad, good)
    assert (better.newly_good, better.worse()) == (["n09"], False)
    assert render(better).startswith("Fleet: nothing got worse; 1 node newly good.")


def test_an_odd_node_is_bad_for_what_differs() -> None:
    said = changes(fleet((9, node())), fleet((8, node()), (1, node(nvidia_driver__version="570.10"))))
    assert said.newly_bad == {"n09": "driver: nvidia_driver.version = 570.10, not 575.57.08"}


def test_an_update_of_all_nodes_is_configuration_and_not_worse() -> None:
    said = changes(fleet((9, node())), fleet((9, node(nvidia_driver__version="580.65.06"))))
    assert said.configuration == [("H100", "driver: nvidia_driver.version", "575.57.08", "580.65.06")]
    assert not said.worse()
    half = changes(fleet((8, node())), fleet((4, node()), (4, node(nvidia_driver__version="580.65.06"))))
    assert half.configuration == [("H100", "driver: nvidia_driver.version", "575.57.08", "no common value")]


def test_a_node_that_does_not_report_any_more_is_worse_and_an_error_is_not_gone_with_it() -> None:
    said = changes(fleet((8, node()), (1, found("nvidia-xid-fatal", **XID))), fleet((8, node())))
    assert (said.missing, said.gone, said.worse()) == (["n09"], {}, True)
    assert changes(fleet((8, node())), fleet((9, node()))).added == ["n09"]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name, last in (("before", node()), ("after", found("gpu-lost", **XID))):
        (tmp_path / name).mkdir()
        for number, report in enumerate([*[node()] * 4, last]):
            (tmp_path / name / f"n{number}.json").write_text(json.dumps(report))
    return tmp_path / "before", tmp_path / "after"


def test_folders_and_files_say_the_same(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for folder in folders:
        files.append(tmp_path / f"{folder.name}.json")
        run(["fleet", "report", str(folder), "--format", "json", "--fail-on", "never", "-o", str(files[-1])])
    capsys.readouterr()
    said: list[Any] = []
    for before, after in (folders, files):
        assert run(["fleet", "diff", str(before), str(after), "--format", "json"]) == 1
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]
    assert said[0]["newly_bad"] == [{"nodes": "n4", "why": "gpu-lost"}]
    assert run(["fleet", "diff", str(folders[1]), str(folders[0])]) == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "doctor.fleet/1"}', "[" * 100_000])
def test_what_is_no_fleet_report_is_one_line(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(content)
    assert run(["fleet", "diff", str(tmp_path / "x.json"), str(tmp_path / "x.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
