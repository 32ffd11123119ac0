"""Words of a shell -> the texts that they become, as far as that is known."""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from doctor.flags.way import known
from doctor.flags.way.model import Alt, Env, Held
from doctor.parsers.text import shell_tree
from doctor.parsers.text.shell_lexer import HOLE, Part, Word
from doctor.parsers.text.shell_nodes import Chain, Simple

_LONGEST = 20_000
HERE = "\ue001"
"""Stands for the folder of the file."""
MANY = HOLE * 2
"""A list that is not known: any number of words."""
WRITTEN = "\0file "
"""Before the path of a file that the script writes: its text is kept as a variable that every program inherits."""
TRAP = "\0trap"
STDIN = "\0stdin"
"""What is left of a loop's standard input."""
READ = "\0read"
"""Whether the last `read` got a whole line: 0 or 1."""
READONLY = "\0readonly "
ARGS = "\0args"
"""The positional parameters, each after a `\\0`."""
_OPTIONAL = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
_BRACES = re.compile(r"\{(?:([^{}]*,[^{}]*)|(-?\d{1,4})\.\.(-?\d{1,4}))\}")
_OPERATION = re.compile(r"(?:\[(\d{1,4})\])?(?:(%%?|##?)(.*)|(//?)([^/]*)/(.*)|(,,|\^\^))?", re.DOTALL)
_MOST_WORDS = 64
_PLAIN_PATTERN = re.compile(r"[\w./:,@=+*?-]{1,100}")
_BY_SHELL = frozenset(("RANDOM", "SECONDS", "HOSTNAME", "EUID", "UID", "PPID", "PWD", "OPTARG", "OPTIND", "PIPESTATUS"))


def arguments(env: Env) -> list[str] | None:
    held = env.get(ARGS)
    return held[0].text.split("\0")[1:] if len(held) == 1 and held[0].text is not None else None


def listed(args: Sequence[str]) -> Held:
    """What ARGS is for these."""
    return (Alt("".join(f"\0{arg}" for arg in args)),)


def depends(words: Iterable[Word]) -> Iterator[str]:
    """Variables that the words are made of."""
    for part in (part for word in words for part in (*word.parts, *(p for w in word.array or () for p in w.parts))):
        if part.kind == "var":
            yield ARGS if part.text.isdecimal() or part.text in "@*#" else part.text


def fields(words: Iterable[Word], env: Env) -> list[str]:
    """The words of a command; a piece that is not known is a hole."""
    made: list[str] = []
    for word in words:
        every = list(itertools.islice(braces(word), _MOST_WORDS + 1))
        made += [field for one in every for field in _fields(one, env)] if len(every) <= _MOST_WORDS else [MANY]
    return made


def braces(word: Word) -> Iterator[Word]:
    """`{a,b}` and `{1..3}`."""
    for at, part in enumerate(word.parts):
        found = _BRACES.search(part.text) if part.kind == "text" and not part.quoted else None
        if found:
            numbers = (int(found[2]), int(found[3])) if found[2] else (0, 0)
            step = 1 if numbers[0] <= numbers[1] else -1
            chosen = found[1].split(",") if found[1] else map(str, range(numbers[0], numbers[1] + step, step))
            for text in chosen:
                made = part._replace(text=part.text[: found.start()] + text + part.text[found.end() :])
                yield from braces(word._replace(parts=(*word.parts[:at], made, *word.parts[at + 1 :])))
            return
    yield word


def _fields(word: Word, env: Env) -> Iterator[str]:
    if len(word.parts) == 1 or (len(word.parts) == 2 and word.parts[0].text == "" and word.parts[0].quoted):
        part = word.parts[-1]
        if part.kind == "var" and (part.text in "@*" or part.op == "@"):
            yield from _every(part, env)
            return
    texts, held, any_text = "", False, False
    for part in word.parts:
        text = _text(part, env)
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


def _every(part: Part, env: Env) -> Sequence[str]:
    if part.op != "@":
        args = arguments(env)
        return [MANY] if args is None else args
    held = env.get(part.text)
    text = held[0].text if len(held) == 1 and not held[0].outer else HOLE
    return [MANY] if text == HOLE else text.split("\0") if text else ()


def text_of(word: Word, env: Env) -> str:
    return "".join(_text(part, env) for part in word.parts)[:_LONGEST]


def surely(word: Word, env: Env) -> str:
    """The same, and a default that the caller may replace is a hole."""
    open_ = any(p.op in (":-", "-", ":=", "=") and len(alternatives(p, env)) > 1 for p in word.parts if p.kind == "var")
    return HOLE if open_ else text_of(word, env)


def _text(part: Part, env: Env) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "command":
        return _substituted(part.text, env)
    if part.kind == "math":
        value = known.arithmetic(part.text, number(env))
        return HOLE if value is None else str(value)
    if part.kind != "var":
        return HOLE
    if part.text.isdecimal() or part.text in "@*#":
        return _positional(part, env)
    if part.op == "x" or part.text == "BASH_SOURCE":
        return _operated(part, env)
    found = alternatives(part, env)
    if len(found) == 1 and found[0].text is not None:
        return found[0].text
    given = [alt for alt in found if alt.outer != "set" and not alt.when]
    if part.op in (":-", "-", ":=", "=") and len(given) == 1 and given[0].text is not None:
        return given[0].text
    return HOLE


def number(env: Env) -> Callable[[str], str | None]:
    """Variables as arithmetic reads them: what is not set is 0."""

    def of(name: str) -> str | None:
        held = env.get(name)
        return (held[0].text or "0") if len(held) == 1 and not held[0].outer and name not in _BY_SHELL else None

    return of


def _substituted(text: str, env: Env) -> str:
    """What `$(text)` becomes where it only computes: `$(cd "$(dirname "$0")" && pwd)`, `$(seq 3)`."""
    tree = shell_tree.read(text) if len(text) <= 400 else None
    command = tree.commands[0] if tree and not tree.fault and len(tree.commands) == 1 else None
    if isinstance(command, Chain) and [operator for operator, _ in command.items] == ["", "&&"]:
        first, then = (item for _, item in command.items)
        if isinstance(first, Simple) and isinstance(then, Simple) and then.words and then.words[0].plain == "pwd":
            went = [word for word in fields(first.words, env) if word not in ("-P", "-L", "--")]
            return went[1] if went[:1] == ["cd"] and len(went) == 2 else HOLE
    if not isinstance(command, Simple) or command.assigns or command.out:
        return HOLE
    return known.printed(fields(command.words, env)).rstrip("\n")


def _positional(part: Part, env: Env) -> str:
    args = arguments(env)
    if part.text == "0":
        return HERE + "/" if part.op == "" else HERE if part.op == "x" and part.word[0].text == "%/*" else HOLE
    if args is None or part.op not in ("", ":-", "-"):
        return HOLE
    if part.text == "#":
        return str(len(args)) if HOLE not in args else HOLE
    if part.text in "@*":
        return " ".join(args)
    position = int(part.text[:4])
    if HOLE in args[:position]:  # which may be no word, or several
        return HOLE
    if position <= len(args) and (args[position - 1] or part.op != ":-"):
        return args[position - 1]
    return "".join(_text(p, env) for p in part.word)


def _operated(part: Part, env: Env) -> str:
    """`${A[0]}`, `${A%.py}`, `${A##*/}`, `${A/x/y}`, `${A,,}`."""
    rest = part.word[0].text if part.word else ""
    found = _OPERATION.fullmatch(rest.removesuffix(":-$0") if part.text == "BASH_SOURCE" else rest)
    held = env.get(part.text)
    text = HERE + "/" if part.text == "BASH_SOURCE" else held[0].text if len(held) == 1 and not held[0].outer else HOLE
    if not found or text is None or HOLE in text or len(text) > 1000:
        return HOLE
    elements = text.split("\0")
    text = elements[int(found[1] or 0)] if int(found[1] or 0) < len(elements) else ""
    if found[2]:
        if not _PLAIN_PATTERN.fullmatch(found[3]):
            return HOLE
        ends = range(len(text) + 1) if len(found[2]) == 1 else range(len(text), -1, -1)
        if found[2][0] == "#":
            return next((text[n:] for n in ends if fnmatch.fnmatchcase(text[:n], found[3])), text)
        cuts = (len(text) - n for n in ends)
        return next((text[:n] for n in cuts if fnmatch.fnmatchcase(text[n:], found[3])), text)
    if found[4]:
        plain = re.fullmatch(r"[\w .:,@=+-]{1,100}", found[5]) and re.fullmatch(r"[\w .:,@=+-]{0,100}", found[6])
        return text.replace(found[5], found[6], -1 if found[4] == "//" else 1) if plain else HOLE
    return text.lower() if found[7] == ",," else text.upper() if found[7] else text


def alternatives(part: Part, env: Env) -> Held:
    """What `$NAME`, or `${NAME:-word}`, may be."""
    held = env.get(part.text)
    if part.op == "!" and len(held) == 1 and held[0].text and not held[0].outer:
        return alternatives(part._replace(text=held[0].text, op=""), env)
    if part.op == "#" and len(held) == 1 and not held[0].outer and HOLE not in (held[0].text or ""):
        return (Alt(str(len((held[0].text or "").split("\0")[0]))),)
    if part.op == "x":
        return (Alt(_operated(part, env)),)
    if part.op in ("!", "#") or part.text in "?$!-" or (part.text in _BY_SHELL and held[0].text is None):
        return (Alt(HOLE),)
    if part.op in ("", "@"):
        texts = ((alt.text or "").replace("\0", " ") if part.op else (alt.text or "").split("\0")[0] for alt in held)
        return tuple(Alt(HOLE) if alt.outer else Alt(text) for alt, text in zip(held, texts, strict=True))
    word = "".join(_text(p, env) for p in part.word)
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


def assigned(word: Word, env: Env, name: str = "") -> Held:
    """What an assignment of this word makes of variable `name`; `exported` and steps are for the caller."""
    if word.array is not None:
        elements = fields(word.array, env)
        keyed = any(element.startswith("[") for element in elements)
        return (Alt(HOLE if keyed else "\0".join(elements)[:_LONGEST]),)
    parts = [p for p in word.parts if not (p.kind == "text" and not p.text)]
    if len(parts) == 1 and parts[0].kind == "var" and not (parts[0].text.isdecimal() or parts[0].text in "@*#?$!-"):
        other = parts[0].text if parts[0].text != name else ""
        found = alternatives(parts[0], env)
        return tuple(Alt(HOLE, when=other) if alt.outer and other else alt for alt in found)
    return (Alt(text_of(word, env)),)


def beside(path: str) -> str | None:
    """A path relative to the file's folder, or absolute; None where it is not known."""
    path = path.replace(HERE, ".")
    if HOLE in path or not path or path.startswith("~") or len(path) > 400 or _OPTIONAL.search(path):
        return None
    return posixpath.normpath(path)
