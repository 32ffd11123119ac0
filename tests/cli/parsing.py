"""A command line as a reader types it -> parsed by doctor's own options, and never run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import Any

import typer

from doctor.cli.main import build
from doctor.cli.plain_options import convert_plainly

_SHELL = ("|", "&&", ">", "<", ";")
"""A word that begins so is the shell's."""


@cache
def program() -> Any:
    """Every command with its options, as the entry point builds them."""
    group: Any = typer.main.get_group(build())
    convert_plainly(group)
    return group


def words_of(line: str) -> list[str]:
    """The arguments of `doctor` in a shell line: behind a pipe or before one, without a comment."""
    command = line if line.startswith("doctor") else line.partition("| ")[2]
    words = shlex.split(command, comments=True)[1:]
    return list(takewhile(lambda word: not word.startswith(_SHELL), words))


def parse(line: str) -> None:
    """A usage error of Click where doctor would refuse the line."""
    context: Any = program().make_context("doctor", words_of(line))
    while hasattr(context.command, "commands") and context._protected_args:
        words: list[str] = [*context._protected_args, *context.args]
        name, rest = words[0], words[1:]
        assert name in context.command.commands, f"{line}: there is no command {name}"
        context = context.command.commands[name].make_context(name, rest, parent=context)


def unknown_options(words: Sequence[str]) -> list[str]:
    """Options in the words of a line, whole or not, that its command lacks."""
    command = program()
    known = {option for parameter in command.params for option in parameter.opts}
    unknown = []
    for word in words:
        if word == "--":
            break
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
            known |= {o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)}
        elif word.startswith("--") and word.partition("=")[0] not in known | {"--help"}:
            unknown.append(word)
    return unknown
