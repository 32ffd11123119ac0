"""The one differ: two reports, what differs in findings (by fingerprint) and facts (by name), what matters first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

_FIRST = (
    "nvidia_driver", "amdgpu_driver", "kfd", "kernel", "gpus", "nodes", "rocm", "cuda", "torch", "environment",
    "container", "account", "os", "interpreter", "packages", "host", "pci", "rdma", "kernel_log", "symptoms",
)  # fmt: skip
"""Facts in the order in which they matter: the driver before what depends on it."""
_SEVERITIES = ("error", "warning", "info")
_KEYS = ("key", "name", "path", "pci_address", "id")
_TABLES = ("environment", "service_environment")
_NO_FACTS = ("origins", "recent", "clock")
_NOISE = ("smi_seconds", "uptime_s", "age_s", "boot_s", "memory_used_bytes", "memory_available_bytes")
"""Facts that differ from one minute to the next."""


@dataclass(frozen=True)
class Changed:
    """One difference. `before` and `after` are None where the side lacks it."""

    kind: Literal["finding", "fact", "unread"]
    """`unread`: known of one side only, because nobody looked on the other; that is no difference."""
    name: str
    """A finding's rule and subject, or a fact's dotted name."""
    before: Any
    after: Any
    severity: str | None = None
    fingerprint: str | None = None
    state: str | None = None
    """Of what one side lacks: why, in the words of the origins (`absent`, `not-recorded`, `denied`, `not-asked` …)."""


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Changed, ...]:
    """Of two reports as `doctor.report/2` data. Findings first, the worst first; then facts, the driver's first."""
    return (*_findings(before, after), *_facts(before.get("snapshot") or {}, after.get("snapshot") or {}))


def as_data(
    changes: tuple[Changed, ...], names: tuple[str, str], unread: tuple[Mapping[str, str], Mapping[str, str]]
) -> dict[str, Any]:
    """`doctor.diff/1`. `unread` are the layers of each side that are not known, or not wholly."""
    head = {"schema": "doctor.diff/1", "before": names[0], "after": names[1]}
    not_known = {"before": dict(unread[0]), "after": dict(unread[1])}
    return {**head, "not_known": not_known, "changes": [asdict(c) for c in changes]}


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
        lacks = after if now is None else before if was is None else {}
        unread = bool(lacks) and finding["rule"] not in _checked(lacks)
        kind: Literal["unread", "finding"] = "unread" if unread else "finding"
        rows.append(Changed(kind, name, was, now, worst, print_, "not checked" if unread else None))
    yield from sorted(rows, key=lambda c: (_SEVERITIES.index(c.severity or "info"), c.after is None, c.name))


def _checked(side: Mapping[str, Any]) -> set[str]:
    """Rules of which a report says how they came out."""
    rows = (*(side.get(key) or () for key in ("findings", "suppressed", "not_applicable")),)
    return {*(side.get("clear") or ()), *(row["rule"] for some in rows for row in some)}


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Changed]:
    sides = _Side(before), _Side(after)
    old, new = (side.facts for side in sides)
    for name in sorted({**old, **new}, key=_order):
        if old.get(name) == new.get(name) or name.endswith(_NOISE):
            continue
        lacking = sides[1] if name not in new else sides[0] if name not in old else None
        if lacking is None:
            yield Changed("fact", name, old[name], new[name])
        elif not lacking.has_members(name):
            state = lacking.state(name)
            yield Changed("fact" if state == "absent" else "unread", name, old.get(name), new.get(name), state=state)


class _Side:
    """The facts of one snapshot by name, and why it lacks others."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.facts = dict(flat({k: v for k, v in data.items() if k not in _NO_FACTS}))
        self._origins = {name: str(origin.get("state")) for name, origin in (data.get("origins") or {}).items()}
        self._parents = set(_parents(self.facts))
        self._known = {
            name
            for name, value in data.items()
            if isinstance(value, (list, tuple)) or (value is not None and name in _TABLES)
        }

    def has_members(self, name: str) -> bool:
        """It is a list with members here, and an empty one on the other side: each member is a difference."""
        return name in self._parents

    def state(self, name: str) -> str:
        """`absent`: somebody looked, and it is not here; else why it is not known."""
        top, _, rest = name.partition("[") if "[" in name else name.partition(".")
        member = f"{top}[{rest.partition(']')[0]}]" if "[" in name else name
        if top in self._known and member not in self._parents and member not in self.facts:
            return "absent"
        while name:
            if self.facts.get(name) == []:
                return "absent"
            if name in self._origins:
                return self._origins[name] if self._origins[name] != "value" else "not-asked"
            name = max(name.rpartition(".")[0], name.rpartition("[")[0], key=len)
        return "not-asked"


def _parents(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        while name := max(name.rpartition(".")[0], name.rpartition("[")[0], key=len):
            yield name
            if name.endswith("]"):
                yield name.rpartition("[")[0]


def _order(name: str) -> tuple[int, str]:
    top = name.split(".")[0].split("[")[0]
    return (_FIRST.index(top) if top in _FIRST else len(_FIRST), name)


def flat(data: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Facts by dotted name; members of lists by what identifies them, numbered where two share it."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key != "key":
                yield from flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, (list, tuple)) and data and all(isinstance(member, Mapping) for member in data):
        seen: Counter[str] = Counter()
        for number, member in enumerate(data):
            key = str(next((member[k] for k in _KEYS if member.get(k)), number))
            seen[key] += 1
            yield from flat(member, f"{name}[{key}{f'#{seen[key]}' if seen[key] > 1 else ''}]")
    elif data is not None:
        yield name, list(data) if isinstance(data, tuple) else data
