"""What crictl is asked and answers: the running containers of a pod by name or id, and a container's first process.

>>> list(listings("train-0/worker"))[0][:4]
('ps', '--output', 'json', '--label')
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from doctor.parsers.lib.printable import clean

_POD, _NAMESPACE = "io.kubernetes.pod.name", "io.kubernetes.pod.namespace"
_ID = re.compile(r"[0-9a-f]{12,64}")
_AT_MOST = 200


class Running(NamedTuple):
    """A container that runs: its id, its name in the pod, the pod and its namespace."""

    id: str
    name: str
    pod: str
    namespace: str


def listings(name: str) -> Iterator[tuple[str, ...]]:
    """Words behind `crictl`, one listing after the other: by the pod's name, then by the container's or pod's id."""
    *namespace, pod, container = _parts(name)
    labels = ("--label", f"{_POD}={pod}", *(("--label", f"{_NAMESPACE}={namespace[0]}") if namespace else ()))
    named = ("--name", f"^{re.escape(container)}$") if container else ()
    yield ("ps", "--output", "json", *labels, *named)
    if not container and _ID.fullmatch(pod):
        yield ("ps", "--output", "json", "--id", pod)
        yield ("ps", "--output", "json", "--pod", pod)


def _parts(name: str) -> list[str]:
    """[pod, container] or [namespace, pod, container]; the container is "" where none is named."""
    parts = name.split("/")
    return [*parts, ""] if len(parts) == 1 else parts


def running(text: str) -> list[Running]:
    """Of `crictl ps --output json`; [] for what is none."""
    try:
        rows = json.loads(text)["containers"] if text.strip() else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    found = []
    for row in rows[:_AT_MOST] if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not _ID.fullmatch(str(row.get("id", ""))):
            continue
        labels, metadata = _dict(row.get("labels")), _dict(row.get("metadata"))
        words = (metadata.get("name"), labels.get(_POD), labels.get(_NAMESPACE))
        found.append(Running(row["id"], *(clean(str(word or "?"), 120) for word in words)))
    return found


def info(text: str) -> dict[str, Any]:
    """`info` of `crictl inspect`: `pid`, `runtimeSpec` …; {} where it has none (CRI-O hides it without --verbose)."""
    try:
        return _dict(json.loads(text)["info"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
