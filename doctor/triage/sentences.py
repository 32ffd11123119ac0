"""Facts from sentences alone: the least trusted, used only where nothing else in the text has them.

A sentence may be about another machine. On one subject (GPUs, torch, the system …) sentences count if no tool output
and no labelled line covers it, and all sentences agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doctor.facts.sheet import Entry, FactSheet
from doctor.parsers.text.entities import alike, gpus_torn
from doctor.triage.merge import put

_SUBJECT = re.compile(r"[.\[]")
_OPEN = ("packages",)
"""Lists to which each sentence may add."""


def believed(sheets: Sequence[FactSheet], others: Iterable[FactSheet]) -> list[FactSheet]:
    """The sheets of sentences without subjects of the others, and without those they disagree on."""
    if not sheets:
        return []
    named = {
        subject(entry)
        for sheet in others
        for entry in sheet
        if entry.value is not None and not _GPU_STATE.match(entry.name)
    }
    values: dict[str, set[str]] = {}
    for entry in (entry for sheet in sheets for entry in sheet):
        values.setdefault(entry.name, set()).add(alike(entry.name, entry.value))
    apart = {n for n, v in values.items() if len(v) > 1 and n not in _OPEN}
    torn = {subject(entry) for sheet in sheets for entry in sheet if entry.name in apart} - {"gpus"}
    if gpus_torn(apart, {n for n in values if n.endswith(".arch")}):
        torn.add("gpus")
    barred = (named - set(_OPEN)) | torn
    return [_without(sheet, barred) for sheet in sheets]


_GPU_STATE = re.compile(r"gpus(?:\[[^\]]*\]\.(?:vendor|firmware|sensors\.\w+|link\.\w+|\w*memory\w*))?$")


def subject(entry: Entry) -> str:
    """What a fact is about: `gpus` of `gpus[#0].name`. What is on or off, and each fact of a kernel or a host, is a
    matter of its own."""
    top = _SUBJECT.split(entry.name)[0]
    return entry.name if top in ("kernel", "host") or isinstance(entry.value, bool) else top


def _without(sheet: FactSheet, barred: set[str]) -> FactSheet:
    rest = FactSheet()
    for entry in sheet:
        if subject(entry) in barred:
            continue
        if entry.name == "packages" and "torch" in barred:
            entry = entry._replace(value=[row for row in entry.value if row["name"] != "torch"])
        if entry.value != []:
            put(rest, entry)
    return rest
