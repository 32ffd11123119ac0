"""Words of a shell -> the texts that they become, as far as that is known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from doctor.flags.way.model import Alt, Env, Held
from doctor.parsers.text.shell_lexer import HOLE, Part, Word

_LONGEST = 20_000
_HERE = re.compile(
    r"\s*(?:cd\s+(?:-P\s+)?(?:--\s+)?[\"']?\$\(\s*)?dirname\s+(?:--\s+)?(?:\$\(\s*(?:readlink -f|realpath)\s+)?[\"']?"
    r"\$\{?(?:0|BASH_SOURCE(?:\[0\])?(?:-\$0|:-\$0)?)\}?[\"']?\s*\)?[\"']?\)?[\"']?\s*(?:(?:>\s*/dev/null\s*(?:2>&1)?\s*)?"
    r"&&\s*pwd(?: -P)?)?\s*"
)
"""The folder of the script itself, as scripts ask for it."""
HERE = "\ue001"
"""Stands for the folder of the file."""
WRITTEN = "\0file "
"""Before the path of a file that the script writes: its text is kept as a variable that every program inherits."""
TRAP = "\0trap"
READONLY = "\0readonly "
_OPTIONAL = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")


def fields(words: Sequence[Word], env: Env, args: Sequence[str] | None) -> list[str]:
    """The words of a command; a piece that is not known is a hole."""
    return [field for word in words for field in _fields(word, env, args)]


def _fields(word: Word, env: Env, args: Sequence[str] | None) -> Iterator[str]:
    if len(word.parts) == 1 or (len(word.parts) == 2 and word.parts[0].text == "" and word.parts[0].quoted):
        part = word.parts[-1]
        if part.kind == "var" and (part.text in "@*" or part.op == "@"):
            yield from _every(part, env, args)
            return
    texts, held, any_text = "", False, False
    for part in word.parts:
        text = _text(part, env, args)
        if part.kind == "text" or part.quoted:
            texts, any_text = texts + text, any_text or part.quoted or bool(text)
            held = True
            continue
        pieces = re.split(r"[ \t\n]+", text)
        if len(pieces) > 1:
            if texts + pieces[0]:
                yield texts + pieces[0]
            yield from (piece for piece in pieces[1:-1] if piece)
            texts = pieces[-1]
            held = bool(texts)
        else:
            texts += text
            held = held or bool(text)
    if held and (texts or any_text):
        yield texts[:_LONGEST]


def _every(part: Part, env: Env, args: Sequence[str] | None) -> Iterator[str]:
    if part.op == "@":
        held = env.get(part.text)
        texts = {alt.text for alt in held}
        text = texts.pop() if len(texts) == 1 else HOLE
        yield from (text.split("\0") if text else () if text is None else [""])
    elif args is None:
        yield HOLE
    else:
        yield from args


def text_of(word: Word, env: Env, args: Sequence[str] | None) -> str:
    return "".join(_text(part, env, args) for part in word.parts)[:_LONGEST]


def _text(part: Part, env: Env, args: Sequence[str] | None) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "command":
        return HERE if _HERE.fullmatch(part.text[:400]) else HOLE
    if part.kind != "var":
        return HOLE
    if part.text.isdecimal() or part.text in "@*":
        return _positional(part, env, args)
    if part.text == "BASH_SOURCE" and part.op == "x" and part.word and part.word[0].text == "%/*":
        return HERE
    found = alternatives(part, env, args)
    if len(found) == 1 and found[0].text is not None:
        return found[0].text
    given = [alt for alt in found if alt.outer != "set" and not alt.when]
    if part.op in (":-", "-", ":=", "=") and len(given) == 1 and given[0].text is not None:
        return given[0].text
    return HOLE


def _positional(part: Part, env: Env, args: Sequence[str] | None) -> str:
    if args is None or part.op == "x":
        if args is None and part.op in (":-", "-"):
            return HOLE
        return HERE + "/" if part.text == "0" and part.op == "" else HOLE
    if part.text in "@*":
        return " ".join(args)
    if part.text == "0":
        return HOLE
    position = int(part.text[:4])
    if position <= len(args):
        return args[position - 1]
    return "".join(_text(p, env, args) for p in part.word) if part.op in (":-", "-") else ""


def alternatives(part: Part, env: Env, args: Sequence[str] | None) -> Held:
    """What `$NAME`, or `${NAME:-word}`, may be."""
    held = env.get(part.text)
    if part.op == "x":
        return (Alt(HOLE),)
    if part.op == "":
        return tuple(Alt(HOLE) if alt.outer else Alt(alt.text or "") for alt in held)
    word = "".join(_text(p, env, args) for p in part.word)
    found: list[Alt] = []
    for alt in held:
        absent = alt.text is None or (alt.text == "" and part.op.startswith(":"))
        if part.op.endswith("+"):
            found += [Alt(""), Alt(word, when=part.text)] if alt.outer else [Alt("" if absent else word)]
        elif alt.outer:
            found += [] if part.op.endswith("?") else [Alt(word)]
            found.append(Alt(None, "no", (), "set"))
        else:
            found.append(Alt(word) if absent else Alt(alt.text))
    return tuple(dict.fromkeys(found))


def assigned(word: Word, env: Env, args: Sequence[str] | None, name: str = "") -> Held:
    """What an assignment of this word makes of variable `name`; `exported` and steps are for the caller."""
    if word.array is not None:
        elements = fields(word.array, env, args)
        return (Alt("\0".join(elements)[:_LONGEST]),)
    parts = [p for p in word.parts if not (p.kind == "text" and not p.text)]
    if len(parts) == 1 and parts[0].kind == "var" and not (parts[0].text.isdecimal() or parts[0].text in "@*#?$!-"):
        other = parts[0].text if parts[0].text != name else ""
        found = alternatives(parts[0], env, args)
        return tuple(Alt(HOLE, when=other) if alt.outer and other else alt for alt in found)
    return (Alt(text_of(word, env, args)),)


def beside(path: str) -> str | None:
    """A path relative to the file's folder, or absolute; None where it is not known."""
    path = path.replace(HERE, ".")
    if HOLE in path or not path or path.startswith("~") or len(path) > 400 or _OPTIONAL.search(path):
        return None
    return posixpath.normpath(path)
