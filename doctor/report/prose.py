"""Markdown paragraphs filled to a width: headings, list items and code stay what they are.

>>> print(fill("## Fix\\nUpdate the driver\\non the host.\\n- one item that\\n  goes on", 40))
## Fix
Update the driver on the host.
- one item that goes on
>>> print(fill("| sees | do |\\n|--|--|\\n| a | b |", 40))
- a
  do: b
"""

from __future__ import annotations

import re
import textwrap

_OPENS = re.compile(r"^(#{1,6} |[-*] |\d+\. |\||```|    )")


def fill(markdown: str, width: int) -> str:
    """The same Markdown, each paragraph and list item on lines of at most `width` columns."""
    out: list[str] = []
    held: list[str] = []
    heads: tuple[str, ...] = ()
    fenced = False

    def flush() -> None:
        if held:
            item = re.match(r"^([-*] |\d+\. )", held[0])
            indent = " " * len(item[0]) if item else ""
            text = " ".join(part.strip() for part in held)
            out.extend(_wrapped(text, width, indent))
            held.clear()

    for line in markdown.splitlines():
        fence = line.startswith("```")
        if fenced or fence or not line.strip() or line.startswith(("#", "|", "    ")):
            flush()
            if line.startswith("|") and not fenced:
                heads = _row(line, heads, width, out)
                continue
            heads = ()
            out.append(line.rstrip())
            fenced ^= fence
            continue
        if _OPENS.match(line):
            flush()
        held.append(line)
    flush()
    return "\n".join(out)


def _row(line: str, heads: tuple[str, ...], width: int, out: list[str]) -> tuple[str, ...]:
    """Put a row of a table into `out`, a line for each cell after the name of its column; return those names."""
    cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
    if not heads or set(line) <= set("|-: "):
        return heads or cells
    out.extend(_wrapped(f"- {cells[0]}", width, "  "))
    for head, cell in zip(heads[1:], cells[1:], strict=False):
        out.extend(_wrapped(f"  {head}: {cell}", width, "    "))
    return heads


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines or [""]
