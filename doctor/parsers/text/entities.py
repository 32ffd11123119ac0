"""What people's sentences name of this machine: GPUs, versions, system, engines -> facts.

The least trusted of parsers: sentences also tell of other machines, of versions that would work, of what was there.
Only what stands here is a fact; a thing named in two ways that do not agree is none. `entities_in` gives all that is
named, with its standing, what was tried among it.

>>> from doctor.knowledge.names import gpu_by_name
>>> sheet = read("my RTX5090 (driver 570.86.15) fails with torch 2.0.1+cu118, his 4090 is fine", "text", gpu_by_name)
>>> sheet.get("gpus[#0].arch"), sheet.get("nvidia_driver.version"), sheet.get("torch.cuda")
('sm_120', '570.86.15', '11.8')
>>> found = entities_in("I already tried driver 535.183.01", "text", gpu_by_name)
>>> [entity.value for entity in found if entity.standing is Standing.TRIED]
['535.183.01']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts, said_facts
from doctor.parsers.text import stack_words, states
from doctor.parsers.text.gpu_mentions import mentions
from doctor.parsers.text.gpu_names import Lookup, Mention
from doctor.parsers.text.os_name import os_facts
from doctor.parsers.text.standing import Clause, Standing, at_token, clauses, wishes
from doctor.parsers.text.tokens import Token, closed, lines, tokens
from doctor.versions import Dotted

PASTED = ({"trust": 740, "words": ("",)},)
"""Offered every piece: what makes a line worth cutting into tokens is `_CUES`, here alone."""

CHARS_LIMIT = 400_000
"""Characters of lines with a cue that are looked at."""
_ENTITIES_LIMIT = 200
_PACKAGES_LIMIT = 40
_CUES = closed(
    "rtx gtx rx radeon tesla quadro nvidia geforce amd gfx torch rocm cuda gpu card 显 driver ubuntu debian fedora "
    "linux windows win wsl wls kernel python vega strix jetson titan dgx 0ti xt super mi1 mi2 mi3 mi5 mi6 instinct "
    "00 10 20 30 40 50 60 70 80 90 ryzen xeon epyc core docker podman container flash vllm triton numpy gcc secure "
    "reboot render iommu kfd nvcc nccl nouveau numa fabric xformers bitsandbytes sglang"
)


@dataclass(frozen=True)
class Entity:
    """A thing that a sentence names. `fact`: `gpu`, a kind of stack_words, or a fact's name."""

    fact: str
    value: Any
    where: str
    standing: Standing
    mine: bool
    side: str


def entities_in(text: str, source: str, lookup: Lookup) -> list[Entity]:
    """All that is named, in order."""
    found: list[Entity] = []
    left = CHARS_LIMIT
    known: set[str] = set()
    for where, line in lines(text, source, _CUES):
        if line in known:
            continue  # a repeated line
        known.add(line)
        left -= len(line)
        if left < 0 or len(found) >= _ENTITIES_LIMIT:
            break
        found.extend(_of_line(tokens(line), where, lookup))
    return found


def read(text: str, source: str, lookup: Lookup) -> FactSheet:
    """Raises ParserError where nothing describes this machine."""
    named = entities_in(text, source, lookup)
    tried = [entity for entity in named if entity.fact == "host.tried"]
    here = [entity for entity in named if entity.standing is Standing.HERE and entity not in tried]
    if "host" in text[:CHARS_LIMIT].lower():  # both sides may be described: where its tools ran is unknown
        here = [entity for entity in here if entity.fact != "container.inside"]
    sheet = FactSheet()
    if tried:
        sheet.put("host.tried", sorted({entity.value for entity in tried}), tried[0].where)
    _gpus(sheet, [entity for entity in here if entity.fact == "gpu"])
    kinds: dict[str, list[Entity]] = {}
    for entity in here:
        if entity.fact != "gpu":
            kinds.setdefault(entity.fact, []).append(entity)
    chosen = {kind: one for kind, rows in kinds.items() if (one := _agreed(kind, rows))}
    for kind, one in chosen.items():
        for name, value in _facts(kind, one.value, chosen):
            sheet.put(name, value, one.where)
    rows = [(kind[8:], one) for kind, one in chosen.items() if kind.startswith("package:")]
    rows += [("torch", chosen["torch"])] if "torch" in chosen else []
    listed = [row for name, one in rows[:_PACKAGES_LIMIT] if (row := packages.package(name, one.value))]
    if listed:
        sheet.put("packages", listed, rows[0][1].where)
    if not len(sheet):
        raise ParserError("no words on a GPU or its stack")
    return sheet


def _of_line(row: list[Token], where: str, lookup: Lookup) -> Iterator[Entity]:
    named, things = list(mentions(row, lookup)), list(stack_words.stated(row))
    stated = any(token.low in states.NAMES for token in row)
    if not (named or things or stated):
        return
    cut = clauses(row)
    labelled = _label_of_gpu(row)
    for mention in named:
        clause = at_token(row, cut, mention.first)
        if clause.mine or mention.name or mention.arch:  # `an NVIDIA GPU` alone is one of a message
            yield Entity("gpu", mention, where, clause.standing, clause.mine or labelled, clause.side)
    for thing in things:
        clause = at_token(row, cut, thing.first)
        kind = _of_cuda(row, clause, thing) if thing.fact == "cuda" else thing.fact
        standing = clause.standing
        if kind == "driver_cuda":  # `the driver supports CUDA 12.2` is no wish
            standing = Standing.WISHED if wishes(row, clause) else Standing.HERE
        if kind:
            yield Entity(kind, thing.value, where, standing, clause.mine, clause.side)
    for name, value, clause in states.states_in(row, cut) if stated else ():
        yield Entity(name, value, where, clause.standing, clause.mine, clause.side)


def _label_of_gpu(row: list[Token]) -> bool:
    """`GPU: …`, `- **Graphics card**: …` at the head of the line."""
    head = [token.low for token in row[:8] if token.word or token.text in ":="]
    return any(sign in head[1:4] for sign in ":=") and head[0] in _GPU_LABELS


_GPU_LABELS = closed("gpu gpus graphics card video accelerator")


def _of_cuda(row: list[Token], clause: Clause, thing: stack_words.Stated) -> str:
    """Whose number a CUDA's is: the newest that the driver serves, or a toolkit's; "" if unknown."""
    words = [token.low for token in row[clause.first : clause.last]]
    after = [token.low for token in row[thing.last : thing.last + 6]]
    before = [token.low for token in row[max(thing.first - 6, 0) : thing.first]]
    if "smi" in before or "smi" in after or ("driver" in before and set(before) & _SERVES) or "driver" in after[:2]:
        return "driver_cuda"
    if {"nvcc", "toolkit", "installed"} & set(words) and "torch" not in words:
        return "toolkit"
    return ""


_SERVES = frozenset(("supports", "support", "serves", "reports", "shows", "is", "s", ":", "version"))


def _gpus(sheet: FactSheet, entities: list[Entity]) -> None:
    """One product, or none: of several it is not known which the text is about."""
    entities = [entity for entity in entities if entity.value.name or entity.value.arch] or entities
    entities = [entity for entity in entities if entity.mine] or entities
    all_: list[tuple[Mention, str]] = [(entity.value, entity.where) for entity in entities]
    archs = {mention.arch for mention, _ in all_ if mention.arch}
    archs -= {f for f in archs if f.endswith("x") and any(a.startswith(f[:-1]) for a in archs - {f})}
    vendors = {mention.vendor for mention, _ in all_}
    named = [(mention, where) for mention, where in all_ if mention.name]
    names = {alike(".name", mention.name) for mention, _ in named}
    open_ = {alike(".name", m.name) for m, _ in named if not m.arch}
    known = {alike(".name", m.name) for m, _ in named if m.arch}
    if (
        len(vendors) != 1
        or len(archs) > 1
        or any(arch.endswith("x") for arch in archs)
        or (not archs and not _one_name(names))
    ):
        return
    if open_ and known and not all(any(_one_name({o, k}) for k in known) for o in open_):
        return
    count = max(mention.count for mention, _ in all_)
    first, where = named[0] if named else all_[0]
    for number in range(count):
        at = f"gpus[#{number}]"
        sheet.put(f"{at}.vendor", first.vendor, where)
        if named and _one_name(names):
            sheet.put(
                f"{at}.name",
                max((m.name for m, _ in named), key=len)[:120] if len(names) > 1 else first.name[:120],
                where,
            )
        if archs:
            sheet.put(f"{at}.arch", next(iter(archs)), next(w for m, w in all_ if m.arch))


def _one_name(names: Collection[str]) -> bool:
    """Whether all may be one product's name, in a longer or shorter form."""
    longest = max(names, key=len, default="")
    return all(longest.startswith(name) or name in longest for name in names)


def alike(name: str, value: object) -> str:
    """What two ways to write the same GPU have in common."""
    if not name.endswith(".name"):
        return str(value)
    low = str(value).lower()
    for word in ("nvidia", "geforce", "quadro", "tesla", "amd", "radeon", "instinct", "(tm)", "(r)", "™", "®", "gpu"):
        low = low.replace(word, "")
    # The one GPU of a DGX Spark is called by the machine's name as often as by its own.
    return "".join(low.replace("-", "").replace("_", "").split()).replace("dgxspark", "gb10")


def gpus_torn(torn: set[str], archs: Collection[str]) -> bool:
    """Whether several GPUs are named. One of one architecture may bear several names: its own, and its family's."""
    return any(n.startswith("gpus[") and not (n.endswith(".name") and len(archs) == 1) for n in torn)


_OF_HOST = ("driver", "branch", "module", "user", "driver_cuda", "amdgpu", "kernel", "os", "fabric")


def _agreed(kind: str, rows: list[Entity]) -> Entity | None:
    """The fullest entity where all agree. A driver is the host's, libraries are those of the container."""
    wanted, other = ("host", "container") if kind in _OF_HOST else ("container", "host")
    if {row.side for row in rows} >= {wanted, other}:
        rows = [row for row in rows if row.side == wanted]
    if kind in _OF_HOST and kind != "driver_cuda":
        rows = [row for row in rows if row.side != "container"]
    values = sorted({str(row.value) for row in rows}, key=len)
    if not values or not all(_fuller(kind, values[-1], value) for value in values):
        return None
    return next(row for row in rows if str(row.value) == values[-1])


def _fuller(kind: str, full: str, short: str) -> bool:
    """Whether both are one version, `7.2` and `7.2.1`, or one system: `Ubuntu` and `Ubuntu 24.04`."""
    if full == short:
        return True
    if kind == "os":
        return os_facts(full).get("os.id") == os_facts(short).get("os.id") and _begins(full, short)
    return not kind.startswith("container") and _begins(full, short)


def _begins(full: str, short: str) -> bool:
    few = Dotted(short.partition(" ")[2] or short if " " in short else short).numbers
    many = Dotted(full.partition(" ")[2] if " " in full else full).numbers
    return many[: len(few)] == few


def _facts(kind: str, value: Any, chosen: dict[str, Entity]) -> Iterable[tuple[str, Any]]:
    if kind.startswith("engine:"):
        return (("container.engine", kind[7:]), ("container.engine_version", value))
    if kind.startswith("package:"):
        return ()
    if kind == "os":
        return os_facts(str(value)).items()
    if kind == "torch":
        return build_facts(str(value)).items()
    if kind == "torch_build":
        return () if "torch" in chosen else said_facts(str(value)).items()
    if kind == "amdgpu":
        return ((f"amdgpu_driver.{'release' if int(str(value).partition('.')[0]) >= 20 else 'version'}", value),)
    if kind == "branch":
        return () if {"driver", "module"} & set(chosen) else (("nvidia_driver.version", value),)
    if kind == "module":
        return (("nvidia_driver.version", value), ("nvidia_driver.loaded", True))
    if kind == "driver" and "module" in chosen and chosen["module"].value != value:
        return (("nvidia_driver.user_version", value),)
    if kind in ("rocm", "toolkit"):
        install = "rocm[shown]" if kind == "rocm" else "cuda[shown]"
        extra = () if kind == "rocm" else ((f"{install}.kind", "toolkit"),)
        return ((f"{install}.path", ""), (f"{install}.version", value), *extra)
    if kind == "host.wsl":
        return (("host.wsl", True),)
    return ((name, value) for name in _NAMES.get(kind, (kind,)) if name)


_NAMES: dict[str, tuple[str, ...]] = {
    "driver": ("nvidia_driver.version",),
    "user": ("nvidia_driver.user_version",),
    "driver_cuda": ("nvidia_driver.cuda_version",),
    "python": ("interpreter.version",),
    "kernel": ("kernel.release",),
    "gcc": ("host.gcc_version",),
    "fabric": ("nvidia_driver.fabric_manager.version",),
    "toolkit_of_containers": ("container.toolkit_version",),
    "hip": ("",),
}
