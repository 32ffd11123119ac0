"""Lines of systemd units: keys by section, and what `Environment=` assigns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.flags.way.frame import Remark, Runs
from doctor.flags.way.launchers import ASSIGNMENT
from doctor.flags.way.model import Step
from doctor.parsers.lib.shell_words import words as split
from doctor.parsers.text.shell_lexer import HOLE


class Key(NamedTuple):
    file: str
    line: int
    section: str
    key: str
    value: str


def keys_of(source: str, text: str) -> Iterator[Key]:
    section, held, begun = "", "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if held:
            if bare.startswith(("#", ";")):
                continue
            bare = held + bare
        begun = begun or number
        if bare.endswith("\\"):
            held = bare[:-1] + " "
            continue
        held, number, begun = "", begun, 0
        if bare.startswith("[") and bare.endswith("]"):
            section = bare[1:-1]
        elif bare and not bare.startswith(("#", ";")) and "=" in bare:
            key, _, value = bare.partition("=")
            yield Key(source, number, section, key.strip(), value.strip())


def step_of(key: Key, what: str, id_: str = "") -> Step:
    return Step(key.file, key.line, what, id_)


def assigned(run: Runs, key: Key, own: dict[str, tuple[str, Step]]) -> dict[str, tuple[str, Step]]:
    if not key.value:
        return {}
    own = dict(own)
    said = [word.text for word in split(key.value)]
    for word in said:
        if made := ASSIGNMENT.fullmatch(word):
            text = made[2].replace("%%", "%") if not re.search(r"%[^%]", made[2]) else HOLE
            own[made[1]] = (text, step_of(key, f"Environment={word[:60]}"))
    wrong = [word for word in said if not ASSIGNMENT.fullmatch(word)]
    if wrong:
        named = [word.partition("=")[0] for word in said if re.match(r"[A-Z][A-Z0-9_]+(?:=|$)", word)]
        what = f"Environment={key.value[:80]}: systemd ignores {wrong[0]!r} because it is not NAME=value"
        cure = 'Write Environment="NAME=value".'
        run.remark(Remark("unit-assignment", (named or wrong)[0][:80], key.file, key.line, what, cure))
    return own
