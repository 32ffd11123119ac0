"""`doctor fleet report`: arguments, exit codes, both streams."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.fleet.test_verdict import node


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    for number in range(1, 10):
        (folder / f"n{number}.json").write_text(json.dumps(node()))
    return folder


def test_a_good_fleet_is_0_and_an_odd_node_1(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "report", str(reports)]) == 0
    assert capsys.readouterr().out.startswith("Fleet: good. All 9 nodes")
    (reports / "n9.json").write_text(json.dumps(node(gpus=[])))
    assert run(["fleet", "report", str(reports), "--format", "nodes"]) == 1
    assert capsys.readouterr().out == "n9\n"
    assert run(["fleet", "report", str(reports), "--fail-on", "never"]) == 0


def test_who_should_have_answered_and_did_not_is_named(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = reports.parent / "names"
    names.write_text("n[1-9]\nn12\n")
    assert run(["fleet", "report", str(reports), "--nodes", f"@{names}", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["silent"] == [
        {"nodes": "n12", "count": 1, "reason": "nothing came from it"}
    ]


def test_a_report_of_another_form_is_named_and_the_others_are_judged(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older doctor's has fewer keys; one made by hand may have anything."""
    bare = {"schema": "doctor.report/1", "doctor": "0", "status": "ok", "findings": [], "snapshot": {}}
    for name, snapshot in {"old": {"gpus": None}, "odd": {"kernel": "6.8"}, "text": {"os": "linux"}}.items():
        (reports / f"{name}.json").write_text(json.dumps({**bare, "snapshot": snapshot}))
    assert run(["fleet", "report", str(reports), "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (silent,) = told["silent"]
    assert (silent["nodes"], silent["reason"]) == ("odd,text", "its report is not in the form of doctor.report/2")
    assert told["nodes"] == 12


@pytest.mark.parametrize("format_", ["text", "json", "nodes"])
def test_a_fleet_of_which_nothing_was_read_is_not_a_good_one(
    tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "n1.txt").write_text(json.dumps(node()))  # no report by its name
    asked = ["fleet", "report", str(tmp_path), "--format", format_]
    assert run([*asked, "--fail-on", "never"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "nothing was read" in said.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert run(["fleet", "report", "-"]) == 2
    assert "the stream was empty" in capsys.readouterr().err
    assert run([*asked, "--nodes", "n1"]) == 1


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "html", "nodes"])
def test_every_format_goes_into_a_private_file(reports: Path, format_: str) -> None:
    out = reports.parent / "out"
    assert run(["fleet", "report", str(reports), "--format", format_, "-o", str(out)]) == 0
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["report", "/nowhere"], "no such folder"),
        (["report", ".", "--format", "pdf"], "invalid --format 'pdf'"),
        (["report", ".", "--nodes", "n[2-1]"], "is no number or range"),
        (["check"], "one of --slurm, --ssh, --ansible, --emit"),
        (["check", "--emit", "pbs"], "invalid --emit 'pbs'"),
        (["check", "--slurm", "--ssh", "n1"], "one of --slurm"),
        (["health", "--for", "nagios"], "invalid --for 'nagios'"),
    ],
)
def test_wrong_usage_is_2_and_one_line(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", *args]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_health_answers_for_this_node(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert run(["fleet", "health", "--for", "npd", "--root", str(tmp_path), "--gpus", "1"]) in (1, 2)
    assert len(capsys.readouterr().out.strip()) <= 80


def test_views_are_joined(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gres = reports.parent / "gres.conf"
    gres.write_text("NodeName=n[1-9] Name=gpu File=/dev/nvidia[0-7]\n")
    assert run(["fleet", "report", str(reports), "--gres", str(gres)]) == 1
    assert "n[1-9]: gres.conf counts 8 GPUs, the node has 2" in capsys.readouterr().out
