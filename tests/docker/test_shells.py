"""Completion by the shells themselves, as somebody who presses Tab sees it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.docker.conftest import unmet

pytestmark = pytest.mark.engine
CASES = [
    ("doctor fleet rep", "doctor fleet report"),
    ("doctor fleet check --sl", "doctor fleet check --slurm"),
    ("doctor explain nvidia-driver-too-o", "doctor explain nvidia-driver-too-old"),
    ("doctor check --pro", "doctor check --profile"),
    ("doctor profiles val", "doctor profiles validate"),
]


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    if not shutil.which(shell):
        unmet(f"{shell} not found (Debian: apt-get install {shell})")
    assert run(["completion", shell]) == 0
    path = folder / f"doctor.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self, argv: list[str], home: Path) -> None:
        self.process, self.master = pty.fork()
        if self.process == 0:
            environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8", "PS1": "$ "}
            os.execvpe(argv[0], argv, environment)
        self.seen = ""

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self.master, text.encode())

    def shows(self, text: str, within_s: float = 30) -> bool:
        """Whether it comes, carriage returns and escapes aside."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    return False
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07|\r", "", self.seen)
            if text in plain:
                return True
        return False

    def end(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.master)


@pytest.fixture
def zsh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    path = script("zsh", tmp_path, capsys)
    terminal = Terminal(["zsh", "-f", "-i"], tmp_path)
    terminal.types(f"autoload -U compinit && compinit -u -D && . {path} && echo rea''dy\n")
    assert terminal.shows("ready"), terminal.seen
    yield terminal
    terminal.end()


@pytest.mark.filterwarnings("default")  # a fork beside threads of other tests
@pytest.mark.parametrize(("typed", "wanted"), CASES)
def test_zsh(typed: str, wanted: str, zsh: Terminal) -> None:
    zsh.types(typed + "\t")
    assert zsh.shows(wanted), zsh.seen


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("typed", "wanted"), CASES)
def test_bash(typed: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("bash", tmp_path, capsys)
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], tmp_path)
    try:
        terminal.types(f". {path} && echo rea''dy\n")
        assert terminal.shows("ready"), terminal.seen
        terminal.types(typed + "\t")
        assert terminal.shows(wanted), terminal.seen
    finally:
        terminal.end()


def fish_completes(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    path = script("fish", folder, capsys)
    argv = ["fish", "--no-config", "-c", f"source {path}; complete -C {line!r}"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=environment, cwd=folder)
    assert not done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


@pytest.mark.parametrize(("typed", "wanted"), CASES)
def test_fish(typed: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fish_completes(typed, tmp_path, capsys) == [wanted.split()[-1]]


def test_fish_offers_a_commands_own_options_and_files_where_they_are_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = fish_completes("doctor fleet check --", tmp_path, capsys)
    assert "--slurm" in options
    assert "--pid" not in options  # which is one of `doctor check`
    (tmp_path / "issue.md").touch()
    assert fish_completes("doctor triage iss", tmp_path, capsys) == ["issue.md"]
    assert set(fish_completes("doctor fleet ", tmp_path, capsys)) == {"check", "diff", "report", "health", "watch"}
