"""A mapping, or several documents, as YAML with the reasons above it, as comments that no value can end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.launch.spec import Line
from doctor.parsers.lib.printable import clean


def plain(value: str) -> str:
    """Compose and Kubernetes read `$$` as one `$`, and expand what follows a single one."""
    return value.replace("$", "$$")


def text(
    tables: Mapping[str, Any] | Sequence[Mapping[str, Any]], lines: Sequence[Line], left_out: Sequence[str]
) -> str:
    import yaml

    notes = [f"# {clean(line.text)}: {clean(line.reason)}" for line in lines]
    notes += [f"# Left out: {clean(what)}" for what in left_out]
    one_line = [" ".join(note.split()) for note in notes]
    documents = [dict(table) for table in ([tables] if isinstance(tables, Mapping) else tables)]
    body = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=False, width=100)
    return "\n".join([*one_line, body])
