"""The words of a pasted text -> causes whose texts it is like. Bounded: the first lines of a text count, and words that
the table knows.

>>> words = Words()
>>> lines = "### What happens", "nvidia-smi works on the host", "started without --gpus all"
>>> _ = list(words.through(enumerate(lines, 1)))
>>> words.resembles()[0].cause
'container-missing-gpu-passthrough'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.facts.snapshot import Resemblance
from doctor.knowledge.wording import shared, words_of

LINES_LIMIT = 1200
SAID_AT_LEAST = 3
"""Tools print a sentence or two themselves."""
_OF_A_TOOL = re.compile(r"\s{4}|\s{0,3}(?:[|+=\[<{}]|\d\d:\d\d[:.]|\d{4}-\d\d|\*{2,}\W|[^:]{1,60}?\s{2,60}[:=]?\s)")
"""Rows of tables and trees, stamps of logs, aligned settings: a tool's words, not a person's."""
_MARKDOWN = ("```", "### ", "## ", "<details")
_LABEL = re.compile(r"\s{0,3}(?:[-*>#] ?){0,2}[^:\n]{1,40}: ")
_SENTENCE = re.compile(r"\s{0,3}(?:[-*>] ){0,2}(?:\S{1,60} ){3,}\S{1,60}\s*$")
"""Four words or more, with single spaces between them."""
_COMPLAINT = re.compile(
    r"\b(?:error|fail|cannot|can'?t\b|unable|crash|hang|hung|slow|wrong|missing|denied|not\b|no\b|without|invalid|abort"
    r"|segfault|killed|timeout|timed out|stuck|corrupt|breaks?\b|broken|unsupported|mismatch|\w{1,20}Error\b)",
    re.IGNORECASE,
)


class Words:
    """Made for one text. Keeps the line that each known word stands on first."""

    def __init__(self) -> None:
        self.known = shared().words
        self.lines: dict[str, int] = {}
        self.said = 0
        """Lines in which somebody speaks."""

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are."""
        for count, row in enumerate(lines):
            if count < LINES_LIMIT:
                self.said += _said(row[1])
                for word in words_of(row[1]):
                    if word in self.known:
                        self.lines.setdefault(word, row[0])
            yield row

    def resembles(self) -> tuple[Resemblance, ...]:
        """Nothing of a tool's output alone: its words are the same on a machine in which nothing is wrong."""
        if self.said < SAID_AT_LEAST:
            return ()
        return tuple(
            Resemblance(
                cause=like.cause,
                share=round(like.share, 3),
                words=like.words,
                source=f"text:{self.lines[like.words[0]]}" if like.words else "text",
            )
            for like in shared().like(self.lines)
        )


def _said(line: str) -> int:
    """1 for a sentence, or a labelled one (`Observed: cuInit fails with 999`); enough for the marks of Markdown, which
    only people set."""
    line = line[:400]
    if line.startswith(_MARKDOWN):
        return SAID_AT_LEAST
    if _OF_A_TOOL.match(line):
        return 0
    label = _LABEL.match(line)
    words = line[label.end() :] if label else line
    return int(_SENTENCE.match(words) is not None or (" " in words.strip() and _COMPLAINT.search(words) is not None))
