"""A Dockerfile -> the base of its last stage, and the variables that the image sets.

>>> sheet = read("FROM rocm/pytorch:latest AS base\\nENV HSA_ENABLE_SDMA=0\\nFROM base\\nRUN x\\nENV A_B=1 C_D='2 3'")
>>> sheet.get("container.image"), sheet.get("environment[HSA_ENABLE_SDMA]"), sheet.get("environment[C_D]")
('rocm/pytorch:latest', '0', '2 3')
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 580, "words": ("from ",)},)

_FROM = re.compile(
    r"FROM (?:--platform=\S{1,40} )?(?P<image>[\w$][\w./:@${}-]{1,200})(?: AS (?P<name>[\w.-]{1,60}))?\s*$",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?:RUN|COPY|ADD|ENV|CMD|ENTRYPOINT|WORKDIR|ARG|USER|SHELL|LABEL|EXPOSE)\s+\S")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]{1,80})=(.{0,300})$", re.DOTALL)
_OLD = re.compile(r"ENV ([A-Za-z_][A-Za-z0-9_]{1,80}) ([^=\s].{0,300})$")
_LIMIT = 200
Variables = dict[str, tuple[str, str]]


def read(text: str, source: str = "text") -> FactSheet:
    """A value that names another variable is not known and left out. Raises ParserError without FROM and one step."""
    stages: dict[str, tuple[str, Variables]] = {}
    image, where_image, variables, steps = "", "", dict[str, tuple[str, str]](), 0
    name = ""
    for where, line in _instructions(text, source):
        if found := _FROM.match(line):
            base, held = stages.get(found["image"].lower(), (found["image"], {}))
            image, where_image, variables = base, where, dict(held)
            name = (found["name"] or "").lower()
        elif image and _STEP.match(line):
            steps += 1
            if line.startswith("ENV "):
                _set(variables, line, where)
        if name and len(stages) < _LIMIT:
            stages[name] = (image, variables)
    if not image or not steps:
        raise ParserError("no Dockerfile in the text")
    sheet = FactSheet()
    if "$" not in image and image.lower() != "scratch":
        sheet.put("container.image", kept(image, 200), where_image)
    for variable, (value, where) in list(variables.items())[:_LIMIT]:
        if "$" not in value:
            sheet.put(f"environment[{variable}]", value, where)
    if not len(sheet):
        raise ParserError("the Dockerfile names no image and sets nothing")
    return sheet


def _instructions(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Lines joined where they go on after a backslash; comments left out."""
    begun, parts = "", list[str]()
    for where, line in source_lines(text, source):
        bare = line.strip()
        if bare.startswith("#") or not bare:
            continue
        begun = begun or where
        parts.append(bare.removesuffix("\\"))
        if bare.endswith("\\") and len(parts) < _LIMIT:
            continue
        yield begun, " ".join(part.strip() for part in parts)[:8000]
        begun, parts = "", []


def _set(variables: Variables, line: str, where: str) -> None:
    if old := _OLD.match(line):
        variables[old[1]] = (kept(old[2], 300), where)
        return
    try:
        words = shlex.split(line[4:])
    except ValueError:
        return
    for word in words[:_LIMIT]:
        if pair := _PAIR.match(word):
            variables[pair[1]] = (kept(pair[2], 300), where)
