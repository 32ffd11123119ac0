"""Sheets of several fragments -> sheets that mention the same GPU by one key.

One tool numbers GPUs, another names their PCI address, a third lists a name. Two mentions are one GPU where address,
identity or number and vendor say so and neither architecture nor name contradicts. A bare mention joins a GPU
that it may be, so that none is counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from doctor.facts.sheet import Entry, FactSheet

MENTIONS_LIMIT = 2000
"""Mentions of GPUs in one text that are looked at; the rest is dropped."""
GPUS_LIMIT = 256
_NAME = re.compile(r"gpus\[([^\]]*)\]\.(.+)$")
_EVENTS = "kernel_log.events"
_SHORT_ADDRESS = re.compile(r"(?:[0-9a-f]{4,8}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$", re.IGNORECASE)


@dataclass
class Mention:
    """What one sheet, or all sheets so far, say of one GPU."""

    key: str
    facts: dict[str, Any] = field(default_factory=dict)
    address: str | None = None
    identity: str = ""
    number: int | None = None
    named: str | None = None
    """The architecture by its name, where an override may have changed the one that is shown."""

    def settle(self) -> None:
        """Work out what is compared, after `facts` changed."""
        found = self.facts.get("pci_address") or (self.key if ":" in self.key else None)
        self.address = address_of(found) if found else None
        uuid = str(self.facts.get("uuid", "")).lower()
        self.identity = re.sub(r"^gpu-(?=[0-9a-f]{16}$)|^0x", "", uuid).lstrip("0")
        self.number = int(self.key[1:]) if re.fullmatch(r"#\d{1,6}", self.key) else None


def address_of(text: str) -> str:
    """A PCI address in the kernel's form: domain of four digits, lower case."""
    text = text.lower().strip()
    if found := re.match(r"([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$", text):
        return f"{found[1][-4:]}:{found[2]}"
    return f"0000:{text}" if _SHORT_ADDRESS.match(text) else text


def merge(sheets: Sequence[FactSheet], learn: Callable[[dict[str, Any]], None]) -> list[FactSheet]:
    """The same sheets with GPU keys made one. `learn` completes what is known of a GPU (vendor and architecture of its
    name) before it is compared. The order of the sheets stays."""
    known: list[Mention] = []
    merged = []
    left = MENTIONS_LIMIT
    pretended = _pretended(sheets)
    for sheet in sheets:
        mentions = _mentions(sheet)
        for mention in mentions[:left]:
            learn(mention.facts)
            _unmask(mention, pretended, learn)
            mention.settle()
        dropped = {mention.key: "" for mention in mentions[left:]}
        mentions = mentions[:left]
        left -= len(mentions)
        names = dropped | _matched(mentions, known)
        merged.append(_renamed(sheet, names) if names else sheet)
    final = {m.key: m.address for m in known if m.address and m.key != m.address}
    taken = {m.key for m in known}
    final = {old: new for old, new in final.items() if new not in taken}
    if masked := {f"gpus[{m.key}].arch" for m in known if m.facts.get("arch", pretended) != pretended}:
        merged = [_without(sheet, masked, pretended) for sheet in merged]
    return [_renamed(sheet, final) if final else sheet for sheet in merged]


def _pretended(sheets: Iterable[FactSheet]) -> str | None:
    """The architecture that HSA_OVERRIDE_GFX_VERSION makes ROCm's runtime give to every GPU."""
    value = next((v for sheet in sheets if (v := sheet.get("environment[HSA_OVERRIDE_GFX_VERSION]"))), None)
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", value) if isinstance(value, str) else None
    return f"gfx{int(found[1])}{int(found[2]):x}{int(found[3]):x}" if found else None


def _unmask(mention: Mention, pretended: str | None, learn: Callable[[dict[str, Any]], None]) -> None:
    """What a runtime prints under an override is no evidence of the chip: its name is, and a PCI id."""
    if not pretended or mention.facts.get("arch") != pretended or mention.facts.get("pci_id"):
        return
    del mention.facts["arch"]
    named: dict[str, Any] = {k: mention.facts[k] for k in ("name", "vendor") if k in mention.facts}
    learn(named)
    mention.named = named.get("arch")


def _without(sheet: FactSheet, masked: Collection[str], pretended: str | None) -> FactSheet:
    """A copy without the architecture that an override pretends, of GPUs whose own is known."""
    if not any(entry.name in masked and entry.value == pretended for entry in sheet):
        return sheet
    copy = FactSheet()
    for entry in sheet:
        if entry.name not in masked or entry.value != pretended:
            put(copy, entry)
    return copy


def one_log(sheets: Sequence[FactSheet]) -> list[FactSheet]:
    """The same sheets, where all of a text's pieces of the kernel log are one log: a piece without events does not
    hide those of the others. The events stand where the first that has some was read."""
    entries = [e for sheet in sheets for e in sheet if e.name == _EVENTS and e.value is not None]
    if len(entries) < 2:
        return list(sheets)
    events: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for event in entry.value:
            known = events.setdefault(event["key"], {**event, "count": 0})
            known["count"] += event["count"]
            known |= {"last": event["last"]} if "last" in event else {}
    first = next((e for e in entries if e.value), entries[0])
    joined = FactSheet()
    joined.put(_EVENTS, list(events.values()), first.source)
    return [joined, *(without(sheet, _EVENTS) for sheet in sheets)]


def without(sheet: FactSheet, name: str) -> FactSheet:
    if sheet.get(name) is None:
        return sheet
    rest = FactSheet()
    for entry in sheet:
        if entry.name != name:
            put(rest, entry)
    return rest


def _mentions(sheet: FactSheet) -> list[Mention]:
    found: dict[str, Mention] = {}
    for entry in sheet:
        if entry.name.startswith("gpus[") and entry.value is not None and (name := _NAME.match(entry.name)):
            found.setdefault(name[1], Mention(name[1])).facts.setdefault(name[2], entry.value)
    return list(found.values())


def _matched(mentions: list[Mention], known: list[Mention]) -> dict[str, str]:
    """Key in the sheet → key that all use; grows `known`."""
    names: dict[str, str] = {}
    used: set[str] = set()
    open_: list[Mention] = []
    for mention in mentions:
        same = next((k for k in known if k.key not in used and _same(mention, k)), None)
        if same is None:
            open_.append(mention)
            continue
        _join(mention, same, names, used)
    for mention in open_:
        fits = [k for k in known if k.key not in used and _may_be(mention, k)]
        exact = [k for k in fits if mention.number is not None and k.number == mention.number]
        chosen = next(iter(exact or fits), None)
        if chosen is None and len(mentions) == 1 and not mention.address and not mention.identity:
            chosen = next((k for k in known if _may_be(mention, k)), None)
        if chosen is None and len(known) >= GPUS_LIMIT:
            names[mention.key] = ""
            continue
        if chosen is None:
            chosen = Mention(_free(mention.key, known))
            known.append(chosen)
        _join(mention, chosen, names, used)
    return {old: new for old, new in names.items() if old != new}


def _join(mention: Mention, into: Mention, names: dict[str, str], used: set[str]) -> None:
    names[mention.key] = into.key
    used.add(into.key)
    for name, value in mention.facts.items():
        into.facts.setdefault(name, value)
    into.named = into.named or mention.named
    into.settle()


def _same(a: Mention, b: Mention) -> bool:
    """Identity says so."""
    if a.address and b.address:
        return a.address == b.address
    return bool(a.identity and a.identity == b.identity)


def _may_be(a: Mention, b: Mention) -> bool:
    """Nothing known says that they differ."""
    if a.address and b.address and a.address != b.address:
        return False
    if a.identity and b.identity and len(a.identity) == len(b.identity) and a.identity != b.identity:
        return False
    for name in ("vendor", "pci_id"):
        if a.facts.get(name) and b.facts.get(name) and a.facts[name] != b.facts[name]:
            return False
    mine, theirs = (m.facts.get("arch") or m.named for m in (a, b))
    if mine and theirs and mine != theirs:
        return False
    return bool(a.facts.get("vendor")) and a.facts.get("vendor") == b.facts.get("vendor")


def _free(key: str, known: Iterable[Mention]) -> str:
    taken = {m.key for m in known}
    if key not in taken:
        return key
    return next(f"#{n}" for n in range(len(taken) + 1) if f"#{n}" not in taken)


def _renamed(sheet: FactSheet, names: dict[str, str]) -> FactSheet:
    """A copy of the sheet under other GPU keys; what is renamed to "" is left out."""
    copy = FactSheet()
    for entry in sheet:
        name = entry.name
        if name.startswith("gpus[") and (found := _NAME.match(name)) and found[1] in names:
            if not names[found[1]]:
                continue
            name = f"gpus[{names[found[1]]}].{found[2]}"
        put(copy, entry._replace(name=name))
    return copy


def put(sheet: FactSheet, entry: Entry) -> None:
    if entry.state.value == "value":
        sheet.put(entry.name, entry.value, entry.source, entry.detail)
    elif entry.state.value == "absent":
        sheet.absent(entry.name, entry.source, entry.value, entry.detail)
    else:
        sheet.miss(entry.name, entry.state, entry.source, entry.detail)
