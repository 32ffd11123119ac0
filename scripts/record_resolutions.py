"""Asks uv about the stacks that `doctor solve` answers with, and keeps what it said (data/resolutions.json).

The stacks: every query of tests/resolve/queries.txt, and every way to install a package, with its newest and its oldest
known release, for each Python. What needs an index that can't be reached is listed and not recorded.

    scripts/record_resolutions.py [--again] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from doctor.errors import InputError
from doctor.knowledge import Knowledge
from doctor.knowledge.store import DATA, table
from doctor.resolve import Resolution, Target, described, settle
from doctor.resolve.resolver import Question, Uv, find_uv
from doctor.versions import Dotted

REPO = Path(__file__).resolve().parents[1]
KEPT = DATA / "resolutions.json"
KB = Knowledge()
PYTHONS = ("3.10", "3.12", "3.14")
GPUS = {"nvidia": ("sm_61", "sm_90", "sm_120"), "amd": ("gfx942",)}


class Recorder:
    """Answers from what is recorded already, else by uv, and remembers."""

    def __init__(self, uv: Uv, again: bool, ends: float) -> None:
        self.uv, self.again, self.ends = uv, again, ends
        self.entries: dict[str, dict[str, str]] = dict(table("resolutions"))
        self.fresh: dict[tuple[str, str], Resolution] = {}
        self.unreached: Counter[str] = Counter()

    def __call__(self, question: Question) -> Resolution:
        key = (question.key, question.glibc)
        if key in self.fresh:
            return self.fresh[key]
        lost = [url for url in question.indexes if not reached(url)]
        if lost:
            self.unreached[lost[0]] += 1
            return Resolution("not-tried", detail=f"{lost[0]} can't be reached")
        old = None if self.again else known(self.entries.get(question.key), question.glibc)
        if old is None and time.monotonic() > self.ends:
            return Resolution("not-tried", detail="no time left")
        said = old or self.uv(question)
        self.fresh[key] = said
        if old is None:
            self.keep(question, said)
        return said

    def keep(self, question: Question, said: Resolution) -> None:
        if said.state == "not-tried":
            if said.by and not question.left_out and "can't be reached" not in said.detail:
                row = {"id": question.key, "by": said.by, "source": said.source, "as_of": said.as_of}
                self.entries.setdefault(question.key, {**row, "detail": said.detail})
            return
        row = self.entries.setdefault(question.key, {"id": question.key})
        if said.as_of != row.get("as_of"):
            for name in ("resolved_from", "refused_to", "refusal"):
                row.pop(name, None)
        row |= {"by": said.by, "source": said.source, "as_of": said.as_of}
        if said.state == "resolved":
            row["detail"] = said.detail
            row["resolved_from"] = min(row.get("resolved_from", question.glibc), question.glibc, key=Dotted)
        else:
            row["refusal"] = said.detail
            row["refused_to"] = max(row.get("refused_to", question.glibc), question.glibc, key=Dotted)

    def write(self) -> None:
        lines = [f"{json.dumps(key)}:{json.dumps(self.entries[key], sort_keys=True, separators=(',', ':'))}"
                 for key in sorted(self.entries)]  # fmt: skip
        KEPT.write_text('{"schema":"doctor.resolutions/1","entries":{\n' + ",\n".join(lines) + "\n}}\n", "utf-8")


def known(row: dict[str, str] | None, glibc: str) -> Resolution | None:
    if row and "resolved_from" in row and Dotted(glibc) >= row["resolved_from"]:
        return Resolution("resolved", row["by"], row["source"], row["as_of"], row["detail"])
    if row and "refused_to" in row and Dotted(glibc) <= row["refused_to"]:
        return Resolution("refused", row["by"], row["source"], row["as_of"], row["refusal"])
    return None


@cache
def reached(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with urllib.request.urlopen(f"https://{parts.netloc}/", timeout=20):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def queries() -> Iterator[tuple[Target, list[str]]]:
    for line in (REPO / "tests/resolve/queries.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            packages, _, rest = line.rpartition(" | ")[2].partition(" ; ")
            options = dict(word.split("=", 1) for word in rest.split())
            options["gpu"] = (
                options["gpu"].replace("_", " ") if not options["gpu"].startswith("sm_") else options["gpu"]
            )
            yield described(KB, **options), packages.split()


def ways() -> Iterator[tuple[Target, list[str]]]:
    """Each package alone, its newest and oldest release of two years, by GPU and Python."""
    for name in sorted(KB.packages() | {"torch"}):
        releases = [r.version for r in KB.package_releases(name)]
        if name == "torch":
            releases = [r.version for r in reversed(KB.torch_releases())][:12]
        for vendor, gpus in GPUS.items():
            for gpu in gpus:
                driver = "580.95.05" if vendor == "nvidia" else "30.30.0"
                for python in PYTHONS:
                    target = described(KB, gpu, driver, None, python, None, "x86_64", "2.35")
                    pinned = [f"{name}=={version}" for version in {*releases[:1], *releases[-1:]}]
                    yield from ((target, [wish]) for wish in (name, *sorted(pinned)))


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--again", action="store_true", help="ask about what is recorded too")
    words.add_argument("--limit", type=float, default=3600.0, help="seconds")
    given = words.parse_args()
    uv = find_uv()
    if uv is None:
        sys.stderr.write("uv is not installed" + "\n")
        return 2
    recorder = Recorder(Uv(uv), given.again, time.monotonic() + given.limit)
    counts: Counter[str] = Counter()
    for number, (target, packages) in enumerate([*queries(), *ways()]):
        try:
            found = settle(KB, target, packages, ask=recorder)
        except InputError as error:
            sys.stderr.write(f"{packages}: {error}" + "\n")
            continue
        counts[f"{found.status}/{found.resolution.state}"] += 1
        if number % 50 == 49:
            recorder.write()
    recorder.write()
    sys.stdout.write(f"{dict(counts)} unreachable: {dict(recorder.unreached)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
