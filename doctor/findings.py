"""Rules, findings and reports: what a rule says of itself, what it finds, and what a renderer prints."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from doctor.facts.snapshot import Snapshot

_LONGEST_VALUE = 400
"""Characters of one value in a line of evidence: values come from outside."""


class Severity(str, Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for error, 1 for warning, 2 for info."""
        return ("error", "warning", "info").index(self.value)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Subject(_Frozen):
    """What a finding is about. `id` is stable: a PCI address, a node path, a variable's name, or `-`."""

    kind: str
    id: str = "-"


class Evidence(_Frozen):
    text: str
    source: str


class Fix(_Frozen):
    """One way to mend it. `command` is an argv, never a shell line; several commands are several fixes in order."""

    text: str
    command: tuple[str, ...] | None = None
    where: Literal["host", "container", "environment"] = "host"
    root: bool = False
    reboot: bool = False
    risk: str | None = None


class Finding(_Frozen):
    """One problem, or one thing worth knowing."""

    rule: str = ""
    severity: Severity = Severity.ERROR
    summary: str
    """The first 80 characters stand alone."""
    subject: Subject = Subject(kind="machine")
    fingerprint: str = ""
    basis: Literal["facts", "symptom", "both"] = "facts"
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    verify: tuple[str, ...] | None = None
    ask: str | None = None
    """The one thing to ask for next."""
    suspect: int = 0
    """Not 0: too weak to be loud beside a surer cause. Of a pasted text that shows nothing surer, the one with the
    highest number becomes a warning."""
    explains: tuple[str, ...] = ()
    explained_by: str | None = None
    """Fingerprint of the finding that explains this one."""
    source: str | None = None
    """Where the truth of the rule comes from."""
    docs: str | None = None


def fingerprint(rule: str, subject: Subject) -> str:
    """Stable from run to run: made of the rule and the subject alone."""
    return hashlib.sha256(f"{rule}\0{subject.kind}\0{subject.id}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Rule:
    """What a rule says of itself. The check stands beside it in the same file:

        def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]

    It runs when one set of `needs` is wholly known, and never fires on what is unknown.
    """

    id: str
    """Names the problem, never the remedy; file name with underscores."""
    severity: Severity
    title: str
    needs: Sequence[frozenset[str] | set[str]]
    """Alternatives, each a set of fact names and `symptom:ID`s."""
    doc: str
    """Markdown with the fixed headings of docs/rules.md."""
    proven: Literal["live", "replay", "synthetic"]
    explains: Sequence[str] = ()
    """Ids of rules whose findings this one explains."""
    order: int = 50
    """Among findings of one severity, the lower comes first: 10 kernel driver, 20 access, 30 installs, 40 Python
    environment, 50 flags, 60 hardware health, 80 tuning, 90 consequences."""
    facts_decide: bool = True
    """When a set of facts is known and the check finds nothing, a symptom alone raises nothing."""
    tags: Sequence[str] = ()
    """`amd`, `nvidia`; areas for --only and --skip."""


class Unchecked(_Frozen):
    """A rule that could not tell, or a check that crashed."""

    rule: str
    facts: tuple[str, ...] = ()
    """The facts that were missing."""
    reason: str
    crashed: bool = False


class Suppressed(_Frozen):
    rule: str
    fingerprint: str
    reason: str
    by: str


class Judged(_Frozen):
    """One expectation of the profile, and how it came out."""

    fact: str
    outcome: Literal["holds", "deviates", "unknown"]
    wants: str
    """`at least 580.65.06`"""
    found: str | None = None
    severity: str | None = None
    rule: str | None = None
    why: str
    status: str
    """Who stands behind the expectation: `vendor-matrix`, `community`, `captured`, `run-here`."""
    source: str
    as_of: str


class ProfileVerdict(_Frozen):
    """The profile that was judged, and how its expectations came out."""

    name: str
    status: str
    chosen: Literal["named", "matched"]
    why: str
    holds: tuple[str, ...] = ()
    deviates: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()


class KnowledgeUsed(_Frozen):
    """The release of the knowledge that a report rests on."""

    release: str
    as_of: str
    file: str | None = None
    """The signed file that it was installed from; None: the release that this program ships."""
    signer: str | None = None
    aged: tuple[str, ...] = ()
    """Tables with their oldest entry that something here rests on, where it was looked up more than a year ago."""
    changed: tuple[str, ...] = ()
    """Installed tables that were changed after they were verified: the shipped ones were used."""

    def notes(self) -> tuple[str, ...]:
        """Sentences for whoever reads the report; () for a shipped release with fresh entries."""
        told = []
        if self.file:
            told.append(
                f"Knowledge: release {self.release} (as of {self.as_of}) of {self.file}, signed by {self.signer}."
            )
        if self.changed:
            told.append(f"Installed knowledge was changed and not used: {', '.join(self.changed)}.")
        if self.aged:
            told.append(f"This rests on entries looked up more than a year ago: {', '.join(self.aged)}.")
        return tuple(told)


class Report(BaseModel):
    """`doctor.report/1`. Findings are ranked, the root cause first."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    schema_: Literal["doctor.report/1"] = Field(default="doctor.report/1", alias="schema")
    doctor: str
    status: Literal["ok", "warning", "error", "unknown"]
    source: str | None = None
    """The file that was judged, for triage and --from."""
    findings: tuple[Finding, ...] = ()
    clear: tuple[str, ...] = ()
    """Rules that ran on known facts and found nothing."""
    unchecked: tuple[Unchecked, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    profile: ProfileVerdict | None = None
    knowledge: KnowledgeUsed | None = None
    profile_note: str | None = None
    """Why no profile was judged, where one was looked for: only the generic checks were made then."""
    snapshot: Snapshot = Field(default_factory=Snapshot)
    redacted: bool = Field(default=False, exclude=True)
    """The machine was read from a bundle: its ids are stand-ins, which stay as they are wherever this is written."""

    def counted(self) -> tuple[Finding, ...]:
        """Findings that no other finding explains."""
        return tuple(f for f in self.findings if not f.explained_by)


@dataclass(frozen=True)
class Progress:
    """An event of a running check, for whoever draws progress."""

    what: str
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)


def evidence(machine: Snapshot, names: Iterable[str]) -> tuple[Evidence, ...]:
    """Evidence lines of facts by name: `nvidia_driver.version = 570.124.06`, each with its source."""
    rows = []
    for name in names:
        if name.startswith("symptom:"):
            symptom = machine.symptom(name[8:])
            if symptom:
                rows.append(Evidence(text=symptom.text, source=symptom.source))
            continue
        value = machine.get(name)
        if value is not None:
            rows.append(Evidence(text=f"{name} = {_plain(value)}", source=machine.source(name)))
    return tuple(rows)


def _plain(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(_plain(v) for v in value[:8]) + (" …" if len(value) > 8 else "") or "none"
    if isinstance(value, BaseModel):
        told = (v for v in vars(value).values() if isinstance(v, (str, int, float)))
        return str(getattr(value, "key", None) or " ".join(map(_plain, told)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:_LONGEST_VALUE]
