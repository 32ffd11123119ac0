"""Makes the parts of a bundle: a recorded check, what support asks for, and the report, all redacted alike."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from doctor import __version__
from doctor.bundle import extras, private
from doctor.bundle.pack import CAPTURE, MANIFEST, LeftOut, Part, manifest, within
from doctor.engine import registry
from doctor.engine.gather import TOTAL_S
from doctor.engine.recording import Recording
from doctor.engine.run import Options, examine
from doctor.report.key import local_key, machine_key, teach
from doctor.system.capture import CaptureSystem
from doctor.system.capture_store import SCHEMA

if TYPE_CHECKING:
    from doctor.engine.registry import Probe
    from doctor.findings import Report
    from doctor.redaction import Redactor
    from doctor.redaction.pseudonyms import Site
    from doctor.system.base import System

_WITHIN_S = 15.0
_AFTERWARDS_S = 3.0
"""Processor time of start-up, redaction and report on a machine where no tool answers."""
_LEAST_S = 4.0
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
    site: Site | None = None,
    for_why: bool = False,
) -> Made:
    """Asks the machine and redacts. The report in it is made from the redacted recording, as the reader's will be."""
    probes = (*registry.probes(), *registry.for_comparing()) if for_why else None
    options = options or Options(total_s=_time_to_ask(), probes=probes)
    found = extras.scout(system, since=since, include=include, pid=pid)
    entries = recorded(system, options, extras.errands(found.asks))
    texts, out = extras.taken(entries, found.asks)
    redactor = private.redactor_of(entries, found.key, site)
    teach(redactor, found.names)
    redactor.learn([text for _, _, text in texts])
    clean, removed = private.redacted(entries, redactor)
    rows = [_redacted(row, redactor, removed) for row in texts]
    # What is a secret in one place is removed everywhere, without its name too.
    clean, rows = redactor.again(clean), redactor.again(rows)
    parts = [_capture(clean, created), *_reports(clean, options), *(_part(*row) for row in rows)]
    kept, over = within(parts, max_size)
    left_out = [LeftOut(redactor.text(row.origin), redactor.text(row.why)) for row in (*found.missing, *out, *over)]
    removed = {name: kinds for name, kinds in removed.items() if kinds}
    files = {
        MANIFEST: manifest(kept, left_out, removed, created, site.key if site else None),
        **{p.name: p.content for p in kept},
    }
    return Made(files, tuple(kept), tuple(left_out), removed, redactor.names())


def _time_to_ask() -> float:
    """Seconds for all questions, so that the bundle is out within `_WITHIN_S`: the more programs wait for a processor,
    the longer takes what comes after the answers."""
    waiting = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    return min(TOTAL_S, max(_LEAST_S, _WITHIN_S - extras.SCOUT_S - _AFTERWARDS_S * waiting))


def recorded(system: System, options: Options, more: Sequence[Probe] = ()) -> dict[str, dict[str, Any]]:
    """What the probes of a check read, as a capture's entries; `more` run beside them."""
    record = Recording()
    probes = registry.probes() if options.probes is None else options.probes
    examine(system, replace(options, probes=(*probes, *more), record=record))
    return record.entries


def private_report(system: System, options: Options, site: Site | None = None) -> Report:
    """The report of a machine as its bundle would give it: under the same pseudonyms."""
    entries = recorded(system, options)
    key = local_key() if system.kind == "live" else machine_key(system)
    redactor = private.redactor_of(entries, key, site)
    clean, _ = private.redacted(entries, redactor)
    python = options.python and redactor.text(options.python)  # it may lie in a home folder
    return examine(CaptureSystem.of(redactor.again(clean)), replace(options, python=python))


def _redacted(row: extras.Text, redactor: Redactor, removed: dict[str, dict[str, int]]) -> list[str]:
    name, origin, text = row
    redactor.counts.clear()
    cells = [f"extra/{name}", redactor.text(origin), redactor.text(text)]
    removed[cells[0]] = dict(sorted(redactor.counts.items()))
    return [*cells, "cut" if len(text) >= extras.TEXT_LIMIT - 4096 else ""]


def _part(name: str, origin: str, text: str, cut: str) -> Part:
    why = f"only its end: at most {extras.TEXT_LIMIT} characters" if cut else None
    return Part(name, origin, text.encode("utf-8", "replace"), why)


def _capture(entries: dict[str, dict[str, Any]], created: str) -> Part:
    head = {"schema": SCHEMA, "doctor": __version__, "created": created, "entries": entries}
    return Part(CAPTURE, "what doctor check read", json.dumps(head, indent=1, sort_keys=True).encode(), required=True)


def _reports(entries: dict[str, dict[str, Any]], options: Options) -> list[Part]:
    """The report that the redacted recording gives, as its reader's will be: there is no other that could differ."""
    from doctor.report import terminal
    from doctor.report.formats import html
    from doctor.report.formats import json as as_json

    report = examine(CaptureSystem.of(entries), replace(options, record=None))
    text = terminal.render(report, terminal.Look(plain=True), 1)
    return [
        Part("report.json", "doctor check", as_json.render(report, unredacted=True).encode(), required=True),
        Part("report.txt", "doctor check", text.encode("utf-8", "replace"), required=True),
        Part("report.html", "doctor check", html.render(report, unredacted=True).encode("utf-8", "replace")),
    ]
