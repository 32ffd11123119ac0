"""The words of a pasted text -> causes whose texts it is like. Bounded: the first lines of a text count, and words that
the table knows.

>>> words = Words()
>>> lines = "### What happens", "nvidia-smi works on the host", "started without --gpus all"
>>> _ = list(words.through(enumerate(lines, 1)))
>>> words.resembles()[0].cause
'container-missing-gpu-passthrough'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts.snapshot import Resemblance
from doctor.intake.speech import Speech
from doctor.knowledge.wording import shared, symptom_word, words_of

LINES_LIMIT = 1200


class Words:
    """Made for one text. Keeps the line that each known word stands on first, and whether somebody speaks."""

    def __init__(self) -> None:
        self.known = shared().words
        self.lines: dict[str, int] = {}
        self.speech = Speech()

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are."""
        for count, row in enumerate(lines):
            if count < LINES_LIMIT and row[1].strip():
                self.speech.hear(row[1])
                for word in words_of(row[1]):
                    if word in self.known:
                        self.lines.setdefault(word, row[0])
            yield row

    def resembles(self, symptoms: Iterable[str] = ()) -> tuple[Resemblance, ...]:
        """What the words are like, and the keys of the error texts found among them. Nothing of a tool's output alone:
        its words are the same on a machine in which nothing is wrong. Nothing where nothing is complained of: who shows
        a setup or asks for a feature uses the same words."""
        if not (self.speech.asks and self.speech.complains):
            return ()
        return tuple(
            Resemblance(
                cause=like.cause,
                share=round(like.share, 3),
                words=like.words,
                source=f"text:{self.lines[like.words[0]]}" if like.words else "text",
            )
            for like in shared().like({*self.lines, *map(symptom_word, symptoms)})
        )
