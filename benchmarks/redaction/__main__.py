"""What redaction leaves of planted things: `python -m benchmarks.redaction`; `--kinds` tells by kind, `--left` what is
left of the known half. Of the independent half only totals are told: it is no list to work off.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable

from benchmarks.redaction import corpus
from doctor.redaction import Redactor


class Count:
    """Things planted and left, by kind."""

    def __init__(self) -> None:
        self.planted: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.rows: list[str] = []

    def told(self) -> str:
        planted, left = self.planted.total(), self.left.total()
        return f"{left} of {planted} ({100 * left / max(1, planted):.1f} %), {len(self.planted)} kinds"


def leaks(
    planted: Iterable[corpus.Planted],
    clean: Callable[[str], str],
    is_there: Callable[[tuple[str, ...], str], bool],
) -> Count:
    count = Count()
    for row in planted:
        told = clean(row.text)
        for thing in row.things:
            count.planted[row.kind] += 1
            if is_there(thing, told):
                count.left[row.kind] += 1
                count.rows.append(f"{row.kind}: {thing[0]!r} in {told!r}")
    return count


def eaten(planted: Iterable[corpus.Planted], clean: Callable[[str], str]) -> Count:
    count = Count()
    for row in planted:
        count.planted[row.kind] += 1
        if (told := clean(row.text)) != row.text:
            count.left[row.kind] += 1
            count.rows.append(f"{row.kind}: {row.text!r} became {told!r}")
    return count


def beside(half: str, clean: Callable[[str], str]) -> Count:
    count = Count()
    for kind, text, facts in corpus.facts_beside(half):
        told = clean(text)
        for fact in facts:
            count.planted[kind] += 1
            if fact not in told:
                count.left[kind] += 1
                count.rows.append(f"{kind}: {fact!r} of {text!r} in {told!r}")
    return count


def measured(half: str, clean: Callable[[str], str]) -> dict[str, Count]:
    return {
        "secrets left": leaks(corpus.secrets(half), clean, corpus.is_left),
        "identities left": leaks(corpus.identities(half), clean, corpus.names),
        "facts beside eaten": beside(half, clean),
        "facts eaten": eaten(corpus.survivors(half), clean),
    }


def main() -> int:
    for half in corpus.HALVES:
        for what, count in measured(half, lambda text: Redactor().text(text)).items():
            print(f"{half:<12} {what:<18} {count.told()}")
            if "--left" in sys.argv and half == "known":
                print("".join(f"    {row}\n" for row in count.rows), end="")
            if "--kinds" in sys.argv:
                print("".join(f"    {k:<22} {count.left[k]:>3} of {n}\n" for k, n in count.planted.items()), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
