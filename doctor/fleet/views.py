"""What a scheduler believes of its nodes (gres.conf, `scontrol show node -o`, `kubectl get nodes -o json`), beside what
the nodes themselves say: the number of GPUs, the driver, and whether a bad node still takes jobs.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from doctor.errors import InputError
from doctor.fleet.names import expanded, folded
from doctor.fleet.tally import Tally

_GRES = re.compile(r"gpu(?::[^:,()]{1,100})?:([0-9]{1,5})(?![0-9])")
_FIELD = re.compile(r"(?:^|\s)(NodeName|State|Gres|Reason)=(.*?)(?=\s+[A-Z][A-Za-z]{0,40}=|$)")
_RANGE = re.compile(r"\[([0-9]{1,6})-([0-9]{1,6})\]$")
_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
_DRIVER = "nvidia.com/cuda.driver-version.full"
_OLD_DRIVER = tuple(f"nvidia.com/cuda.driver.{part}" for part in ("major", "minor", "rev"))
_UPGRADE = "nvidia.com/gpu-driver-upgrade-state"
_SETTLED = ("", "upgrade-done")


class Told(NamedTuple):
    """What one view says of one node. None: it says nothing of that."""

    node: str
    view: str
    gpus: int | None = None
    driver: str | None = None
    state: str | None = None
    """Set where the scheduler itself keeps jobs away, or says that something is under way."""


def of_gres(text: str) -> Iterator[Told]:
    """gres.conf: `NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7]`. Lines for all nodes, and AutoDetect,
    name none."""
    counted: dict[str, int] = defaultdict(int)
    for number, line in enumerate(text.splitlines(), 1):
        words = dict(w.split("=", 1) for w in line.split("#")[0].split() if "=" in w)
        keys = {key.lower(): value for key, value in words.items()}
        if keys.get("name", "").lower() != "gpu" or "nodename" not in keys:
            continue
        for node in _nodes(keys["nodename"], f"gres.conf line {number}"):
            counted[node] += _devices(keys)
    yield from (Told(node, "gres.conf", number) for node, number in counted.items())


def _nodes(text: str, where: str) -> list[str]:
    try:
        return expanded(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _devices(keys: dict[str, str]) -> int:
    if keys.get("count", "").isdecimal():
        return int(keys["count"][:6])
    ranges = [_RANGE.search(part) for part in re.split(r",(?![^\[]*\])", keys.get("file", ""))]
    return sum(int(r[2]) - int(r[1]) + 1 if r and int(r[2]) >= int(r[1]) else 1 for r in ranges)


def of_scontrol(text: str) -> Iterator[Told]:
    """One node a line."""
    for line in text.splitlines():
        fields = {m[1]: m[2].strip() for m in _FIELD.finditer(line[:20_000])}
        if not fields.get("NodeName"):
            continue
        gres = fields.get("Gres", "")
        gpus = sum(int(m[1]) for m in _GRES.finditer(gres)) if gres and gres != "(null)" else None
        state = fields.get("State", "")
        away = re.search(r"DRAIN|DOWN|FAIL|NOT_RESPONDING|\*", state)
        reason = f" ({fields['Reason'][:80]})" if fields.get("Reason") else ""
        yield Told(fields["NodeName"], "Slurm", gpus, state=f"{state}{reason}" if away else None)


def of_kubernetes(text: str) -> Iterator[Told]:
    """Allocatable GPUs, the driver that feature discovery labels, the state of the GPU operator's driver upgrade."""
    if not text:
        return
    try:
        items = json.loads(text)["items"]
        rows = [_kubernetes(item) for item in items]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("--kube: not the output of `kubectl get nodes -o json`") from None
    yield from rows


def _kubernetes(item: Any) -> Told:
    metadata, status = item["metadata"], item.get("status") or {}
    labels = metadata.get("labels") or {}
    allocatable = status.get("allocatable") or {}
    counts = [int(str(allocatable[r])[:9]) for r in _RESOURCES if str(allocatable.get(r, "")).isdecimal()]
    old = ".".join(str(labels[part]) for part in _OLD_DRIVER if labels.get(part))
    away = ["cordoned"] if (item.get("spec") or {}).get("unschedulable") else []
    ready = [c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"]
    away += [f"Ready is {ready[0]}"] if ready and ready[0] != "True" else []
    upgrade = str(labels.get(_UPGRADE, ""))
    away += [f"driver upgrade: {upgrade}"] if upgrade not in _SETTLED else []
    driver = str(labels.get(_DRIVER) or old) or None
    return Told(str(metadata["name"]), "Kubernetes", sum(counts) if counts else None, driver, ", ".join(away) or None)


def disagreements(tally: Tally, told: Iterable[Told]) -> list[str]:
    """Sentences, nodes with the same one together. A node that gave no report, and facts that it doesn't know, are
    compared with nothing."""
    rows: dict[str, list[str]] = defaultdict(list)
    for view in told:
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
        if view.state and tally.status(place) == "ok":
            rows[f"{view.view} says {view.state}, and the node's report is good"].append(view.node)
    return [f"{folded(nodes)}: {sentence}" for sentence, nodes in sorted(rows.items())]


def _same_version(label: str, loaded: str) -> bool:
    """Labels drop leading zeros and may drop the last part: 575.57.8 is 575.57.08."""
    ours, theirs = ([int(p) for p in v.split(".") if p.isdecimal()] for v in (loaded, label))
    return ours[: len(theirs)] == theirs
