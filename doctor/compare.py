"""The one differ: two reports, what differs in findings (by fingerprint) and facts (by name), what matters first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

_FIRST = (
    "nvidia_driver", "amdgpu_driver", "kfd", "kernel", "gpus", "nodes", "rocm", "cuda", "torch", "environment",
    "container", "account", "os", "interpreter", "packages", "host", "pci", "rdma", "kernel_log", "symptoms",
)  # fmt: skip
"""Facts in the order in which they matter: the driver before what stands on it."""
_SEVERITIES = ("error", "warning", "info")
_KEYS = ("key", "name", "path", "pci_address", "id")
_NO_FACTS = ("origins", "recent", "clock")
_NOISE = ("smi_seconds", "uptime_s", "age_s", "boot_s", "memory_used_bytes", "memory_available_bytes")
"""Facts that differ from one minute to the next."""


@dataclass(frozen=True)
class Changed:
    """One difference. `before` and `after` are None where the side lacks it."""

    kind: Literal["finding", "fact"]
    name: str
    """A finding's rule and subject, or a fact's dotted name."""
    before: Any
    after: Any
    severity: str | None = None
    fingerprint: str | None = None
    state: str | None = None
    """Of a fact that one side lacks: why, in the words of the origins (`absent`, `not-recorded`, `denied` …)."""


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Changed, ...]:
    """Of two reports as `doctor.report/2` data. Findings first, the worst first; then facts, the driver's first."""
    return (*_findings(before, after), *_facts(before.get("snapshot") or {}, after.get("snapshot") or {}))


def as_data(changes: tuple[Changed, ...], names: tuple[str, str]) -> dict[str, Any]:
    """`doctor.diff/1`."""
    return {"schema": "doctor.diff/1", "before": names[0], "after": names[1], "changes": [asdict(c) for c in changes]}


def _findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Changed]:
    old, new = ({f["fingerprint"]: f for f in side.get("findings") or ()} for side in (before, after))
    rows = []
    for print_ in {**old, **new}:
        sides = old.get(print_), new.get(print_)
        was, now = (f and {"severity": f["severity"], "summary": f["summary"]} for f in sides)
        if was == now:
            continue
        finding = sides[1] or sides[0] or {}
        name = f"{finding['rule']} {finding['subject']['id']}".removesuffix(" -")
        worst = min((f["severity"] for f in sides if f), key=_SEVERITIES.index)
        rows.append(Changed("finding", name, was, now, worst, print_))
    yield from sorted(rows, key=lambda c: (_SEVERITIES.index(c.severity or "info"), c.after is None, c.name))


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Changed]:
    old, new = (dict(_flat({k: v for k, v in side.items() if k not in _NO_FACTS})) for side in (before, after))
    states = {name: origin.get("state") for name, origin in (after.get("origins") or {}).items()}
    for name in sorted({**old, **new}, key=_order):
        if old.get(name) != new.get(name) and not name.endswith(_NOISE):
            yield Changed("fact", name, old.get(name), new.get(name), state=_state(name, old, new, before, states))


def _state(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], before: Mapping[str, Any], states: Mapping[str, Any]
) -> str | None:
    """Why a side has no value, where it says so: absent is a difference, not read is none that one could act on."""
    if name in old and name in new:
        return None
    origins = states if name in old else {n: o.get("state") for n, o in (before.get("origins") or {}).items()}
    while name:
        if name in origins:
            return str(origins[name]) if origins[name] != "value" else None
        name = max(name.rpartition(".")[0], name.rpartition("[")[0], key=len)
    return None


def _order(name: str) -> tuple[int, str]:
    top = name.split(".")[0].split("[")[0]
    return (_FIRST.index(top) if top in _FIRST else len(_FIRST), name)


def _flat(data: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Facts by dotted name; members of lists by what identifies them, numbered where two share it."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key != "key":
                yield from _flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, (list, tuple)) and data and all(isinstance(member, Mapping) for member in data):
        seen: Counter[str] = Counter()
        for number, member in enumerate(data):
            key = str(next((member[k] for k in _KEYS if member.get(k)), number))
            seen[key] += 1
            yield from _flat(member, f"{name}[{key}{f'#{seen[key]}' if seen[key] > 1 else ''}]")
    elif data is not None:
        yield name, list(data) if isinstance(data, tuple) else data
