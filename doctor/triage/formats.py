r"""Which parser is offered which fragment: by words that are in the text, or by the command it is the output of.

A parser of pasted text says so itself, with a literal of its module:

    PASTED = ({"trust": 120, "words": ("agent 2",), "commands": ("rocminfo",)},)

`trust` is its place in the order of trust, lower before higher: what a driver's tool says before what a person wrote.

>>> [f.parser for f in claims("agent 2\n  device type:  gpu", "rocminfo")]
['rocminfo', 'labelled_lines', 'entities']
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from doctor import parsers
from doctor.triage.literals import Literals

_FOLDER = Path(parsers.__file__).parent


class Format(NamedTuple):
    """One form of text that a parser reads.

    `words`: one of them is in the fragment (lower case). `commands`: one of them is in its command.
    `call` is the function of the parser's module.
    """

    parser: str
    words: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    call: str = "read"
    takes_command: bool = False
    """The parser gets the fragment's command."""


_DECLARED = re.compile(r"^PASTED = (\(.*?\))$", re.MULTILINE | re.DOTALL)


@cache
def formats() -> tuple[Format, ...]:
    """All of them, the most trusted first. What a parser declares is read out of its source, for importing them all
    takes longer than most texts do."""
    found = []
    for parser, module in parsers.names().items():
        source = Path(_FOLDER, *module.split(".")[2:]).with_suffix(".py").read_text("utf-8")
        declared = _DECLARED.search(source)
        rows = ast.literal_eval(declared[1]) if declared else ()
        found += [(row.pop("trust"), Format(parser, **row)) for row in rows]
    return tuple(form for _, form in sorted(found))


def claims(low: str, command: str) -> list[Format]:
    """Formats that the text (in lower case), output of that command, may hold; most trusted first."""
    command = command.lower()
    places = {place for there in _words().within(low) for place in there}
    if command:
        places.update(n for n, form in enumerate(formats()) if any(map(command.__contains__, form.commands)))
    return [formats()[place] for place in sorted(places)]


@cache
def _words() -> Literals[list[int]]:
    """The words of all formats, with the places of those that name them."""
    words: dict[str, list[int]] = {}
    for place, form in enumerate(formats()):
        for word in form.words:
            words.setdefault(word, []).append(place)
    return Literals(words)


def rank(form: Format) -> int:
    """Place in the order of trust, from 0."""
    return formats().index(form)


def named(parser: str, call: str = "read") -> Format:
    return next(form for form in formats() if (form.parser, form.call) == (parser, call))
