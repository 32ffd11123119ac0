"""Each page that tells how to add something works word for word, and no step changes what it does not add."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (REPO / "docs").glob("how-to-*.md"))
STEP = re.compile(r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$|^    \$ ([^\n]+)$", re.M | re.S)
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.org")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This one as it stands, committed or not."""
    place = tmp_path_factory.mktemp("repository")
    listed = _git(REPO, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (REPO / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, place / name)
    for compiled in (REPO / "doctor").rglob("__pycache__/*.pyc"):  # times are copied: valid there too
        copied = place / compiled.relative_to(REPO)
        copied.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, copied)
    _git(place, "init", "-q")
    _git(place, "add", "-A")
    _git(place, *IDENTITY, "commit", "-q", "-m", "as it stands")
    return place


def test_there_is_a_page_for_each_kind_of_thing() -> None:
    kinds = ("flag", "format", "gpu", "parser", "profile", "rule", "template")
    assert [f"how-to-{kind}" for kind in kinds] == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_the_steps_work_and_only_add(page: str, repository: Path) -> None:
    _git(repository, "reset", "-q", "--hard")
    _git(repository, "clean", "-q", "-d", "--force")  # what git ignores stays: bytecode
    steps = STEP.findall((REPO / "docs" / f"{page}.md").read_text())
    rows = ["set -euo pipefail"]
    for file, text, command in steps:
        rows.append(f"cat >{file} <<'END-OF-FILE'\n{text}END-OF-FILE" if file else command)
    done = subprocess.run(
        ["bash", "-c", "\n".join(rows)], cwd=repository, capture_output=True, text=True, timeout=300,
        env=_environment(repository), check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-2000:]}"
    assert sum(bool(command) for _, _, command in steps) >= 3
    _git(repository, "add", "-A")
    counts = [line.split("\t") for line in _git(repository, "diff", "--cached", "--numstat").splitlines()]
    assert any(name.startswith("tests/") for _, _, name in counts) or page == "how-to-template"
    assert [name for _, deleted, name in counts if deleted != "0"] == []


def _environment(clone: Path) -> dict[str, str]:
    """That of an activated environment, in which the clone's own program runs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ, "PATH": path, "PYTHONPATH": str(clone), "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(REPO / ".hypothesis"),  # its table of all characters takes two seconds
    }  # fmt: skip


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
