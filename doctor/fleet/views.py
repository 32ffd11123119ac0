"""What a scheduler believes of its nodes (gres.conf, `scontrol show node -o`, Kubernetes in kubernetes.py), beside what
the nodes themselves say: the number of GPUs, the driver, and whether a good node is kept from jobs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from doctor.errors import InputError
from doctor.fleet.names import expanded, folded
from doctor.fleet.tally import Tally

_GRES = re.compile(r"gpu(?::[^:,()]{1,100})?:([0-9]{1,5})(?![0-9])")
_FIELD = re.compile(r"(?:^|\s)(NodeName|State|Gres|Reason)=(.*?)(?=\s+[A-Z][A-Za-z]{0,40}=|$)")
_BRACKETS = re.compile(r"\[([0-9,-]{1,4096})\]")
_MULTIPLIED = {"k": 1 << 10, "m": 1 << 20}
ALL = "*"
"""Node of a line of gres.conf that names none: it is for every node that reads the file."""


class NodeView(NamedTuple):
    """What one view says of one node. None: it says nothing of that."""

    node: str
    view: str
    gpus: int | None = None
    driver: str | None = None
    state: str | None = None
    """Set where the scheduler itself keeps jobs away, or says that something is under way."""


def of_gres(text: str) -> Iterator[NodeView]:
    """gres.conf: `NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7]`. A line without NodeName is for ALL. A node
    whose GRES are parts of GPUs (MultipleFiles: MIG instances) tells no number; AutoDetect tells none either."""
    counted: dict[str, int | None] = defaultdict(int)
    for number, line in enumerate(_joined(text), 1):
        words = dict(w.split("=", 1) for w in line.split("#")[0].split() if "=" in w)
        keys = {key.lower(): value for key, value in words.items()}
        if keys.get("name", "").lower() != "gpu":
            continue
        named = keys.get("nodename")
        for node in _nodes(named, f"gres.conf line {number}") if named else [ALL]:
            here = counted[node]
            counted[node] = None if here is None or "multiplefiles" in keys else here + _devices(keys)
    yield from (NodeView(node, "gres.conf", gpus) for node, gpus in counted.items())


def _joined(text: str) -> Iterator[str]:
    """Lines, with those that a backslash continues."""
    held = ""
    for line in text.splitlines():
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield held + line
        held = ""


def _nodes(text: str, where: str) -> list[str]:
    try:
        return expanded(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _devices(keys: dict[str, str]) -> int:
    amount = re.fullmatch(r"([0-9]{1,6})([KkMm]?)", keys.get("count", ""))
    if amount:
        return int(amount[1]) * _MULTIPLIED.get(amount[2].lower(), 1)
    return sum(_of_file(part) for part in re.split(r",(?![^\[]*\])", keys.get("file", "")))


def _of_file(name: str) -> int:
    """Devices that a name means: /dev/nvidia[0,2-3] is three."""
    brackets = _BRACKETS.search(name)
    total = 0
    for part in brackets[1].split(",") if brackets else ():
        first, dash, last = part.partition("-")
        known = first.isdecimal() and (last.isdecimal() or not dash)
        total += max(int(last[:6]) - int(first[:6]) + 1, 1) if known and dash else 1
    return total if brackets else 1


def gpus_of_gres(gres: str) -> int | None:
    """`gpu:h100:8(S:0-1),shard:32` -> 8. None where Slurm manages nothing there."""
    return sum(int(m[1]) for m in _GRES.finditer(gres)) if gres and gres != "(null)" else None


def of_scontrol(text: str) -> Iterator[NodeView]:
    for line in text.splitlines():
        fields = {m[1]: m[2].strip() for m in _FIELD.finditer(line[:20_000])}
        if not fields.get("NodeName"):
            continue
        gpus = gpus_of_gres(fields.get("Gres", ""))
        state = fields.get("State", "")
        away = re.search(r"DRAIN|DOWN|FAIL|NOT_RESPONDING|\*", state)
        reason = f" ({fields['Reason'][:80]})" if fields.get("Reason") else ""
        yield NodeView(fields["NodeName"], "Slurm", gpus, state=f"{state}{reason}" if away else None)


def disagreements(tally: Tally, seen: Iterable[NodeView]) -> list[str]:
    """Sentences, nodes with the same one together. A node that gave no report, and facts that it doesn't know, are
    compared with nothing."""
    rows: dict[str, list[str]] = defaultdict(list)
    for view in _each(tally, list(seen)):
        place = tally.answered(view.node)
        if place is None:
            if view.node in tally.silent and view.state:
                rows[f"gave no report, and {view.view} says {view.state}"].append(view.node)
            continue
        has = tally.gpus_of[place]
        if view.gpus is not None and has not in (-1, view.gpus):
            rows[f"{view.view} counts {view.gpus} GPUs, the node has {has}"].append(view.node)
        driver = tally.driver(place)
        if view.driver and driver and not _same_version(view.driver, driver):
            rows[f"{view.view} says driver {view.driver}, loaded is {driver}"].append(view.node)
        if view.state and tally.status(place) in ("ok", "partial") and not tally.unchecked_of[place]:
            rows[f"{view.view} says {view.state}, and no problem was found on the node"].append(view.node)
    return [f"{folded(nodes)}: {sentence}" for sentence, nodes in sorted(rows.items())]


def _each(tally: Tally, rows: list[NodeView]) -> Iterator[NodeView]:
    """What holds for ALL, once for each node of which the same view says nothing by name."""
    named = {(view.view, view.node) for view in rows}
    for view in rows:
        if view.node != ALL:
            yield view
            continue
        yield from (view._replace(node=node) for node in tally.nodes if (view.view, node) not in named)


def _same_version(label: str, loaded: str) -> bool:
    """Labels drop leading zeros and may drop the last part: 575.57.8 is 575.57.08."""
    ours, theirs = ([int(p) for p in v.split(".") if p.isdecimal()] for v in (loaded, label))
    return ours[: len(theirs)] == theirs
