"""No private half of a key is in anything that git tracks, and one line names the public one."""

# ruff: noqa: E501 -- a pattern
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_KEY = re.compile(
    rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+(?=[A-Za-z0-9+/]*[0-9])(?!A{20})[A-Za-z0-9+/]{60,}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{40,}"
)


def test_no_private_key_is_tracked() -> None:
    listed = subprocess.run(["git", "-C", str(_ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout")
    names = [_ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert not [path for path in names if path.is_file() and _KEY.search(path.read_bytes())]


def test_a_private_key_would_be_found() -> None:
    body = b"b3BlbnNzaC1rZXkt" + b"djEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQ"
    assert _KEY.search(body)


def test_one_line_is_the_release_s_public_key() -> None:
    lines = (_ROOT / "doctor" / "knowledge" / "data" / "allowed_signers").read_text().splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    assert len(keys) == 1
    assert re.fullmatch(r'\S+ namespaces="doctor-knowledge" ssh-ed25519 [A-Za-z0-9+/=]{68} \S+', keys[0])
