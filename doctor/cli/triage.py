"""`doctor triage`: pasted text (an issue body, a log, the output of tools) to a report per file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.check import Format
from doctor.cli.choices import FailOn
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names
from doctor.report import formats

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.knowledge import Knowledge
    from doctor.redaction.pseudonyms import Site
    from doctor.triage.read import Read

_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_PLAIN_LIMIT = 256 << 20
"""Bytes of a text; the rest is not read, and a line says so: /dev/zero has no end."""
_INFLATED_LIMIT = 256 << 20
"""Of a packed file; the rest is not read."""
_MANIFEST_WITHIN = 1 << 16
_MANIFEST = b"doctor.bundle/"


def add(app: typer.Typer) -> None:
    app.command("triage")(triage)


def triage(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files of pasted text; - or none: what is piped in.")
    ] = None,
    format_: Format = "text",
    fail_on: FailOn = "error",
    why: Annotated[
        bool, typer.Option("--why", help="Show what was read at which lines, and which rules came close.")
    ] = False,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Diagnose pasted logs and tool output, a report for each file."""
    from doctor.cli.output import tell
    from doctor.engine.verdict import exit_code
    from doctor.errors import ExitCode, InputError
    from doctor.report.words import reader_failures

    if not paths:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("give the files to diagnose, or pipe a text in: dmesg | doctor triage")
        paths = ["-"]
    code, unread = ExitCode.OK, False
    if why and format_ not in ("text", "json", "jsonl"):
        raise InputError("--why is text, json or jsonl")
    if len(paths) > 1 and format_ not in ("text", "json") and not formats.streams(format_):
        raise InputError(f"--format {format_} holds one report; give one file, or ask for jsonl")
    printer = _Printer(format_, len(paths), site_of(hide, domain, key))
    for path in paths:
        trace: list[Read] | None = [] if why else None
        try:
            report = judged(path, trace)
        except InputError as error:
            tell(f"doctor: {_plain(str(error))}\n")
            unread = True
            continue
        for trouble in reader_failures(report.snapshot):
            tell(f"doctor: {_plain(path)}: {trouble}\n")
        printer.report(report, trace)
        code = max(code, exit_code(report, fail_on, strict=False))
    printer.close()
    return ExitCode.USAGE if unread else code


def judged(path: str, trace: list[Read] | None = None) -> Report:
    """The report of one file; `trace` is given what was read where. Raises InputError when it can't be read."""
    from doctor.engine.pasted import judge_pasted
    from doctor.triage.read import read_pasted

    if _is_bundle(path):
        from pathlib import Path

        from doctor.bundle.open import open_bundle
        from doctor.engine.run import Options, examine

        return examine(open_bundle(Path(path)).system(), Options(source=path))
    return judge_pasted(read_pasted(_chunks(path), trace), _knowledge(), source=path)


@cache
def _knowledge() -> Knowledge:
    from doctor.knowledge import Knowledge

    return Knowledge()


def _is_bundle(path: str) -> bool:
    """Whether a file is a gzip archive that begins with our manifest."""
    from pathlib import Path

    with suppress(OSError, ValueError):
        if path != "-" and Path(path).is_file():
            with Path(path).open("rb") as held:
                head = held.read(_MANIFEST_WITHIN)
            return head.startswith(_GZIP) and b"\0ustar" in (plain := _inflated_head(head)) and _MANIFEST in plain
    return False


def _inflated_head(packed: bytes) -> bytes:
    import zlib

    with suppress(zlib.error):
        return zlib.decompressobj(wbits=31).decompress(packed, _MANIFEST_WITHIN)
    return b""


def _chunks(path: str) -> Iterator[bytes]:
    """The file's bytes, in pieces; of a file in gzip (nvidia-bug-report.log.gz) what it holds. Raises InputError."""
    from pathlib import Path

    from doctor.errors import InputError
    from doctor.system.given import open_given

    try:
        if path == "-":
            from doctor.cli.output import stdin

            yield from _plain_or_inflated(stdin().buffer, path)
            return
        if not path:
            raise InputError("the name of a file is empty")
        with open_given(Path(path)) as held:
            yield from _plain_or_inflated(held, path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _plain_or_inflated(held: IO[bytes], path: str) -> Iterator[bytes]:
    import zlib

    from doctor.cli.output import tell
    from doctor.errors import InputError

    piece = held.read(_CHUNK)
    if not piece.startswith(_GZIP):
        size = 0
        while piece and size < _PLAIN_LIMIT:
            yield piece
            size += len(piece)
            piece = held.read(_CHUNK)
        if piece:
            tell(f"{_plain(path)}: only its first {_PLAIN_LIMIT >> 20} MiB were read\n")
        return
    inflater, size = zlib.decompressobj(wbits=31), 0
    while piece and not inflater.eof and size < _INFLATED_LIMIT:
        try:
            content = inflater.decompress(piece, _CHUNK)
        except zlib.error as error:
            raise InputError(f"{path}: broken gzip: {error}") from None
        size += len(content)
        yield content
        piece = inflater.unconsumed_tail or held.read(_CHUNK)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


class _Printer:
    """Writes each report as it comes. JSON of several files is one array."""

    def __init__(self, format_: str, files: int, site: Site | None) -> None:
        self.format, self.many, self.site = format_, files > 1, site
        self.printed = 0

    def report(self, report: Report, trace: list[Read] | None) -> None:
        from doctor.cli.output import deliver

        between = {"json": ",\n", "text": "\n", "markdown": "\n---\n\n"}.get(self.format, "")
        opening = "[\n" if self.format == "json" and self.many else ""
        text = without_names(self.rendered(report, trace), self.site)
        deliver((between if self.printed else opening) + text, None)
        self.printed += 1

    def rendered(self, report: Report, trace: list[Read] | None) -> str:
        if trace is not None:
            return self.rendered_why(report, trace)
        if self.site:
            from doctor.report.formats.json import private

            report = private(report, self.site)
        if self.format != "text":
            from doctor.engine.registry import rules

            made = formats.render(self.format, report, rules)
            return made[:-1] if self.format == "json" and self.many else made
        from doctor.report import terminal

        return terminal.render(report, terminal.Look.of_stdout())

    def rendered_why(self, report: Report, trace: list[Read]) -> str:
        """Text after the report's own; as JSON in its place."""
        from doctor.engine.near_misses import near
        from doctor.report import why

        fragments: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
        for row in trace:
            readings = fragments.setdefault((row.first, row.last, row.command), [])
            readings.append({"format": row.parser, "facts": row.facts})
        listed = [
            {"first": first, "last": last, "command": command, "formats": readings}
            for (first, last, command), readings in fragments.items()
        ]
        data = why.as_data(report, listed, near(report), self.site)
        if self.format == "text":
            return f"{self.rendered(report, None)}\n{why.render(data)}"
        line = why.render_json(data)
        return line[:-1] if self.format == "json" and self.many else line

    def close(self) -> None:
        from doctor.cli.output import deliver

        if self.format == "json" and self.many:
            deliver("\n]\n" if self.printed else "[]\n", None)
