"""What the user has on PYTHONPATH or in the working directory is examined, and does not run in the doctor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def ran(folder: Path, **environ: str) -> str:
    """`doctor rules`, which loads typer and pydantic, as a module."""
    path = os.pathsep.join(filter(None, (environ.get("PYTHONPATH"), str(ROOT))))
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "explain", "python-install-damaged"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stderr if done.returncode else ""


def test_no_file_in_the_working_directory_is_imported(tmp_path: Path) -> None:
    for name in ("typing_extensions.py", "random.py", "typer.py", "tempfile.py"):
        (tmp_path / name).write_text(f"raise SystemExit('imported {name}')\n")
    assert ran(tmp_path) == ""


def test_a_file_on_pythonpath_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "typing_extensions.py").write_text("TypedDict = None\n")
    assert ran(Path("/"), PYTHONPATH=str(tmp_path)) == ""
