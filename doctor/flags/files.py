"""A file that sets the environment of a program -> findings with its lines.

The file shows some variables only; the rest may come from elsewhere, so a missing one is no finding. A container's
packages are not this machine's: those of here count for scripts, .env files and units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Severity, Subject, fingerprint
from doctor.flags import launch, lint
from doctor.flags.names import described
from doctor.flags.situation import Situation
from doctor.readers import assigned
from doctor.readers.assigned import Assigned
from doctor.readers.assigned_yaml import MOST_NODES

_SECRET = re.compile(r"(?:^|_)(?:TOKEN|API_?KEYS?|KEYS?|AUTH|PASS|PAT|CREDS?|COOKIE)(?:_|$)|SECRET|PASSW|CREDENTIAL")
_NO_SECRET = re.compile(
    r"(?i).{0,7}|[/.~].{0,400}|[x*.]{1,99}|.{0,99}(?:your[-_ ]|placeholder|change[-_ ]?me|xxxx|\*\*\*).{0,99}"
)
"""A switch, a number, a path or a blank to fill in, under a name that sounds like a secret."""
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
    told: Mapping[str, bool],
    *,
    counted: bool = True,
    named: Named = lambda _path: None,
) -> Looked:
    """Raises ReaderError for a text that is not of its kind."""
    kind = kind or assigned.kind_of(source, text)
    every = _followed(assigned.read(text, kind), kind, named)
    rows = [row for row in every if _counts(row)]
    seen = {**launch.contexts(text), **({"container": True} if kind in _IN_CONTAINERS else {})}
    whole = Situation({}, _seen(machine, kind), partial=True, counted=counted, told={**seen, **told})
    found = list(_of_lines([row for row in rows if row.how != "from" and not row.file], source, text))
    env: dict[str, str] = {}
    places: dict[str, str] = {}
    for held in _environments(rows):
        here = {name: f"{row.file or source}:{row.line}" for name, row in held.items()}
        values = {name: str(row.value) for name, row in held.items()}
        known = {(f.rule, f.subject.id, f.summary) for f in found}
        made = lint.findings(replace(whole, env=values), here)
        found += [f for f in made if (f.rule, f.subject.id, f.summary) not in known]
        env, places = {**env, **values}, {**places, **here}
    ranked = tuple(sorted(found, key=lambda f: (f.severity.rank, _line(f))))
    return Looked(source, ranked, replace(whole, env=env), places, tuple(_unread(every, source)))


def _unread(rows: Iterable[Assigned], source: str) -> Iterator[str]:
    """Lines from which on nothing was read, and files that were not opened."""
    limits = f"{assigned.MOST} assignments, {assigned.LONGEST >> 20} MiB of text or {MOST_NODES} nodes of YAML"
    for row in rows:
        if row.how == "cut":
            yield f"{row.file or source}:{row.line}: not read from this line on: more than {limits}"
        elif row.how == "file":
            yield f"{source}:{row.line}: {row.value} was not read: more than {_MOST_FILES} files are named"


def _counts(row: Assigned) -> bool:
    return row.how == "from" or row.name.isupper() or bool(described(row.name))


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
    yield from ({**shared, **held} for held in scopes.values())


def _take(row: Assigned, held: _Held) -> None:
    hides = row.scope and row.value == "" and row.name.endswith("_VISIBLE_DEVICES")  # CUDA_VISIBLE_DEVICES= python x
    if row.how == "unset":
        held.pop(row.name, None)
    elif row.value is not None and row.how != "plain" and not hides and not _SECRET.search(row.name):
        held[row.name] = row


def _seen(machine: Snapshot, kind: str) -> Snapshot:
    if kind not in _IN_CONTAINERS:
        return machine
    return machine.model_copy(update={"packages": None})


def _line(finding: Finding) -> int:
    found = re.search(r":(\d{1,7})$", finding.evidence[0].source) if finding.evidence else None
    return int(found[1]) if found else 0


def _of_lines(rows: list[Assigned], source: str, text: str) -> Iterator[Finding]:
    """Faults of how a line sets a variable: not exported, no string, set twice, a secret in the file."""
    last: dict[str, Assigned] = {}
    for row in rows:
        where = f"{source}:{row.line}"
        known = bool(described(row.name))
        before = last.get(row.name)
        if row.how == "plain" and known and not re.search(rf"\$\{{?{row.name}\b", text):
            said = "is a variable of the shell only: without export no program sees it"
            yield _finding(row, "warning", said, f"Write export {row.name}={row.value or ''}.", where, "not-exported")
        elif row.how == "number":
            said = "is no string to YAML, and Kubernetes refuses the manifest"
            yield _finding(row, "error", said, f'Write value: "{row.value}".', where, "unquoted")
        elif row.value and _SECRET.search(row.name) and not _is_blank(row):
            said = "looks like a secret, and the file keeps its value"
            cure = "Take it from a secret store at start, and make a new one."
            yield _finding(row._replace(value=None), "warning", said, cure, where, "secrets-in-env")
        elif known and before and before.scope == row.scope and before.value and row.value not in (None, before.value):
            said = f"is set again; line {before.line} set {before.value[:40]}"
            yield _finding(row, "info", said, "Keep one of the lines.", where, "set-twice")
        last[row.name] = row


def _is_blank(row: Assigned) -> bool:
    return row.name.startswith("APT_KEY_") or _NO_SECRET.fullmatch(row.value or "") is not None


def _finding(row: Assigned, severity: str, said: str, cure: str, where: str, what: str) -> Finding:
    subject = Subject(kind="variable", id=row.name)
    shown = f"{row.name}={row.value[:60]}" if row.value is not None else row.name
    return Finding(
        rule=lint.MISREAD,
        severity=Severity(severity),
        summary=f"{shown} {said}."[:400],
        subject=subject,
        fingerprint=fingerprint(f"{lint.MISREAD} {what}", subject),
        evidence=(Evidence(text=shown, source=where), Evidence(text=what, source=where)),
        fixes=(Fix(text=cure[:400], where="environment"),),
    )
