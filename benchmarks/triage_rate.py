"""Tickets that triage judges in a second on one core, after start-up: `python -m benchmarks.triage_rate [FOLDER]`.

In one process: the catalogue and the rules are loaded and every ticket judged once, then intake, judgement and
rendering as JSONL are timed over all tickets. Nothing of a ticket is printed.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import doctor.cli.main  # noqa: F401 -- sets the garbage collector as the program has it
from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.report.formats import jsonl
from doctor.triage.read import read_text

TICKETS = Path(__file__).resolve().parents[2] / "shared" / "field" / "dev" / "tickets"
ROUNDS = 5


def judged(text: bytes, kb: Knowledge) -> str:
    return jsonl.render(judge(read_text([text]), kb, source="-"))


def seconds(texts: list[bytes], kb: Knowledge) -> list[float]:
    """CPU seconds of each ticket."""
    spent = []
    for text in texts:
        start = time.process_time()
        judged(text, kb)
        spent.append(time.process_time() - start)
    return spent


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TICKETS
    texts = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else []
    if not texts:
        print(f"no tickets in {folder}")
        return 2
    kb = Knowledge()
    seconds(texts, kb)
    rounds = [seconds(texts, kb) for _ in range(ROUNDS)]
    rates = [len(texts) / sum(spent) for spent in rounds]
    slowest = max(max(spent) for spent in rounds)
    size = sum(map(len, texts)) / len(texts) / 1024
    print(
        f"{len(texts)} tickets of {size:.1f} KiB on average, {ROUNDS} rounds, CPU time of one core: "
        f"median {statistics.median(rates):.0f} tickets/s (lowest {min(rates):.0f}, highest {max(rates):.0f}); "
        f"slowest ticket {slowest * 1000:.0f} ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
