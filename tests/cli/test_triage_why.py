"""`doctor triage --why`: what was found at which lines, what was read of it, and which rules were near."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run

TICKET = """PyTorch fails: `RuntimeError: No HIP GPUs are available`
```
$ rocminfo
ROCk module is loaded
Unable to open /dev/kfd read-write: Permission denied
$ groups
alice sudo
```
- ROCm version: 6.2
"""


def why(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> dict[str, Any]:
    path = tmp_path / "t.md"
    path.write_text(text)
    run(["triage", "--why", "--format", "jsonl", str(path)])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_formats_with_their_lines_and_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = why(tmp_path, capsys, TICKET)
    assert told["schema"] == "doctor.why/1"
    shown = [(f["first"], f["last"], f["command"], [one["format"] for one in f["formats"]]) for f in told["fragments"]]
    assert shown == [
        (4, 5, "rocminfo", ["rocminfo"]),
        (7, 7, "groups", ["id_command"]),
        (9, 9, "", ["labelled_lines", "entities"]),
    ]


def test_facts_and_symptoms_with_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = why(tmp_path, capsys, TICKET)
    facts = {row["name"]: (row["value"], row["source"]) for row in told["facts"]}
    assert facts["rocm[shown].version"] == ("6.2", "text:9")
    assert facts["nodes[/dev/kfd].openable"] == ("False", "text:5")
    assert {"id": "kfd-open-permission", "source": "text:5"}.items() <= {
        **next(row for row in told["symptoms"] if row["id"] == "kfd-open-permission")
    }.items()
    assert told["findings"][0]["rule"] == "device-node-permission"


def test_a_rule_that_lacks_one_fact_is_near_and_one_that_fired_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = {row["rule"]: row for row in why(tmp_path, capsys, TICKET)["near"]}
    assert near["amdgpu-rocm-version-skew"] == {
        "rule": "amdgpu-rocm-version-skew",
        "knows": ["rocm"],
        "lacks": ["amdgpu_driver.version"],
    }
    assert "device-node-permission" not in near


def test_a_cause_whose_condition_does_not_hold_is_near(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    near = {row["rule"]: row for row in why(tmp_path, capsys, TICKET)["near"]}
    assert near["container-missing-gpu-passthrough"]["lacks"] == ["container.inside = True"]


def test_nothing_is_near_where_nothing_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = why(tmp_path, capsys, "hello\n")
    assert (told["fragments"], told["facts"], told["near"]) == ([], [], [])


def test_text_follows_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.md"
    path.write_text(TICKET)
    assert run(["triage", "--why", str(path)]) == 1
    out = capsys.readouterr().out
    assert out.index("device-node-permission") < out.index("\nWhy: ")
    assert "    lines 4-5 of `rocminfo`: rocminfo (4 facts)\n" in out
    assert "    amdgpu-rocm-version-skew: knows rocm; lacks amdgpu_driver.version\n" in out


def test_secrets_and_escapes_stay_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3h"
    path = tmp_path / "t.md"
    path.write_text(f"```\n$ env\nHF_TOKEN={token}\nROCR_VISIBLE_DEVICES=0\x1b]0;x\x07\n```\n")
    for form in ("text", "jsonl"):
        run(["triage", "--why", "--format", form, str(path)])
        out = capsys.readouterr().out
        assert "ROCR_VISIBLE_DEVICES" in out
        assert token not in out
        assert "\x1b" not in out


def test_several_files_are_one_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.md"
    path.write_text(TICKET)
    run(["triage", "--why", "--format", "json", str(path), str(path)])
    assert [row["schema"] for row in json.loads(capsys.readouterr().out)] == ["doctor.why/1"] * 2


def test_markdown_has_no_such_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["triage", "--why", "--format", "markdown", "x"]) == 2
    assert "--why" in capsys.readouterr().err


def test_conditions_on_a_variable_and_on_any_gpu_are_named_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "No CUDA GPUs are available\nMemory access fault by GPU node-1 on address 0x7f00. Reason: Unknown.\n"
    near = {row["rule"]: row for row in why(tmp_path, capsys, text)["near"]}
    assert near["tunableop-misconfigured"]["lacks"] == ["env:PYTORCH_TUNABLEOP_ENABLED = 1"]
