"""The cases of cases.yaml, what really running them printed (truth.json), and what doctor says of each."""

from __future__ import annotations

import json
import re
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import yaml

from doctor.flags.way.model import Alt, Sees
from doctor.flags.way.run import follow
from doctor.parsers.text.assigned import kind_of
from doctor.parsers.text.shell_lexer import HOLE

HERE = Path(__file__).parent
TRUTH = HERE / "truth.json"
UNKNOWN = "?"
Seen = dict[str, dict[str, list[str | None]]]
"""Label → variable → what its processes had, each value once."""


@lru_cache(maxsize=1)
def cases() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for name in ("cases.yaml", "launches.yaml", "blind.yaml", "second.yaml", "third.yaml", "fourth.yaml", "fifth.yaml"):
        made += yaml.load((HERE / name).read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert len({case["name"] for case in made}) == len(made), "two cases of one name"
    return made


def truth() -> dict[str, list[Seen]]:
    """Case → one a caller."""
    made: dict[str, list[Seen]] = json.loads(TRUTH.read_text("utf-8")) if TRUTH.exists() else {}
    return made


def files(case: dict[str, Any]) -> dict[str, str]:
    return {"main.sh": case["main"], **case.get("files", {})}


def callers(case: dict[str, Any]) -> list[dict[str, str]]:
    made: list[dict[str, str]] = case.get("callers", [{}])
    return made


def predicted(case: dict[str, Any]) -> list[dict[tuple[str, str], set[str | None]]]:
    """For each caller: (label, variable) → what doctor says it may be; `?` where it is not known."""
    held = {name: text.replace("MOUNT ", "") for name, text in files(case).items()}
    first = case.get("first", "main.sh")
    found = follow(first, held[first], kind_of(first, held[first]), partial(_beside, held))
    made: list[dict[tuple[str, str], set[str | None]]] = []
    for caller in callers(case):
        here: dict[tuple[str, str], set[str | None]] = {}
        for process in found.processes:
            for label in _labels(case, process.label):
                for name in case["watch"]:
                    here.setdefault((label, name), set()).update(given(process.sees, name, caller))
        made.append(here)
    return made


def _beside(held: dict[str, str], path: str) -> tuple[str, str] | None:
    if path.endswith("/"):
        return path, "\n".join(name.removeprefix(path) for name in held if name.startswith(path))
    return (path, held[path]) if path in held else None


def _labels(case: dict[str, Any], text: str) -> list[str]:
    by_text = [label for label, part in case.get("labels", {}).items() if part in text]
    found = re.search(r"\bsee(?:\.py)? ([a-z])\b", text)
    return by_text or ([found[1]] if found else [])


def given(sees: Sees, name: str, caller: dict[str, str]) -> set[str | None]:
    """What is left where the caller's environment is known."""
    return {text for alt in sees.of(name) for text in _one(alt, name, caller)}


def _one(alt: Alt, name: str, caller: dict[str, str]) -> list[str | None]:
    held = caller.get(name)
    if alt.when:
        return [caller[alt.when] if alt.text == HOLE else alt.text] if alt.when in caller else []
    if alt.outer == "image":  # those of the cases set nothing
        return [None]
    if alt.outer == "any":
        return [held]
    if alt.outer == "set":
        return [held] if held is not None else []
    if alt.exported == "outer" and held is None:
        return [None]
    return [UNKNOWN if alt.text is not None and HOLE in alt.text else alt.text]
