"""The action's steps run in bash, the hooks by their entries, completion in a real shell, the single file as a user."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from doctor.cli.main import run

REPO = Path(__file__).resolve().parents[2]
ACTION = REPO / "contrib/github-action/action.yml"


def schema_says(schema: str, file: Path) -> str:
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout


def test_the_action_and_the_workflow_of_the_guide_are_what_github_takes(tmp_path: Path) -> None:
    assert "ok -- validation done" in schema_says("vendor.github-actions", ACTION)
    page = (REPO / "docs/integrations.md").read_text()
    workflow = tmp_path / "gpu.yml"
    workflow.write_text(page.split('```yaml title=".github/workflows/gpu.yml"\n')[1].split("```")[0])
    assert "ok -- validation done" in schema_says("vendor.github-workflows", workflow)
    (used,) = [s for s in yaml.safe_load(workflow.read_text())["jobs"]["gpu"]["steps"] if "github-action" in s["uses"]]
    assert used["with"].keys() <= yaml.safe_load(ACTION.read_text())["inputs"].keys()
    workflow.write_text("jobs: []\n")
    assert "ok -- validation done" not in schema_says("vendor.github-workflows", workflow)


def test_the_action_has_no_expression_in_its_shell_text() -> None:
    """What a caller hands over reaches the shell as variables only."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    assert [step["shell"] for step in steps] == ["bash", "bash"]
    assert not [step for step in steps if "${{" in step["run"]]


@pytest.mark.parametrize(("fail_on", "profile", "code"), [("error", "", 0), ("never", "no-such-profile", 2)])
def test_the_actions_check_writes_report_summary_and_outputs(
    fail_on: str, profile: str, code: int, tmp_path: Path
) -> None:
    step = yaml.safe_load(ACTION.read_text())["runs"]["steps"][1]
    program = tmp_path / "doctor/bin/doctor"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\ncd {REPO} && exec {sys.executable} -m doctor "$@"\n')
    program.chmod(0o755)
    told = {"RUNNER_TEMP": tmp_path, "GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    given = {"DOCTOR_PROFILE": profile, "DOCTOR_FAIL_ON": fail_on, "DOCTOR_PYTHON": ""}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", f"set +e\n{step['run']}"],
        env={"PATH": os.environ["PATH"], **{k: str(v) for k, v in told.items()}, **given},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    if code:
        return
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert outputs["status"] == json.loads(Path(outputs["json"]).read_text())["status"]
    assert json.loads(Path(outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert (tmp_path / "summary").read_text()


@pytest.mark.parametrize("hook", yaml.safe_load((REPO / ".pre-commit-hooks.yaml").read_text()), ids=lambda h: h["id"])
def test_each_hooks_entry_is_a_command_that_there_is(hook: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    program, *words = shlex.split(hook["entry"])
    assert program == "doctor"
    assert run([*[w for w in words if not w.startswith("-")], "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in words if word.startswith("-"))


def completed(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["completion", "bash"]) == 0
    (folder / "doctor.bash").write_text(capsys.readouterr().out)
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f". {folder}/doctor.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _doctor;"
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert not done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_and_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "check" in completed(["doctor", "ch"], tmp_path, capsys)
    assert completed(["doctor", "fleet", "rep"], tmp_path, capsys) == ["report"]
    assert completed(["doctor", "fleet", "report", "--gr"], tmp_path, capsys) == ["--gres"]
    assert completed(["doctor", "explain", "nvidia-driver-too-o"], tmp_path, capsys) == ["nvidia-driver-too-old"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_theirs(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the real ones make of it is in tests/docker/test_shells.py."""
    assert run(["completion", shell]) == 0
    assert "fleet" in capsys.readouterr().out


UNPACK = REPO / "contrib/single-file/unpack.py"


def unpacked(root: Path) -> subprocess.CompletedProcess[str]:
    """What the single file does first; in place of the doctor it says where."""
    code = f"import runpy, os; m = runpy.run_path({str(UNPACK)!r}); print(m['private_root']())"
    environment = {"DOCTOR_ROOT": str(root), "PATH": os.environ["PATH"]}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)


def test_the_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    done = unpacked(tmp_path / "a/doctor")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/a/doctor\n")
    assert (tmp_path / "a/doctor").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("fault", ["open", "link", "file", "above"])
def test_a_folder_that_others_could_fill_is_refused(fault: str, tmp_path: Path) -> None:
    root = tmp_path / "above" / "doctor"
    root.parent.mkdir()
    if fault == "open":
        root.mkdir()
        root.chmod(0o777)
    elif fault == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        root.symlink_to(tmp_path / "elsewhere")
    elif fault == "file":
        root.touch()
    else:
        root.parent.chmod(0o777)
    done = unpacked(root)
    assert done.returncode == 1
    assert "DOCTOR_ROOT=FOLDER unpacks elsewhere" in done.stderr
