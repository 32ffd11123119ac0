"""Rules, findings and reports: what a rule says of itself, what it finds, and what a renderer prints."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from doctor.facts.labels import label, measure
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


class Scope(str, Enum):
    """Whose matter a finding is, and what a remedy changes; the widest first."""

    HARDWARE = "hardware"
    FIRMWARE = "firmware"
    DRIVER = "driver"
    HOST = "host"
    CONTAINER = "container"
    ENVIRONMENT = "environment"
    JOB = "job"


class Action(str, Enum):
    """What whoever runs a fleet does with a node that has the finding."""

    REPLACE = "replace"
    DRAIN = "drain"
    REBOOT = "reboot"
    RECONFIGURE = "reconfigure"
    REBUILD = "rebuild"
    INFORM = "inform"


_NODE_ITSELF = ("hardware", "firmware", "driver")
_SOMEBODY_S = ("container", "environment", "job")


def drains(severity: str, scope: str | None, action: str | None) -> bool:
    """Whether a finding is a reason to keep jobs from its node: an error of the node itself, or one whose cure takes it
    out of service. What is wrong with an environment, a container or a job never is."""
    if severity != "error" or scope in _SOMEBODY_S:
        return False
    return action in ("replace", "drain", "reboot") or (scope in _NODE_ITSELF and action not in (None, "inform"))


class Layer(str, Enum):
    """Parts of the stack, from the GPU up; a report says of each whether it was checked."""

    GPU = "gpu"
    DRIVER = "driver"
    DEVICES = "devices"
    LIBRARIES = "libraries"
    CONTAINER = "container"
    TORCH = "torch"
    FLAGS = "flags"


class Expect(_Frozen):
    """One statement about a fact. Exactly one of the four is set."""

    fact: str
    equals: str | int | bool | None = None
    at_least: str | None = None
    """A version that is this one or newer."""
    has: str | None = None
    """A member of a list, or one of the words of a text: `iommu=pt` of the kernel's command line."""
    absent: bool | None = None
    """True: the variable of `environment[NAME]` is known not to be set. False: it is set."""


class Step(_Frozen):
    """One step of a remedy. `command` is an argv, never a shell line, but for `sh -c 'printf … > FILE'`, which makes a
    file; a word in capitals in it is a placeholder that `text` explains."""

    text: str
    command: tuple[str, ...] | None = None
    where: Literal["host", "container", "environment"] = "host"


class Remedy(_Frozen):
    """One way to fix a finding; those of a finding are alternatives, best first."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    title: str
    """Starts with a verb and names its object: `Upgrade the driver`."""
    scope: Scope
    steps: tuple[Step, ...]
    root: bool = False
    reboot: bool = False
    restarts: tuple[str, ...] = ()
    """Services that stop for a moment: `docker`."""
    risk: str | None = None
    keeps: tuple[str, ...] = ()
    """What stays as it is: `torch 2.9.1`, `driver branch 570`."""
    for_: str | None = Field(default=None, alias="for")
    """The distribution or package manager it is for, where it is for one."""
    undo: tuple[Step, ...] = ()
    vendor: Literal["amd", "nvidia"] | None = Field(default=None, exclude=True)
    """Offered only where this vendor's GPUs may be there."""
    needs: tuple[Expect, ...] = Field(default=(), exclude=True)
    """Offered only where no known fact denies one of these."""
    effect: tuple[Expect, ...] = Field(default=(), exclude=True)
    """What is so afterwards; a remedy whose effect already holds is not offered."""

    @classmethod
    def by_hand(cls, text: str, scope: Scope = Scope.JOB) -> "Remedy":
        """One step without a command, of which the title says all."""
        return cls(title=text, scope=scope, steps=(Step(text=text, where="environment"),))


class Finding(_Frozen):
    """One problem, or one thing worth knowing."""

    rule: str = ""
    severity: Severity = Severity.ERROR
    summary: str
    """The first 80 characters make sense without the rest."""
    why: str = ""
    """Why it matters, in one sentence: the first one of the rule's page."""
    subject: Subject = Subject(kind="machine")
    fingerprint: str = ""
    basis: Literal["facts", "symptom", "both"] = "facts"
    evidence: tuple[Evidence, ...] = ()
    scope: Scope | None = None
    """The rule's, unless the finding knows better."""
    action: Action | None = None
    remedies: tuple[Remedy, ...] = ()
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
    """What a rule says of itself. The check is beside it in the same file:

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
    scope: Scope = Scope.HOST
    action: Action = Action.INFORM
    layer: Layer | None = None
    """The part of the stack that it mentions; None for tuning and measurements."""

    @property
    def page(self) -> str:
        """`doc`, with the safety of its fixes where the scope alone says it."""
        if "## Fix safety" in self.doc:
            return self.doc
        head, references, rest = self.doc.partition("## References")
        return f"{head}## Fix safety\n{_SAFETY[self.scope]}\n\n{references}{rest}"

    @cached_property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """The alternatives of `needs`, the names of each in order."""
        return tuple(tuple(sorted(names)) for names in self.needs)


_SAFETY = {
    Scope.ENVIRONMENT: "No reboot. Changes packages of this environment only.",
    Scope.JOB: "Applies to programs started afterwards.",
    Scope.CONTAINER: "Needs a new container; data outside volumes is lost. Nothing on the host changes.",
    Scope.HOST: "Root, no reboot. Applies to programs and containers started afterwards.",
    Scope.DRIVER: "Root, reboot: every GPU job on the node stops.",
    Scope.FIRMWARE: "Root, reboot: every job on the node stops.",
    Scope.HARDWARE: "A reset or power cycle stops every job on the node.",
}


class Unchecked(_Frozen):
    """A rule that could not tell, or a check that crashed."""

    rule: str
    facts: tuple[str, ...] = ()
    """The facts that were missing."""
    reason: str
    crashed: bool = False


class NotApplicable(_Frozen):
    """A rule that has nothing to say of this machine, and why."""

    rule: str
    reason: str


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
    """Who is behind the expectation: `vendor-matrix`, `community`, `captured`, `run-here`."""
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
    """Tables with their oldest entry that something here rests on, where that is more than 90 days old."""
    changed: tuple[str, ...] = ()
    """Installed tables that were changed after they were verified: the shipped ones were used."""

    def notes(self) -> tuple[str, ...]:
        """Sentences for whoever reads the report; () for a shipped release with fresh entries."""
        notes = []
        if self.file:
            notes.append(
                f"Knowledge: release {self.release} (as of {self.as_of}) of {self.file}, signed by {self.signer}."
            )
        if self.changed:
            notes.append(f"Installed knowledge was changed and not used: {', '.join(self.changed)}.")
        if self.aged:
            notes.append(f"This rests on facts that are more than 90 days old: {', '.join(self.aged)}.")
        return tuple(notes)


class Hint(_Frozen):
    """A guess from a text's words, beside the findings and never one of them. `title` is the rule's; `confidence` is a
    calibrated probability, 0 to 1; `ask` is what to send next."""

    rule: str
    title: str
    confidence: float
    ask: str | None = None


class Report(BaseModel):
    """`doctor.report/2`. Findings are ranked, the root cause first."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    schema_: Literal["doctor.report/2"] = Field(default="doctor.report/2", alias="schema")
    doctor: str
    created: str | None = None
    """When the report was made, UTC; None in a triage reply."""
    host: str | None = None
    """A stable stand-in for the machine's name."""
    status: Literal["ok", "partial", "warning", "error", "unknown"]
    layers: dict[str, str] = Field(default_factory=dict)
    """gpu, driver, devices, libraries, container, torch, flags → ok, problem, partial, unknown, not-applicable."""
    source: str | None = None
    """The file that was judged, for triage and --from."""
    findings: tuple[Finding, ...] = ()
    hints: tuple[Hint, ...] = ()
    """Of a pasted text only, the likeliest first; three at most."""
    reports_failure: bool | None = None
    """Of a pasted text only: whether somebody seems to report a failure in it."""
    clear: tuple[str, ...] = ()
    """Rules that ran on known facts and found nothing."""
    unchecked: tuple[Unchecked, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()
    """Rules that have nothing to say of this machine. Every rule that was asked is in findings, clear, unchecked,
    suppressed or here."""
    suppressed: tuple[Suppressed, ...] = ()
    profile: ProfileVerdict | None = None
    knowledge: KnowledgeUsed | None = None
    profile_note: str | None = None
    """Why no profile was judged, where one was looked for: only the generic checks were made then."""
    snapshot: Snapshot = Field(default_factory=Snapshot)
    redacted: bool = Field(default=False, exclude=True)
    """The machine was read from a bundle: its ids are stand-ins, which stay as they are wherever this is written."""

    @model_validator(mode="before")
    @classmethod
    def _of_the_first_form(cls, data: Any) -> Any:
        """A report of the form before is read too: `doctor.report/1` had no layers, remedies and hints."""
        if isinstance(data, dict) and data.get("schema") == "doctor.report/1":
            return {**data, "schema": "doctor.report/2"}
        return data

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
    """Evidence lines of facts by name: `NVIDIA driver: 570.124.06`, each with its source."""
    rows = []
    for name in names:
        if name.startswith("symptom:"):
            symptom = machine.symptom(name[8:])
            if symptom:
                rows.append(Evidence(text=symptom.text, source=symptom.source))
            continue
        value = machine.get(name)
        if value is not None:
            text = f"{label(name)}: {measure(name, value) or _plain(value)}"
            rows.append(Evidence(text=text, source=machine.source(name)))
    return tuple(rows)


def _plain(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(_plain(v) for v in value[:8]) + (" …" if len(value) > 8 else "") or "none"
    if isinstance(value, BaseModel):
        named = getattr(value, "name", None) or getattr(value, "version", None) or getattr(value, "key", None)
        plain = (v for v in vars(value).values() if isinstance(v, (str, int, float)))
        return str(named or " ".join(map(_plain, plain)))[:_LONGEST_VALUE]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:_LONGEST_VALUE]
