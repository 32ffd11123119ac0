"""Entries of the flag tables: environment variables, their grammars, rules between them, sets, old names."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from doctor.knowledge.entries import Entry


class Needless(BaseModel):
    """A value that changes nothing where all `lines` hold (the language of doctor/flags/conditions.py)."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    value: str
    lines: tuple[str, ...]
    why: str


class Flag(Entry):
    """An environment variable: who reads it, how its value is read, what it does and what it risks."""

    name: str
    component: str
    vendor: str
    kind: str
    type: str
    effect: str
    production_ok: str
    recommended: tuple[dict[str, str], ...] = ()
    values: str | None = None
    default: str | None = None
    risk: str | None = None
    deprecated_in: str | None = None
    grammar: str | None = None
    since: str | None = None
    removed_in: str | None = None
    renamed_to: str | None = None
    redundant_if: tuple[Needless, ...] = ()


class FlagName(Entry):
    name: str
    tables: tuple[str, ...]


class Grammar(Entry):
    """How a component reads a value, and what it does with one that it can't read."""

    id: str
    rule: str
    true_values: tuple[str, ...] | str
    false_values: tuple[str, ...] | str
    on_invalid: str
    """What happens with another text, as the end of a sentence about it where `words` or `pattern` is given."""
    switch: Literal["true", "false", "ignored", "fails", "taken"] | None = None
    """Of a switch: what every text counts as that is neither in `true_values` nor in `false_values`."""
    words: tuple[str, ...] = ()
    pattern: str | None = None
    """A regular expression that all of a text must match."""
    any_case: bool = False
    stripped: bool = False
    """White space around it does not count."""
    other: str | None = None
    """What another text is: ignored, misread or fails."""
    severity: Literal["error", "warning", "info", ""] = ""
    """Where a text that is not taken costs more, or less, than its state says."""
    empty: str | None = None
    """`other` where the empty text is one of those."""


class Witness(Entry):
    """What a release of a component made of each spelling of a flag, when its own code was run with it."""

    name: str
    values: dict[str, str]
    """Spelling, or `(unset)` -> the value as Python writes it, or `error` and its kind."""


class Interaction(Entry):
    """A rule between flags, or between a flag and GPU or software. All `conditions` must hold."""

    id: str
    conditions: tuple[str, ...] = ()
    problem: str
    severity: str
    fix: str
    audit: str


class Condition(Entry):
    """The condition of an interaction as doctor/flags/conditions.py evaluates it, or why it is not evaluated."""

    id: str
    lines: tuple[str, ...] = ()
    """All must hold."""
    triggers: tuple[str, ...] = ()
    """Names, with `*`, of which one must be set for them to hold; () where they may hold with none."""
    open: str | None = None
    """Why it is not evaluated."""
    elsewhere: str | None = None
    """What else finds it: a look of its own, or another rule."""
    dropped: str | None = None
    """Why it is no rule: the component's code does not bear it out."""
    rule: str | None = None
    """That reports it; env-flags-conflict without one."""
    severity: str | None = None
    """In place of the interaction's own, as are `problem`, `fix` and `audit`."""
    problem: str | None = None
    fix: str | None = None
    audit: str | None = None
    shown: tuple[str, ...] = ()
    """Where it was seen: `OWNER/REPO@COMMIT:PATH:LINE`, `PACKAGE VERSION: PATH:LINE`, a page of closed code."""


class FlagSet(Entry):
    """A set of variables that a guide, an image or a launcher gives for a GPU class and a workload."""

    id: str
    title: str
    gpu: tuple[str, ...]
    vendor: str
    workload: str
    versions: str
    env: dict[str, str] = {}
    conditional: tuple[dict[str, dict[str, str] | str], ...] = ()
    only_for: str | None = None
    """Less than its workload says: it is named, not recommended to everybody."""
    dead_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: str


class Rename(Entry):
    """An old, removed or never-existing name of a flag, and what is used instead."""

    name: str
    component: str
    status: str
    still_read: str
    when: str | None = None
    use: str | None = None


class KnownNames(Entry):
    """Bare names that a component mentions: for unknown-name and did-you-mean checks only."""

    component: str
    count: int
    names: tuple[str, ...] | dict[str, str]
    note: str | None = None
