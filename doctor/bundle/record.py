"""Makes the parts of a bundle: a recorded check, what support asks for, and the report, all redacted alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from doctor import __version__
from doctor.bundle import extras, private
from doctor.bundle.pack import CAPTURE, MANIFEST, LeftOut, Part, manifest, within
from doctor.diagnosis.recording import Recording
from doctor.diagnosis.run import Options, examine
from doctor.system.capture import CaptureSystem
from doctor.system.capture_store import SCHEMA

if TYPE_CHECKING:
    from doctor.system.base import System

MAX_SIZE = 40 << 20
"""Bytes of all files before compression, unless the user says otherwise."""


@dataclass(frozen=True)
class Made:
    """A bundle that is not written yet. `names` maps originals to stand-ins and stays on this machine."""

    files: dict[str, bytes]
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    removed: dict[str, dict[str, int]]
    names: dict[str, str]


def make(
    system: System,
    *,
    created: str,
    since: str | None = None,
    include: Sequence[str] = (),
    pid: int | None = None,
    max_size: int = MAX_SIZE,
    options: Options | None = None,
) -> Made:
    """Asks the machine and redacts. The report in it is made from the redacted recording, as the reader's will be."""
    record = Recording()
    examine(system, replace(options or Options(), record=record))
    texts: list[extras.Text] = []
    out: list[LeftOut] = []
    if system.kind == "live":
        texts, out = extras.collect(system, extras.wanted(system, since=since, include=include, pid=pid))
    redactor = private.redactor_of(record.entries)
    entries, removed = private.redacted(record.entries, redactor)
    head = {"schema": SCHEMA, "doctor": __version__, "created": created, "entries": entries}
    parts = [
        Part(CAPTURE, "what doctor check read", json.dumps(head, indent=1, sort_keys=True).encode(), required=True)
    ]
    parts += _reports(entries, options or Options())
    for name, origin, text in texts:
        redactor.counts.clear()
        clean = redactor.text(text)
        cut = f"only the last {extras.TEXT_LIMIT} characters" if len(text) >= extras.TEXT_LIMIT else None
        parts.append(Part(f"extra/{name}", redactor.text(origin), clean.encode("utf-8", "replace"), cut))
        removed[f"extra/{name}"] = dict(sorted(redactor.counts.items()))
    kept, over = within(parts, max_size)
    left_out = [LeftOut(redactor.text(row.origin), redactor.text(row.why)) for row in (*out, *over)]
    removed = {name: kinds for name, kinds in removed.items() if kinds}
    files = {MANIFEST: manifest(kept, left_out, removed, created), **{p.name: p.content for p in kept}}
    return Made(files, tuple(kept), tuple(left_out), removed, redactor.names())


def _reports(entries: dict[str, dict[str, Any]], options: Options) -> list[Part]:
    from doctor.report import json as as_json
    from doctor.report import terminal

    report = examine(CaptureSystem.of(entries), replace(options, record=None))
    text = terminal.render(report, terminal.Look(plain=True), 1)
    return [
        Part("report.json", "doctor check", as_json.render(report).encode(), required=True),
        Part("report.txt", "doctor check", text.encode("utf-8", "replace"), required=True),
    ]
