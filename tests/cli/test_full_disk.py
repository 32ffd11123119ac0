"""Every command and format against a file system of 16 KiB that is full, in a mount namespace: one line and exit 2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_SIZE = 16 << 10
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")
_INSIDE = """
mount -t tmpfs -o size=16k none "$1" || exit 77
[ "$2" = full ] && head -c 16384 /dev/zero > "$1/filler"
exec > "$1/out"; shift 2
"$@"; code=$?
exit $code
"""
_FORMATS = {
    "check --root {root}": ("text", "json", "jsonl", "markdown", "sarif", "junit", "github", "prometheus", "html"),
    "triage {text}": ("text", "json", "jsonl", "markdown"),
    "fleet report {reports}": ("text", "json", "markdown", "html"),
    "env": ("text", "json"),
    "stack": ("text", "json"),
    "rules": ("text", "json"),
    "knowledge sources": ("text", "json"),
    "diff {report} {other}": ("text", "json"),
}
_PLAIN = (
    "explain nvidia-driver-too-old",
    "profiles list",
    "completion bash",
    "version",
    "--help",
    "bundle --dry-run",
    "check --help",
)


def _can_mount() -> bool:
    if not shutil.which("unshare"):
        return False
    done = subprocess.run([*_UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


pytestmark = pytest.mark.skipif(not _can_mount(), reason="no mount namespace is to be had")


def _run(folder: Path, full: str, words: list[str], **variables: str) -> tuple[int, list[str]]:
    argv = [*_UNSHARE, "sh", "-c", _INSIDE, "sh", str(folder), full, sys.executable, "-m", "doctor", *words]
    done = subprocess.run(
        argv, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **variables}, timeout=120
    )
    return done.returncode, done.stderr.splitlines()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """An empty folder to mount on."""
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    """What commands are given to read."""
    (tmp_path / "root").mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "pasted.txt").write_text(
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    )
    argv = [sys.executable, "-m", "doctor", "check", "--root", str(tmp_path / "root"), "--format", "json"]
    report = json.loads(subprocess.run(argv, capture_output=True, check=False).stdout)
    (tmp_path / "reports" / "n1.json").write_text(json.dumps(report))
    (tmp_path / "other.json").write_text(json.dumps({**report, "findings": []}))
    return {
        "root": str(tmp_path / "root"), "text": str(tmp_path / "pasted.txt"), "reports": str(tmp_path / "reports"),
        "report": str(tmp_path / "reports" / "n1.json"), "other": str(tmp_path / "other.json"),
    }  # fmt: skip


@pytest.mark.slow
def test_every_command_and_format_says_that_its_output_was_lost(given: dict[str, str], disk: Path) -> None:
    lines = [f"{command} --format {kind}" for command, kinds in _FORMATS.items() for kind in kinds] + list(_PLAIN)
    silent = []
    for line in lines:
        code, said = _run(disk, "full", line.format(**given).split())
        told = [row for row in said if "No space left" in row]
        if code != 2 or len(told) != 1:
            silent.append((line, code, said))
    assert not silent


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_half_a_report_is_no_success(disk: Path, unbuffered: str) -> None:
    code, said = _run(disk, "roomy", ["rules", "--format", "json"], PYTHONUNBUFFERED=unbuffered)
    assert (code, said) == (2, ["doctor: stdout: No space left on device"])


def test_a_file_that_does_not_fit_is_named_and_is_not_there(disk: Path, tmp_path: Path) -> None:
    path = disk / "report.html"
    code, said = _run(disk, "full", ["check", "--root", str(tmp_path), "--format", "html", "-o", str(path)])
    assert (code, said) == (2, [f"doctor: {path}: No space left on device"])


def test_what_fits_is_whole(disk: Path) -> None:
    assert _run(disk, "roomy", ["version"]) == (0, [])
