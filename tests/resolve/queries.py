"""The lines of queries.txt: `status/resolution | packages ; machine`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("queries.txt")


class Query(NamedTuple):
    verdict: str
    packages: tuple[str, ...]
    machine: tuple[tuple[str, str], ...]
    """Options of `doctor.resolve.described`; a `_` in a GPU's name stands for a space."""


def queries() -> list[Query]:
    lines = FILE.read_text("utf-8").splitlines()
    return [_query(line) for line in lines if line and not line.startswith("#")]


def _query(line: str) -> Query:
    verdict, asked = line.split(" | ")
    packages, _, options = asked.partition(" ; ")
    machine = dict(word.split("=", 1) for word in options.split())
    if "gpu" in machine and not machine["gpu"].startswith("sm_"):
        machine["gpu"] = machine["gpu"].replace("_", " ")
    return Query(verdict, tuple(packages.split()), tuple(machine.items()))
