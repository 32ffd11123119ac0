"""The facts of a report as a part of its page: each with its value and where it was read, and those that could not be."""

# ruff: noqa: E501 -- markup
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.report.markup import Data, folded, listed, text
from doctor.report.words import plural

_LONGEST = 400
_NO_FACTS = ("origins", "symptoms")


def facts(machine: Data) -> Iterator[str]:
    """All facts, folded into one drawer with a drawer for each group."""
    yield "<section aria-labelledby='facts'>\n<h2 id='facts'>Facts</h2>\n"
    yield folded("What was read, and where", "".join(_groups(machine, machine.get("origins") or {})))
    yield "</section>\n"


def _groups(machine: Data, origins: Mapping[str, Data]) -> Iterator[str]:
    for group, value in machine.items():
        rows = list(_flat(value, group)) if group not in _NO_FACTS else []
        if rows:
            yield folded(f"{text(group)} <small>{len(rows)}</small>", _table(rows, origins))
    untold = [(name, origin) for name, origin in sorted(origins.items()) if origin["state"] not in ("value", "absent")]
    if untold:
        groups = [
            f"<code>{text(name)}</code> {text(o['state'])} <small>{text(o['source'])} {text(o['detail'] or '')}</small>"
            for name, o in untold
        ]
        yield folded(f"{plural(len(untold), 'fact')} that could not be read", listed(groups))


def _table(rows: list[tuple[str, Any]], origins: Mapping[str, Data]) -> str:
    head = '<tr><th scope="col">Fact</th><th scope="col">Value</th><th scope="col">Read from</th></tr>\n'
    return f'<div class="wide"><table class="facts">{head}{"".join(_fact(name, value, origins) for name, value in rows)}</table></div>'


def _fact(name: str, value: Any, origins: Mapping[str, Data]) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
    source = (origins.get(name) or {}).get("source", "")
    return f'<tr><th scope="row">{text(name)}</th><td>{text(shown)}</td><td><small>{text(source)}</small></td></tr>\n'


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Facts by their dotted names; unknown ones are left away."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}[{key}]" if name == "environment" else f"{name}.{key}")
    elif isinstance(value, (list, tuple)) and any(isinstance(member, Mapping) for member in value):
        for number, member in enumerate(value):
            key = member.get("key") or member.get("name") or member.get("path") if isinstance(member, Mapping) else None
            yield from _flat(member, f"{name}[{key or number}]")
    elif value is not None and value not in ([], ()):
        yield name, value
