"""Shell text -> its commands as a tree, each with the line where it begins.

What the shell reads before a fault is kept: it runs each command as soon as that is complete.

>>> tree = read("export A=1\\nif x; then y\\n")
>>> len(tree.commands), tree.fault
(1, (3, 'the text ends within if'))
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.parsers.text.shell_lexer import Lexer, Part, ShellError, Token, Word
from doctor.parsers.text.shell_nodes import Assignment, Case, Chain, Command, Function, Group, If, Loop, Pipe, Simple

DEEPEST = 60
MOST_COMMANDS = 10_000
"""Simple commands that are read of one text."""
MOST_WORDS = 5_000
"""Of one command."""
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})(\[[^\]]{0,80}\])?(\+?)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_:.-]*")
_BEFORE = ("!", "time")


class Tree(NamedTuple):
    commands: list[Command]
    fault: tuple[int, str] | None
    """Line and reason; nothing is read from there on."""


def read(text: str, line: int = 1) -> Tree:
    return _Parser(text, line).whole()


class _Parser:
    def __init__(self, text: str, line: int) -> None:
        self.stream = Lexer(text, line).tokens()
        self.held: list[Token] = []
        self.depth = 0
        self.within = ""
        self.line, self.count = line, 0

    def whole(self) -> Tree:
        found: list[Command] = []
        try:
            while True:
                self._newlines()
                if self._peek() is None:
                    return Tree(found, None)
                found.append(self._chain())
                token = self._peek()
                if token and token.op not in (";", "&", "\n", ""):
                    raise ShellError(token.line, f"unexpected {token.op}")
        except ShellError as error:
            return Tree(found, (error.line, str(error)))

    def _peek(self) -> Token | None:
        if not self.held:
            token = next(self.stream, None)
            if token is None:
                return None
            self.held.append(token)
        return self.held[0]

    def _take(self) -> Token:
        token = self._peek()
        if token is None:
            raise ShellError(self.line, f"the text ends within {self.within or 'a command'}")
        self.line = token.line
        return self.held.pop(0)

    def _newlines(self) -> None:
        while (token := self._peek()) is not None and token.op in ("\n", ";", "&"):
            self._take()

    def _word(self) -> str | None:
        token = self._peek()
        return token.word.bare if token is not None and not token.op and token.word.array is None else None

    def _expect(self, word: str) -> None:
        if self._word() != word:
            token = self._peek()
            if token is None:
                raise ShellError(self.line, f"the text ends within {self.within}")
            raise ShellError(token.line, f"{word} is missing")
        self._take()

    def _until(self, within: str, *ends: str) -> list[Command]:
        """Commands up to one of the words, which is left."""
        found: list[Command] = []
        before, self.within = self.within, within
        while True:
            self._newlines()
            token = self._peek()
            if token is None:
                raise ShellError(self.line, f"the text ends within {within}")
            if self._word() in ends or token.op in ends:
                self.within = before
                return found
            found.append(self._chain())

    def _chain(self) -> Command:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ShellError(self.line, f"nested more than {DEEPEST} levels deep")
        line = self.line
        items = [("", self._pipe())]
        while (token := self._peek()) is not None and token.op in ("&&", "||"):
            self._take()
            self._blank()
            items.append((token.op, self._pipe()))
        token = self._peek()
        background = token is not None and token.op == "&"
        if token is not None and token.op in (";", "&"):
            self._take()
        self.depth -= 1
        return items[0][1] if len(items) == 1 and not background else Chain(line, items, background)

    def _blank(self) -> None:
        while (token := self._peek()) is not None and token.op == "\n":
            self._take()

    def _pipe(self) -> Command:
        negated = False
        while self._word() in _BEFORE:
            negated ^= self._take().word.bare == "!"
        items = [self._command()]
        while (token := self._peek()) is not None and token.op in ("|", "|&"):
            self._take()
            self._blank()
            items.append(self._command())
        if negated and isinstance(items[0], Simple):
            items[0].negated = True
        return items[0] if len(items) == 1 else Pipe(self.line, items)

    def _command(self) -> Command:
        token = self._peek()
        if token is None:
            raise ShellError(self.line, "the text ends within a command")
        self.line = token.line
        word = self._word()
        made: Command
        if token.op in ("(", "(("):
            made = self._bracket()
        elif word == "{":
            self._take()
            made = Group(token.line, self._until("{", "}"), subshell=False)
            self._take()
        elif word == "if":
            made = self._if()
        elif word in ("while", "until", "for", "select"):
            made = self._loop(str(word))
        elif word == "case":
            made = self._case()
        elif word == "function":
            self._take()
            made = self._function(self._take())
        elif token.op and token.op not in ("<", ">", "<<", "<<<"):
            raise ShellError(token.line, f"unexpected {'end of line' if token.op == chr(10) else token.op}")
        elif word in ("then", "fi", "do", "done", "esac", "else", "elif", "}"):
            raise ShellError(token.line, f"unexpected {word}")
        else:
            return self._simple()
        redirected = Simple(token.line)
        self._redirects(redirected)
        if isinstance(made, Loop):
            made.input = redirected
        return made

    def _redirects(self, into: Simple) -> None:
        while (token := self._peek()) is not None and token.op in ("<", ">", "<<", "<<<"):
            self._take()
            if token.op == "<<":
                into.body = token.body
            elif token.op == "<<<":
                into.string = token.word
            elif token.op == "<":
                into.file = token.word
            elif token.op == ">" and token.body is not None:
                into.out, into.appends = token.word, token.body == ">>"

    def _bracket(self) -> Command:
        opening = self._take()
        if opening.op == "((":
            return _let(opening.line, opening.body or "")
        made = Group(opening.line, self._until("(", ")"), subshell=True)
        self._take()
        return made

    def _if(self) -> If:
        line = self._take().line
        branches: list[tuple[list[Command], list[Command]]] = []
        while True:
            test = self._until("if", "then")
            self._take()
            branches.append((test, self._until("if", "elif", "else", "fi")))
            ending = self._take().word.bare
            if ending == "else":
                other = self._until("if", "fi")
                self._take()
                return If(line, branches, other)
            if ending == "fi":
                return If(line, branches, None)

    def _loop(self, kind: str) -> Loop:
        line = self._take().line
        made = Loop(line, [], [], until=kind == "until")
        if kind in ("for", "select"):
            token = self._peek()
            if token is not None and token.op == "((":
                held = (self._take().body or "").split(";")
                if len(held) != 3:
                    raise ShellError(line, "for (( needs three parts")
                made.first, made.step = _let(line, held[0]), _let(line, held[2])
                made.test = [_let(line, held[1].strip() or "1")]
            else:
                made.name = self._take().word.plain or ""
                self._blank()
                if self._word() == "in":
                    self._take()
                    made.words = []
                    while (token := self._peek()) is not None and not token.op:
                        made.words.append(self._take().word)
            self._newlines()
        else:
            made.test = self._until(kind, "do")
        if self._word() == "{":
            self._take()
            made.body = self._until(kind, "}")
        else:
            self._expect("do")
            made.body = self._until(kind, "done")
        self._take()
        return made

    def _case(self) -> Case:
        line = self._take().line
        made = Case(line, self._take().word)
        self._blank()
        self._expect("in")
        while True:
            self._newlines()
            if self._word() == "esac":
                self._take()
                return made
            made.patterns.append([])
            while (token := self._take()).op != ")":
                if token.op not in ("", "|", "("):
                    raise ShellError(token.line, "a pattern of case is not closed")
                made.patterns[-1] += [] if token.op else [token.word]
            made.branches.append(self._until("case", ";;", ";&", ";;&", "esac"))
            if self._word() != "esac" and self._take().op != ";;":  # what follows may run too
                made.word = Word(line, (Part("unknown", ""),))

    def _function(self, name: Token) -> Function:
        for bracket in ("(", ")"):
            token = self._peek()
            if token is not None and token.op == bracket:
                self._take()
        self._blank()
        self.depth += 1
        body = self._command()
        self.depth -= 1
        return Function(name.line, name.word.plain or "", body)

    def _simple(self) -> Command:
        made = Simple(self.line)
        self.count += 1
        if self.count > MOST_COMMANDS:
            raise ShellError(self.line, f"more than {MOST_COMMANDS} commands")
        while (token := self._peek()) is not None:
            if token.op in ("<", ">", "<<", "<<<"):
                self._redirects(made)
            elif token.op == "(" and len(made.words) == 1 and not made.assigns:
                name = made.words[0]
                if name.bare is None or not _NAME.fullmatch(name.bare):
                    raise ShellError(token.line, "unexpected (")
                return self._function(Token(name.line, "", name))
            elif token.op:
                break
            else:
                word = self._take().word
                found = assignment(word) if not made.words else None
                if found:
                    made.assigns.append(found)
                else:
                    made.words.append(word)
                    if len(made.words) > MOST_WORDS:
                        raise ShellError(self.line, f"a command of more than {MOST_WORDS} words")
                    if word.bare == "[[":
                        self._test(made)
        return made

    def _test(self, made: Simple) -> None:
        """Up to `]]`; an operator of the shell is a word there, and `<` compares."""
        while not made.words or made.words[-1].bare != "]]":
            token = self._take()
            sign = Word(token.line, (Part("text", token.op),))
            made.words += [token.word] if not token.op else [sign, token.word] if token.op in "<>" else [sign]


def _let(line: int, text: str) -> Simple:
    return Simple(line, words=[Word(line, (part,)) for part in (Part("text", "let"), Part("math", text, quoted=True))])


def assignment(word: Word) -> Assignment | None:
    """`NAME=value`, its name and sign not quoted."""
    first = word.parts[0] if word.parts else None
    if first is None or first.kind != "text" or first.quoted:
        return None
    found = _ASSIGN.match(first.text)
    if not found:
        return None
    rest = (first._replace(text=found[4]), *word.parts[1:]) if found[4] else word.parts[1:]
    rest = (Part("unknown", ""),) if found[2] else rest  # one element of an array
    return Assignment(word.line, found[1], bool(found[3]), word._replace(parts=rest))
