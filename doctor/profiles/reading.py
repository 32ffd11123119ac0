"""Profiles' files -> their tables and lines, each file read once for as long as it does not change."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from doctor.profiles.lines import lines
from doctor.profiles.toml_text import table
from doctor.system.given import read_given


def parse(path: Path) -> dict[str, Any]:
    """The table of one file; not to be changed. Raises DataFileError where it is no TOML."""
    return _parsed(path, _stamp(path))


def lines_of(path: Path) -> dict[tuple[str | int, ...], int]:
    return lines(_text(path, _stamp(path)))


def _stamp(path: Path) -> tuple[int, int] | None:
    """What makes a changed file another one; None where it can't be looked at, which reading it will say."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=256)
def _text(path: Path, stamp: tuple[int, int] | None) -> str:  # noqa: ARG001
    return read_given(path)


@lru_cache(maxsize=256)
def _parsed(path: Path, stamp: tuple[int, int] | None) -> dict[str, Any]:
    return table(str(path), _text(path, stamp))
