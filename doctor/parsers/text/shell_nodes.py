"""The commands of a shell, as a tree; each with the line where it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from doctor.parsers.text.shell_lexer import Word


class Assignment(NamedTuple):
    line: int
    name: str
    append: bool
    value: Word


@dataclass
class Simple:
    line: int
    assigns: list[Assignment] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    body: str | None = None
    """Here-document on standard input; `\\0` before it where nothing in it is expanded."""
    string: Word | None = None
    """Here-string on standard input."""
    file: Word | None = None
    """The file on standard input."""
    out: Word | None = None
    """The file that standard output goes to."""
    appends: bool = False
    negated: bool = False
    """`! command`."""


@dataclass
class Chain:
    """Pipelines with `&&` and `||` between them; each but the first with its operator."""

    line: int
    items: list[tuple[str, Command]]
    background: bool = False


@dataclass
class Pipe:
    line: int
    items: list[Command]


@dataclass
class Group:
    line: int
    commands: list[Command]
    subshell: bool


@dataclass
class If:
    line: int
    branches: list[tuple[list[Command], list[Command]]]
    other: list[Command] | None


@dataclass
class Loop:
    line: int
    test: list[Command]
    body: list[Command]
    name: str = ""
    words: list[Word] | None = None
    until: bool = False
    first: Simple | None = None
    step: Simple | None = None
    """Of `for ((first; test; step))`."""
    input: Simple | None = None
    """Where its standard input comes from."""


@dataclass
class Case:
    line: int
    word: Word
    branches: list[list[Command]] = field(default_factory=list)
    patterns: list[list[Word]] = field(default_factory=list)
    """Of each branch."""


@dataclass
class Function:
    line: int
    name: str
    body: Command


Command = Union[Simple, Chain, Pipe, Group, If, Loop, Case, Function]  # noqa: UP007 - Python 3.10 builds it at run time


def parts(command: Command) -> Sequence[Sequence[Command]]:
    """The lists of commands within one; each way of a branch is a list of its own."""
    if isinstance(command, Simple):
        return ()
    if isinstance(command, Chain):
        return ([item for _, item in command.items],)
    if isinstance(command, Pipe):
        return (command.items,)
    if isinstance(command, Group):
        return (command.commands,)
    if isinstance(command, Function):
        return ([command.body],)
    if isinstance(command, Loop):
        return (command.test, command.body)
    if isinstance(command, Case):
        return command.branches
    return (*(part for branch in command.branches for part in branch), command.other or ())


def simple_commands(commands: Sequence[Command]) -> Iterator[Simple]:
    for command in commands:
        if isinstance(command, Simple):
            yield command
        for part in parts(command):
            yield from simple_commands(part)
