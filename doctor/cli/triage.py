"""`doctor triage`: pasted text (an issue body, a log, the output of tools) to a report per file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.intake.read import Read
    from doctor.knowledge import Knowledge

FORMATS = ("text", "json", "jsonl", "markdown")
_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_PLAIN_LIMIT = 256 << 20
"""Bytes of a text; the rest is not read, and that is said: /dev/zero has no end."""
_INFLATED_LIMIT = 256 << 20
"""Of a packed file; the rest is not read."""
_MANIFEST_WITHIN = 1 << 16
_MANIFEST = b"doctor.bundle/"


def add(app: typer.Typer) -> None:
    app.command("triage")(triage)


def triage(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files of pasted text; - is stdin.")],
    format_: Annotated[str, typer.Option("--format", help="text, json, jsonl or markdown.")] = "text",
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")] = "error",
    why: Annotated[
        bool, typer.Option("--why", help="Show what was read at which lines, and which rules were near.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
) -> int:
    """Name the cause from what somebody pasted. Each file gets a report, in order, as soon as it is done."""
    from doctor.cli.check import exit_code
    from doctor.cli.output import tell
    from doctor.errors import ExitCode, InputError
    from doctor.report.words import reader_failures

    for option, value, known in (
        ("--format", format_, FORMATS),
        ("--fail-on", fail_on, ("error", "warning", "never")),
    ):
        if value not in known:
            raise InputError(f"{option} {value}: one of {', '.join(known)} is wanted")
    code, unread = ExitCode.OK, False
    if why and format_ == "markdown":
        raise InputError("--why is text, json or jsonl")
    printer = _Printer(format_, len(paths), no_color=no_color)
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
        code = max(code, ExitCode(exit_code(report, fail_on, strict=False)))
    printer.close()
    return ExitCode.USAGE if unread else code


def judged(path: str, trace: list[Read] | None = None) -> Report:
    """The report of one file; `trace` is given what was read where. Raises InputError when it can't be read."""
    from doctor.diagnosis.judge import judge
    from doctor.intake import read_text

    if _is_bundle(path):
        from pathlib import Path

        from doctor.bundle.open import open_bundle
        from doctor.diagnosis.run import Options, examine

        return examine(open_bundle(Path(path)).system(), Options(source=path))
    return judge(read_text(_chunks(path), trace), _knowledge(), source=path)


@cache
def _knowledge() -> Knowledge:
    """One for all files: the judge takes the symptoms that it carries and does not read the catalogue for each."""
    from doctor.intake.read import catalogue
    from doctor.knowledge import Knowledge

    class WithSymptoms(Knowledge):
        symptoms = catalogue()

    return WithSymptoms()


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

    try:
        if path == "-":
            from doctor.cli.output import stdin

            yield from _plain_or_inflated(stdin().buffer, path)
            return
        if not path:
            raise InputError("the name of a file is empty")
        with Path(path).open("rb") as held:
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
            told = inflater.decompress(piece, _CHUNK)
        except zlib.error as error:
            raise InputError(f"{path}: broken gzip: {error}") from None
        size += len(told)
        yield told
        piece = inflater.unconsumed_tail or held.read(_CHUNK)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


class _Printer:
    """Writes each report as it comes. JSON of several files is one array."""

    def __init__(self, format_: str, files: int, *, no_color: bool) -> None:
        self.format, self.many, self.no_color = format_, files > 1, no_color
        self.printed = 0

    def report(self, report: Report, trace: list[Read] | None) -> None:
        from doctor.cli.output import deliver

        between = {"json": ",\n", "text": "\n", "markdown": "\n---\n\n", "jsonl": ""}[self.format]
        opening = "[\n" if self.format == "json" and self.many else ""
        deliver((between if self.printed else opening) + self.rendered(report, trace), None)
        self.printed += 1

    def rendered(self, report: Report, trace: list[Read] | None) -> str:
        if trace is not None:
            return self.rendered_why(report, trace)
        if self.format == "jsonl":
            from doctor.report import jsonl

            return jsonl.render(report)
        if self.format == "markdown":
            from doctor.report import markdown

            return markdown.render(report)
        if self.format == "json":
            from doctor.report import json

            return json.render(report)[: -1 if self.many else None]
        from doctor.report import terminal

        return terminal.render(report, terminal.Look.of_stdout(no_color=self.no_color))

    def rendered_why(self, report: Report, trace: list[Read]) -> str:
        """Text after the report's own; as JSON in its place."""
        from doctor.diagnosis.near import near
        from doctor.report import why

        fragments: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
        for row in trace:
            formats = fragments.setdefault((row.first, row.last, row.command), [])
            formats.append({"format": row.reader, "facts": row.facts})
        listed = [
            {"first": first, "last": last, "command": command, "formats": formats}
            for (first, last, command), formats in fragments.items()
        ]
        data = why.as_data(report, listed, near(report))
        if self.format == "text":
            return f"{self.rendered(report, None)}\n{why.render(data)}"
        line = why.render_json(data)
        return line[:-1] if self.format == "json" and self.many else line

    def close(self) -> None:
        from doctor.cli.output import deliver

        if self.format == "json" and self.many:
            deliver("\n]\n" if self.printed else "[]\n", None)
