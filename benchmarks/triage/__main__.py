"""Score `doctor triage` on people's own words: `python -m benchmarks.triage [FOLDER …]`.

people.jsonl: 60 texts with a cause and 60 in which nothing is wrong, labelled before any program read them. Half a may
be read; half b (an odd first byte of the name's SHA-256) is scored and never tuned to. quoting.jsonl: 57 texts that
quote an error and report none (solved, release notes, pull requests, manuals, questions, source), and 40 reports with
words of success or of the past. FOLDER: more labelled texts, as `tickets/NAME.md` and `labels.json`. Prints for each
set what is named, helped (named, or the first hint), first, accused, noise and quiet, and over all of them how often a
hint of each confidence is right.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from doctor.engine.pasted import judge_pasted
from doctor.findings import Report, Severity
from doctor.knowledge import Knowledge
from doctor.triage.read import read_pasted

HERE = Path(__file__).parent
BINS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01)
LEAST = 30


@dataclass
class Labelled:
    name: str
    text: str
    cause: set[str]
    also: set[str]
    never: set[str]

    @property
    def half(self) -> str:
        return "ab"[hashlib.sha256(self.name.encode()).digest()[0] % 2]


@dataclass
class Score:
    sick: int = 0
    healthy: int = 0
    named: int = 0
    helped: int = 0
    first: int = 0
    accused: int = 0
    noise: int = 0
    quiet: int = 0
    hints: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, one: Labelled, report: Report) -> None:
        counted = [f for f in report.findings if not f.explained_by]
        raised = [f.rule for f in counted if f.severity is not Severity.INFO]
        errors = {f.rule for f in counted if f.severity is Severity.ERROR}
        guess = report.hints[0].rule if report.hints else None
        fair = one.cause | one.also
        self.hints += [(hint.confidence, hint.rule in fair) for hint in report.hints]
        if one.cause == {"none"}:
            self.healthy += 1
            self.quiet += not raised
            return
        self.sick += 1
        hit = bool(one.cause & set(raised))
        self.named += hit
        self.helped += hit or guess in one.cause
        self.first += (raised[0] if raised else guess) in fair
        self.accused += bool(set(raised) & one.never or errors - fair)
        self.noise += len(set(raised) - fair)

    def line(self) -> str:
        of = f"/{self.sick}"
        return (
            f"named {self.named}{of}  helped {self.helped}{of}  first {self.first}{of}  accused {self.accused}{of}  "
            f"noise {self.noise}{of}  quiet {self.quiet}/{self.healthy}"
        )


def own(name: str) -> Iterator[Labelled]:
    for line in (HERE / name).read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Labelled(row["name"], row["text"], set(row["cause"]), set(row["also"]), set(row["not"]))


def folder(path: Path) -> Iterator[Labelled]:
    for name, row in json.loads((path / "labels.json").read_text("utf-8")).items():
        if row.get("decidable") != "no" or row["root_cause"] == ["none"]:
            text = (path / "tickets" / f"{name}.md").read_text("utf-8")
            also, never = set(row["also_acceptable"]), set(row["must_not"])
            yield Labelled(name, text, set(row["root_cause"]), also, never)


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share, 95 %."""
    z, share = 1.96, right / of
    middle, about = share + z * z / (2 * of), 1 + z * z / of
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / about, (middle + spread) / about


def reliability(hints: list[tuple[float, bool]]) -> Iterator[str]:
    """A line a bin of at least `LEAST` hints; a smaller one is joined with the next."""
    rows: list[tuple[float, bool]] = []
    low = start = BINS[0]
    for high in BINS[1:]:
        rows += [row for row in hints if low <= row[0] < high]
        low = high
        if not rows or (len(rows) < LEAST and high < BINS[-1]):
            continue
        said = sum(confidence for confidence, _ in rows) / len(rows)
        right = sum(fair for _, fair in rows)
        least, most = interval(right, len(rows))
        verdict = "meets its bin" if least < high and most >= start else "MISSES ITS BIN"
        share = f"right {right / len(rows):.2f} ({least:.2f} to {most:.2f})"
        yield f"  {start:.2f} to {min(high, 1):.2f}: {len(rows)} hints, said {said:.2f}, {share}: {verdict}"
        rows, start = [], high


def main() -> int:
    kb = Knowledge()
    people = list(own("people.jsonl"))
    sets = {f"people, half {half}": [one for one in people if one.half == half] for half in "ab"}
    sets["quoting"] = list(own("quoting.jsonl"))
    sets |= {path: list(folder(Path(path))) for path in sys.argv[1:]}
    hints: list[tuple[float, bool]] = []
    for name, texts in sets.items():
        score = Score()
        for one in texts:
            score.add(one, judge_pasted(read_pasted([one.text.encode()]), kb))
        hints += score.hints
        print(f"{name}: {score.line()}")
    print("hints, all sets together:")
    print("\n".join(reliability(hints)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
