"""What --prove costs: runs and seconds against the number of differences and of causes."""

from __future__ import annotations

import time
from math import log2

from doctor.why.local import Local
from doctor.why.prove import prove
from doctor.why.runs import Limits


def main() -> None:
    """A command that needs one, two or three of n variables as GOOD has them."""
    path = {"PATH": "/usr/bin:/bin"}
    for number in (16, 64, 256, 500):
        for causes in (1, 2, 3):
            places = [number * (2 * cause + 1) // (2 * causes) for cause in range(causes)]
            test = " && ".join(f"test $APP_{place} = good" for place in places)
            sides = [{f"APP_{n}": side for n in range(number)} for side in ("good", "bad")]
            good, bad = (Local({**path, **variables}, None, {}) for variables in sides)
            began = time.perf_counter()
            proof = prove(good, bad, ["sh", "-c", test], Limits(runs=2000), lambda _line: None)
            is_exact = sorted(name for _, name in proof.minimal) == sorted(f"APP_{place}" for place in places)
            bound = f", at most {2 * log2(number) + 10:.0f} promised" if causes == 1 else ""
            took = f"{proof.runs} runs{bound}, {time.perf_counter() - began:.1f} s"
            print(f"{number} differences, {causes} of them the cause: {took}, exact: {is_exact}")
