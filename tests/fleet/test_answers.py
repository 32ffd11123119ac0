"""Reports out of folders and streams, in every form that engines write them in; what is none says why."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.fleet import answers
from doctor.fleet.answers import of_folder, of_stream

REPORT: dict[str, Any] = {"schema": "doctor.report/1", "doctor": "1", "status": "ok", "findings": [], "snapshot": {}}
LINE = json.dumps(REPORT)


def streamed(text: str) -> list[tuple[str, bool, str | None]]:
    return [(a.node, a.report is not None, a.fault) for a in of_stream(BytesIO(text.encode()))]


@pytest.mark.parametrize(
    ("line", "node"),
    [
        (f"n1: {LINE}", "n1"),
        (f"[pod/doctor-fleet-x2/doctor] n1: {LINE}", "n1"),
        (f"[pod/doctor-fleet-x2/doctor] {LINE}", "doctor-fleet-x2"),
        (json.dumps({"node": "n1", "report": REPORT}), "n1"),
        (LINE, "#1"),
        (json.dumps(REPORT, indent=2), "#1"),
    ],
)
def test_each_form_of_a_line_tells_its_node(line: str, node: str) -> None:
    assert streamed(line + "\n") == [(node, True, None)]


@pytest.mark.parametrize(
    ("line", "node", "fault"),
    [
        ("n1:", "n1", "it wrote nothing"),
        (f"n1: {LINE[:40]}", "n1", "its report is cut off"),
        ("n1: bash: doctor: command not found", "#1", "it answered no report: 'n1: bash: doctor: command not found'"),
        ('n1: {"schema": "other/1"}', "n1", "what it wrote is no doctor.report/2"),
        ('n1: {"node": "n2", "report": null}', "n2", "what it wrote is no doctor.report/2"),
        ("n1: [" + "[" * 5000, "#1", None),
        ('n1: {"schema": "doctor.report/1", "findings": 3}', "n1", "what it wrote is no doctor.report/2"),
    ],
)
def test_what_is_no_report_says_why(line: str, node: str, fault: str | None) -> None:
    ((told, there, why),) = streamed(line + "\n")
    assert (told, there) == (node, False)
    assert fault in (None, why)


def test_a_stream_that_ends_within_a_report_keeps_the_others() -> None:
    assert streamed(f"n1: {LINE}\n{{\n  1") == [("n1", True, None), ("#2", False, "the stream ends within its report")]


def test_a_line_without_end_is_refused_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_LARGEST", 1000)
    with pytest.raises(InputError, match="64 MiB"):
        streamed("n1: {" + "x" * 2000)


def test_files_are_named_by_their_node_or_by_their_first_word(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(json.dumps(REPORT, indent=2))
    (tmp_path / "0.out").write_text(f"n2: {LINE}\n")
    (tmp_path / "1.out").write_text("n3: ")
    (tmp_path / "1.err").write_text("slurmstepd: error: *** STEP CANCELLED ***\n")
    (tmp_path / "n4").write_text(json.dumps({"changed": True, "rc": 0, "stdout": LINE}))
    (tmp_path / "n5").write_text(json.dumps({"unreachable": True, "msg": "Failed to connect via ssh: no route"}))
    (tmp_path / "n6.json").write_text("")
    (tmp_path / "n7.json").symlink_to(tmp_path / "n1.json")
    told = {a.node: (a.report is not None, a.fault) for a in of_folder(tmp_path)}
    assert told == {
        "n1": (True, None),
        "n2": (True, None),
        "n3": (False, "slurmstepd: error: *** STEP CANCELLED ***"),
        "n4": (True, None),
        "n5": (False, "Failed to connect via ssh: no route"),
        "n6": (False, "it wrote nothing"),
    }


def test_what_ansible_kept_of_many_hosts_is_read_as_a_stream(tmp_path: Path) -> None:
    command = ["timeout", "20", "doctor", "check"]
    rows = [
        {"node": "n1", "report": {"rc": 0, "cmd": command, "stdout": json.dumps(REPORT)}},
        {"node": "n2", "report": {"unreachable": True, "msg": "Failed to connect to the host via ssh:\nNo route"}},
        {"node": "n3", "report": {"rc": 124, "cmd": command, "stdout": "", "msg": "non-zero return code"}},
        {"node": "n4", "report": {}},
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(a.node, a.report is not None, a.fault) for a in of_folder(tmp_path)] == [
        ("n1", True, None),
        ("n2", False, "No route"),
        ("n3", False, "no answer within 20 s"),
        ("n4", False, "what it wrote is no doctor.report/2"),
    ]
