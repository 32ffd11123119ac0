"""Walks a shell script the way the shell would, with every branch taken, and starts what it starts.

Branches and loops are joined, functions entered, files that lie beside are followed. What only the running script can
know (`eval`, a sourced file elsewhere) leaves every variable open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from doctor.flags.way import builtins, reads, words
from doctor.flags.way.frame import Frame, Runs
from doctor.flags.way.model import Alt, Env, Held, Step, joined
from doctor.parsers.text import shell_tree
from doctor.parsers.text.shell_lexer import HOLE, Lexer, ShellError, Word
from doctor.parsers.text.shell_nodes import (
    Assignment,
    Case,
    Chain,
    Command,
    Function,
    Group,
    If,
    Loop,
    Pipe,
    Simple,
    simple_commands,
)

MOST_COMMANDS = 10_000
"""Commands that are walked, each call of a function counted."""
_DEEPEST = 30
_LOOPS = 2
_UNROLLED = 16
_LONGEST = 20_000
_CERTAIN = frozenset(("export", "echo", "printf", ":", "true", "set", "unset", "declare", "shift", "local", "readonly"))
_EXPORTED_ANYWAY = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "LANG", "TERM"))


class Walk:
    def __init__(self, run: Runs) -> None:
        self.run = run
        self.left = MOST_COMMANDS
        self.loops = 0

    def script(self, text: str, env: Env, frame: Frame, line: int = 1) -> None:
        tree = shell_tree.read(text, line)
        if tree.fault:
            self.run.note(f"{frame.file}:{tree.fault[0]}: {tree.fault[1]}; not read from there on")
        self.every(tree.commands, env, frame)

    def every(self, commands: Sequence[Command], env: Env, frame: Frame) -> None:
        for command in commands:
            if env.dead:
                return
            self.one(command, env, frame)

    def one(self, command: Command, env: Env, frame: Frame) -> None:
        self.left -= 1
        if self.left < 0:
            if self.left == -1:
                self.run.note(
                    f"{frame.file}:{command.line}: more than {MOST_COMMANDS} commands; not followed from there on"
                )
            env.dead = True
            return
        if isinstance(command, Simple):
            self.simple(command, env, frame)
        elif isinstance(command, Chain):
            self._chain(command, env, frame)
        elif isinstance(command, Pipe):
            printed = HOLE
            for item in command.items:
                inner = env.fork()
                if printed != HOLE and isinstance(item, Simple) and item.body is None and item.string is None:
                    item = replace(item, body=f"\0{printed}")
                self.one(item, inner, frame)
                printed = self._prints(item, env, frame) if isinstance(item, Simple) else HOLE
        elif isinstance(command, Group):
            self.every(command.commands, env.fork() if command.subshell else env, frame)
        elif isinstance(command, If):
            self._if(command, env, frame)
        elif isinstance(command, Loop):
            self._loop(command, env, frame)
        elif isinstance(command, Case):
            ends = [] if command.complete else [env.fork()]
            for branch in command.branches:
                ends.append(env.fork())
                self.every(branch, ends[-1], frame)
            env.take(*ends)
        else:
            frame.functions[command.name] = command

    def _chain(self, command: Chain, env: Env, frame: Frame) -> None:
        if command.background:
            inner = Chain(command.line, command.items) if len(command.items) > 1 else command.items[0][1]
            self.one(inner, env.fork(), frame)
            return
        good = env.fork()
        self.one(command.items[0][1], good, frame)
        bad: list[Env] = [] if _certain(command.items[0][1]) else [good]
        for operator, item in command.items[1:60]:
            if operator == "&&":
                good = good.fork()
                self.one(item, good, frame)
                if not _certain(item):
                    bad.append(good)
            else:
                start = env.fork()
                if not bad:
                    continue
                start.take(*(_flat(each, env) for each in bad))
                self.one(item, start, frame)
                kept = _flat(good, env)
                good = env.fork()
                good.take(kept, _flat(start, env))
                bad = [] if _certain(item) else [start]
        if len(command.items) > 60:
            good.smear(Step(frame.file, command.line, "a chain of more than 60 commands is not followed"))
        env.take(*(_flat(each, env) for each in (good, *(b for b in bad if b is not good))))

    def _if(self, command: If, env: Env, frame: Frame) -> None:
        ends: list[Env] = []
        before = env.fork()
        for test, body in command.branches:
            self.every(test, before, frame)
            end = before.fork()
            self.every(body, end, frame)
            ends.append(end)
        last = before.fork()
        self.every(command.other or (), last, frame)
        before.take(*ends, last)
        env.take(before)

    def _loop(self, command: Loop, env: Env, frame: Frame) -> None:
        """Twice through the body: what the first turn leaves is what the second one finds. In loops within loops once,
        with what the body sets left open."""
        listed = words.fields(command.words, env, frame.args) if command.words is not None else []
        surely = bool(listed) and HOLE not in "".join(listed) and not _leaves(command.body)
        self.every(command.test, env, frame)
        turns = reads.turns(self, command, env, frame) if not self.loops else None
        if surely and command.name and not self.loops and len(listed) <= _UNROLLED:
            turns = [[(command.name, text)] for text in listed]
        if turns is not None:
            self._each(command, turns, env, frame)
            return
        ends = [] if surely else [env.fork()]
        turn = env.fork()
        if self.loops >= _LOOPS:
            for name in _set_in(command, frame):
                turn.put(name, joined(env.get(name), (Alt(HOLE, "yes"), Alt(None))))
        self.loops += 1
        for _ in range(1 if self.loops > _LOOPS else 2):
            turn = turn.fork()
            if command.name:
                texts = [Alt(text) for text in dict.fromkeys(listed)][:8] or [Alt(HOLE)]
                step = Step(frame.file, command.line, f"for {command.name}")
                turn.put(command.name, self.assigned(turn, command.name, texts, step))
            self.every(command.body, turn, frame)
            ends.append(turn)
            if turn.dead:
                break
        self.loops -= 1
        env.take(*(_flat(end, env) for end in ends))

    def _each(self, command: Loop, turns: Sequence[Sequence[tuple[str, str]]], env: Env, frame: Frame) -> None:
        """A list or a file that is known: one turn for each of its words or lines."""
        self.loops += 1
        for turn in turns:
            before = env.fork()
            for name, text in turn:
                step = Step(frame.file, command.line, f"{'for' if command.name else 'while read'} {name}")
                env.put(name, self.assigned(env, name, [Alt(text)], step))
            if not _leaves(command.body):
                self.every(command.body, env, frame)
                continue
            after = env.fork()
            self.every(command.body, after, frame)
            env.take(_flat(after, env), _flat(before, env))
        self.loops -= 1

    def simple(self, command: Simple, env: Env, frame: Frame) -> None:
        for word in (*command.words, *(a.value for a in command.assigns)):
            self._substitutions(word, env, frame)
        if not command.words:
            for assign in command.assigns:
                self.assign(assign, env, frame)
            return
        argv = [f for word in command.words for f in builtins.fields(self, word, env, frame)]
        if not argv:
            return
        given: dict[str, Held] = {}
        for assign in command.assigns:
            step = Step(frame.file, assign.line, f"{assign.name}=… for this command only")
            held = words.assigned(assign.value, env, frame.args, assign.name)
            given[assign.name] = tuple(a._replace(exported="yes", steps=(step,)) for a in held)
        head = argv[0]
        if command.out or head == "tee":
            self._writes(argv, command, env, frame)
        function = frame.functions.get(head)
        if function is not None:
            self._call(function, argv[1:], env, frame, given)
        elif not builtins.run(self, argv, command, env, frame, given):
            self.start(argv, command, env, frame, given)

    def _writes(self, argv: list[str], command: Simple, env: Env, frame: Frame) -> None:
        """`cat > FILE <<EOF`, `tee FILE <<EOF`, `echo TEXT >> FILE`: what a later command may run or read."""
        copies = argv[0] == "tee" and len(argv) == 2
        path = words.beside(argv[1] if copies else words.text_of(command.out, env, frame.args) if command.out else "")
        if not path:
            return
        text = (self.input(command, env, frame) or HOLE) if copies else self._prints(command, env, frame)
        if command.appends:
            before = env.get(words.WRITTEN + path)
            text = before[0].text + text if len(before) == 1 and before[0].text and text != HOLE else HOLE
        step = Step(frame.file, command.line, f"writes {path}", words.WRITTEN)
        env.put(words.WRITTEN + path, (Alt(text if len(text) < _LONGEST else HOLE, "yes", (step,)),))

    def _prints(self, command: Simple, env: Env, frame: Frame) -> str:
        """What `echo TEXT`, or `cat` of a here-document, prints."""
        argv = words.fields(command.words, env, frame.args)
        if argv == ["cat"]:
            return self.input(command, env, frame) or HOLE
        return " ".join(argv[1:]) + "\n" if argv[:1] == ["echo"] and argv[1:2] != ["-e"] else HOLE

    def start(self, argv: list[str], command: Simple, env: Env, frame: Frame, given: dict[str, Held]) -> None:
        if self.run.is_helper(argv):
            return
        sees = env.sees(
            lambda name: Step(
                frame.file, command.line, f"{name} is not exported: it stays in the shell", "not-exported"
            )
        )
        sees.held.update(given)
        self.run.start(argv, sees, frame, command.line, self.input(command, env, frame))

    def input(self, command: Simple, env: Env, frame: Frame) -> str | None:
        """A here-document as the program reads it: expanded unless its word was quoted."""
        if command.string is not None:
            return words.text_of(command.string, env, frame.args)
        body = command.body
        if body is None or body.startswith("\0") or not re.search(r"[$`\\]", body):
            return body.removeprefix("\0") if body is not None else None
        lexer = Lexer('"' + body.replace('"', '\\"') + '"', command.line)
        try:
            return words.text_of(lexer._word(), env, frame.args)
        except ShellError:
            return HOLE

    def _substitutions(self, word: Word, env: Env, frame: Frame) -> None:
        for part in word.parts:
            if part.kind == "command" and len(frame.calls) < _DEEPEST:
                inner = shell_tree.read(part.text, part.line)
                self.every(inner.commands, env.fork(), frame)
            elif part.kind == "var" and part.op in (":=", "="):
                step = Step(frame.file, word.line, f"${{{part.text}{part.op}…}} sets it where it is not set")
                env.put(part.text, self.assigned(env, part.text, words.alternatives(part, env, frame.args), step))

    def assign(self, assign: Assignment, env: Env, frame: Frame) -> None:
        if env.get(words.READONLY + assign.name)[0].text:
            return
        held = words.assigned(assign.value, env, frame.args, assign.name)
        if assign.append:
            before = env.get(assign.name)
            between = "\0" if assign.value.array is not None else ""
            held = tuple(Alt(_appended(b, a, between)) for b in before for a in held)
        text = held[0].text if len(held) == 1 else None
        shown = f"{assign.name}={_shown(text)}" if text is not None else f"{assign.name}=…"
        env.put(assign.name, self.assigned(env, assign.name, held, Step(frame.file, assign.line, shown)))

    def assigned(self, env: Env, name: str, held: Sequence[Alt], step: Step) -> Held:
        """The new alternatives; whether they are exported is as before."""
        before = env.get(name)
        ways = dict.fromkeys("yes" if name in _EXPORTED_ANYWAY and a.outer else a.exported for a in before)
        if env.allexport is not False:
            ways = {"yes": None} if env.allexport else {**ways, "yes": None}
        made = [alt._replace(exported=way, steps=(step,)) for alt in held for way in ways]
        return joined(made)

    def _call(self, function: Function, args: list[str], env: Env, frame: Frame, given: dict[str, Held]) -> None:
        if len(frame.calls) >= _DEEPEST:
            env.smear(Step(frame.file, function.line, f"{function.name} calls itself too often to follow"))
            return
        locals_: set[str] = set()
        calls = (*frame.calls, function.name)
        inner = Frame(frame.file, args, frame.where, frame.functions, calls, locals_, frame.outside, frame.nodes, env)
        within = env.fork()
        for name, held in given.items():
            within.put(name, held)
        self.one(function.body, within, inner)
        for end in (within, *inner.returned):
            for name in locals_ | given.keys():
                end.own.pop(name, None)
        env.take(within, *inner.returned)


def _appended(before: Alt, more: Alt, between: str) -> str:
    more_text = HOLE if more.text is None else more.text
    text = f"{before.text}{between}{more_text}" if before.text else more_text
    return HOLE if before.outer or len(text) > _LONGEST else text


def _flat(end: Env, until: Env) -> Env:
    """The end as a layer right above `until`."""
    if end.parent is until or end is until:
        return end
    flat = until.fork()
    flat.take(end)
    return flat


def _leaves(body: Sequence[Command]) -> bool:
    return any(c.words and c.words[0].plain in ("break", "continue") for c in simple_commands(list(body)))


def _set_in(command: Loop, frame: Frame) -> set[str]:
    """Names that the body sets, or a function of the file."""
    found: set[str] = set()
    for each in simple_commands([*command.body, *(f.body for f in frame.functions.values())]):
        found |= {a.name for a in each.assigns}
        if each.words and each.words[0].plain in ("export", "declare", "local", "typeset", "unset", "read"):
            found |= {
                (w.plain or (w.parts[0].text if w.parts else "")).partition("=")[0].rstrip("+") for w in each.words[1:]
            }
    return found


def _certain(command: Command) -> bool:
    """It can't fail: what follows `||` never runs."""
    if not isinstance(command, Simple):
        return False
    if any(part.kind == "command" for a in command.assigns for part in a.value.parts):
        return False
    return not command.words or command.words[0].plain in _CERTAIN


def _shown(text: str) -> str:
    return text.replace(HOLE, "…").replace(words.HERE, ".").replace("\0", " ")[:60]
