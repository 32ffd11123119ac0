"""Twenty replies to people's own words, drawn with a seed, as they are posted: short, polite, and the same each time.

`python -m tests.report.test_golden_replies` writes them again; read each one line by line before it is committed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

from doctor.engine.pasted import judge_pasted
from doctor.knowledge import Knowledge
from doctor.report.formats import markdown
from doctor.triage.read import read_pasted

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "golden" / "replies"
SEED, COUNT, OF_HEALTHY = 25, 20, 3
ONE_CAUSE, MORE = 15, 25
"""Lines of a reply with one cause, and with more."""


def _drawn() -> list[tuple[str, str]]:
    """(name, text): sick ones and a few healthy ones, of the half that may be read."""
    rows = [json.loads(line) for line in (ROOT / "benchmarks" / "triage" / "people.jsonl").read_text().splitlines()]
    readable = [row for row in rows if hashlib.sha256(row["name"].encode()).digest()[0] % 2 == 0]
    healthy = [row for row in readable if row["cause"] == ["none"]]
    sick = [row for row in readable if row["cause"] != ["none"]]
    draw = random.Random(SEED)
    chosen = draw.sample(sick, COUNT - OF_HEALTHY) + draw.sample(healthy, OF_HEALTHY)
    return sorted((row["name"], row["text"]) for row in chosen)


@cache
def _replies() -> dict[str, str]:
    kb = Knowledge()
    return {name: markdown.render(judge_pasted(read_pasted([text.encode()]), kb)) for name, text in _drawn()}


def test_the_replies_are_those_that_were_read() -> None:
    wanted = {path.stem: path.read_text() for path in FOLDER.glob("*.md")}
    assert _replies() == wanted


def test_a_reply_is_short() -> None:
    long = {}
    for name, reply in _replies().items():
        lines = [line for line in reply.splitlines() if line.strip()]
        causes = sum(line.startswith("**") and "confidence" in line for line in lines)
        if len(lines) > (ONE_CAUSE if causes <= 1 else MORE):
            long[name] = (causes, len(lines))
    assert long == {}


def test_a_reply_does_not_depend_on_the_hash_seed() -> None:
    program = "from tests.report.test_golden_replies import _replies; import sys; sys.stdout.write(repr(_replies()))"
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}  # ours here is drawn by chance
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert done.stdout == repr(_replies())


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stale in FOLDER.glob("*.md"):
        stale.unlink()
    for name, reply in _replies().items():
        (FOLDER / f"{name}.md").write_text(reply)
