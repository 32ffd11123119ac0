"""The least set of variables that a sourced guide gives for a GPU, a version and a workload.

A guide's set is cut by what is known: names that nothing reads any more, values that are the default anyway, what an
interaction holds to be a fault on this GPU and version, and debugging. What is left keeps its reason and its source.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from doctor.flags import conditions, grammars, interactions, lint, presence, spelling
from doctor.flags.names import described, grammar_of
from doctor.flags.situation import Situation
from doctor.knowledge.store import table
from doctor.versions import Dotted

WORKLOADS = {"train": ("training/",), "serve": ("inference/",), "desktop": ("inference/pytorch",)}
"""Workload that is asked for → beginnings of the sets' own."""


_EVERYWHERE = "amd-wsl2"
"""A set for a kind of system beside whatever runs there."""


class Line(NamedTuple):
    name: str
    value: str
    why: str
    set_id: str
    source: str


class LeftOut(NamedTuple):
    """A variable of a guide's set that is not recommended here."""

    name: str
    value: str
    why: str
    set_id: str


class Advice(NamedTuple):
    sets: tuple[str, ...]
    """Guides' sets that are for this GPU and workload."""
    lines: tuple[Line, ...]
    left_out: tuple[LeftOut, ...]
    conditional: tuple[tuple[str, str], ...]
    """(when, assignments): what the same guides add in a case that is not known here."""
    others: tuple[tuple[str, str, str], ...] = ()
    """(what for, assignments, set): what other guides give for this GPU in a case of their own."""


def stated_of(workload: str) -> dict[str, bool]:
    """What a workload says of the job."""
    return {
        "training": workload == "train",
        "serving": workload == "serve",
        "production": workload in ("train", "serve"),
    }


def advice(situation: Situation, workload: str) -> Advice:
    """For the GPUs of the situation; its environment is not looked at. Empty where no guide is for that GPU."""
    bare = replace(situation, env={}, stated={**situation.stated, **stated_of(workload)})
    lines: dict[str, Line] = {}
    left: list[LeftOut] = []
    conditional: list[tuple[str, str]] = []
    ranked = sorted(fitting(bare, workload), key=lambda row: _preference(row, bare))
    chosen = [*[r for r in ranked if r["id"] != _EVERYWHERE][:1], *[r for r in ranked if r["id"] == _EVERYWHERE]]
    for row in chosen:
        env = dict(row.get("env", {}))
        for case in row.get("conditional", ()):
            holds = _case(str(case["when"]), bare)
            if holds:
                env.update(case["env"])
            elif holds is None:
                conditional.append((str(case["when"]), " ".join(f"{n}={v}" for n, v in case["env"].items())))
        for name, value in env.items():
            why = _redundant(name, str(value), bare, env)
            if why:
                left.append(LeftOut(name, str(value), why, row["id"]))
            else:
                lines[name] = Line(name, str(value), _reason(name), row["id"], row["source"])
    for name, held in _demanded(bare, {n: line.value for n, line in lines.items()}):
        lines.setdefault(name, held)
    for name, why in _faults(bare, {n: line.value for n, line in lines.items()}):
        if name in lines:
            dropped = lines.pop(name)
            left.append(LeftOut(name, dropped.value, why, dropped.set_id))
    ids = tuple(row["id"] for row in chosen)
    return Advice(ids, tuple(lines.values()), tuple(left), tuple(conditional), tuple(_others(bare, workload, ids)))


def _faults(situation: Situation, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What the lint says of what is recommended: nothing of that is recommended."""
    for finding in lint.findings(replace(situation, env=dict(env))):
        if finding.severity.value != "info":
            yield finding.subject.id, finding.summary


def _others(situation: Situation, workload: str, chosen: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Every other set for these GPUs and this kind of work: what it is for is for the reader to know."""
    kinds = (*WORKLOADS[workload], "network/", "inference or training", "training or inference")
    for row in table("flags/recommended").values():
        mine = any(_names(re.sub(r" \((?!gfx).{1,40}\)$", "", str(gpu)), situation) for gpu in row["gpu"])
        if row["id"] in chosen or not mine or not row["workload"].startswith(kinds):
            continue
        if not _fits_versions(row, situation):
            continue
        env = {str(n): str(v) for n, v in row.get("env", {}).items()}
        gone = {name for name, _ in _faults(situation, env)}
        kept = {n: v for n, v in env.items() if n not in gone and described(n) and not _default(n, v)}
        if kept:
            yield str(row["title"]), " ".join(f"{n}={shlex.quote(v)}" for n, v in kept.items()), str(row["id"])


def _default(name: str, value: str) -> bool:
    return any(str(flag.get("default")) == value for flag in described(name)) or _same(name, value)


def fitting(situation: Situation, workload: str) -> Iterator[Mapping[str, Any]]:
    """Sets of that workload for the GPUs at hand."""
    kinds = WORKLOADS[workload]
    for row in table("flags/recommended").values():
        wsl = row["id"] == _EVERYWHERE and situation.context("wsl") is True
        if row.get("only_for") or not (row["workload"].startswith(kinds) or wsl):
            continue
        if for_gpus(row, situation) and _fits_framework(row, situation) and _fits_versions(row, situation):
            yield row


def for_gpus(row: Mapping[str, Any], situation: Situation) -> bool:
    """Whether a set names one of the GPUs: by product, by architecture, or by family of Radeon."""
    return any(_names(str(gpu), situation) for gpu in row["gpu"])


_FAMILIES = {"RX 7000": r"gfx110\d", "RX 9000": r"gfx120\d", "RDNA3": r"gfx11\d\d", "RDNA4": r"gfx12\d\d"}


def _names(gpu: str, situation: Situation) -> bool:
    product, _, rest = gpu.partition(" (")
    if "Azure" in rest or "CPX" in rest or re.match(r"P\d", rest):
        return False  # that cloud's machines, that partition
    archs = situation.archs or ()
    family = next((pattern for word, pattern in _FAMILIES.items() if word in gpu), None)
    if family:
        return any(re.fullmatch(family, arch) for arch in archs)
    if gfx := re.search(r"gfx\w{3,4}", rest):
        return gfx[0] in archs
    if product in ("any", "any AMD", "any NVIDIA"):
        wanted = {"any": None, "any AMD": "amd", "any NVIDIA": "nvidia"}[product]
        return wanted is None or wanted in (situation.vendors or ())
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(product)}(?![0-9])", re.IGNORECASE)
    return any(word.search(name) for name in situation.names or ())


_FRAMEWORKS = ("vllm", "sglang", "megatron", "jax")


def _fits_framework(row: Mapping[str, Any], situation: Situation) -> bool:
    """A set for one framework is for an environment that has it; vLLM's too where the packages are not known."""
    named = next((f for f in _FRAMEWORKS if f in row["workload"]), None)
    there = situation.has(named) if named else True
    return there is True or (there is None and named == "vllm")


def _fits_versions(row: Mapping[str, Any], situation: Situation) -> bool:
    """`ROCm >= 7.13`; a version without a sign only says which guide it was."""
    found = _RELEASE.search(row["versions"])
    return found is None or not found[2] or _case(found[0], situation) is not False


def _preference(row: Mapping[str, Any], situation: Situation) -> tuple[bool, bool, int]:
    """Vendors' guides first, for a framework that is installed, and among those the shortest."""
    named = next((f for f in _FRAMEWORKS if f in row["workload"]), "")
    installed = bool(named) and situation.has(named) is True
    return row["confidence"] != "vendor", not installed, len(row.get("env", {})) or 99


def _redundant(name: str, value: str, situation: Situation, env: Mapping[str, str]) -> str | None:
    """Why a variable of a set is not worth a line here; None where it is."""
    gone = spelling.no_longer_read(name, situation)
    if gone:
        return gone[0]
    flags = described(name)
    if not flags:
        return "not described by any source of ours"
    if absent := presence.unread(name, situation):
        return absent
    if _default(name, value):
        return "is the default"
    if done := _done_anyway(flags, value, situation):
        return done
    if flags[0]["kind"] == "debug" and flags[0]["production_ok"] == "no":
        return "is for debugging"
    tried = replace(situation, env={n: str(v) for n, v in env.items()})
    for held in interactions.found(tried):
        if name in held.variables and held.severity in ("error", "warning"):
            return f"{held.id}: {held.problem}"
    return None


def _done_anyway(flags: Iterable[Mapping[str, Any]], value: str, situation: Situation) -> str | None:
    """Why these GPUs and versions do it without being set: a default that only some have."""
    cases = (case for flag in flags for case in flag.get("redundant_if", ()) if case["value"] == value)
    return next((str(case["why"]) for case in cases if conditions.all_hold(case["lines"], situation)), None)


def _same(name: str, value: str) -> bool:
    """The default, read by the same grammar, says the same."""
    default, grammar = described(name)[0].get("default"), grammar_of(name)
    mine = grammars.read(grammar, value)
    other = grammars.read(grammar, str(default)) if default else None
    return bool(mine and other and isinstance(mine.value, (bool, int)) and mine.value == other.value)


def _reason(name: str) -> str:
    return str(described(name)[0]["effect"])


_RELEASE = re.compile(r"(ROCm|vLLM|NCCL)\s*(<=|>=|<|>)?\s*(\d+(?:\.\d+){1,2})")


def _case(when: str, situation: Situation) -> bool | None:
    """Whether a set's `when` holds: several GPUs, a release; None for what can't be known (a model, a mode)."""
    if re.fullmatch("more than one GPU", when):
        return situation.count > 1 if situation.count else None
    if found := _RELEASE.search(when):
        at_hand = situation.version(found[1].lower())
        if at_hand is None:
            return None
        order = Dotted(at_hand).compare(found[3])
        whole = {"<=": order <= 0, ">=": order >= 0, "<": order < 0, ">": order > 0}.get(found[2] or "", order == 0)
        return whole and (None if re.search(r"\b(?:and|checkpoints|class)\b", when.replace(found[0], "")) else True)
    return None


def _demanded(situation: Situation, env: Mapping[str, str]) -> Iterator[tuple[str, Line]]:
    """Variables whose absence is a checked fault here, with the value that mends it."""
    for held in interactions.found(replace(situation, env=dict(env))):
        wants = re.search(r"\b([A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,60})=([\w.]{1,20})\b", held.fix)
        if not held.variables and wants and held.severity in ("error", "warning") and held.audited:
            yield wants[1], Line(wants[1], wants[2], held.problem, held.id, held.source)
