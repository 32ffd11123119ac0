"""The corpora through a bundle, a file for each, as `--include` takes them: `python -m benchmarks.redaction.bundled`.

Names that one text tells go from all of them, and a fact may be eaten because some other text gave a name. Told are
totals by half; with `--left` what is left of the known half.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.redaction import corpus
from benchmarks.redaction.__main__ import Count
from doctor.bundle.record import make
from doctor.engine.run import Options
from doctor.system.live import LiveSystem

_MARK = "--- text {} ---"


def bundled(half: str) -> dict[str, Count]:
    """What is left and eaten of a half when all of it is in one bundle."""
    rows = {
        "secrets left": list(corpus.secrets(half)),
        "identities left": list(corpus.identities(half)),
        "facts eaten": list(corpus.survivors(half)),
    }
    rows = {what: planted for what, planted in rows.items() if planted}
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for what, planted in rows.items():
            path = Path(folder, what.replace(" ", "-"))
            path.write_text("".join(f"{_MARK.format(n)}\n{row.text}\n" for n, row in enumerate(planted)))
            paths.append(str(path))
        made = make(LiveSystem({}), created="2026-01-01T00:00:00Z", include=paths, options=Options(probes=()))
    counts = {}
    for what, planted in rows.items():
        name = next(n for n in made.files if what.replace(" ", "-") in n)
        counts[what] = Count()
        for row, told in zip(planted, _parted(made.files[name].decode(), len(planted)), strict=True):
            _count(counts[what], what, row, told)
    return counts


def _parted(text: str, number: int) -> Iterator[str]:
    for n in range(number):
        _, _, behind = text.partition(_MARK.format(n) + "\n")
        yield behind.partition(_MARK.format(n + 1) + "\n")[0]


def _count(count: Count, what: str, row: corpus.Planted, told: str) -> None:
    if what == "facts eaten":
        count.planted[row.kind] += 1
        if told.rstrip("\n") != row.text.rstrip("\n"):
            count.left[row.kind] += 1
            count.rows.append(f"{row.kind}: {row.text!r} became {told!r}")
        return
    is_there = corpus.is_left if what == "secrets left" else corpus.names
    for thing in row.things:
        count.planted[row.kind] += 1
        if is_there(thing, told):
            count.left[row.kind] += 1
            count.rows.append(f"{row.kind}: {thing[0]!r} in {told!r}")


def main() -> int:
    for half in corpus.HALVES:
        for what, count in bundled(half).items():
            print(f"{half:<12} {what:<18} {count.told()}")
            if "--left" in sys.argv and half == "known":
                print("".join(f"    {row}\n" for row in count.rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
