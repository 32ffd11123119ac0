"""No pattern of the project takes more than quadratic time on any line: text from outside chooses the line.

A repeat with a limit of twenty or more is looked at as one without: thirty words of up to twenty letters each with an
optional gap between them took half a minute on a line of eighty letters, limits or not.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.redaction.lazy import Lazy
from doctor.redaction.shapes import SHAPES

ROOT = Path(__file__).resolve().parents[2] / "doctor"
QUADRATIC = 3
"""What the tool calls starriness: 2 repeats that may take the same characters, and what comes after fails."""
_LIMITED = re.compile(r"\{(\d*),(\d{2,})\}")


def patterns(path: Path) -> Iterator[tuple[int, str, int]]:
    """Line, pattern and flags of each literal that `re` or `Lazy` is handed."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and node.args and isinstance(first := node.args[0], ast.Constant)):
            continue
        if ast.unparse(node.func) != "Lazy" and not ast.unparse(node.func).startswith("re."):
            continue
        if not isinstance(first.value, str | bytes):
            continue
        text = first.value if isinstance(first.value, str) else first.value.decode("latin-1")
        named = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        flags = (re.X if named & {"X", "VERBOSE"} else 0) | (re.I if named & {"I", "IGNORECASE"} else 0)
        yield first.lineno, text, flags


def held() -> Iterator[tuple[str, str, int]]:
    """Name, pattern and flags of what modules hold compiled or to be compiled, those put together from parts too."""
    for found in pkgutil.walk_packages([str(ROOT)], "doctor."):
        if ".scripts" in found.name or found.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, re.Pattern):
                text = value.pattern if isinstance(value.pattern, str) else value.pattern.decode("latin-1")
                yield f"{found.name}.{name}", text, value.flags & (re.X | re.I)
            elif isinstance(value, Lazy):
                yield f"{found.name}.{name}", value.text, value.made.flags & (re.X | re.I)
    for shape in SHAPES:
        yield f"shape {shape.kind}", shape.pattern.text, 0


def worst(pattern: str, flags: int = 0) -> int:
    """How many repeats may fight for the same characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        redos = pytest.importorskip("regexploit.redos")
        from regexploit.ast.sre import SreOpParser  # type: ignore[import-untyped]
    endless = _LIMITED.sub(lambda m: f"{{{m[1] or 0},}}" if int(m[2]) >= 20 else m[0], pattern)
    return max((found.starriness for found in redos.find(SreOpParser().parse_sre(endless, flags))), default=0)


def test_a_pattern_that_hung_is_seen() -> None:
    assert worst(r"GPU {1,4}(?:[A-Z_]{3,20} {0,12}){1,30}$") > QUADRATIC
    assert worst(r"GPU(?: {1,12}[A-Z_]{3,20}){1,30}$") <= QUADRATIC


def test_every_pattern() -> None:
    places: dict[tuple[str, int], str] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for line, pattern, flags in patterns(path):
            places.setdefault((pattern, flags), f"{path.relative_to(ROOT)}:{line}")
    for name, pattern, flags in held():
        places.setdefault((pattern, flags), name)
    assert len(places) > 1000
    assert [place for (pattern, flags), place in places.items() if worst(pattern, flags) > QUADRATIC] == []
