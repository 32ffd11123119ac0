"""Makes the pairs, asks `doctor why` about each, and prints a table.

    python -m benchmarks.why                    # all pairs
    python -m benchmarks.why --set N            # those that were written at one time
    python -m benchmarks.why --only NAME        # one pair, with all that it prints
    python -m benchmarks.why --image NAME       # also the pairs of containers, made of this image of Docker
    python -m benchmarks.why --static           # the ranking alone; nothing is run
    python -m benchmarks.why --list             # the specification alone
    python -m benchmarks.why --nodes            # the planted faults of tests/fakenode/cases.py
    python -m benchmarks.why --cost             # runs of --prove against the number of differences

Real wheels come from the package index. Root is needed for the pairs of fake nodes and for the small disk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from math import log2
from pathlib import Path
from typing import Any

from benchmarks.why import boxes, cost, edges, facts, nodes
from benchmarks.why.world import BAD_WORKS, FLAKY, GOOD_FAILS, PAIRS, PROVED, REFUSED, REMAINS, Pair, World
from doctor.cli.main import run

for _name in ("packages", "shells", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"):
    import_module(f"benchmarks.why.{_name}")  # registers its pairs
_SETS: dict[int, tuple[tuple[str, ...], tuple[facts.FactPair, ...]]] = {
    1: (("boxes", "edges", "packages", "shells"), facts.FIRST),
    2: (("second",), facts.SECOND),
    3: (("third",), facts.THIRD),
    4: (("fourth",), facts.FOURTH),
    5: (("fifth",), facts.FIFTH),
    6: (("sixth",), facts.SIXTH),
    7: (("seventh",), facts.SEVENTH),
    8: (("eighth",), ()),
}
_NOTES = {
    REMAINS: "What remains is",
    GOOD_FAILS: "and in GOOD too",
    BAD_WORKS: "nothing to explain",
    FLAKY: "flaky",
}


@dataclass
class Row:
    """What came out of one pair."""

    pair: Pair
    places: list[int]
    """Of each planted difference in the static answer, from 1; 0 where it is not there."""
    proof: dict[str, Any]
    error: str
    seconds: float
    changed: bool
    leaked: bool

    @property
    def minimal(self) -> set[str]:
        return {_form(f"{row['kind']} {row['name']}") for row in self.proof.get("minimal", ())}

    @property
    def is_right(self) -> bool:
        if self.pair.expect == PROVED:
            return self.minimal == set(map(_form, self.pair.cause))
        if self.pair.expect == REFUSED:
            return bool(self.error) and self.error.count("\n") == 1
        return not self.minimal and _NOTES[self.pair.expect] in self.proof.get("note", "")

    @property
    def claims_too_much(self) -> bool:
        return bool(self.minimal - set(map(_form, self.pair.cause if self.pair.expect == PROVED else ())))

    @property
    def bound(self) -> float:
        return 2 * log2(max(self.proof.get("differences", 1), 1)) + 10


_IS_STATIC: list[bool] = []


def _form(name: str) -> str:
    """As the pairs write it."""
    name = re.sub(r"^file .*/site-packages/", "file ", name)
    return re.sub(r"[-_.]+", "-", name) if name.startswith("package") else name


def chosen_sets(number: int | None) -> tuple[list[Pair], list[facts.FactPair]]:
    """Set 1 was written with the program, the later ones after it; each was run once for a first figure."""
    numbers = [number] if number else list(_SETS)
    modules = {f"{__package__}.{name}" for n in numbers for name in _SETS[n][0]}
    return [p for p in PAIRS if p.make.__module__ in modules], [f for n in numbers for f in _SETS[n][1]]


def _asked(argv: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["why", *argv])
    return code, out.getvalue(), err.getvalue()


def _state(root: Path) -> list[tuple[str, int, int]]:
    found = (root / "good", root / "bad", root / "here", root / "there")
    paths = [p for folder in found for p in sorted(folder.rglob("*")) if "__pycache__" not in p.parts]
    return [(str(p), p.lstat().st_mtime_ns if p.is_file() else 0, p.lstat().st_size) for p in paths]


def tried(one: Pair, loud: bool) -> Row:
    with tempfile.TemporaryDirectory(prefix="why-pair-") as folder:
        world = World(Path(folder))
        try:
            one.make(world)
            return _tried(one, world, loud)
        finally:
            world.close()
            edges.unmount(world.root)
            if world.names and world.names[0].startswith(("in:", "image:")):
                boxes.remove(world.names)


def _tried(one: Pair, world: World, loud: bool) -> Row:
    said = world.symptom() if one.gives_symptom else ""
    (world.root / "symptom.txt").write_text(said)
    given = ["--symptom", str(world.root / "symptom.txt")] if said.strip() else []
    sides = world.sides()
    _, out, err = _asked([*sides, *given, "--format", "json"])
    static = json.loads(out) if out.startswith("{") else {}
    names = [d["name"] for e in static.get("explained", ()) for d in e["by"]]
    names += [d["name"] for part in ("named", "suspected", "stack", "rest") for d in static.get(part, ())]
    ranked = list(dict.fromkeys(map(_form_of_static, names)))
    places = [ranked.index(n) + 1 if n in ranked else 0 for n in map(_form_of_static, one.ranked())]
    if _IS_STATIC:
        if loud:
            print(said, json.dumps(static, indent=1), out, err, sep="\n")
        return Row(one, places, {}, "", 0, changed=False, leaked="hf_G" in out)
    before, began = _state(world.root), time.perf_counter()
    if world.scratch:
        os.environ["TMPDIR"], tempfile.tempdir = str(world.scratch), None
    try:
        _, out, err = _asked([*sides, "--prove", "--format", "json", *world.options, "--", *world.command])
    finally:
        os.environ.pop("TMPDIR", None)
        tempfile.tempdir = None
    took = time.perf_counter() - began
    if loud:
        print(said, json.dumps(ranked[:5]), out, err, sep="\n")
    proof = json.loads(out) if out.startswith("{") else {}
    last = "" if proof else err[err.rstrip("\n").rfind("\n") + 1 :]
    leaked = "hf_G" in out + err
    return Row(one, places, proof, last, took, before != _state(world.root), leaked)


def _form_of_static(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name) if name.startswith("packages[") else name


def shown(row: Row) -> str:
    places = ",".join(map(str, row.places)) or "-"
    bound = f"/{row.bound:.0f}" if len(row.pair.cause) == 1 else ""
    runs = f"{row.proof.get('runs', '-')}{bound}"
    verdict = "right" if row.is_right else "WRONG"
    flags = " CLAIM" * row.claims_too_much + " CHANGED" * row.changed + " LEAKED" * row.leaked
    line = f"{row.pair.name:34} {row.pair.expect:16} {places:8} {verdict:6} {runs:8} {row.seconds:6.1f} s{flags}"
    detail = "" if row.is_right else f"\n    {sorted(row.minimal)} {row.proof.get('note', '')} {row.error.strip()}"
    return line + detail


def summary(rows: list[Row], answered: list[facts.Answer]) -> str:
    static = [row.places for row in rows if row.pair.cause and row.pair.gives_symptom]
    readable = [places for places in static if places] + [[a.place] for a in answered]
    first = sum(1 in places for places in readable)
    three = sum(all(0 < p <= 3 for p in places) for places in readable)
    proved = [row for row in rows if row.pair.expect == PROVED]
    exact = sum(row.is_right for row in proved)
    single = [row for row in proved if len(row.pair.cause) == 1 and row.is_right]
    within = sum(row.proof["runs"] <= row.bound for row in single)
    others = [row for row in rows if row.pair.expect != PROVED]
    unread = len(static) + len(answered) - len(readable)
    right, claims = sum(row.is_right for row in others), sum(row.claims_too_much for row in rows)
    return (
        f"static: planted first {first} of {len(readable)}, all in the first three {three}; "
        f"{unread} more that no fact holds\n"
        f"prove: exactly the minimal set {exact} of {len(proved)}; "
        f"single cause within 2·log2(n)+10 runs {within} of {len(single)}\n"
        f"nothing to claim: right {right} of {len(others)}; false claims {claims} of {len(rows)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=int, choices=_SETS)
    parser.add_argument("--only")
    parser.add_argument("--image")
    for name in ("list", "nodes", "cost", "static"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    if given.nodes or given.cost:
        return nodes.main() if given.nodes else cost.main()
    _IS_STATIC[:] = [True] * given.static
    boxes.IMAGE[:] = [given.image] if given.image else []
    chosen, known = chosen_sets(given.set)
    if given.only:
        chosen, known = [p for p in chosen if p.name == given.only], []
    if given.list:
        for one in chosen:
            print(f"{one.name}: {one.what} Cause: {' and '.join(one.cause) or '-'}. "
                  f"{one.harmless} harmless. Expected: {one.expect}.")  # fmt: skip
        for fact in known:
            print(f"nodes: {fact.what}. Cause: {' or '.join(sorted(fact.cause))}. 200 harmless. Static.")
        return None
    rows, answered = [], []
    for one in chosen:
        if one.needs_image and not boxes.IMAGE:
            continue
        rows.append(tried(one, bool(given.only)))
        print(shown(rows[-1]), flush=True)
    if known:
        for answer in facts.answers(known):
            answered.append(answer)
            print(f"{answer.pair.what[:50]:51} {'static':16} {answer.place:<8} first: {answer.lead}", flush=True)
    print(summary(rows, answered))
    return None


if __name__ == "__main__":
    main()
