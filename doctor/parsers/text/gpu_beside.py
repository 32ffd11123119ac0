"""What is beside a number or a short code, and makes it a GPU or another thing."""

from __future__ import annotations

from doctor.parsers.text import gpu_words
from doctor.parsers.text.tokens import Token


def near(row: list[Token]) -> list[int]:
    """Places of words that say that GPUs are spoken of."""
    return [
        at
        for at, token in enumerate(row)
        if token.low in gpu_words.GPU_WORDS
        or token.low in gpu_words.MAKERS
        or (not token.text.isascii() and any(w in token.text for w in gpu_words.OF_GPUS))
    ]


def times(row: list[Token], at: int) -> bool:
    """Whether a count is right before: `8xA100`, `2x3090`."""
    if row[at - 1].low == "x" and row[at - 1].glued and at > 1 and row[at - 2].number:
        return len(row[at - 2].text) <= 2
    return False


def of_another(row: list[Token], start: int) -> bool:
    """Whether what is right before a bare number makes it the number of another thing: a port, a step, a price."""
    before = row[start - 1]
    if before.text == ":" and start > 1 and row[start - 2].low in gpu_words.GPU_WORDS:
        return False
    return before.low in gpu_words.NOT_BEHIND or (before.text in "#$€./-" and row[start].glued)


def firm(row: list[Token], at: int) -> bool:
    """A suffix that is written as one: glued, in capitals, or with nothing but signs and small words behind it."""
    suffix = row[at + 1]
    if suffix.glued or suffix.text[0].isupper():
        return True
    return (
        at + 2 >= len(row)
        or not row[at + 2].word
        or row[at + 2].low in gpu_words.MAY_FOLLOW
        or row[at + 2].low in gpu_words.TAIL
    )


def glued_end(row: list[Token], at: int) -> bool:
    """Whether what is glued to a number may end a GPU's name: a plural's `s`, a sign, letters of another script."""
    low = row[at].low
    if low in ("s", "m", "d") and (at + 1 >= len(row) or not row[at + 1].glued or not row[at + 1].text[0].isalnum()):
        return True
    return (not row[at].text[0].isalnum() and row[at].text not in ".%:$#") or not row[at].text.isascii()


def beside(row: list[Token], start: int, end: int, near: list[int]) -> bool:
    """Whether a word of GPUs, a size of memory or a count is beside the name."""
    if any(start - 4 <= at < start or end <= at < end + 4 for at in near):
        return not any(t.text in ".;" and not t.glued for t in row[end : end + 3])
    for at in range(end, min(end + 5, len(row) - 1)):
        if row[at].number and row[at + 1].low in ("gb", "g", "gig", "gigs", "gib"):
            return True
    return multiplied(row, start) > 1


def had(row: list[Token], start: int, end: int) -> bool:
    """A thing that somebody has: an article before it, and no noun behind it."""
    if start > 1 and row[start - 1].low in ("old", "new", "used", "spare", "second"):
        start -= 1
    if not start or row[start - 1].low not in gpu_words.ARTICLES:
        return False
    return end >= len(row) or not row[end].word or row[end].low in gpu_words.MAY_FOLLOW


def multiplied(row: list[Token], start: int) -> int:
    """8 of `8x A100`, `8 x A100`, `4*H20`; 0 where no such count is before."""
    if start < 2 or row[start - 1].low not in ("x", "×", "*") or not row[start - 2].number:
        return 0
    number = row[start - 2].text
    return int(number) if number.isdecimal() and len(number) <= 2 else 0


def count(row: list[Token], first: int, last: int) -> int:
    count = multiplied(row, first)
    if not count and first:
        before = row[first - 1]
        plural = row[last - 1].low == "s" or (last < len(row) and row[last].low in ("gpus", "cards"))
        if before.low in gpu_words.COUNTS:
            count = gpu_words.COUNTS[before.low]
        elif plural and before.number and before.text.isdecimal() and len(before.text) <= 2:
            count = int(before.text)
    return min(max(count, 1), gpu_words.COUNTS_LIMIT)
