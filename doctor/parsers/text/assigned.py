"""Files that set the environment of programs -> every assignment with its line: .env, shell and batch scripts,
Dockerfiles, compose files, Kubernetes manifests, systemd units.

>>> [a.name for a in read("ENV NCCL_DEBUG=INFO \\\\\\n    HSA_XNACK=1\\n", "dockerfile")]
['NCCL_DEBUG', 'HSA_XNACK']
>>> kind_of("serve.sbatch", ""), kind_of("x", "[Service]\\nExecStart=/a"), kind_of("compose.yaml", "")
('shell', 'unit', 'yaml')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.shell_words import Word
from doctor.parsers.lib.shell_words import words as split
from doctor.parsers.lib.source_lines import LINE_LIMIT, kept, printable
from doctor.parsers.text import shell_lexer, shell_nodes, shell_tree
from doctor.parsers.text.shell_lexer import HOLE
from doctor.parsers.text.shell_nodes import Simple

KINDS = ("env", "shell", "dockerfile", "yaml", "unit", "cron")
MOST = 4000
"""Assignments that are read of one file."""
LONGEST = 2 << 20
"""Characters that are read of one file."""
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_SHELL = r"^\s{0,4}(?:export |#SBATCH |srun |torchrun |set -[aeux])"
_ASSIGN = re.compile(rf"({_NAME})(\+?=)(.*)", re.DOTALL)
_MOST_FAULTS = 40
_EXPORTS = {"export", "declare", "typeset", "readonly", "local"}
_DYNAMIC = re.compile(r"\$(?:[\w{(]|$)|`|\{\{|\{%|<[A-Za-z]\w{0,40}>")
_DEFAULTED = re.compile(rf"\$\{{{_NAME}:?[-=]([^${{}}`]{{0,4000}})\}}")
"""`${NAME:-text}`: what it is unless it was set before."""


class Assigned(NamedTuple):
    """One assignment. `value` None: taken from elsewhere, or unset there."""

    line: int
    name: str
    value: str | None
    how: str = "set"
    """set; plain: a shell variable that is not exported; unset; number: written without quotes where YAML makes it no
    string and Kubernetes refuses it; from: a Dockerfile's stage `name` begins, from the image or stage `value`;
    file: all of the file `value` (env_file of compose, EnvironmentFile of systemd), without a name;
    cut: nothing is read from this line on, the last of all rows."""
    scope: str = ""
    """Where it holds alone: one command of a script, one container of a manifest. "" holds everywhere."""
    file: str = ""
    """The file that the line is of, where another one names it; "" for the file that is read."""


def kind_of(name: str, text: str) -> str:
    """The kind of a file, by its name, else by what is in it."""
    base = name.rpartition("/")[2].lower()
    if base.startswith(("dockerfile", "containerfile")) or base.endswith((".dockerfile", ".containerfile")):
        return "dockerfile"
    if base.endswith((".yaml", ".yml")):
        return "yaml"
    if base.endswith((".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".in")) and "." in base.rpartition(".")[0]:
        return kind_of(base.rpartition(".")[0], text)
    if base in ("crontab", "cron") or base.endswith((".cron", ".crontab")) or "cron.d/" in name:
        return "cron"
    if base.endswith((".service", ".socket", ".container", ".conf")) or re.search(r"^\[Service\]", text, re.MULTILINE):
        return "unit"
    if base.endswith((".sh", ".bash", ".sbatch", ".slurm", ".job", ".pbs", ".zsh", ".bashrc", ".profile")):
        return "shell"
    if base.startswith(".env") or base.endswith((".env", "environment")):
        return "env"
    head = text[:20000]
    if base.endswith(".py") or re.match(r"#!.{0,80}python", head):
        return "python"
    if head.startswith("#!") or re.search(_SHELL, head, re.MULTILINE):
        return "shell"
    if re.search(r"^FROM \S", head, re.MULTILINE):
        return "dockerfile"
    if re.search(r"^(?:apiVersion|services|version):", head, re.MULTILINE):
        return "yaml"
    return "env"


def read(text: str, kind: str) -> tuple[Assigned, ...]:
    """All of them, in order; of a text that is too long the first ones, and a row that says so. Raises ParserError for
    a text that is not of that kind."""
    parser = {"env": _env, "shell": _shell, "dockerfile": _dockerfile, "yaml": _yaml, "unit": _unit, "cron": _env}[kind]
    found: list[Assigned] = []
    for assigned in parser(text[:LONGEST]):
        if len(found) >= MOST:
            return (*found, Assigned(assigned.line, "", None, "cut"))
        found.append(assigned._replace(value=_literal(assigned.value)))
    if len(text) > LONGEST and not (found and found[-1].how == "cut"):
        found.append(Assigned(text.count("\n", 0, LONGEST) + 1, "", None, "cut"))
    return tuple(found)


def _literal(value: str | None) -> str | None:
    """The text that a program sees; None where it is computed. A default within `${A:-text}` counts."""
    if value is None or HOLE in value:
        return None
    text = kept(_DEFAULTED.sub(r"\1", value), LINE_LIMIT)
    return None if _DYNAMIC.search(text) else text


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:LINE_LIMIT].rstrip("\r")
        yield number, printable(line)


def _env(text: str) -> Iterator[Assigned]:
    """A .env file, or what `env` prints: one assignment a line."""
    for number, line in _lines(text):
        found = re.match(rf"\s{{0,40}}(?:export\s{{1,9}})?({_NAME})\s{{0,9}}=\s{{0,9}}(.*)", line)
        if found:
            yield Assigned(number, found[1], _unquoted(found[2]))


def _unquoted(value: str) -> str:
    value = value.strip()
    for quote in ("'", '"'):
        if value.startswith(quote) and (end := value.find(quote, 1)) > 0:
            return value[1:end]
    return re.split(r"\s#", value, maxsplit=1)[0].strip()


def _shell(text: str) -> Iterator[Assigned]:
    """Exports, variables for one command, `env A=1`, `-e A=1` of a run line, `--export=` of Slurm, csh's setenv."""
    exported = set(re.findall(rf"\bexport\s{{1,9}}({_NAME})(?=[\s;]|$)", text))
    every = re.search(r"^\s{0,40}set -(?:\w*a|o allexport)", text, re.MULTILINE) is not None
    yield from _directives(text)
    for scope, command in _scoped(_commands(text), ""):
        for row in _command(command, exported, every=every):
            yield row._replace(scope=f"{scope} {row.scope}".strip())


def _commands(text: str) -> Iterator[shell_nodes.Command]:
    """A linter goes on behind a fault: what the shell would refuse may be a template."""
    line, lines = 1, text.split("\n")
    for _ in range(_MOST_FAULTS):
        tree = shell_tree.read("\n".join(lines[line - 1 :]), line)
        yield from tree.commands
        if tree.fault is None:
            return
        line = max(line, tree.fault[0]) + 1


def _scoped(commands: Iterable[shell_nodes.Command], scope: str) -> Iterator[tuple[str, Simple]]:
    """What one branch sets holds beside nothing of another."""
    for command in commands:
        if isinstance(command, Simple):
            yield scope, command
        branches = isinstance(command, (shell_nodes.If, shell_nodes.Case))
        for number, part in enumerate(shell_nodes.parts(command)):
            yield from _scoped(part, f"branch {command.line}.{number}" if branches else scope)


def _directives(text: str) -> Iterator[Assigned]:
    for number, line in _lines(text):
        found = re.match(r"\s{0,8}#SBATCH\s.{0,200}?--export[= ](\S{1,4000})", line)
        if found:
            yield from _list(number, found[1])


def _list(number: int, listed: str) -> Iterator[Assigned]:
    """Slurm's ALL,A=1,B=2."""
    for part in listed.split(","):
        if found := _ASSIGN.fullmatch(part):
            yield Assigned(number, found[1], found[3])


def _command(command: Simple, exported: set[str], *, every: bool) -> Iterator[Assigned]:
    words = [_plain(word) for word in command.words]
    head = words[0].text if words else ""
    scope = f"line {command.line}" if words else ""
    for assign in command.assigns:
        value = None if assign.append or assign.value.array is not None else _text(assign.value.parts)
        stays = not words and not every and assign.name not in exported
        yield Assigned(assign.line, assign.name, value, "plain" if stays else "set", scope)
        elements = [_plain(word) for word in assign.value.array or ()]
        yield from (row._replace(scope=f"line {command.line}") for row in _arguments(elements))
    if head == "setenv" and len(words) > 2:
        yield Assigned(words[0].line, words[1].text, words[2].text)
    elif head == "unset":
        yield from (Assigned(w.line, w.text, None, "unset") for w in words[1:] if re.fullmatch(_NAME, w.text))
    elif head in _EXPORTS:
        every = every or head == "export" or any(re.fullmatch(r"-\w*x\w*", w.text) for w in words[1:])
        for row in (_assigned(w) for w in words[1:] if _ASSIGN.fullmatch(w.text)):
            yield row if every or row.name in exported else row._replace(how="plain")
    else:
        yield from (row._replace(scope=scope) for row in _arguments(words))


def _plain(word: shell_lexer.Word) -> Word:
    return Word(word.line, _text(word.parts))


def _text(parts: Iterable[shell_lexer.Part]) -> str:
    """A piece that is computed is a hole; `${NAME:-text}` is the text, unless that is empty."""
    return "".join(_piece(part) for part in parts)


def _piece(part: shell_lexer.Part) -> str:
    if part.kind == "text":
        return part.text
    return (_text(part.word) if part.op in (":-", "-", ":=", "=") else "") or HOLE


def _arguments(words: list[Word]) -> Iterator[Assigned]:
    """`env A=1 …`, `-e A=1`, `--env=A=1`, `-x A=1` of mpirun, `--export=ALL,A=1`."""
    takes = bool(words) and words[0].text in ("env", "/usr/bin/env")
    for position, word in enumerate(words):
        before = words[position - 1].text if position else ""
        if word.text.startswith("--export="):
            yield from _list(word.line, word.text.removeprefix("--export="))
        elif word.text.startswith("--env=") or before in ("-e", "--env", "-x", "--genv"):
            part = word._replace(text=word.text.removeprefix("--env="))
            if _ASSIGN.fullmatch(part.text):
                yield _assigned(part)
        elif takes and position and _ASSIGN.fullmatch(word.text):
            yield _assigned(word)
        elif takes and position and before not in ("-u", "-C", "-S") and not word.text.startswith("-"):
            takes = False


def _assigned(word: Word) -> Assigned:
    found = _ASSIGN.fullmatch(word.text)
    if found is None:
        return Assigned(word.line, word.text, None)
    return Assigned(word.line, found[1], None if found[2] == "+=" else found[3])


def _dockerfile(text: str) -> Iterator[Assigned]:
    """ENV lines in both forms, with the defaults of ARG; FROM begins a stage. What a RUN line exports ends with it."""
    if re.match(r"\s{0,9}#\s{0,3}escape\s{0,3}=\s{0,3}`", text):
        text = text.replace("\\", "\\\\").replace("`\n", "\\\n")
    args: dict[str, str] = {}
    for first, instruction in _instructions(text):
        head, *words = (w._replace(line=w.line + first) for w in split(instruction))
        name = head.text.upper()
        if name == "FROM" and (named := [w.text for w in words if not w.text.startswith("--")]):
            yield Assigned(head.line, named[-1].lower(), named[0].lower(), "from")
        elif name == "ARG":
            args |= {m[1]: m[3] for w in words if (m := _ASSIGN.fullmatch(w.text))}
        elif name == "ENV" and words and not _ASSIGN.fullmatch(words[0].text):
            value = " ".join(w.text for w in words[1:])
            yield Assigned(head.line, words[0].text, _with_args(value, args))
        elif name == "ENV":
            made = (_assigned(w) for w in words if _ASSIGN.fullmatch(w.text))
            yield from (row._replace(value=_with_args(row.value, args)) for row in made)


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """The lines of FROM, ARG and ENV, each with those that continue it, and how many are before. Comments and empty
    lines within continue them too, as Docker reads them."""
    held, first = "", 0
    for number, line in enumerate(text.split("\n")):
        nothing = not line.strip() or line.lstrip().startswith("#")
        if not held and not re.match(r"(?i)\s{0,80}(?:FROM|ARG|ENV)\s", line):
            continue
        first = first if held else number
        held += "\\\n" if nothing else line.rstrip() + "\n" * line.rstrip().endswith("\\")
        if not nothing and not held.endswith("\n"):
            yield first, held
            held = ""
    if held:
        yield first, held


def _with_args(value: str | None, args: dict[str, str]) -> str | None:
    """A value that is one argument of the build takes its default."""
    found = re.fullmatch(rf"\$\{{?({_NAME})\}}?", value or "")
    return args.get(found[1], value) if found else value


def _unit(text: str) -> Iterator[Assigned]:
    """systemd: several assignments a line, quoted each; an empty Environment= forgets those before."""
    for number, line in _lines(text):
        key, sign, rest = line.strip().partition("=")
        if key == "EnvironmentFile" and (path := rest.strip().lstrip("-")) and "%" not in path:
            yield Assigned(number, "", path, "file")
        if not sign or key not in ("Environment", "UnsetEnvironment", "ExecStart", "DefaultEnvironment"):
            continue
        words = [w._replace(line=number) for w in split(rest)]
        if key == "UnsetEnvironment":
            yield from (Assigned(number, w.text, None, "unset") for w in words)
        elif key == "ExecStart":
            yield from _arguments(words)
        else:
            yield from (_assigned(w) for w in words if _ASSIGN.fullmatch(w.text))


def _yaml(text: str) -> Iterator[Assigned]:
    """`environment` of compose (a mapping or a list), `env` of Kubernetes (name and value), scripts within commands."""
    from doctor.parsers.container import assigned_yaml

    template = "{{" in text or "{%" in text
    try:
        found = list(assigned_yaml.rows(assigned_yaml.templated(text) if template else text))
    except ParserError:
        if not template:
            raise
        found = list(assigned_yaml.line_by_line(assigned_yaml.templated(text)))
    for line, name, value, how, scope in found:
        if how == "script":
            rows = _shell(value or "")
            yield from (row._replace(line=row.line + line - 1, scope=f"{scope} {row.scope}".strip()) for row in rows)
        else:
            yield Assigned(line, kept(name, 128), value, how, scope)
