"""Pieces of a page's markup. What comes from outside goes through `text` first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from doctor.report.words import clean

Data = Mapping[str, Any]
_CODE = re.compile(r"`([^`]+)`")


def text(value: Any) -> str:
    """Escaped, on one line, without control characters."""
    return escape(clean(str(value)))


def prose(value: Any) -> str:
    """`text` of one of our sentences: what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", text(value))


def tag(name: str, content: str, **attributes: str) -> str:
    pairs = "".join(f' {key.rstrip("_")}="{value}"' for key, value in attributes.items())
    return f"<{name}{pairs}>{content}</{name}>\n"


def folded(summary: str, content: str, *, opened: bool = False, kind: str = "") -> str:
    """A part that opens and closes, by key too. `summary` and `content` are HTML."""
    state = " open" if opened else ""
    named = f' class="{kind}"' if kind else ""
    return f"<details{named}{state}><summary>{summary}</summary>\n<div>{content}</div></details>\n"


def listed(rows: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{row}</li>\n" for row in rows) + "</ul>\n"
