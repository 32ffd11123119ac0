"""The same corpora through detect-secrets and `sos clean`, as far as they can be imported: `python -m
benchmarks.redaction.beside --kinds`.

detect-secrets finds and does not mask: a secret is left where no value that it reports covers it. sos's cleaner is
given each line as it would be in an archive, without words or domains of the site. It knows no secrets.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.redaction import corpus
from benchmarks.redaction.__main__ import Count, measured
from doctor.redaction import Redactor


def of_detect_secrets() -> Callable[[str], str]:
    """As it scans a file, with its own plugins and filters: `scan_line` is its eager mode, which reports every word."""
    from detect_secrets.core.scan import scan_file
    from detect_secrets.settings import default_settings

    folder = tempfile.TemporaryDirectory()

    def clean(text: str) -> str:
        path = Path(folder.name) / "given.txt"
        path.write_text(text)
        with default_settings():
            found = sorted({s.secret_value or "" for s in scan_file(str(path))} - {""}, key=len, reverse=True)
        for value in found:
            text = text.replace(value, "[found]")
        return text

    return clean


def of_sos() -> Callable[[str], str]:
    from sos.cleaner.parsers.hostname_parser import SoSHostnameParser
    from sos.cleaner.parsers.ip_parser import SoSIPParser
    from sos.cleaner.parsers.keyword_parser import SoSKeywordParser
    from sos.cleaner.parsers.mac_parser import SoSMacParser

    def clean(text: str) -> str:
        parsers: list[Any] = [
            SoSHostnameParser(opt_domains=[]),
            SoSIPParser(),
            SoSMacParser(),
            SoSKeywordParser(keywords=[]),
        ]
        lines = []
        for line in text.splitlines(keepends=True):
            for parser in parsers:
                with suppress(ValueError):  # of a Windows driver's number that it takes for an address
                    line = parser.parse_line(line)[0]
            lines.append(line)
        return "".join(lines)

    return clean


def _table(counts: dict[str, dict[str, dict[str, Count]]], what: str) -> str:
    """Both halves by kind: planted, and left or eaten by each tool."""
    tools = list(next(iter(counts.values())))
    rows = [f"| {what} | planted | {' | '.join(tools)} |", "|--" * (len(tools) + 2) + "|"]
    planted: dict[str, int] = {}
    for half in counts.values():
        for kind, number in half[tools[0]][what].planted.items():
            planted[kind] = planted.get(kind, 0) + number
    for kind, number in sorted(planted.items()):
        left = [sum(half[tool][what].left[kind] for half in counts.values()) for tool in tools]
        rows.append(f"| {kind} | {number} | {' | '.join(map(str, left))} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    tools: dict[str, Callable[[str], str]] = {"doctor": lambda text: Redactor().text(text)}
    if find_spec("detect_secrets"):
        tools["detect-secrets"] = of_detect_secrets()
    if find_spec("sos"):
        tools["sos clean"] = of_sos()
    counts = {half: {name: measured(half, clean) for name, clean in tools.items()} for half in corpus.HALVES}
    for half, found in counts.items():
        for what in next(iter(found.values())):
            print(f"{half} {what}: " + "; ".join(f"{name} {count[what].told()}" for name, count in found.items()))
    if "--kinds" in sys.argv:
        for what in next(iter(counts["known"].values())):
            print(f"\n{_table(counts, what)}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
