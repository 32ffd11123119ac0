"""Walks a shell script the way the shell would, with every branch taken, and starts what it starts.

Branches and loops are joined, functions entered, files that lie beside are followed. What only the running script can
know (`eval`, a sourced file elsewhere) leaves every variable open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from doctor.flags.way import builtins, known, reads, words
from doctor.flags.way.frame import Frame, Leaving, Runs
from doctor.flags.way.model import OUTER, Alt, Env, Held, Step, joined
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
    parts,
)

MOST_COMMANDS = 10_000
"""Commands that are walked, each call of a function counted."""
_DEEPEST = 30
_LOOPS = 2
_UNROLLED = 32
_MOST_WAYS = 6
_LONGEST_CHAIN = 60
_LONGEST = 20_000
_CERTAIN = frozenset(("export", "echo", "printf", ":", "true", "set", "unset", "declare", "shift", "local", "readonly"))
_EXPORTED_ANYWAY = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "LANG", "TERM"))


class Walk:
    def __init__(self, run: Runs) -> None:
        self.run = run
        self.left = MOST_COMMANDS
        self.loops = 0
        self.turns = 1
        self.leaving: list[Leaving] = []

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
            ends = self._split([*command.words, *(a.value for a in command.assigns)], env)
            for end in ends if len(ends) > 1 else [env]:
                self.simple(command, end, frame)
            if len(ends) > 1:
                env.take(*ends)
        elif isinstance(command, Chain):
            self._chain(command, env, frame)
        elif isinstance(command, Pipe):
            printed = HOLE
            for item in command.items:
                inner = env.fork()
                if printed != HOLE and isinstance(item, Simple) and item.body is None and item.string is None:
                    item = replace(item, body=f"\0{printed}")
                elif item is not command.items[0]:
                    inner.put(words.STDIN, (Alt(printed),))
                self._apart(item, inner, frame)
                printed = self._prints(item, env) if isinstance(item, Simple) else HOLE
        elif isinstance(command, Group):
            if command.subshell:
                self._apart(Group(command.line, command.commands, subshell=False), env.fork(), frame)
            else:
                self.every(command.commands, env, frame)
        elif isinstance(command, If):
            self._if(command, env, frame)
        elif isinstance(command, Loop):
            self._loop(command, env, frame)
        elif isinstance(command, Case):
            env.take(*(end for each in self._split([command.word], env) for end in self._case(command, each, frame)))
        else:
            frame.functions[command.name] = command

    def _apart(self, command: Command, env: Env, frame: Frame) -> None:
        """In a shell of its own, whose `break` leaves no loop of this one."""
        leaving, self.leaving = self.leaving, []
        self.one(command, env, frame)
        self.leaving = leaving

    def _split(self, used: Iterable[Word], env: Env) -> list[Env]:
        """One for each of the texts that a variable of the words may have, if they are few and known."""
        ends = [env]
        for name in dict.fromkeys(words.depends(used)):
            held = env.get(name)
            if 1 < len(held) <= _MOST_WAYS // len(ends) and not any(
                a.outer or a.when or HOLE in (a.text or "") for a in held
            ):
                forks = [(end.fork(), alt) for end in ends for alt in held]
                for fork, alt in forks:
                    fork.put(name, (alt,))
                ends = [fork for fork, _ in forks]
        return ends if len(ends) > 1 else [env.fork()]

    def _outcomes(self, command: Command, env: Env, frame: Frame) -> tuple[list[Env], list[Env]]:
        """Where it succeeds, and where it fails; the same env is in both where that is not known."""
        good: list[Env] = []
        bad: list[Env] = []
        if isinstance(command, Chain) and not command.background and len(command.items) <= _LONGEST_CHAIN:
            good, bad = self._outcomes(command.items[0][1], env, frame)
            for operator, item in command.items[1:]:
                start = env.fork()
                start.take(*(good if operator == "&&" else bad))
                more = self._outcomes(item, start, frame) if not start.dead else ([], [])
                good = more[0] if operator == "&&" else [*good, *more[0]]
                bad = [*bad, *more[1]] if operator == "&&" else more[1]
            return good, bad
        used = [*command.words, *(a.value for a in command.assigns)] if isinstance(command, Simple) else []
        for end in self._split(used, env):
            self.one(command, end, frame)
            surely = self._succeeds(command, end, frame) if isinstance(command, Simple) else None
            good += [end] if surely is not False else []
            bad += [end] if surely is not True else []
        return good, bad

    def _succeeds(self, command: Simple, env: Env, frame: Frame) -> bool | None:
        head = command.words[0].plain if command.words else ""
        made: bool | None = None

        def there(path: str) -> bool:
            return self.run.file(path, frame, env.get) is not None

        def text_of(word: Word) -> str:
            return words.surely(word, env)

        if head == "[[":
            inner = command.words[1:-1]
            made = known.holds([*map(text_of, inner)], [known.pattern(word, text_of) for word in inner], there)
        elif head in ("[", "test"):
            inner = command.words[1 : -1 if head == "[" else None]
            sure = ([HOLE] if text_of(w) == HOLE else words.fields([w], env) for w in inner)
            made = known.holds([field for fields in sure for field in fields], (), there)
        elif head == "let" and len(command.words) == 2:
            value = known.arithmetic(command.words[1].parts[0].text, words.number(env))
            made = None if value is None else value != 0
        elif head == "read":
            status = held[0].text if len(held := env.get(words.READ)) == 1 else None
            made = status == "0" if status in ("0", "1") else None
        elif head == "false" or _certain(command):
            made = head != "false"
        return made if made is None else made is not command.negated

    def _chain(self, command: Chain, env: Env, frame: Frame) -> None:
        if command.background:
            inner = Chain(command.line, command.items) if len(command.items) > 1 else command.items[0][1]
            self.one(inner, env.fork(), frame)
        elif len(command.items) > _LONGEST_CHAIN:
            env.smear(Step(frame.file, command.line, f"a chain of more than {_LONGEST_CHAIN} commands is not followed"))
        else:
            good, bad = self._outcomes(command, env, frame)
            env.take(*dict.fromkeys((*good, *bad)))

    def _asked(self, test: Sequence[Command], env: Env, frame: Frame) -> tuple[Env | None, Env | None]:
        """Of `if` and `while`: where it holds, and where it does not."""
        start = env.fork()
        self.every(test[:-1], start, frame)
        if not test or start.dead:
            return start, start
        made: list[Env | None] = []
        for ends in self._outcomes(test[-1], start, frame):
            made.append(env.fork() if ends else None)
            if made[-1] is not None:
                made[-1].take(*ends)
        return made[0], made[1]

    def _if(self, command: If, env: Env, frame: Frame) -> None:
        ends: list[Env] = []
        before: Env | None = env.fork()
        for test, body in command.branches:
            if before is None:
                break
            good, before = self._asked(test, before, frame)
            if good is not None:
                self.every(body, good, frame)
                ends.append(good)
        if before is not None:
            self.every(command.other or (), before, frame)
            ends.append(before)
        env.take(*ends)

    def _case(self, command: Case, env: Env, frame: Frame) -> list[Env]:
        text, ends = words.surely(command.word, env), list[Env]()
        for patterns, branch in zip(command.patterns, command.branches, strict=True):
            fits = [
                word.bare == "*" or known.matches(text, known.pattern(word, lambda w: words.surely(w, env)))
                for word in patterns
            ]
            if True in fits or None in fits:
                ends.append(env.fork())
                self.every(branch, ends[-1], frame)
            if True in fits:
                return ends
        return [*ends, env.fork()]

    def _loop(self, command: Loop, env: Env, frame: Frame) -> None:
        given = command.input
        before = env.get(words.STDIN)
        for end in (ends := self._split(command.words or (), env)):
            if given is not None and (given.file or given.string or given.body is not None):
                text = reads.text(self, given, end, frame)
                end.put(words.STDIN, (Alt(HOLE if text is None else text),))
            self._turns(command, end, frame)
            if given is not None:
                end.put(words.STDIN, before)
        env.take(*ends)

    def _turns(self, command: Loop, env: Env, frame: Frame) -> None:
        """Turn by turn where what is looped over is known; else by the test."""
        listed = [f for one in words.fields(command.words or (), env) for f in self._named(one, frame)]
        if command.words is not None and not listed:
            return
        if not listed or HOLE in "".join(listed) or len(listed) * self.turns > _UNROLLED:
            self._unclear(command, env, frame, listed)
            return
        current, ends = env.fork(), list[Env]()
        self.turns *= len(listed)
        for text in listed:
            step = Step(frame.file, command.line, f"for {command.name}")
            current.put(command.name, self.assigned(current, command.name, [Alt(text)], step))
            current = self._turn(command, current, env, frame, ends)
            if current.dead:
                break
        self.turns //= len(listed)
        env.take(current, *ends)

    def _named(self, field: str, frame: Frame) -> list[str]:
        """The files that a pattern stands for, in a folder that can be read."""
        if not re.search(r"[*?\[]", field):
            return [field]
        folder, _, wanted = field.rpartition("/")
        path = words.beside(folder)
        found = self.run.look(f"{path}/") if path and not frame.outside else None
        if found is None:
            return [words.MANY]
        names = sorted(n for n in found[1].split("\n") if n[:1] != "." and known.matches(n, wanted))
        return [f"{folder}/{name}" for name in names] or [words.MANY]

    def _turn(self, command: Loop, start: Env, base: Env, frame: Frame, ends: list[Env]) -> Env:
        """The body once; where `break` leaves it joins the ends."""
        held = Leaving(base, start)
        self.leaving.append(held)
        turn = start.fork()
        self.every(command.body, turn, frame)
        self.leaving.pop()
        after = start.fork()
        after.take(turn, *held.went_on)
        ends += held.broke
        if command.step is not None and not after.dead:
            self.one(command.step, after, frame)
        return after if after.dead else after.flat(base)

    def _unclear(self, command: Loop, env: Env, frame: Frame, listed: list[str]) -> None:
        """As long as the test is known to hold, else twice; then once more with all that the last turn changed open."""
        current, ends = env.fork(), list[Env]()
        if command.first is not None:
            self.one(command.first, current, frame)
        self.loops += 1
        deep, last = self.loops > _LOOPS, False
        if deep:
            self._widen(current, filter(None, _set_in([command, *(f.body for f in frame.functions.values())])))
        most = _UNROLLED // self.turns
        self.turns *= 2
        for number in range(most + 2):
            good, bad = self._asked(command.test, current, frame) if command.test else (current, current)
            good, bad = (bad, good) if command.until else (good, bad)
            if bad is not None:
                ends.append(bad.flat(env) if not bad.dead else bad)
            if good is None or good.dead or last:
                break
            start = good.fork()
            if command.name:
                step = Step(frame.file, command.line, f"for {command.name}")
                texts = [Alt(text) for text in dict.fromkeys(listed)] or [Alt(HOLE)]
                start.put(command.name, self.assigned(start, command.name, texts, step))
            after = self._turn(command, start.flat(env), env, frame, ends)
            if after.dead:
                break
            changed = {n for n in after.names() if {*map(_bare, after.get(n))} - {*map(_bare, current.get(n))}}
            if bad is None and not changed:  # it never ends
                break
            current = after
            if deep or (bad is not None and number > 1) or number >= most:
                last = not changed or deep
                self._widen(current, changed)
        self.loops -= 1
        self.turns //= 2
        env.take(*ends)

    def _widen(self, env: Env, names: Iterable[str]) -> None:
        for name in names:
            env.put(name, joined(env.get(name), (Alt(HOLE, "yes"), Alt(None))))

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
            held = words.assigned(assign.value, env, assign.name)
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
        path = words.beside(argv[1] if copies else words.text_of(command.out, env) if command.out else "")
        if not path:
            return
        text = (self.input(command, env) or HOLE) if copies else self._prints(command, env)
        if command.appends:
            before = env.get(words.WRITTEN + path)
            text = before[0].text + text if len(before) == 1 and before[0].text and text != HOLE else HOLE
        step = Step(frame.file, command.line, f"writes {path}", words.WRITTEN)
        env.put(words.WRITTEN + path, (Alt(text if len(text) < _LONGEST else HOLE, "yes", (step,)),))

    def _prints(self, command: Simple, env: Env) -> str:
        """What `echo TEXT`, `printf`, or `cat` of a here-document, prints."""
        argv = words.fields(command.words, env)
        return (self.input(command, env) or HOLE) if argv == ["cat"] else known.printed(argv)

    def start(self, argv: list[str], command: Simple, env: Env, frame: Frame, given: dict[str, Held]) -> None:
        if self.run.is_helper(argv):
            return
        sees = env.sees(
            lambda name: Step(
                frame.file, command.line, f"{name} is not exported: it stays in the shell", "not-exported"
            )
        )
        sees.held.update(given)
        self.run.start(argv, sees, frame, command.line, self.input(command, env))

    def input(self, command: Simple, env: Env) -> str | None:
        """A here-document as the program reads it: expanded unless its word was quoted."""
        if command.string is not None:
            return words.text_of(command.string, env)
        body = command.body
        if body is None or body.startswith("\0") or not re.search(r"[$`\\]", body):
            return body.removeprefix("\0") if body is not None else None
        lexer = Lexer('"' + body.replace('"', '\\"') + '"', command.line)
        try:
            return words.text_of(lexer._word(), env)
        except ShellError:
            return HOLE

    def _substitutions(self, word: Word, env: Env, frame: Frame) -> None:
        for part in word.parts:
            if part.kind == "command" and len(frame.calls) < _DEEPEST:
                inner = shell_tree.read(part.text, part.line)
                self.every(inner.commands, env.fork(), frame)
            elif part.kind == "math":
                builtins.compute(self, part.text, env, frame, word.line)
            elif part.kind == "var" and part.op in (":=", "="):
                step = Step(frame.file, word.line, f"${{{part.text}{part.op}…}} sets it where it is not set")
                env.put(part.text, self.assigned(env, part.text, words.alternatives(part, env), step))

    def assign(self, assign: Assignment, env: Env, frame: Frame) -> None:
        if env.get(words.READONLY + assign.name)[0].text:
            return
        held = words.assigned(assign.value, env, assign.name)
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
        inner = Frame(frame.file, None, frame.where, frame.functions, calls, locals_, frame.outside, frame.nodes, env)
        within = env.fork()
        given = {**given, words.ARGS: words.listed(args) if words.MANY not in args else OUTER}
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


def _bare(alt: Alt) -> Alt:
    return alt._replace(steps=())


def _set_in(commands: Sequence[Command]) -> Iterator[str]:
    """Names that they may set."""
    for command in commands:
        if isinstance(command, Simple):
            yield from builtins.names(command)
        elif isinstance(command, Loop):
            yield from (command.name, *_set_in([each for each in (command.first, command.step) if each]))
        for part in parts(command):
            yield from _set_in(part)


def _certain(command: Command) -> bool:
    """It can't fail: what follows `||` never runs."""
    if not isinstance(command, Simple):
        return False
    if any(part.kind == "command" for a in command.assigns for part in a.value.parts):
        return False
    return not command.words or command.words[0].plain in _CERTAIN


def _shown(text: str) -> str:
    return text.replace(HOLE, "…").replace(words.HERE, ".").replace("\0", " ")[:60]
