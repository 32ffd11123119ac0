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
_IN_PASSING = 12
"""Lines: a complaint in passing."""
SAID_AT_LEAST = 3
"""Tools print a sentence or two themselves."""
_OF_A_TOOL = re.compile(
    r"\s{4}|\t|\s{0,3}(?:[|+=\[<{}]|# |\d\d:\d\d[:.]|\d{4}-\d\d|\*{2,}\W|[^:]{1,60}?\s{2,60}[:=]?\s|[^:]{1,60}:\s{2}"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )"
)
"""Rows of tables and trees, stamps of logs, aligned settings, comments: a tool's words, not a person's."""
_MARKDOWN = ("```", "### ", "## ", "<details")
_LABEL = re.compile(r"\s{0,3}(?:[-*>#] ?){0,2}[^:\n]{1,40}: ")
_MARKUP = re.compile(r"\s*<(?:\?xml|!--|!DOCTYPE|(?!details)[a-z_]{3,30}[ >])")
_PLAIN = re.compile(r"[A-Za-z][a-z']*[.,;:!?]?")
_BETWEEN = re.compile(
    "(?:the|an?|is|are|was|were|i|we|its?|my|our|th(?:is|at|ese|en|an|ere)|with(?:out)?|when|after|but|and|(?:in)?to|of|in|on"
    "|not?|do(?:es)?|can(?:not)?|only|same|from|for|work(?:s|ed)?|fail(?:s|ed)?|still|any|both|ha[sd]|have|as|at|by|or|if"
    "|so|while|been?|gets?|got|instead)$"
)
"""Words that sentences are made with; tools print lists, names and numbers."""
_NUMBER = re.compile(r"\d+")
_COMPLAINT = re.compile(
    r"\b(?:error|fail|cannot|can'?t\b|unable|crash|hang|hung|slow|wrong|missing|denied|not\b|no\b|without|invalid|abort"
    r"|segfault|killed|timeout|timed out|stuck|corrupt|breaks?\b|broken|unsupported|mismatch|\w{1,20}Error\b)",
    re.IGNORECASE,
)
_SHORT = 8
"""Lines; of a longer text three are asked for."""
_LITTLE_WORDS = re.compile(
    r"\b(?:a|after|all|and|as|at|but|by|cannot|does|for|from|has|have|i|in|is|it|its|me|my|no|not|of|on|only|or|our|so|still"
    r"|than|that|the|then|there|this|to|was|we|when|while|with|without)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 7
_TYPED = re.compile(r"[A-Za-z][A-Za-z ]{1,24}: \S")
_TYPED_AT_MOST = 6
"""Lines: `GPU: Strix Halo`, `Kernel: 6.14` and nothing else is what somebody typed to ask about; tools print more."""


class Words:
    """Made for one text. Keeps the line that each known word stands on first."""

    def __init__(self) -> None:
        self.known = shared().words
        self.lines: dict[str, int] = {}
        self.said = 0
        """Lines in which somebody speaks, each once: what is printed again and again is a tool's."""
        self._held = self._prose = self._typed = 0
        """Lines that hold anything, and whole sentences and labelled words among them."""
        self._heard: set[str] = set()
        self._count = 0
        self._begun = self._markup = False
        """A text that is an XML document from its first line on holds a tool's comments."""

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are."""
        for count, row in enumerate(lines):
            self._markup = self._markup or (not self._begun and _MARKUP.match(row[1]) is not None)
            self._begun = self._begun or bool(row[1].strip())
            self._count += bool(row[1].strip())
            if count < LINES_LIMIT:
                self._held += bool(row[1].strip())
                self._prose += self._held < _SHORT and _is_prose(row[1])
                self._typed += self._held <= _TYPED_AT_MOST and _TYPED.match(row[1]) is not None
                self._hear(row[1])
                for word in words_of(row[1]):
                    if word in self.known:
                        self.lines.setdefault(word, row[0])
            yield row

    def _hear(self, line: str) -> None:
        if self.said >= SAID_AT_LEAST or not (said := _said(line)):
            return
        told = _NUMBER.sub("#", line[:400])
        if told not in self._heard:
            self._heard.add(told)
            self.said += said

    @property
    def speaks(self) -> bool:
        """Whether somebody may speak here: sentences, or so few lines that one of them may be all that was said."""
        return self.said >= SAID_AT_LEAST or self._count <= _IN_PASSING

    @property
    def spoken(self) -> bool:
        """Whether somebody does speak: sentences, or one in so few lines that no tool's output is around it, or a few
        labels that somebody filled in."""
        if 0 < self._held == self._typed:
            return True
        return not self._markup and self.said >= (1 if self._count <= _IN_PASSING else SAID_AT_LEAST)

    def resembles(self) -> tuple[Resemblance, ...]:
        """Nothing of a tool's output alone: its words are the same on a machine in which nothing is wrong. Of a few
        lines most must be whole sentences, or all be somebody's and one a sentence."""
        short = self._prose * 2 > self._held or (self._prose > 0 and self.said == self._held)
        if self._markup or (self.said < SAID_AT_LEAST and not short):
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


def _is_prose(line: str) -> bool:
    """Whether it is a whole sentence: seven words, three of them (or a third) the little ones that join others."""
    line = line[:400]
    words = len(re.findall(r"[A-Za-z']+", line))
    if words < _LEAST_WORDS or _OF_A_TOOL.match(line):
        return False
    little = len(_LITTLE_WORDS.findall(line))
    return little >= 3 or little * 3 >= words


def _said(line: str) -> int:
    """1 for a sentence, or a labelled complaint (`Observed: cuInit fails with 999`); enough for the marks of Markdown,
    which only people set."""
    line = line[:400]
    if line.startswith(_MARKDOWN):
        return SAID_AT_LEAST
    if _OF_A_TOOL.match(line):
        return 0
    label = _LABEL.match(line)
    words = (line[label.end() :] if label else line).split()
    plain = [word for word in words if _PLAIN.fullmatch(word)]
    between = {low for word in plain if _BETWEEN.match(low := word.lower().rstrip(".,;:!?"))}
    if len(words) >= 4 and len(between) >= 2 and len(plain) * 2 >= len(words):
        return 1
    terse = len(words) >= 5 and between and len(plain) * 5 >= len(words) * 4
    if terse and not _NUMBER.search(line) and ":" not in line:
        return 1
    return int(label is not None and len(plain) * 3 >= len(words) * 2 > 2 and _COMPLAINT.search(line) is not None)
