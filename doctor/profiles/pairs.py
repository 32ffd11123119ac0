"""Boards × stacks: the names that put a board's file and a stack's together, and what they were called before.

`h100+cuda13.0+vllm` is boards/h100 and stacks/cuda13.0+vllm: the board is what is before the first `+`. Which
boards a stack is for, and who says so, are the `for` rows of its file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from doctor.errors import DoctorError, InputError
from doctor.profiles import places
from doctor.profiles.reading import parse

BOARDS, STACKS = "boards/", "stacks/"


class Pair(NamedTuple):
    """A board and a stack: a profile that no file of its own holds. `file` is the stack's."""

    board: str
    stack: str
    file: Path
    board_file: Path
    row: Mapping[str, Any]
    """The `for` row of the stack that names the board."""

    @property
    def name(self) -> str:
        return f"{self.board}+{self.stack}"

    @property
    def is_shipped(self) -> bool:
        return places.is_shipped(self.file) and places.is_shipped(self.board_file)

    @property
    def table(self) -> dict[str, Any]:
        """What a file of this name would hold."""
        board, stack = parse(self.board_file), parse(self.file)
        about = f"{board.get('about', self.board)} with {stack.get('about', self.stack)}"
        note = self.row.get("note")
        standing = {key: self.row[key] for key in ("status", "evidence") if key in self.row}
        whole = {"schema": 1, "name": self.name, "about": f"{about}; {note}" if note else about}
        return whole | standing | {"extends": [f"{BOARDS}{self.board}", f"{STACKS}{self.stack}"]}


def pairs(base: Path | None = None) -> dict[str, Pair]:
    """Name → pair. A stack's file that can't be read has none: see `faults`. `base` replaces all folders."""
    boards, found = _parts(BOARDS, base), {}
    for stack, file in _parts(STACKS, base).items():
        for row in _rows(file, "for"):
            named = row.get("boards") if isinstance(row, dict) else None
            for board in named if isinstance(named, list) else ():
                if isinstance(board, str) and board in boards:
                    pair = Pair(board, stack, file, boards[board], row)
                    found[pair.name] = pair
    return dict(sorted(found.items()))


def former_names(base: Path | None = None) -> dict[str, str]:
    """What a profile was called in older versions → its name."""
    found = {}
    for name, pair in pairs(base).items():
        for old in (pair.stack.replace("+", "-"), *_rows(pair.file, "formerly")):
            found[f"{pair.board}-{old}"] = name
    return found


def faults(base: Path | None = None) -> Iterator[tuple[Path, str]]:
    """(file, what is wrong) of stacks from which profiles are missing: such a profile can't say it itself."""
    boards = _parts(BOARDS, base)
    for file in _parts(STACKS, base).values():
        try:
            rows = parse(file).get("for", [])
        except DoctorError as error:
            yield file, str(error)
            continue
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            yield file, "for: expected [[for]] with boards and status"
            continue
        for number, row in enumerate(rows, 1):
            named = row.get("boards")
            if not isinstance(named, list) or not named:
                yield file, f'for[{number}].boards: expected the boards that the stack is for, such as ["h100"]'
            for board in named if isinstance(named, list) else ():
                if board not in boards:
                    near = difflib.get_close_matches(str(board)[:80], boards, 1, 0.5)
                    hint = f"; did you mean {near[0]}?" if near else ""
                    yield file, f"for[{number}].boards: there is no boards/{str(board)[:60]}.toml{hint}"
            for key in sorted({*row} - {"boards", "status", "evidence", "note"}):
                yield file, f"for[{number}].{key[:60]}: is not a key here; expected boards, status, evidence, note"


def _rows(file: Path, key: str) -> list[Any]:
    try:
        rows = parse(file).get(key, [])
    except (DoctorError, OSError):
        return []
    return rows if isinstance(rows, list) else []


def _parts(kind: str, base: Path | None) -> dict[str, Path]:
    found: dict[str, Path] = {}
    try:
        for folder in places.folders(base):
            found.update({path.stem: path for path in sorted((folder / kind).glob("*.toml"))})
    except OSError as error:
        raise InputError(f"profiles: {error}") from error
    return found
