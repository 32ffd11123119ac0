"""The hooks by pre-commit itself: it installs them from this repository, and they pass and fail in somebody's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.docker.conftest import REPO, unmet

pytestmark = pytest.mark.engine
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
HOOKS = [hook["id"] for hook in yaml.safe_load((REPO / ".pre-commit-hooks.yaml").read_text())]
PROFILE = """schema = 1
name = "farm"
about = "Our nodes"
status = "run-here"
extends = ["mi300x+rocm7.2"]
"""
Hook = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PRE_COMMIT.exists():
        unmet("pre-commit is not installed (pip install --group engine)")
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def theirs(home: Path, tmp_path: Path) -> tuple[Path, Hook]:
    """Somebody's repository, and `run(HOOK)` over all of its files."""
    repository = tmp_path / "theirs"
    repository.mkdir()
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*words: str, within: Path = repository) -> str:
        argv = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
        return subprocess.run(argv, cwd=within, check=True, capture_output=True, text=True, env=environment).stdout

    git("init", "-q")
    hooks: list[dict[str, object]] = [{"id": hook} for hook in HOOKS]
    hooks[HOOKS.index("doctor-image-emit")]["args"] = ["profiles/farm.toml", "-o", "images"]
    config = {"repos": [{"repo": str(REPO), "rev": git("rev-parse", "HEAD", within=REPO).strip(), "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (repository / "profiles").mkdir()

    def run(hook: str) -> subprocess.CompletedProcess[str]:
        git("add", "--all")
        argv = [str(PRE_COMMIT), "run", hook, "--all-files", "--verbose"]
        return subprocess.run(argv, cwd=repository, capture_output=True, text=True, timeout=500, env=environment)

    return repository, run


def test_profiles_pass_until_one_has_a_fault(theirs: tuple[Path, Hook]) -> None:
    repository, run = theirs
    (repository / "profiles/farm.toml").write_text(PROFILE)
    good = run("doctor-profiles-validate")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "profiles/farm.toml: valid" in good.stdout
    (repository / "profiles/farm.toml").write_text(PROFILE.replace("run-here", "hearsay"))
    bad = run("doctor-profiles-validate")
    assert bad.returncode == 1
    assert "profiles/farm.toml: line 4: status" in bad.stdout


def test_what_was_emitted_passes_until_somebody_edits_it(theirs: tuple[Path, Hook]) -> None:
    repository, run = theirs
    (repository / "profiles/farm.toml").write_text(PROFILE)
    emit = [sys.executable, "-m", "doctor", "image", "emit", "profiles/farm.toml", "-o", "images"]
    subprocess.run(emit, cwd=repository, check=True, capture_output=True, timeout=120)
    good = run("doctor-image-emit")
    assert good.returncode == 0, good.stdout + good.stderr
    dockerfile = next((repository / "images").rglob("Dockerfile"))
    dockerfile.write_text(dockerfile.read_text() + "RUN pip install something\n")
    bad = run("doctor-image-emit")
    assert bad.returncode == 1
    assert "Failed" in bad.stdout


def test_a_dockerfile_with_a_fault_fails(theirs: tuple[Path, Hook]) -> None:
    repository, run = theirs
    (repository / "Dockerfile").write_text("FROM debian:12\nRUN true\n")
    good = run("doctor-image-lint")
    assert good.returncode == 0, good.stdout + good.stderr
    (repository / "Dockerfile").write_text("FROM debian:12\nRUN modprobe amdgpu\nRUN amdgpu-install --usecase=dkms\n")
    bad = run("doctor-image-lint")
    assert bad.returncode == 1, bad.stdout
