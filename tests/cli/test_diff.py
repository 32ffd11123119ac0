"""`doctor diff`: bundles, captures, JSON reports and this machine against each other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from doctor.bundle.open import open_bundle
from doctor.cli.main import run
from doctor.engine.run import Options, examine
from tests.paths import CAPTURES

OLD = str(CAPTURES / "bundle-1.tar.gz")


def report(folder: Path, name: str, **snapshot: Any) -> str:
    findings = snapshot.pop("findings", [])
    data = {"schema": "doctor.report/1", "doctor": "1", "status": "ok", "findings": findings, "snapshot": snapshot,
            "clear": snapshot.pop("clear", ["gone", "new"])}  # fmt: skip
    (folder / name).write_text(json.dumps(data))
    return str(folder / name)


def finding(rule: str, severity: str, subject: str = "-") -> dict[str, Any]:
    return {"rule": rule, "severity": severity, "summary": f"{rule}.", "fingerprint": f"{rule}{subject}",
            "subject": {"kind": "x", "id": subject}}  # fmt: skip


def test_a_bundle_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", OLD, OLD]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "no difference in findings and facts, of what both know"
    assert all(line.startswith(f"? Not known of {OLD}: devices, libraries") for line in told[:-1])


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of this machine."""
    path = tmp_path_factory.mktemp("bundle") / "b.tar.gz"
    assert run(["bundle", "-o", str(path)]) == 0
    return str(path)


def test_triage_judges_a_bundle_as_check_does(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for words in (["triage", "--format", "jsonl", bundle], ["check", "--from", bundle, "--format", "json"]):
        run(words)
        told.append([row["rule"] for row in json.loads(capsys.readouterr().out)["findings"]])
    assert told[0] == told[1]
    assert told[0]


def test_this_machine_does_not_differ_from_its_bundle(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Redaction makes no difference of its own: both have the machine's pseudonyms."""
    capsys.readouterr()
    code = run(["diff", bundle, "this", "--format", "json"])
    names = [c["name"] for c in json.loads(capsys.readouterr().out)["changes"]]
    busy = [n for n in names if not n.startswith(("host.", "kernel_log.", "changes", "holders", "clock"))]
    assert busy == []
    assert code in (0, 1)


@pytest.mark.parametrize("this", ["this", ".", "-"])
def test_words_for_this_machine(this: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = examine(open_bundle(Path(OLD)).system(), Options())
    monkeypatch.setattr("doctor.sides.private_report", lambda system, options, site: kept)
    assert run(["diff", this, OLD]) == 0


def test_what_matters_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = {"kernel": {"release": "6.8"}, "nvidia_driver": {"version": "550.1"}, "host": {"cpu": "x"}}
    new = {"kernel": {"release": "6.9"}, "nvidia_driver": {"version": "570.2"}, "host": {"cpu": "y"}}
    before = report(tmp_path, "a.json", **old, findings=[finding("b", "warning"), finding("gone", "error")])
    after = report(tmp_path, "b.json", **new, findings=[finding("b", "error"), finding("new", "info")])
    assert run(["diff", before, after]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[2:4] == [f"- {before}", f"+ {after}"]
    rows = [row.strip() for row in told if row.startswith("  ")]
    assert rows == [
        "~ error (was warning): b: b.", "- error: gone: gone.", "+ info: new: new.",
        "~ nvidia_driver.version: 550.1 -> 570.2", "~ kernel.release: 6.8 -> 6.9", "~ host.cpu: x -> y",
    ]  # fmt: skip


def test_why_a_side_has_no_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origin: dict[str, Any] = {"state": "denied", "source": "file:/x", "detail": None, "others": []}
    before = report(tmp_path, "a.json", kernel={"release": "6.8"})
    after = report(tmp_path, "b.json", origins={"kernel.release": origin})
    assert run(["diff", before, after]) == 4
    assert (
        "known of one side only, which is no difference:\n  - kernel.release: 6.8 (there: denied)"
        in capsys.readouterr().out
    )


def test_a_finding_of_a_side_that_was_not_checked_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = report(tmp_path, "a.json", findings=[finding("bad", "error")])
    after = report(tmp_path, "b.json", kernel={"release": "6.8"})
    assert run(["diff", before, after]) == 4
    told = capsys.readouterr().out
    assert told.startswith(f"? Not known of {before}: GPU, driver, devices,")
    assert "2 known of one side only, which is no difference:\n  - error: bad: bad. (there: not checked)" in told


def test_a_member_of_a_list_that_is_known_is_absent_and_not_unread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"name": "torch", "version": "2.9", "location": "/a"}]
    before = report(tmp_path, "a.json", packages=rows, environment={"A": "1"})
    sides: tuple[tuple[dict[str, Any], int], ...] = (({"packages": [], "environment": {}}, 1), ({}, 4))
    for after, code in sides:
        assert run(["diff", before, report(tmp_path, "b.json", **after), "--format", "json"]) == code
        kinds = {c["kind"] for c in json.loads(capsys.readouterr().out)["changes"]}
        assert kinds == ({"fact"} if after else {"unread"})


def test_members_of_lists_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"name": "torch", "version": "2.9", "location": "/a"},
        {"name": "torch", "version": "2.10", "location": "/b"},
    ]
    before = report(tmp_path, "a.json", packages=rows)
    after = report(tmp_path, "b.json", packages=[rows[0], {**rows[1], "version": "2.11"}])
    assert run(["diff", before, after, "--format", "json"]) == 1
    [change] = json.loads(capsys.readouterr().out)["changes"]
    assert (change["name"], change["before"], change["after"]) == ("packages[torch#2].version", "2.10", "2.11")


def test_hostile_values_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = report(tmp_path, "a.json", kernel={"release": "\x1b[31m\u202ex"})
    assert run(["diff", before, report(tmp_path, "b.json", kernel={"release": "y"})]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    ("content", "says"), [("[]", "not a JSON object"), ("{}", "not a report of"), ("{", "not JSON")]
)
def test_what_is_no_report_is_refused(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(content)
    assert run(["diff", str(tmp_path / "x.json"), OLD]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_a_name_that_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "/none/such", OLD]) == 2
    assert "`this` is this machine" in capsys.readouterr().err


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "/dev/zero"):
        assert run(["diff", path, OLD]) == 2
        assert "not a regular file" in capsys.readouterr().err
