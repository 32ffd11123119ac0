"""A template's text, compiled: literal pieces and typed holes, found in one line in linear time.

The longest literal is looked for; from each place where it is the pieces on either side are compared. A hole ends
at one of the first few places where the next literal stands: what a line costs is bounded by its length, whatever it
repeats.

>>> pattern = compiled("{soname:libcudart}: cannot open shared object file")
>>> pattern.anchor
': cannot open shared object file'
>>> pattern.found_in(normal("ImportError:  libcudart.so.12: cannot open  shared object file: No such file"))
True
>>> pattern.found_in(normal("libhipblas.so.2: cannot open shared object file"))
False
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from doctor.triage.templates.holes import HOLES, Hole, fits

LEAST_LITERAL = 12
"""Literal characters that a template needs in all, one piece of `LEAST_ANCHOR` among them: less says nothing."""
LEAST_ANCHOR = 6
LEEWAY = 8
"""Places at which a literal beside a hole is tried."""
PLACES = 64
"""Places of the anchor in one line from which the other pieces are compared; a line that repeats it says no more."""
_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " "})
_ENDS = ".,;:!?)'\""
"""What may follow the last hole as punctuation of the sentence."""


class Piece(NamedTuple):
    """A literal (`hole` is None), or a hole and the words of which it must begin with one."""

    literal: str
    hole: Hole | None = None
    choices: tuple[str, ...] = ()


def normal(line: str) -> str:
    """The line as templates see it: lower case, one blank for a run of them, straight quotes, JSON's
    escaped ones too."""
    return " ".join(line.translate(_STRAIGHT).replace('\\"', '"').lower().split())


class Pattern:
    """The pieces of one template in order."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces
        self.place = max(range(len(pieces)), key=lambda n: len(pieces[n].literal))
        self.anchor = pieces[self.place].literal

    def found_in(self, line: str) -> bool:
        """Whether the line, as `normal` makes it, holds the template."""
        return self.place_in(line) is not None

    def place_in(self, line: str) -> int | None:
        """Where the longest literal is in a line that holds the template."""
        at = line.find(self.anchor)
        for _ in range(PLACES):
            if at < 0:
                return None
            if self._after(line, at + len(self.anchor)) and self._before(line, at):
                return at
            at = line.find(self.anchor, at + 1)
        return None

    def _after(self, line: str, at: int) -> bool:
        """Whether the pieces after the anchor are at `at`."""
        rest = self.pieces[self.place + 1 :]
        places = [at]
        for piece, following in zip(rest[::2], (*rest[1::2], None), strict=False):
            hole = _of(piece)
            if following is None:
                return any(_fits_at_end(hole, piece.choices, line[at : at + hole.most]) for at in places)
            places = _within(_next(line, at, piece, following.literal) for at in places)
        return bool(places)

    def _before(self, line: str, at: int) -> bool:
        """Whether the pieces before the anchor end at `at`."""
        rest = self.pieces[: self.place][::-1]
        places = [at]
        for piece, preceding in zip(rest[::2], (*rest[1::2], None), strict=False):
            hole = _of(piece)
            if preceding is None:
                return any(_fits_at_start(hole, piece.choices, line[max(0, at - hole.most) : at]) for at in places)
            places = _within(_previous(line, at, piece, preceding.literal) for at in places)
        return bool(places)


def _within(found: Iterable[Iterable[int]]) -> list[int]:
    """The places without doubles; so few that a line costs no more than its length."""
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))[:LEEWAY]


def _next(line: str, at: int, piece: Piece, literal: str) -> Iterator[int]:
    """Where the literal that follows a hole ends: the first places at which what is between fits."""
    hole = _of(piece)
    end = line.find(literal, at, at + hole.most + len(literal))
    for _ in range(LEEWAY):
        if end < 0:
            return
        if fits(hole, piece.choices, line[at:end]):
            yield end + len(literal)
        end = line.find(literal, end + 1, at + hole.most + len(literal))


def _previous(line: str, at: int, piece: Piece, literal: str) -> Iterator[int]:
    """Where the literal before a hole starts, the nearest first."""
    hole = _of(piece)
    least = max(0, at - hole.most - len(literal))
    start = line.rfind(literal, least, at)
    for _ in range(LEEWAY):
        if start < 0:
            return
        if fits(hole, piece.choices, line[start + len(literal) : at]):
            yield start
        start = line.rfind(literal, least, start + len(literal) - 1)


def _of(piece: Piece) -> Hole:
    if piece.hole is None:
        raise ValueError("two literals stand beside each other")
    return piece.hole


def _fits_at_end(hole: Hole, choices: tuple[str, ...], text: str) -> bool:
    """A last hole takes all of its characters that follow, less the punctuation that ends a sentence."""
    if hole.name == "quoted":
        end = text.find("'" if text[:1] == "`" else text[:1], 1)
        return end > 0 and fits(hole, choices, text[: end + 1])
    end = 0
    while end < len(text) and (hole.may is None or text[end] in hole.may):
        end += 1
    run = text[:end]
    return fits(hole, choices, run) or fits(hole, choices, run.rstrip(_ENDS))


def _fits_at_start(hole: Hole, choices: tuple[str, ...], text: str) -> bool:
    """A first hole takes all of its characters that are before, less an opening quote or bracket."""
    if hole.name == "quoted":
        start = text.rfind("`" if text[-1:] == "'" and "`" in text else text[-1:], 0, -1)
        return start >= 0 and fits(hole, choices, text[start:])
    start = len(text)
    while start > 0 and (hole.may is None or text[start - 1] in hole.may):
        start -= 1
    run = text[start:]
    return fits(hole, choices, run) or fits(hole, choices, run.lstrip("([{<'\"`*=-"))


@lru_cache(4096)
def compiled(text: str) -> Pattern:
    """Raises ValueError for a hole of no known kind, two holes side by side, and a text with too little that is
    literal."""
    pieces = tuple(_pieces(text))
    for one, two in itertools.pairwise(pieces):
        if one.hole and two.hole:
            raise ValueError(f"no literal text between two holes: {text!r}")
    literals = [piece.literal for piece in pieces if piece.hole is None]
    if max(map(len, literals), default=0) < LEAST_ANCHOR or sum(map(len, literals)) < LEAST_LITERAL:
        raise ValueError(f"too little literal text (at least {LEAST_LITERAL} characters): {text!r}")
    return Pattern(pieces)


_PART = re.compile(r"((?:\{\{|[^{])+)|\{([^}]*)(\}?)")


def _pieces(text: str) -> Iterator[Piece]:
    for literal, hole, closed in _PART.findall(text):
        if literal:
            yield Piece(_literal(literal.replace("{{", "{").replace("}}", "}")))
        elif closed:
            yield _hole(hole)
        else:
            raise ValueError(f"a brace that is not closed: {text!r}")


def _literal(text: str) -> str:
    """As `normal`, but blanks at its ends stay: a hole is there."""
    start = " " if text[0].isspace() else ""
    end = " " if text[-1].isspace() and text.strip() else ""
    return f"{start}{normal(text)}{end}"


def _hole(text: str) -> Piece:
    kind, _, choices = text.partition(":")
    if kind not in HOLES:
        raise ValueError(f"{{{kind}}}: no such hole (choose from {', '.join(HOLES)})")
    return Piece("", HOLES[kind], tuple(choice.lower() for choice in choices.split("|")) if choices else ())
