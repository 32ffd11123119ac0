"""`read` and `mapfile`: what they take from a file that lies beside, a here-document or a here-string."""

from __future__ import annotations

from doctor.flags.way import words
from doctor.flags.way.frame import Frame, Walks
from doctor.flags.way.model import Env
from doctor.parsers.text.shell_lexer import HOLE
from doctor.parsers.text.shell_nodes import Simple

_BLANK = " \t"


def text(walk: Walks, command: Simple, env: Env, frame: Frame) -> str | None:
    """Standard input of a command: its own, or what is left of the loop's; None where it is not known."""
    if command.file is not None:
        found = walk.run.file(words.text_of(command.file, env), frame, env.get)
        made = found[1] if found else None
    elif command.body is not None or command.string is not None:
        made = walk.input(command, env)
        made = f"{made}\n" if made is not None and command.string is not None else made
    else:
        held = env.get(words.STDIN)
        made = held[0].text if len(held) == 1 else None
    return made if made is not None and HOLE not in made else None


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
