"""All steps of the GitHub action, as a runner takes them out of action.yml, in a fresh clone: installing too."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docker.conftest import REPO

pytestmark = pytest.mark.engine
EXPRESSION = re.compile(r"\$\{\{\s*([a-z]+(?:[.][a-z_-]+)+)\s*\}\}")


class Runner:
    """What GitHub's runner does with a composite action: expressions of `env`, each step in a bash of its own with -e
    and pipefail, outputs by id."""

    def __init__(self, action: Path, folder: Path, inputs: dict[str, str]) -> None:
        self.told: dict[str, Any] = yaml.safe_load((action / "action.yml").read_text())
        given = {name: str(row.get("default", "")) for name, row in self.told["inputs"].items()} | inputs
        self.known = {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(action)}
        self.folder = folder
        self.summary = folder / "summary"
        self.said = ""

    def value(self, text: str) -> str:
        return EXPRESSION.sub(lambda match: self.known.get(match[1], ""), text)

    def run(self) -> int:
        for number, step in enumerate(self.told["runs"]["steps"]):
            script = self.folder / f"{number}.sh"
            script.write_text(self.value(step["run"]))
            output = self.folder / f"{number}.output"
            output.touch()
            environment = {
                **os.environ, "RUNNER_TEMP": str(self.folder), "GITHUB_OUTPUT": str(output), "CI": "true",
                "GITHUB_STEP_SUMMARY": str(self.summary),
                **{name: self.value(str(value)) for name, value in step.get("env", {}).items()},
            }  # fmt: skip
            environment.pop("PYTHONPATH", None)
            shell = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}[step["shell"]]
            done = subprocess.run(
                [*shell, str(script)], cwd=self.folder, capture_output=True, text=True, timeout=500, env=environment
            )
            self.said += done.stdout + done.stderr
            for row in output.read_text().splitlines():
                name, _, value = row.partition("=")
                self.known[f"steps.{step.get('id')}.outputs.{name}"] = value
            if done.returncode:
                return done.returncode
        return 0

    def output(self, name: str) -> str:
        return self.value(self.told["outputs"][name]["value"])


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("action") / "clone"
    subprocess.run(["git", "clone", "-q", str(REPO), str(folder)], check=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def temp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner's folder of a job: both uses of the action are steps of one."""
    return tmp_path_factory.mktemp("runner")


def test_the_steps_install_check_and_hand_over_what_they_promise(clone: Path, temp: Path) -> None:
    runner = Runner(clone / "contrib/github-action", temp, {"fail-on": "never", "python": sys.executable})
    assert runner.run() == 0, runner.said
    installed = temp / "doctor/bin/doctor"
    where = subprocess.run([installed, "version"], capture_output=True, text=True, timeout=60, cwd="/")
    assert where.returncode == 0
    report = json.loads(Path(runner.output("json")).read_text())
    assert runner.output("status") == report["status"] in ("ok", "partial", "warning", "error", "unknown")
    assert json.loads(Path(runner.output("sarif")).read_text())["version"] == "2.1.0"
    summary = runner.summary.read_text()
    assert summary.startswith("## GPU stack\n")
    assert "checks passed" in summary or "confidence)" in summary
    counted = [f for f in report["findings"] if not f["explained_by"]]
    rows = re.findall(r"^::(?:error|warning|notice) title=", runner.said, re.M)
    assert len(rows) == len(counted) + (report["status"] == "unknown")  # which is said too


def test_what_was_installed_has_its_data_and_its_second_name(clone: Path, temp: Path) -> None:
    """A wheel in an environment of its own: nothing of the repository is beside it."""
    programs = temp / "doctor/bin"

    def said(*argv: str) -> str:
        return subprocess.run(
            [programs / argv[0], *argv[1:]], capture_output=True, text=True, timeout=60, cwd="/"
        ).stdout

    assert "rocm7.14+vllm" in said("doctor", "profiles", "list")
    assert "What it finds" in said("doctor", "explain", "nvidia-driver-too-old")
    assert said("doctor", "version") == said("rcdoctor", "version") == said("python", "-m", "doctor", "version") != ""


def test_a_profile_that_there_is_not_fails_the_step(clone: Path, temp: Path) -> None:
    runner = Runner(clone / "contrib/github-action", temp, {"profile": "no-such; touch pwned"})
    assert runner.run() == 2, runner.said
    assert "no profile 'no-such; touch pwned'" in runner.said
    assert not (temp / "pwned").exists()
