"""What the shell does by itself: export, unset, set, source, eval, read, exit …"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from doctor.flags.way import known, reads, words
from doctor.flags.way.frame import Frame, Remark, Walks
from doctor.flags.way.model import OUTER, Alt, Env, Held, Step, joined
from doctor.parsers.text.shell_lexer import HOLE, Word
from doctor.parsers.text.shell_nodes import Simple
from doctor.parsers.text.shell_tree import assignment

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SILENT_TEXT = """
: [ [[ alias bg bind cd compopt dirs disown echo false fg hash help history jobs kill
logout popd pushd pwd shopt suspend test times true type ulimit umask unalias wait hash
"""
_SILENT = frozenset(_SILENT_TEXT.split())
_ENV_TOOLS = frozenset(
    ["module", "ml", "conda", "mamba", "micromamba", "spack", "pyenv", "nvm", "workon", "deactivate"]
)
"""They change the shell that they are called in."""


class Call(NamedTuple):
    walk: Walks
    argv: list[str]
    command: Simple
    env: Env
    frame: Frame

    def step(self, what: str, id_: str = "") -> Step:
        return Step(self.frame.file, self.command.line, what, id_)


def run(walk: Walks, argv: list[str], command: Simple, env: Env, frame: Frame, given: dict[str, Held]) -> bool:
    """Whether the command is one of the shell's own; it is then done."""
    head = argv[0]
    if argv[1:2] == ["="] and _NAME.fullmatch(head):
        _spaced(Call(walk, argv, command, env, frame))
        return True
    if head in ("command", "builtin") and len(argv) > 1 and not argv[1].startswith("-"):
        head, argv = argv[1], argv[1:]
    call = Call(walk, argv, command, env, frame)
    if head in _SILENT:
        return True
    if head in (".", "source"):
        _source(call, given)
    elif head == "exec":
        _exec(call, given)
    elif head in _ENV_TOOLS and len(argv) > 1 and argv[1] not in ("run", "install", "create", "list", "env"):
        _environment_of_tool(call)
    elif found := _TABLE.get(head):
        found(call)
    else:
        return False
    return True


def _declare(call: Call) -> None:
    """export, declare, typeset, readonly, local."""
    head, options = call.argv[0], [a for a in call.argv[1:] if re.fullmatch(r"[-+][A-Za-z]+", a)]
    letters = "".join(o[1:] for o in options if o.startswith("-"))
    taken = "".join(o[1:] for o in options if o.startswith("+"))
    if "f" in letters or "p" in letters:
        return
    exports = (head == "export" and "n" not in letters) or "x" in letters
    hides = (head == "export" and "n" in letters) or "x" in taken
    is_local = call.frame.locals is not None and (
        head == "local" or (head in ("declare", "typeset") and "g" not in letters)
    )
    for word in (one for each in call.command.words[1:] for one in words.braces(each)):
        made = assignment(word)
        if made is None and word.plain == "=":
            _spaced(call)
        elif made is None:
            for text in fields(call.walk, word, call.env, call.frame):
                name, sign, value = text.partition("=")
                if not text.startswith(("-", "+")) and _NAME.fullmatch(name):
                    _mark(call, name, exports, hides, (Alt(value),) if sign else None, is_local)
                elif HOLE in text and exports:
                    call.env.smear(call.step("exports a computed name"))
        else:
            if made.append:
                call.walk.assign(made, call.env, call.frame)
                _mark(call, made.name, exports, hides, None, is_local)
            else:
                held = words.assigned(made.value, call.env, made.name)
                _mark(call, made.name, exports, hides, held, is_local)


_LISTED = re.compile(
    r"\s*(?:cat\s+|<\s*|grep\s+-(?:v|Ev|vE)\s+(['\"]?)\^(?:\\s\*)?#\1\s+)([\w./-]{1,200})\s*(?:\|\s*xargs\s*)?"
)
"""`$(cat .env | xargs)`, `$(grep -v '^#' .env | xargs)`, `$(<.env)`."""
_PLAIN_LINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}=[\w./:,+@%=-]*")


def fields(walk: Walks, word: Word, env: Env, frame: Frame) -> list[str]:
    """The words that a word becomes: `$(cat .env)` is the assignments of that file."""
    return _lines_of_a_file(walk, word, env, frame) or words.fields([word], env)


def _lines_of_a_file(walk: Walks, word: Word, env: Env, frame: Frame) -> list[str]:
    """The assignments of an env file whose lines no quoting or splitting can change; none where one could."""
    if len(word.parts) != 1 or word.parts[0].kind != "command" or word.parts[0].quoted:
        return []
    made = _LISTED.fullmatch(word.parts[0].text[:400])
    found = walk.run.file(made[2], frame, env.get) if made else None
    if made is None or found is None:
        return []
    lines = [line for line in found[1].split("\n") if line.strip()]
    if "grep" in made[0]:
        lines = [line for line in lines if not line.startswith("#")]
    return lines if all(_PLAIN_LINE.fullmatch(line) for line in lines) else []


def _spaced(call: Call) -> None:
    """`export A = 1`: the shell stops at the sign."""
    plain = [w.plain or "" for w in call.command.words]
    at = plain.index("=")
    if at and _NAME.fullmatch(plain[at - 1]):
        said = f"`{' '.join(plain[: at + 2])[:80]}` sets nothing: the shell allows no space around ="
        cure = f"Write {plain[at - 1]}={plain[at + 1][:60] if at + 1 < len(plain) else ''}."
        call.walk.run.remark(
            Remark("spaces-around-sign", plain[at - 1], call.frame.file, call.command.line, said, cure, "error")
        )


def _mark(call: Call, name: str, exports: bool, hides: bool, value: Held | None, is_local: bool) -> None:
    env = call.env
    shown = (
        "=…"
        if value is not None and len(value) > 1
        else f"={(value[0].text or '')[:60].replace(HOLE, '…')}"
        if value
        else ""
    )
    step = call.step(f"{call.argv[0]} {name}{shown}")
    if is_local and call.frame.locals is not None:
        call.frame.locals.add(name)
    if value is not None:
        env.put(name, call.walk.assigned(env, name, value, step))
    elif is_local:
        env.put(name, (Alt(None),))
    if call.argv[0] == "readonly" or any(re.fullmatch(r"-[a-zA-Z]*r[a-zA-Z]*", word) for word in call.argv[1:]):
        env.put(words.READONLY + name, (Alt("yes"),))
    if exports or hides:
        way: Literal["yes", "no"] = "yes" if exports else "no"
        held = env.get(name)
        env.put(
            name, joined(a._replace(exported=way) if value is not None else a.after(step, exported=way) for a in held)
        )


def _unset(call: Call) -> None:
    if "-f" in call.argv:
        return
    for name in call.argv[1:]:
        if HOLE in name:
            call.env.smear(call.step("unsets a computed name"))
        elif _NAME.fullmatch(name):
            call.env.put(name, (Alt(None, "no", (call.step(f"unset {name}", "unset"),)),))


def _set(call: Call) -> None:
    left = call.argv[1:]
    while left and left[0].startswith(("-", "+")) and left[0] not in ("-", "--"):
        option = left.pop(0)
        value = left.pop(0) if option.endswith("o") and left else ""
        if "a" in option or value == "allexport":
            call.env.allexport = option.startswith("-")
    if left:
        args = left[1:] if left[0] in ("-", "--") else left
        call.env.put(words.ARGS, words.listed(args) if words.MANY not in args else OUTER)


def _source(call: Call, given: dict[str, Held]) -> None:
    named = call.argv[1] if len(call.argv) > 1 else ""
    found = call.walk.run.file(named, call.frame, call.env.get)
    shown = named.replace(HOLE, "…").replace(words.HERE, ".")[:60]
    if named == "/dev/null":
        return
    if found is None:
        call.env.smear(call.step(f"{shown} is sourced but was not read"))
        call.walk.run.note(
            f"{call.frame.file}:{call.command.line}: {shown} is sourced, but it was not found next to this file"
        )
    elif found[0] in call.frame.calls or len(call.frame.calls) > 20:
        call.env.smear(call.step(f"{shown} sources itself"))
        call.walk.run.note(f"{call.frame.file}:{call.command.line}: {shown} sources itself; followed once")
    else:
        frame = call.frame
        within = call.env.fork()
        inner = replace(frame, file=found[0], calls=(*frame.calls, found[0]), base=call.env, returned=[])
        if call.argv[2:]:
            given = {**given, words.ARGS: words.listed(call.argv[2:]) if words.MANY not in call.argv else OUTER}
        for name, held in given.items():
            within.put(name, held)
        call.walk.script(found[1], within, inner)
        for end in (within, *inner.returned):
            for name in given:  # for the time of the file
                end.own.pop(name, None)
        call.env.take(within, *inner.returned)


def _environment_of_tool(call: Call) -> None:
    """`conda activate FOLDER` sources the scripts of that folder; what other tools do is not known."""
    prefix = words.beside(call.argv[2]) if call.argv[1] == "activate" and "/" in "".join(call.argv[2:3]) else None
    look = call.walk.run.look
    listed = look(f"{prefix}/etc/conda/activate.d/") if prefix and not call.frame.outside else None
    if listed is None or look(f"{prefix}/conda-meta/state"):
        what = f"{call.argv[0]} {call.argv[1][:30]} changes the environment; its files were not read"
        call.env.smear(call.step(what))
        return
    for name in sorted(n for n in listed[1].split("\n") if n.endswith(".sh")):
        _source(call._replace(argv=[".", f"{prefix}/etc/conda/activate.d/{name}"]), {})
    for name, text in (("CONDA_PREFIX", prefix), ("PATH", HOLE)):
        call.env.put(name, (Alt(text, "yes", (call.step(f"conda activate {prefix}"),)),))


def _eval(call: Call) -> None:
    text = " ".join(call.argv[1:])
    if HOLE in text:
        call.env.smear(call.step("eval runs computed text"))
    elif len(call.frame.calls) < 20:
        call.walk.script(text, call.env, replace(call.frame, calls=(*call.frame.calls, "eval")), call.command.line)


def _read(call: Call) -> None:
    """What is read; the next `read` of a loop goes on behind it."""
    head, held = call.argv[0], dict[str, str]()
    text = reads.text(call.walk, call.command, call.env, call.frame)
    line, ended, rest = (text or "").partition("\n")
    made = reads.assigned(call.command, line, call.env) if head == "read" and text is not None else None
    if made is not None:
        held = dict(made)
    elif text is not None and call.argv[1] == "-t" and len(call.argv) == 3:
        held = {call.argv[2]: text.removesuffix("\n").replace("\n", "\0")}
    for name in call.argv[1:]:
        if _NAME.fullmatch(name):
            _computed(call, name, held.get(name, HOLE))
    call.env.put(words.STDIN, (Alt(rest if made is not None else HOLE),))
    call.env.put(words.READ, (Alt(HOLE if made is None else "0" if ended else "1"),))


def _computed(call: Call, name: str, text: str) -> None:
    call.env.put(name, call.walk.assigned(call.env, name, (Alt(text),), call.step(f"{call.argv[0]} {name}")))


def _getopts(call: Call) -> None:
    for name in (*call.argv[2:3], "OPTARG", "OPTIND"):
        if _NAME.fullmatch(name):
            _computed(call, name, HOLE)


_COUNTS = re.compile(
    r"\s*([A-Za-z_]\w{0,127})\s*(?:([-+*/%]?)=(?!=)(.*)|(\+|-)\4\s*)|\s*(\+|-)\5\s*([A-Za-z_]\w{0,127})\s*"
)
_SETS = frozenset(
    ("export", "declare", "local", "typeset", "readonly", "unset", "read", "mapfile", "let", "getopts", "printf")
)
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,127})\s?(?:[-+*/%&^|]?=(?!=)|\+\+|--)|(?:\+\+|--)\s?([A-Za-z_]\w{0,127})")


def compute(walk: Walks, text: str, env: Env, frame: Frame, line: int) -> None:
    """What arithmetic sets: `i++`, `N = A * 2`; the value of what is less plain is open."""
    made = _COUNTS.fullmatch(text[:400])
    for name in dict.fromkeys(n for found in _ASSIGNED.findall(text) for n in found if n):
        value: int | None = None
        if made:
            sign, right = (made[2], made[3]) if made[3] is not None else (made[4] or made[5], "1")
            value = known.arithmetic(f"{name} {sign} ({right})" if sign else right, words.number(env))
        step = Step(frame.file, line, f"{name}=…" if value is None else f"{name}={value}")
        env.put(name, walk.assigned(env, name, (Alt(HOLE if value is None else str(value)),), step))


def names(command: Simple) -> Iterator[str]:
    """Those that it sets, in whatever way."""
    head = command.words[0].plain if command.words else ""
    yield from (assign.name for assign in command.assigns)
    for word in command.words[1:]:
        for part in word.parts:
            yield from (n for found in _ASSIGNED.findall(part.text if part.kind == "math" else "") for n in found if n)
        plain = (word.plain or (word.parts[0].text if word.parts else "")).partition("=")[0].rstrip("+")
        if head in _SETS and _NAME.fullmatch(plain):
            yield plain
    if head == "getopts":
        yield from ("OPTARG", "OPTIND")


def _let(call: Call) -> None:
    for word in call.command.words[1:]:
        if word.parts[0].kind != "math":  # which was computed as a part of the word
            compute(call.walk, words.text_of(word, call.env), call.env, call.frame, call.command.line)


def _shift(call: Call) -> None:
    args, count = words.arguments(call.env), "".join(call.argv[1:2]) or "1"
    known_ = args is not None and count.isdecimal() and HOLE not in args[: int(count)]
    if not known_ or args is None:
        call.env.put(words.ARGS, OUTER)
    elif int(count) <= len(args):
        call.env.put(words.ARGS, words.listed(args[int(count) :]))


def _leave(call: Call) -> None:
    """break, continue."""
    levels = "".join(call.argv[1:2]) or "1"
    if not call.walk.leaving or not levels.isdecimal():
        return
    held = call.walk.leaving[-min(max(int(levels), 1), len(call.walk.leaving))]
    if call.argv[0] == "break":
        held.broke.append(call.env.flat(held.base))
    else:
        held.went_on.append(call.env.flat(held.start))
    call.env.dead = True


def _printf(call: Call) -> None:
    """`printf -v NAME FORMAT`."""
    if call.argv[1:2] != ["-v"] or len(call.argv) < 4:
        return
    if _NAME.fullmatch(call.argv[2]):
        _computed(call, call.argv[2], known.formatted(call.argv[3:]))
    else:
        call.env.smear(call.step("printf -v sets a computed name"))


def _trap(call: Call) -> None:
    """What runs when the shell ends."""
    if len(call.argv) > 2 and {"EXIT", "0"} & set(call.argv[2:]):
        text = "" if call.argv[1] == "-" or HOLE in call.argv[1] else call.argv[1]
        call.env.put(words.TRAP, (Alt(text, "no", (call.step("trap"),)),))


def _end(call: Call) -> None:
    env, frame = call.env, call.frame
    if call.argv[0] == "return" and frame.base is not None:
        frame.returned.append(env.flat(frame.base))
    env.dead, env.exited = True, call.argv[0] == "exit"


def _exec(call: Call, given: dict[str, Held]) -> None:
    argv = call.argv[1:]
    while argv and argv[0].startswith("-"):
        argv = argv[2:] if argv[0] == "-a" else argv[1:]
    if argv:
        call.walk.start(argv, call.command, call.env, call.frame, given)
        call.env.put(words.TRAP, (Alt(None),))
        call.env.dead = call.env.exited = True


_TABLE: dict[str, Callable[[Call], None]] = {
    **dict.fromkeys(("export", "declare", "typeset", "readonly", "local"), _declare),
    "trap": _trap, "unset": _unset, "set": _set, "eval": _eval, "printf": _printf,
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    **dict.fromkeys(("break", "continue"), _leave),
    "let": _let, "shift": _shift, "getopts": _getopts,
    **dict.fromkeys(("exit", "return"), _end),
}  # fmt: skip
