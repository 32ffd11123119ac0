"""What programs that start another one share: the call, its options, what they pass on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from doctor.flags.way.frame import Frame, Runs
from doctor.flags.way.model import Held, Sees, Step
from doctor.parsers.text.shell_lexer import HOLE

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
BASIC = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "MAIL", "PWD", "LANG", "HOSTNAME")
"""What every login sets."""


class Call(NamedTuple):
    run: Runs
    argv: list[str]
    sees: Sees
    frame: Frame
    line: int
    body: str | None = None

    def step(self, what: str, id_: str = "") -> Step:
        return Step(self.frame.file, self.line, what, id_)

    def go_on(
        self, argv: list[str], sees: Sees | None = None, where: str | None = None, *, outside: bool = False
    ) -> None:
        frame = self.frame
        if where is not None:
            frame = replace(frame, where=f"{frame.where}, {where}" if frame.where else where)
        if outside:
            frame = replace(frame, outside=True)
        self.run.start(argv, self.sees if sees is None else sees, frame, self.line, self.body)


class Options(NamedTuple):
    given: list[tuple[str, str]]
    """Option and value, in order; the value of one without is ""."""
    rest: list[str]

    def of(self, *names: str) -> list[str]:
        return [value for name, value in self.given if name in names]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.given)


def options(argv: list[str], takes: Iterable[str], *, clustered: bool = True) -> Options:
    """Options up to the first word that is none; `takes` are those with a value of their own. A short one may have its
    value joined on; several short ones may be in one word."""
    wanted, given, at = frozenset(takes), [], 1
    while at < len(argv):
        word = argv[at]
        if word == HOLE * 2 and at + 1 < len(argv):  # a list that is not known, and words behind it
            given.append((word, ""))
            at += 1
            continue
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or word == "-":
            break
        at += 1
        name, sign, value = word.partition("=")
        if word.startswith("--") or not clustered:
            if not sign and name in wanted and at < len(argv):
                value, at = argv[at], at + 1
            given.append((name, value))
            continue
        letters = word[1:]
        while letters:
            name, letters = f"-{letters[0]}", letters[1:]
            if name in wanted:
                if not letters and at < len(argv):
                    letters, at = argv[at], at + 1
                given.append((name, letters.removeprefix("=")))
                break
            given.append((name, ""))
    return Options(given, argv[at:])


def hidden(held: Held, step: Step) -> Held:
    return tuple(
        a if a.text is None and not a.outer else a.after(step, text=None, exported="no", outer="") for a in held
    )


def pass_on(into: Sees, before: Sees, value: str, step: Step) -> None:
    """`NAME=text`, or `NAME`: what the launcher itself has."""
    if made := ASSIGNMENT.fullmatch(value):
        into.put(made[1], made[2], step)
    elif _NAME.fullmatch(value):
        into.add(value, before.of(value), step)
