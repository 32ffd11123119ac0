"""Markdown paragraphs filled to a width: headings, list items and code stay what they are.

>>> print(fill("## Fix\\nUpdate the driver\\non the host.\\n- one item that\\n  goes on", 40))
## Fix
Update the driver on the host.
- one item that goes on
"""

from __future__ import annotations

import re
import textwrap

_OPENS = re.compile(r"^(#{1,6} |[-*] |\d+\. |\||```|    )")


def fill(markdown: str, width: int) -> str:
    """The same Markdown, each paragraph and list item on lines of at most `width` columns."""
    out: list[str] = []
    held: list[str] = []
    fenced = False

    def flush() -> None:
        if held:
            item = re.match(r"^([-*] |\d+\. )", held[0])
            indent = " " * len(item[0]) if item else ""
            text = " ".join(part.strip() for part in held)
            out.extend(textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False) or [""])
            held.clear()

    for line in markdown.splitlines():
        fence = line.startswith("```")
        if fenced or fence or not line.strip() or line.startswith(("#", "|", "    ")):
            flush()
            out.append(line.rstrip())
            fenced ^= fence
            continue
        if _OPENS.match(line):
            flush()
        held.append(line)
    flush()
    return "\n".join(out)
