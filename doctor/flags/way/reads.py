"""`read` and `mapfile`: what they take from a file that lies beside, a here-document or a here-string."""

from __future__ import annotations

from doctor.flags.way import words
from doctor.flags.way.frame import Frame, Walks
from doctor.flags.way.model import Env
from doctor.parsers.text.shell_lexer import HOLE
from doctor.parsers.text.shell_nodes import Chain, Loop, Simple

_MOST_LINES = 64
_BLANK = " \t"


def text(walk: Walks, command: Simple, env: Env, frame: Frame) -> str | None:
    """Standard input of a command; None where it is not known."""
    if command.file is None:
        made = walk.input(command, env)
        made = f"{made}\n" if made is not None and command.string is not None else made
    else:
        found = walk.run.file(words.text_of(command.file, env), frame, env.get)
        made = found[1] if found else None
    return made if made is not None and HOLE not in made else None


def turns(walk: Walks, loop: Loop, env: Env, frame: Frame) -> list[list[tuple[str, str]]] | None:
    """`while read A B; do …; done < FILE`: what each turn assigns; None where the loop is none of these."""
    first = loop.test[0] if len(loop.test) == 1 else None
    chained = isinstance(first, Chain) and first.items[1:2] and first.items[1][0] == "||"
    reads = first.items[0][1] if isinstance(first, Chain) and chained else first
    if loop.input is None or not isinstance(reads, Simple) or [w.plain for w in reads.words[:1]] != ["read"]:
        return None
    given = text(walk, loop.input, env, frame)
    lines = given.split("\n") if given is not None else []
    if lines and not (chained and lines[-1]):
        lines.pop()  # read fails at a last line that does not end
    made = [assigned(reads, line, env) for line in lines]
    return [row for row in made if row is not None] if given is not None and None not in made[:_MOST_LINES] else None


def assigned(command: Simple, line: str, env: Env) -> list[tuple[str, str]] | None:
    """The names of one `read`, and what the line makes of each."""
    argv = words.fields(command.words, env)[1:]
    options = "".join(word for word in argv if word.startswith("-"))
    if set(options) - {"-", "r", "s"} or ("\\" in line and "r" not in options):
        return None
    names = [word for word in argv if not word.startswith("-")] or ["REPLY"]
    given = [words.text_of(a.value, env) for a in command.assigns if a.name == "IFS"]
    held = given or [alt.text for alt in env.get("IFS") if not alt.outer and alt.text is not None]
    parted = split(line, held[-1] if held else f"{_BLANK}\n", len(names))
    return list(zip(names, parted, strict=True)) if parted is not None else None


def split(line: str, signs: str, count: int) -> list[str] | None:
    """As IFS says, the last field with all that is left; None where a closing sign makes it a special case.

    >>> split("A=b=c", "=", 2), split("  x  y z ", " ", 2), split("x", "", 1)
    (['A', 'b=c'], ['x', 'y z'], ['x'])
    """
    blank = "".join(sign for sign in signs if sign in _BLANK)
    marks = [sign for sign in signs if sign not in " \t\n"]
    if len(marks) > 1 or (marks and (blank or (line.endswith(marks[0]) and line.count(marks[0]) >= count))):
        return None
    line = line.strip(blank) if blank else line
    parts = line.split(marks[0] if marks else None, count - 1) if signs.strip("\n") else [line]
    return [*parts, *[""] * (count - len(parts))]
