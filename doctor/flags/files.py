"""A file that sets the environment of a program -> findings with its lines.

The file shows some variables only; the rest may come from elsewhere, so a missing one is no finding. A container's
packages are not this machine's: those of here count for scripts, .env files and units.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity
from doctor.flags import ignored, launch, lint, spelling
from doctor.flags.names import described
from doctor.flags.places import line as line_of
from doctor.flags.situation import Situation
from doctor.parsers.container.assigned_yaml import MOST_NODES
from doctor.parsers.text import assigned
from doctor.parsers.text.assigned import Assigned
from doctor.parsers.text.shell_lexer import HOLE

_SECRET = re.compile(r"(?:^|_)(?:TOKEN|API_?KEYS?|KEYS?|AUTH|PASS|PAT|CREDS?|COOKIE)(?:_|$)|SECRET|PASSW|CREDENTIAL")
"""Names whose values are not read."""
_CREDENTIAL = re.compile(r"(?:^|_)(?:TOKEN|API_?KEY|ACCESS_KEY|SECRET|SECRET_KEY|PRIVATE_KEY|PASSWORD|PASSWD|PAT)$")
_KEPT_SECRET = re.compile(
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_+=.-]{16,400}|(?:hf|gh[opsu]|glpat|sk|nvapi)[-_][\w-]{16,400}"
)
_BLANK = re.compile(r"(?i)your|example|placeholder|change.?me|xxx|dummy|insert|todo|test")
_DISTINCT = 6
"""A credential has so many different characters; `e2b_000…` and `abcabcabc…` are blanks to fill in."""
_BY_LAUNCHER = frozenset(
    ("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
)
"""torchrun and its like set them for each process themselves."""
_STARTS = re.compile(
    r"(?m)^[^#\n]*?\b(?:python3?|torchrun|srun|mpirun|mpiexec|deepspeed|accelerate|vllm|horovodrun|ray)\b[ \t]+\S"
)
_MOST_FILES = 20
_IN_CONTAINERS = ("dockerfile", "yaml")


class Looked(NamedTuple):
    """What was linted, and what was found."""

    source: str
    findings: tuple[Finding, ...]
    situation: Situation
    places: Mapping[str, str]
    """Variable → `file:line`."""
    notes: tuple[str, ...] = ()
    """What was not read, and why."""


Named = Callable[[str], "tuple[str, str] | None"]
"""Path as a file writes it -> (path, text) of the file that it names; None where that can't be read."""


def look(
    source: str,
    text: str,
    kind: str | None,
    machine: Snapshot,
    stated: Mapping[str, bool],
    *,
    counted: bool = True,
    named: Named = lambda _path: None,
) -> Looked:
    """Raises ParserError for a text that is not of its kind."""
    kind = kind or assigned.kind_of(source, text)
    every = _followed(_of_python(text) if kind == "python" else assigned.read(text, kind), kind, named)
    rows = [row for row in every if _counts(row)]
    lines = text.split("\n")
    seen = {**launch.contexts(text), **({"container": True} if kind in _IN_CONTAINERS else {})}
    whole = Situation({}, _seen(machine, kind), partial=True, counted=counted, stated={**seen, **stated})
    found = list(_of_lines([row for row in rows if row.how != "from" and not row.file], source, text, lines))
    env: dict[str, str] = {}
    places: dict[str, str] = {}
    linted: set[frozenset[tuple[str, str]]] = set()
    for held in _environments(rows):
        same = frozenset((name, str(row.value)) for name, row in held.items())
        if same in linted:  # the same findings: one environment for each command of a script
            continue
        linted.add(same)
        here = {name: _place(row, source, lines) for name, row in held.items()}
        values = {name: str(row.value) for name, row in held.items()}
        known = {(f.rule, f.subject.id, f.summary) for f in found}
        made = lint.findings(replace(whole, env=values), here)
        found += [_softened(f, kind) for f in made if (f.rule, f.subject.id, f.summary) not in known]
        env, places = {**env, **values}, {**places, **here}
    computed = (row for row in rows if row.value is None and row.how == "set" and not described(row.name))
    found += lint.misnamed({row.name: _place(row, source, lines) for row in computed}, whole)
    found += _of_the_way(source, text, kind, named)
    own = frozenset(_REFERENCE.findall(text))
    ranked = sorted((f for f in found if not _is_own(f, own)), key=lambda f: (f.severity.rank, line_of(f)))
    ruled = ignored.judge(ranked, lines, source)
    return Looked(source, ruled.kept, replace(whole, env=env), places, (*_unread(every, source), *ruled.notes))


def _of_python(text: str) -> Iterator[Assigned]:
    """What a script in Python puts into its environment. Raises ParserError for what is no Python."""
    from doctor.flags.way import in_python, python_calls

    tree = in_python.read(text)
    if tree is None:
        raise ParserError("no Python that can be read")
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        for change in python_calls.changes(node) if isinstance(node, ast.stmt) else ():
            scope = "" if id(node) in top else f"line {change.line}"
            how = "set" if change.text is not None else "unset"
            yield Assigned(change.line, change.name, change.text if change.text != HOLE else None, how, scope)


def _of_the_way(source: str, text: str, kind: str, named: Named) -> Iterator[Finding]:
    """What is set and never arrives; a text that can't be followed has said so before."""
    from doctor.flags.way import findings, run

    if kind == "env":
        return
    try:
        followed = run.follow(source, text, kind, named)
    except ParserError:
        return
    yield from findings.findings(followed, text)


def _softened(finding: Finding, kind: str) -> Finding:
    """A name that was dropped at a release that is not known: the file may be for an older one. A program in Python may
    read by itself what the stack does not."""
    rows = list(spelling.gone(finding.subject.id)) if finding.rule == lint.UNKNOWN else []
    dateless = any(row["status"] in ("renamed", "removed") and not row.get("when") for row in rows)
    note = dateless or (rows and kind == "python")
    return finding.model_copy(update={"severity": Severity.INFO}) if note else finding


_REFERENCE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]{0,127})")


def _is_own(finding: Finding, own: frozenset[str]) -> bool:
    """A name that nothing is known to read, and that the file itself reads: a variable of the script's own."""
    return finding.rule == lint.UNKNOWN and finding.subject.id in own and not described(finding.subject.id)


def _place(row: Assigned, source: str, lines: list[str]) -> str:
    """`file:line:column` of the name."""
    if row.file or not 0 < row.line <= len(lines):
        return f"{row.file or source}:{row.line}:1"
    line = lines[row.line - 1]
    at = _word_at(line, row.name)
    return f"{source}:{row.line}:{at + 1 if at >= 0 else len(line) - len(line.lstrip()) + 1}"


def _word_at(line: str, name: str) -> int:
    """Where the name stands as a word of its own, -1 where it does not; no regex, as a file has thousands of names."""
    at = line.find(name)
    while at >= 0:
        around = line[max(0, at - 1) : at] + line[at + len(name) : at + len(name) + 1]
        if not any(c == "_" or (c.isascii() and c.isalnum()) for c in around):
            return at
        at = line.find(name, at + 1)
    return -1


def _unread(rows: Iterable[Assigned], source: str) -> Iterator[str]:
    """Lines from which on nothing was read, and files that were not opened."""
    limits = f"{assigned.MOST} assignments, {assigned.LONGEST >> 20} MiB of text or {MOST_NODES} nodes of YAML"
    for row in rows:
        if row.how == "cut":
            yield f"{row.file or source}:{row.line}: not read from this line on: more than {limits}"
        elif row.how == "file":
            yield f"{source}:{row.line}: {row.value} was not read: more than {_MOST_FILES} files are named"


def _counts(row: Assigned) -> bool:
    if row.how == "from" or row.name.isupper() or described(row.name):
        return True
    return row.how == "set" and spelling.nearest(row.name) is not None  # nccl_debug, exported


def _followed(rows: Iterable[Assigned], kind: str, named: Named) -> list[Assigned]:
    """With the lines of the files that are named: compose's yield to `environment`, systemd's win over Environment=."""
    own = [row for row in rows if row.how != "file"]
    added: list[Assigned] = []
    files = [row for row in rows if row.how == "file" and row.value]
    for row in files[:_MOST_FILES]:
        if held := named(str(row.value)):
            added += [a._replace(scope=row.scope, file=held[0]) for a in assigned.read(held[1], "env")]
    added += files[_MOST_FILES:]
    if kind == "yaml":
        return [*added, *own]
    return [*(r for r in own if r.how != "unset"), *added, *(r for r in own if r.how == "unset")] if added else own


_Held = dict[str, Assigned]


def _environments(rows: list[Assigned]) -> Iterator[_Held]:
    """What each program sees: a script's exports; these with what stands before one command; a container; a stage."""
    stages: dict[str, _Held] = {}
    shared: _Held = {}
    scopes: dict[str, _Held] = {}
    for row in rows:
        if row.how == "from":
            yield shared
            shared = dict(stages.get(str(row.value), {}))
            stages[row.name] = shared
        else:
            _take(row, scopes.setdefault(row.scope, dict(shared)) if row.scope else shared)
    yield shared
    yield from scopes.values()


def _take(row: Assigned, held: _Held) -> None:
    hides = row.value == "" and row.name.endswith("_VISIBLE_DEVICES")  # CUDA_VISIBLE_DEVICES= python x
    if row.how == "unset":
        held.pop(row.name, None)
    elif row.value is not None and row.how != "plain" and not hides and not _SECRET.search(row.name):
        held[row.name] = row


def _seen(machine: Snapshot, kind: str) -> Snapshot:
    return machine.model_copy(update={"packages": None}) if kind in _IN_CONTAINERS else machine


def _of_lines(rows: list[Assigned], source: str, text: str, lines: list[str]) -> Iterator[Finding]:
    """Faults of how a line sets a variable: not exported, no string, set twice, a secret in the file."""
    last: dict[str, Assigned] = {}
    starts = _STARTS.search(text) is not None
    for row in rows:
        where = _place(row, source, lines)
        known = bool(described(row.name))
        before = last.get(row.name)
        if row.how == "plain" and known and row.value is not None and starts and _is_kept_back(row, text):
            problem = (
                "is a variable of the shell only: without export no program sees it, unless it was exported before"
            )
            yield _finding(row, "info", problem, f"Write export {row.name}={row.value}.", where, "not-exported")
        elif row.how == "number":
            problem = "is not a string in YAML, and Kubernetes refuses the manifest"
            yield _finding(row, "error", problem, f'Write value: "{row.value}".', where, "unquoted")
        elif row.value and _CREDENTIAL.search(row.name) and _is_credential(row.value):
            problem = "looks like a secret, and the file keeps its value"
            cure = "Take it from a secret store at start, and make a new one."
            yield _finding(row._replace(value=None), "warning", problem, cure, where, "secrets-in-env")
        elif known and before and before.scope == row.scope and before.value and row.value not in (None, before.value):
            problem = f"is set again; line {before.line} set {before.value[:40]}"
            yield _finding(row, "info", problem, "Keep one of the lines.", where, "set-twice")
        last[row.name] = row


def _is_kept_back(row: Assigned, text: str) -> bool:
    """Nothing in the file takes the shell's variable on to a program: not by $NAME, not by `-x NAME`, `-e NAME`, and no
    launcher sets it anyway."""
    handed = rf"\$\{{?{row.name}\b|(?:-x|-e|--env)[= ]+{row.name}\b|--export[= ]\S{{0,200}}\b{row.name}\b"
    return row.name not in _BY_LAUNCHER and not re.search(handed, text)


def _is_credential(value: str) -> bool:
    return (
        _KEPT_SECRET.fullmatch(value) is not None
        and not _BLANK.search(value)
        and len(set(value)) >= _DISTINCT
        and not value.startswith("/")
    )


def _finding(row: Assigned, severity: str, problem: str, cure: str, where: str, what: str) -> Finding:
    shown = f"{row.name}={row.value[:60]}" if row.value is not None else row.name
    evidence = (Evidence(text=shown, source=where), Evidence(text=what, source=where))
    return lint.finding(lint.MISREAD, severity, row.name, f"{shown} {problem}", cure, what, evidence)
