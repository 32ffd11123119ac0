"""Shell text -> tokens: words with their parts, operators, here-documents. Linear in the length of the text.

>>> [t.op or t.word.plain for t in Lexer("A=1 run 'x y' && b").tokens()]
['A=1', 'run', 'x y', '&&', 'b', '\\n']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

HOLE = "\ue000"
"""Stands in a text for a piece that is not known."""
DEEPEST = 12
"""Substitutions within substitutions that are followed."""

_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()\n]")
_REDIRECT = re.compile(r"\d{0,9}(<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)|&>>|&>")
_RUN = re.compile(r"[^\s\"'\\$`;&|()<>]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[0-9@*#?$!-]")
_BRACED = re.compile(r"([!#]?)([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]{1,3})(\[[^\]]{0,200}\])?(.*)", re.DOTALL)
_FALLBACK = re.compile(r":?[-=+?]")
_BLANK = re.compile(r"<[A-Za-z][\w.-]{0,80}>(?=\s|$)|(?<==)<[A-Za-z][\w ./,:'-]{0,120}>(?=[ \t]*(?:\n|$))")
"""`--path <your_path>`, `NAME=<your path>`: for the reader to fill in."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\(?:([ntr\\'\"])|x([1-7][0-9A-Fa-f]))")
_OTHER_ESCAPE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\(?![ntr\\'\"]|x[1-7][0-9A-Fa-f])")
_BRACKETS = re.compile(r"[()]|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|(?<=\s)#[^\n]*", re.DOTALL)
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=$")


class ShellError(ValueError):
    """The shell stops reading here."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Part(NamedTuple):
    kind: str
    """text; var: a variable's value; command: `$(…)`; math: `$((…))`; unknown: what is not followed."""
    text: str
    """The text, the variable's name, or the commands."""
    quoted: bool = False
    op: str = ""
    """`:-`, `-`, `:=`, `=`, `:+`, `+`, `:?`, `?` of `${NAME:-word}`; `@` of a whole array; `!` and `#` of `${!NAME}`
    and `${#NAME}`; `x` of another operation, whose text is then the word."""
    word: tuple[Part, ...] = ()
    line: int = 0


class Word(NamedTuple):
    line: int
    parts: tuple[Part, ...]
    array: tuple[Word, ...] | None = None
    """Elements of `NAME=(a b)`; the parts then hold `NAME=`."""
    shown: str = ""

    @property
    def plain(self) -> str | None:
        """Its text where nothing in it is expanded."""
        return "".join(p.text for p in self.parts) if all(p.kind == "text" for p in self.parts) else None

    @property
    def bare(self) -> str | None:
        """Its text where nothing is quoted either: it may be a keyword."""
        return self.plain if not any(p.quoted for p in self.parts) else None


class Token(NamedTuple):
    line: int
    op: str = ""
    word: Word = Word(0, ())
    body: str | None = None
    """Of `<<`: the here-document. Of `((`: the arithmetic. Of `>`: the operator, where it writes a file."""


class Lexer:
    """Tokens of one text. Raises ShellError where a quote, bracket or brace is never closed."""

    def __init__(self, text: str, line: int = 1, depth: int = 0) -> None:
        self.text, self.line, self.depth, self.at = text, line, depth, 0
        self.waiting: list[tuple[str, bool, bool]] = []
        self.in_array = False

    def tokens(self) -> Iterator[Token]:
        """Every token; that of `<<` has its here-document, which is read where its line ends."""
        held: list[Token] = []
        while (token := self._next()) is not None:
            held.append(token)
            if token.op == "\n":
                yield from self._ended(held)
                held = []
        held.append(Token(self.line, "\n"))
        yield from self._ended(held)

    def _ended(self, held: list[Token]) -> Iterator[Token]:
        bodies = iter([self._body(*waiting) for waiting in self.waiting])
        self.waiting = []
        for token in held:
            yield token._replace(body=next(bodies)) if token.op == "<<" else token

    def _next(self) -> Token | None:
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "\\" and text.startswith("\n", self.at + 1):
                self.at += 2
                self.line += 1
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = size if end < 0 else end
            else:
                break
        if self.at >= size:
            return None
        line = self.line
        redirect = None if _BLANK.match(text, self.at) else _REDIRECT.match(text, self.at)
        if redirect and not text.startswith(("<(", ">("), redirect.end() - 1):
            return self._redirect(redirect, line)
        if text.startswith("((", self.at) and (inner := self._arithmetic()) is not None:
            return Token(line, "((", body=inner)
        if operator := _OPERATOR.match(text, self.at):
            self.at = operator.end()
            self.line += operator[0] == "\n"
            return Token(line, operator[0])
        return Token(line, "", self._word())

    def _arithmetic(self) -> str | None:
        """What `((` and `))` hold; None for a subshell that begins with another one."""
        begun, line = self.at, self.line
        self._bracketed(begun)
        ended, self.line = (self.at, self.line), line
        inner = self._bracketed(begun + 1)
        if self.at == ended[0] - 1:
            self.at, self.line = ended
            return inner
        self.at, self.line = begun, line
        return None

    def _redirect(self, found: re.Match[str], line: int) -> Token:
        self.at = found.end()
        op = found[1] or found[0]
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] in "\n;&|()":
            if op in ("<&", ">&", "&>") or self.text.startswith("&", self.at):
                return Token(line, ">")
            raise ShellError(line, f"nothing follows {op}")
        word = self._word()
        if op in ("<<", "<<-"):
            name = "".join(p.text for p in word.parts)
            self.waiting.append((name, op == "<<-", any(p.quoted for p in word.parts)))
            return Token(line, "<<", word)
        out = op if found[0] in (">", ">>", ">|", "1>", "1>>") else None
        return Token(line, op if op in ("<<<", "<") else ">", word, out)

    def _body(self, name: str, tabs: bool, quoted: bool) -> str:
        start, text = self.at, self.text
        end_line = re.compile(rf"^{chr(9) + '*' if tabs else ''}{re.escape(name)}$", re.MULTILINE)
        found = end_line.search(text, start)
        body = text[start : found.start() if found else len(text)]
        self.at = min(len(text), found.end() + 1 if found else len(text))  # the shell warns, and takes the rest
        self.line += text.count("\n", start, self.at)
        body = re.sub(r"^\t+", "", body, flags=re.MULTILINE) if tabs else body
        return body if not quoted else f"\0{body}"

    def _word(self) -> Word:
        line, begun, text = self.line, self.at, self.text
        parts: list[Part] = []
        while self.at < len(text):
            char = text[self.at]
            if found := _RUN.match(text, self.at):
                self.at = found.end()
                parts.append(Part("text", found[0]))
            elif char == "'":
                parts.append(Part("text", self._until("'", self.at + 1), quoted=True))
            elif char == '"':
                self.at += 1
                parts += self._double()
            elif char == "\\":
                following = text[self.at + 1 : self.at + 2]
                self.at += 2
                if following == "\n":
                    self.line += 1
                else:
                    parts.append(Part("text", following, quoted=True))
            elif char in "$`":
                parts.append(self._dollar(quoted=False))
            elif char == "<" and (blank := _BLANK.match(text, self.at)):
                self.at = blank.end()
                parts.append(Part("unknown", ""))
            elif char in "<>" and text.startswith("(", self.at + 1):
                self.at += 1
                self._bracketed(self.at)
                parts.append(Part("unknown", ""))
            elif (
                char == "("
                and not self.in_array
                and parts
                and not parts[-1].quoted
                and _ARRAY.match(text[begun : self.at])
            ):
                return Word(line, tuple(parts), self._array())
            else:
                break
        if not parts and self.at == begun:  # a lone `<` or `>`
            self.at += 1
        return Word(line, tuple(parts), None, text[begun : min(self.at, begun + 80)])

    def _array(self) -> tuple[Word, ...]:
        line = self.line
        self.at += 1
        self.in_array = True
        found: list[Word] = []
        while (token := self._next()) is not None:
            if token.op == ")":
                self.in_array = False
                return tuple(found)
            if not token.op:
                found.append(token.word)
            elif token.op != "\n":
                break
        raise ShellError(line, "the array is not closed")

    def _until(self, quote: str, start: int) -> str:
        end = self.text.find(quote, start)
        if end < 0:
            raise ShellError(self.line, f"the quote {quote} is not closed")
        self.at = end + 1
        self.line += self.text.count("\n", start, end)
        return self.text[start:end]

    def _double(self) -> list[Part]:
        line, text = self.line, self.text
        parts = [Part("text", "", quoted=True)]
        while self.at < len(text):
            char = text[self.at]
            if found := _IN_QUOTES.match(text, self.at):
                parts.append(Part("text", found[0], quoted=True))
                self.line += found[0].count("\n")
                self.at = found.end()
            elif char == '"':
                self.at += 1
                return parts
            elif char == "\\":
                following = text[self.at + 1 : self.at + 2]
                self.line += following == "\n"
                if following != "\n":
                    parts.append(Part("text", following if following in '"\\$`' else f"\\{following}", quoted=True))
                self.at += 2
            else:
                parts.append(self._dollar(quoted=True))
        raise ShellError(line, 'the quote " is not closed')

    def _dollar(self, *, quoted: bool) -> Part:
        text, line = self.text, self.line
        if text[self.at] == "`":
            return Part("command", self._until("`", self.at + 1), quoted, line=line)
        following = text[self.at + 1 : self.at + 2]
        if following == "(":
            inner = self._bracketed(self.at + 1)
            kind = "math" if inner.startswith("(") and inner.endswith(")") else "command"
            return Part(kind, inner[1:-1] if kind == "math" else inner, quoted, line=line)
        if following == "{":
            return self._braced(quoted)
        self.at += 1
        if following in ("'", '"') and not quoted:
            if following == '"':
                return Part("text", "")
            return self._ansi()
        if found := _NAME.match(text, self.at) or _SPECIAL.match(text, self.at):
            self.at = found.end()
            return Part("var", found[0], quoted)
        return Part("text", "$", quoted)

    def _ansi(self) -> Part:
        """`$'…'`, whose escapes are the shell's own; one that is rare leaves it open."""
        found = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL).match(self.text, self.at)
        if not found:
            raise ShellError(self.line, "the quote $' is not closed")
        self.line += found[0].count("\n")
        self.at = found.end()
        inner = found[0][1:-1]
        plain = _ESCAPE.sub(lambda m: chr(int(m[2], 16)) if m[2] else _ESCAPES[m[1]], inner)
        return Part("text", plain, quoted=True) if not _OTHER_ESCAPE.search(inner) else Part("unknown", "", quoted=True)

    def _bracketed(self, start: int) -> str:
        """What is between the bracket at `start` and the one that closes it; quotes are followed."""
        depth = 0
        for found in _BRACKETS.finditer(self.text, start):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0 and found[0] == ")":
                inner = self.text[start + 1 : found.start()]
                self.at = found.end()
                self.line += inner.count("\n")
                return inner
        raise ShellError(self.line, "the bracket $( is not closed")

    def _braced(self, quoted: bool) -> Part:
        line, start, depth = self.line, self.at + 2, 0
        for found in re.compile(r"\$\{|\}|\\.|'[^']*'", re.DOTALL).finditer(self.text, start):
            if found[0] == "}" and depth == 0:
                inner = self.text[start : found.start()]
                self.at = found.end()
                self.line += inner.count("\n")
                return self._parameter(inner, quoted, line)
            depth += {"${": 1, "}": -1}.get(found[0], 0)
        raise ShellError(line, "the brace ${ is not closed")

    def _parameter(self, inner: str, quoted: bool, line: int) -> Part:
        found = _BRACED.match(inner)
        if not found or (found[1] and (found[3] or found[4])):
            return Part("unknown", "", quoted)
        name, index, rest = found[2], found[3] or "", found[4]
        if found[1]:
            return Part("var", name, quoted, found[1])
        if index in ("[@]", "[*]") and not rest:
            return Part("var", name, quoted, "@")
        op = _FALLBACK.match(rest) if not index else None
        if op and self.depth < DEEPEST:
            inside = Lexer(rest[op.end() :], line, self.depth + 1)
            return Part("var", name, quoted, op[0], tuple(inside._all(quoted)))
        return Part(
            "var", name, quoted, "x" if rest or index else "", (Part("text", index + rest),) if rest or index else ()
        )

    def _all(self, quoted: bool) -> list[Part]:
        parts: list[Part] = []
        while self.at < len(self.text):
            if self.text[self.at] in " \t\n;&|()<>":
                parts.append(Part("text", self.text[self.at], quoted))
                self.at += 1
            else:
                parts += self._word().parts
        return parts
