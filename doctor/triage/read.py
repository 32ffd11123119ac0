"""A pasted text -> the Snapshot that it shows: facts with the line each came from, and symptoms.

Bounded: lines, fragments, what parsers are handed and what is kept all have limits; past
them a text is searched for symptoms only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from doctor import parsers
from doctor.errors import ParserError
from doctor.facts import FactSheet, Snapshot, State, assemble
from doctor.knowledge.names import gpu_by_name
from doctor.triage import classifier, formats, known, sentences
from doctor.triage.classifier import Guess
from doctor.triage.formats import Format
from doctor.triage.fragments import Fragment, fragments
from doctor.triage.launches import Script, Scripts
from doctor.triage.lines import read_lines, unwrapped
from doctor.triage.merge import merge, one_log, put, without
from doctor.triage.templates.catalogue import shared
from doctor.versions import Dotted

FRAGMENTS_LIMIT = 2000
CHARS_PER_PARSER = 3_000_000
"""Characters of one text that one parser is handed."""
_LINE_SOURCE = re.compile(r"text:(\d+)")
_STRUCTURED = {"nvidia_smi_xml", "nvidia_smi_query", "rocminfo", "lspci", "amd_smi_text", "conda_list", "amd_smi_json",
               "framework_env", "sglang_env", "own_report"}  # fmt: skip
"""Where one of these read a fence or a command's output, its fields are no labels that a person wrote."""
_PACKAGES_LIMIT = 4000
_ASKS = ("lsmod", "sudo lsmod", "systemctl cat", "sudo systemctl cat")
"""Commands whose silence tells something."""
_SILENT = {"lsmod_silent": "read", "service_unit": "read_shown"}
_SAID = formats.rank(formats.named("entities"))
catalogue = shared


@cache
def _parser(form: Format) -> Callable[..., FactSheet] | None:
    if form.parser not in parsers.names():
        return None
    found: Callable[..., FactSheet] = getattr(parsers.load(form.parser), form.call)
    return found


class Read(NamedTuple):
    """A fragment in which a parser found facts: its lines, the command it is the output of, how many facts."""

    first: int
    last: int
    command: str
    parser: str
    facts: int


class Pasted(NamedTuple):
    """What a text shows, and what its words alone make likely."""

    machine: Snapshot
    guess: Guess
    scripts: tuple[Script, ...] = ()


def read_text(chunks: Iterable[bytes], trace: list[Read] | None = None) -> Snapshot:
    """The facts and error texts alone: see `read_pasted`."""
    return read_pasted(chunks, trace).machine


def read_pasted(chunks: Iterable[bytes], trace: list[Read] | None = None) -> Pasted:
    """`chunks` are the text's bytes in pieces of any size. Facts have the source `text:LINE`. `trace` is given what
    was read where."""
    reading = _Reading(trace)
    errors = FactSheet()
    skipped: list[str] = []
    lines = reading.through(read_lines(chunks))
    for hit in catalogue().find(unwrapped(lines), skipped):
        errors.put(f"symptoms[{hit.key}].text", hit.text, f"text:{hit.line}")
        errors.put(f"symptoms[{hit.key}].source", f"text:{hit.line}", f"text:{hit.line}")
    for line in skipped:
        errors.miss("symptoms", State.TIMED_OUT, "text", line)
    machine = _assembled([*reading.sheets(), errors])
    reading.scripts.close()
    guess = classifier.shared().of_features(classifier.features(reading.head))
    return Pasted(machine, guess, tuple(reading.scripts.found))


class _Reading:
    """The parsers' side of one pass over the lines."""

    def __init__(self, trace: list[Read] | None = None) -> None:
        self.trace = trace
        self.found: list[tuple[int, int, FactSheet]] = []
        self.handed: dict[str, int] = {}
        self.fragments = 0
        self.asked: Fragment | None = None
        self.broken = FactSheet()
        self.scripts = Scripts()
        self.head: list[str] = []
        """What the classifier looks at."""

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are, each fragment read as soon as it is whole."""
        cut: list[tuple[int, str]] = []
        pieces = fragments(self.kept(lines, cut))
        for fragment in pieces:
            self.read(fragment)
            yield from cut
            cut.clear()
            if self.fragments >= FRAGMENTS_LIMIT:
                break
        yield from cut
        yield from lines

    def kept(self, lines: Iterable[tuple[int, str]], cut: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        for row in lines:
            cut.append(row)
            if len(self.head) < classifier.LINES and row[1].strip():
                self.head.append(row[1][: classifier.CHARACTERS])
            yield row

    def read(self, fragment: Fragment) -> None:
        self.fragments += 1
        self.scripts.take(fragment)
        if fragment.typed:
            self.read_typed(fragment)
            return
        self.asked = None
        text = fragment.text
        structured = False
        for form in formats.claims(text.lower(), fragment.command):
            if structured and form.parser == "labelled_lines" and (fragment.fenced or fragment.command):
                continue
            structured |= self.offer(form, fragment, text) and form.parser in _STRUCTURED

    def read_typed(self, fragment: Fragment) -> None:
        """A prompt line: what it sets and runs, and that the one right before it printed nothing."""
        text = fragment.text
        if self.asked is not None and self.asked.first + len(self.asked.lines) == fragment.first and fragment.at:
            silent = "service_unit" if "systemctl" in self.asked.text else "lsmod_silent"
            self.offer(formats.named(silent, _SILENT[silent]), self.asked, self.asked.text)
        self.asked = fragment if fragment.at and text.lstrip().startswith(_ASKS) else None
        if "=" in text:
            self.offer(formats.named("env_lines"), fragment, text, command=True)
        if any(word in text for word in (" run", " create", " exec ", " shell ", "--container-")):
            self.offer(formats.named("docker_run_line"), fragment, text)

    def offer(self, form: Format, fragment: Fragment, text: str, **how: Any) -> bool:
        read = _parser(form)
        handed = self.handed.get(form.parser, 0) + len(text)
        if read is None or handed > CHARS_PER_PARSER:
            return False
        self.handed[form.parser] = handed
        if form.takes_command:
            how["command"] = fragment.command
        if form.parser == "entities":
            how["lookup"] = gpu_by_name
        try:
            sheet = read(text, "text", **how)
        except ParserError:
            return False
        except Exception as fault:  # noqa: BLE001 -- one parser's fault must not cost what the others read
            self.broken.miss(f"parsers.{form.parser}", State.FAILED, f"text:{fragment.first}", _place(fault))
            return False
        if len(sheet):
            self.found.append((formats.rank(form), len(self.found), _placed(sheet, fragment.first - 1)))
            if self.trace is not None:
                last = fragment.first + max(len(fragment.lines) - 1, 0)
                self.trace.append(Read(fragment.first, last, fragment.command, form.parser, len(sheet)))
        return len(sheet) > 0

    def sheets(self) -> list[FactSheet]:
        """Most trusted first, GPUs made one, packages one list, architectures of names added."""
        ordered = [sheet for place, _, sheet in sorted(self.found, key=lambda row: row[:2]) if place != _SAID]
        ordered += sentences.believed([sheet for place, _, sheet in self.found if place == _SAID], ordered)
        merged = _engine_as_named(one_log(merge(ordered, known.complete)))
        rest = [without(sheet, "packages") for sheet in merged]
        return [_packages(merged), *rest, known.learnt(merged), self.broken]


def _place(fault: Exception) -> str:
    """What failed and where in the program. Not the message: it may quote the text, and no redaction has seen it."""
    frame = fault.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    place = f" at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else ""
    return f"{type(fault).__name__}{place}"


def _placed(sheet: FactSheet, offset: int) -> FactSheet:
    """The sheet with its lines counted from the start of the whole text."""
    placed = FactSheet()
    for entry in sheet:
        value = _shift(entry.value, offset) if entry.name.endswith("].source") else entry.value
        put(placed, entry._replace(source=_shift(entry.source, offset), value=value))
    return placed


def _shift(source: str, offset: int) -> str:
    return _LINE_SOURCE.sub(lambda found: f"text:{int(found[1]) + offset}", source) if offset else source


def _packages(sheets: Iterable[FactSheet]) -> FactSheet:
    """Packages of all sheets as one list, the first version of each name. A list with another torch than the first is
    of another environment, or asks for what is not installed."""
    rows: dict[str, dict[str, str]] = {}
    sheet = FactSheet()
    source = ""
    for entry in itertools.chain.from_iterable(sheets):
        if entry.name == "packages" and isinstance(entry.value, list):
            source = source or entry.source
            other = next((row["version"] for row in entry.value if row["name"] == "torch"), None)
            here = rows.get("torch")
            if here and other and len(entry.value) > 1 and Dotted(other).series() != Dotted(here["version"]).series():
                continue
            for row in entry.value[:_PACKAGES_LIMIT]:
                rows.setdefault(row["name"], row)
    if rows:
        sheet.put("packages", list(rows.values()), source)
    return sheet


def _engine_as_named(sheets: list[FactSheet]) -> list[FactSheet]:
    """A line that names the engine is surer of it than how the command is written: `docker run` is what all say."""
    named = next((sheet.get("container.engine") for sheet in sheets if sheet.get("container.engine_text")), None)
    if named in (None, "docker"):
        return sheets
    written = [s.get("container.run_args") is not None and s.get("container.engine") == "docker" for s in sheets]
    return [without(s, "container.engine") if so else s for s, so in zip(sheets, written, strict=True)]


def _assembled(sheets: list[FactSheet]) -> Snapshot:
    """A value that is no valid fact (text is hostile until shown otherwise) drops its sheet, not the text."""
    try:
        return assemble(sheets)
    except ValidationError:
        return assemble([sheet for sheet in sheets if _valid(sheet)])


def _valid(sheet: FactSheet) -> bool:
    try:
        assemble([sheet])
    except ValidationError:
        return False
    return True
