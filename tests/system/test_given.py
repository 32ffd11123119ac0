"""What the user hands over by name is a small regular text file, or one line says why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.system.given import LIMIT, read_given


def test_a_text(tmp_path: Path) -> None:
    (tmp_path / "allow.toml").write_text("# ü\n")
    assert read_given(tmp_path / "allow.toml") == "# ü\n"


def test_what_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"#" * (LIMIT + 1))
    (tmp_path / "latin").write_bytes(b"\xff")
    for path, why in {
        tmp_path / "fifo": "not a regular file",
        Path("/dev/zero"): "not a regular file",
        tmp_path: "not a regular file|Is a directory",
        tmp_path / "large": "larger than 1 MiB",
        tmp_path / "latin": "not UTF-8",
        tmp_path / "none": "No such file",
    }.items():
        with pytest.raises(InputError, match=why):
            read_given(path)
