"""The catalogue of symptoms: error texts of drivers, runtimes and frameworks, and the causes that each points to.

A symptom supports, facts decide: a cause is named from a symptom only where no known fact speaks against it, and how
sure it is says how loud the finding may be. Data: `data/symptoms/*.toml`, each entry

    [[symptom]]
    id = "hip-invalid-device-function"
    says = ["invalid device function"]              # any of these literals, case ignored
    matches = 'optional regular expression that the same line must match too'
    helped_by = 'or one of a remedy: the line must say that it helped'
    source = "https://…"
    as_of = "2026-11-20"
    confirmed = true                                # the text was found at its source (docs/knowledge.md)
    [[symptom.points_to]]
    rule = "torch-missing-gpu-arch"
    sure = "likely"                                 # certain → error, likely → warning, possible → info
    vendor = "amd"                                  # not where only other vendors' GPUs are known
    when = { "container.inside" = true }            # facts that must be known and equal (a list: any of)
    unless = { "os.id" = ["windows"] }              # facts that, known and equal, exclude it
    with_symptom = ["other-symptom"]                # at least one of these must be seen too
    and_symptom = ["further-symptom"]               # all of these must be seen too
    without_symptom = ["another"]                   # none of these may be seen
    fails = true                                    # something else must be seen that is no mere mention
    beside = ["third-rule"]                         # causes that the text may as well have: not folded under this one
    summary = "optional: what the finding says instead of the rule's title"

What people only tell (doctor/knowledge/hearsay.py) is not read from a sentence that asks for it or says that it was
meant, where it would name a cause by itself.

In `when` and `unless` a value that starts with `~` is a regular expression searched for in the fact's text; `"known"`
asks only that the fact is known. Beside the names of facts these may be asked: `package:NAME` (version of a Python
package), `env:NAME` (an environment variable) and `gpu:FIELD` (that field of any known GPU: `gpu:arch`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from doctor.facts.snapshot import Snapshot
from doctor.knowledge import hearsay

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parent / "data" / "symptoms"
BLOCK_CHARACTERS = 1 << 16
TEXT_CHARACTERS = 300
_START = 4
"""Characters by which literals are sorted; none is shorter."""
_STOCK = "This can potentially cause a hang if this rank to GPU mapping is incorrect"
"""What torch's ProcessGroupNCCL warns of at every start without a device id: nothing hangs by it
(torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp)."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal or a browser obeys, those that turn the direction of writing among them."""

Sure = Literal["certain", "likely", "possible"]
Condition = Mapping[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cause(_Strict):
    """One cause that a symptom points to, and what else must be true."""

    rule: str
    sure: Sure
    vendor: Literal["amd", "nvidia"] | None = None
    when: dict[str, Any] = Field(default_factory=dict)
    unless: dict[str, Any] = Field(default_factory=dict)
    with_symptom: tuple[str, ...] = ()
    and_symptom: tuple[str, ...] = ()
    without_symptom: tuple[str, ...] = ()
    fails: bool = False
    beside: tuple[str, ...] = ()
    summary: str | None = None

    def holds(self, machine: Snapshot, key: str = "") -> bool:
        """Whether everything else that must be true is, as far as the facts tell. `key` is the symptom's own id."""
        seen = {s.key for s in machine.symptoms}
        if self.fails and not hearsay.trouble(machine, key):
            return False
        if self.with_symptom and not seen & set(self.with_symptom):
            return False
        if seen & set(self.without_symptom) or set(self.and_symptom) - seen:
            return False
        if self.vendor and not _may_be(machine, self.vendor):
            return False
        if not all(is_so(machine, name, wanted) for name, wanted in self.when.items()):
            return False
        return not any(is_so(machine, name, wanted) for name, wanted in self.unless.items())


class Signature(_Strict):
    """One error text and what it points to. `confirmed`: whether the text was found at its source, not only
    remembered."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    says: tuple[str, ...] = Field(min_length=1)
    matches: str | None = None
    helped_by: str | None = None
    source: str
    as_of: str
    confirmed: bool = False
    points_to: tuple[Cause, ...] = ()

    @field_validator("says")
    @classmethod
    def _lower(cls, says: tuple[str, ...]) -> tuple[str, ...]:
        if any(len(text) < 4 for text in says):
            raise ValueError("a literal of fewer than 4 characters says nothing")
        return tuple(text.lower() for text in says)

    @model_validator(mode="after")
    def _one_expression(self) -> Signature:
        if self.matches is not None and self.helped_by is not None:
            raise ValueError(f"{self.id}: matches and helped_by exclude each other")
        return self

    @property
    def expression(self) -> str | None:
        """What the line must match, as text."""
        return self.matches if self.helped_by is None else hearsay.HELPED_BY.replace("@", f"(?:{self.helped_by})")

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The expression, compiled; linear by construction is the author's duty, lines are cut to a bound before."""
        return re.compile(self.expression, re.IGNORECASE) if self.expression else None

    @cached_property
    def accuses_by_hearsay(self) -> bool:
        """Whether it reads what people say, and a cause is named from that alone."""
        loud = [c for c in self.points_to if c.sure != "possible" and not c.with_symptom and not c.and_symptom]
        return hearsay.is_told(self.id) and bool(loud)


class Hit(NamedTuple):
    """A symptom seen: its id, the line it stands on (from 1) and that line's text."""

    key: str
    line: int
    text: str


class Symptoms:
    """The catalogue, read when it is first asked."""

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """Every signature by id. Raises ValueError when two share an id."""
        found: dict[str, Signature] = {}
        for path in sorted(DATA.glob("*.toml")):
            for row in tomllib.loads(path.read_text(encoding="utf-8"))["symptom"]:
                signature = Signature.model_validate(row)
                if signature.id in found:
                    raise ValueError(f"{path.name}: symptom id {signature.id} is used twice")
                found[signature.id] = signature
        return found

    def accuses(self, key: str) -> bool:
        """Whether a symptom names a cause by itself. What only tells others apart does not; an unknown one may."""
        signature = self.signatures.get(key)
        return signature is None or any(not c.with_symptom and not c.and_symptom for c in signature.points_to)

    def find(self, lines: Iterable[tuple[int, str]]) -> list[Hit]:
        """The first line of each symptom that the text shows, in the order of the text. Bounded memory: lines are
        looked at in blocks, each literal is searched for once a block."""
        seen: set[str] = set()
        hits = []
        for block in _blocks(lines):
            low = [text.lower() for _, text in block]
            for signature, literals in self._shown(low, seen):
                hit = _locate(signature, literals, block, low)
                if hit:
                    hits.append(hit)
                    seen.add(signature.id)
        return sorted(hits, key=lambda hit: hit.line)

    def _shown(self, low: list[str], seen: set[str]) -> list[tuple[Signature, list[str]]]:
        """Signatures of which literals stand in the lines, with these, in the catalogue's order. Only literals are
        looked for whose first characters stand there: what a text costs does not grow with the catalogue."""
        joined = "\n".join(low)
        starts = {joined[at : at + _START] for at in range(len(joined) - _START + 1)}
        found: dict[int, list[str]] = {}
        for start in self._literals.keys() & starts:
            for place, key, literal in self._literals[start]:
                if key not in seen and literal in joined:
                    found.setdefault(place, []).append(literal)
        return [(self._ordered[place], found[place]) for place in sorted(found)]

    @cached_property
    def _ordered(self) -> list[Signature]:
        return list(self.signatures.values())

    @cached_property
    def _literals(self) -> dict[str, list[tuple[int, str, str]]]:
        """First characters of a literal → place of its signature, its id, the literal."""
        literals: dict[str, list[tuple[int, str, str]]] = {}
        for place, signature in enumerate(self._ordered):
            for literal in signature.says:
                literals.setdefault(literal[:_START], []).append((place, signature.id, literal))
        return literals

    def causes(self, key: str, machine: Snapshot) -> list[Cause]:
        """What a symptom points to on this machine, the likeliest first."""
        signature = self.signatures.get(key)
        return [cause for cause in signature.points_to if cause.holds(machine, key)] if signature else []


@cache
def shared() -> Symptoms:
    """The catalogue that all of a process use: reading it takes longer than judging a text."""
    return Symptoms()


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    size = 0
    for number, text in lines:
        text = text.replace(_STOCK, "")
        block.append((number, text))
        size += len(text)
        if size > BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def _locate(signature: Signature, literals: list[str], block: list[tuple[int, str]], low: list[str]) -> Hit | None:
    for place, lowered in enumerate(low):
        for literal in literals:
            if literal in lowered:
                break
        else:
            continue
        number, text = block[place]
        found = signature.pattern.search(text) if signature.pattern else None
        if signature.pattern is not None and found is None:
            continue
        end = found.end() if found else lowered.index(literal) + len(literal)
        asked = signature.accuses_by_hearsay and hearsay.beside_the_point(text, end)
        if not asked and not (signature.points_to and hearsay.of_the_past(text, end)):
            return Hit(signature.id, number, _CONTROL.sub(" ", text).strip()[:TEXT_CHARACTERS])
    return None


def _may_be(machine: Snapshot, vendor: str) -> bool:
    known = {gpu.vendor for gpu in machine.gpus or ()} - {None}
    if known:
        return vendor in known
    other = {"amd": "cuda", "nvidia": "rocm"}[vendor]
    return machine.torch.build != other


def is_so(machine: Snapshot, name: str, wanted: Any) -> bool:
    """Whether what `name` asks for (a fact, `package:…`, `env:…` or `gpu:…`) is known and one of `wanted`."""
    values = [value for value in _values(machine, name) if value is not None]
    if wanted == "known":
        return any(value != "" for value in values)  # an empty variable is shown as often as it is set
    choices = wanted if isinstance(wanted, list) else [wanted]
    return any(_matches(value, choice) for value in values for choice in choices)


def _values(machine: Snapshot, name: str) -> list[Any]:
    kind, _, key = name.partition(":")
    if not key:
        return [machine.get(name)]
    if kind == "package":
        return [package.version for package in machine.packages or () if package.name == key]
    if kind == "env":
        return [(machine.environment or {}).get(key)]
    if kind == "gpu":
        return [getattr(gpu, key) for gpu in machine.gpus or ()]
    raise ValueError(f"{name}: not package:, env: or gpu:")


def _matches(value: Any, choice: Any) -> bool:
    if isinstance(choice, str) and choice.startswith("~"):
        return re.search(choice[1:], str(value), re.IGNORECASE) is not None
    return bool(value == choice)
