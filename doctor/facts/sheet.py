"""How facts come in: probes and parsers fill sheets of dotted names, `assemble` makes one Snapshot of many sheets.

A name is the path in the Snapshot. Members of a list carry their key in brackets, so that several sources mention
the same GPU: `gpus[0000:c1:00.0].memory_bytes`. Where no PCI address is known the key is `#` and the number that the
tool shows (`gpus[#0].name`).

>>> sheet = FactSheet()
>>> sheet.put("nvidia_driver.version", "575.57.08", "file:/proc/driver/nvidia/version")
>>> sheet.miss("nvidia_driver.cuda_version", State.NOT_ASKED, "nvml")
>>> machine = assemble([sheet])
>>> machine.nvidia_driver.version, machine.nvidia_driver.cuda_version
('575.57.08', None)
>>> machine.origins["nvidia_driver.cuda_version"].state.value
'not-asked'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from doctor.facts.origin import State

if TYPE_CHECKING:
    from doctor.facts.model import Alternative
    from doctor.facts.snapshot import Snapshot

T = TypeVar("T")
_STEP = re.compile(r"([a-z0-9_]+)(?:\[([^\]]*)\])?(?:\.|$)")
_BOTTOM = 1_000_000
_MAPPINGS = ("environment",)
"""Facts that are name → value: `environment[NAME]` is one value, `environment` a whole table; both may be put."""


class Entry(NamedTuple):
    """One line of a sheet. `value` is plain data (str, int, float, bool, list, dict) and None unless state is VALUE
    or ABSENT (where it may hold what absence means, such as False or "absent")."""

    name: str
    value: Any
    state: State
    source: str
    detail: str | None


class FactSheet:
    """What one probe or one parser learnt, in the order it learnt it. The first word on a fact within a sheet stays;
    across sheets the earlier sheet is the more trusted one."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.listener: Callable[[Entry], None] | None = None

    def put(self, name: str, value: Any, source: str, detail: str | None = None) -> None:
        """A known fact. None is refused: use `miss` for an unknown one."""
        if value is None:
            raise ValueError(f"{name}: None is not a value; use miss()")
        self._add(Entry(name, value, State.VALUE, source, detail))

    def absent(self, name: str, source: str, means: Any = None, detail: str | None = None) -> None:
        """Known not to be there; `means` is the value that says so (False, "absent", [] …)."""
        self._add(Entry(name, means, State.ABSENT, source, detail))

    def miss(self, name: str, state: State, source: str, detail: str | None = None) -> None:
        """Asked for and not known, with the reason."""
        self._add(Entry(name, None, state, source, detail))

    def _add(self, entry: Entry) -> None:
        known = self._entries.get(entry.name)
        if known is None or (known.value is None and entry.value is not None):
            self._entries[entry.name] = entry
            if self.listener:
                self.listener(entry)

    def get(self, name: str) -> Any:
        entry = self._entries.get(name)
        return entry.value if entry else None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


def assemble(sheets: Iterable[FactSheet]) -> Snapshot:
    """One Snapshot of many sheets, the most trusted first. A fact that no later value contradicts keeps its source;
    a later value that differs is kept in `others`. Raises pydantic.ValidationError on a name or type of no fact."""
    from doctor.facts.model import Alternative, Origin
    from doctor.facts.snapshot import Snapshot

    entries: dict[str, Entry] = {}
    others: dict[str, list[Alternative]] = {}
    for entry in (e for sheet in sheets for e in sheet):
        known = entries.get(entry.name)
        if known is None or (known.value is None and (entry.value is not None or known.state is State.NOT_ASKED)):
            entries[entry.name] = entry
        elif known.value is not None and entry.value is not None and known.value != entry.value:
            others.setdefault(entry.name, []).append(Alternative(value=str(entry.value)[:200], source=entry.source))
    tree: dict[str, Any] = {}
    for name, entry in entries.items():
        if entry.value is not None:
            _plant(tree, name, entry.value)
    origins = {
        name: Origin(state=e.state, source=e.source, detail=e.detail, others=tuple(others.get(name, ())))
        for name, e in sorted(entries.items())
    }
    return Snapshot.model_validate({**_lists(tree), "origins": origins})


def _plant(tree: dict[str, Any], name: str, value: Any) -> None:
    """Put a value under its dotted name; keyed members live in a dict marked by the key of None."""
    steps = [(m[1], m[2]) for m in _STEP.finditer(name)]
    for position, (word, key) in enumerate(steps):
        last = position == len(steps) - 1
        if word in _MAPPINGS and last:
            held = tree.setdefault(word, {})
            for name_of, word_of in ({key: value} if key is not None else value).items():
                held.setdefault(name_of, word_of)
            continue
        if key is None:
            if last:
                held = tree.get(word)
                if isinstance(held, dict) and None in held and value == []:
                    return
                tree[word] = value
            else:
                tree = tree.setdefault(word, {})
            continue
        members = tree.setdefault(word, {None: True})
        if not isinstance(members, dict):
            members = tree[word] = {None: True}
        if last:
            members[key] = value
        else:
            tree = members.setdefault(key, {"key": key})


def _lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if None in tree:
        rows = [(key, value) for key, value in tree.items() if key is not None]
        return [_lists(value) for key, value in sorted(rows, key=lambda row: _order(row[0]))]
    return {key: _lists(value) for key, value in tree.items()}


def _order(key: str) -> tuple[int, str]:
    return (int(key[1:]), "") if key.startswith("#") and key[1:].isdecimal() else (_BOTTOM, key)
