"""The resolver is the gate: a stack that it refuses is not the answer while another one resolves.

The search knows GPUs, drivers and the pins that matter for them; the resolver knows every other dependency. Where it
refuses the newest stack, the release to blame is left out and the search goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doctor.knowledge import Knowledge
from doctor.knowledge.gfx_support import support_of
from doctor.resolve.command import Tool, has_another_build
from doctor.resolve.model import Reason, Resolution, Solution, Target, Unofficial
from doctor.resolve.packages import is_known
from doctor.resolve.resolver import MUSL, Asked, Question, question
from doctor.resolve.solve import solve
from doctor.versions import Dotted

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_TRIES = 6
"""Stacks that the resolver is asked about before the first refusal is the answer."""


def settle(
    kb: Knowledge, target: Target, asked: Sequence[str], tool: Tool = "pip", ask: Asked | None = None
) -> Solution:
    """The newest stack that fits and resolves, with the resolver's answer. `ask` asks now; if it can't answer,
    the catalogue's records do. Raises InputError for what is no requirement."""
    return _supported(kb, _settled(kb, target, asked, tool, ask), tool, ask)


def _supported(kb: Knowledge, found: Solution, tool: Tool, ask: Asked | None) -> Solution:
    """For an AMD GPU that AMD does not list: who supports it, and where nobody does, what owners do."""
    target = found.target
    if target.vendor != "amd" or not target.arch:
        return found
    support = support_of(kb, target.arch)
    if support.tier == "official" or (support.tier == "none" and not kb.knows_arch(target.arch)):
        return found
    own, is_solved = None, found.status == "solved"
    if support.tier == "unofficial" and not is_solved and (override := support.override):
        relative = gated(kb, solve(kb, replace(target, arch=override.target, gpu=None), found.asked, tool), ask)
        if relative.status == "solved" and relative.resolution.state != "refused":
            variable = f"{OVERRIDE}={override.value}"
            stack, way = relative.stack, relative.resolution
            own = Unofficial(variable, override.target or "", override.risk, stack, relative.commands, way)
    # Where wheels have its code, no override is needed; the answer itself is not repeated.
    beside = {OVERRIDE} if is_solved or support.tier != "unofficial" else set()
    beside |= {"PyTorch: torch" if found.build else " wheels: "} if is_solved else set()
    lines = (line for line in support.lines() if not any(words in line[0] for words in beside))
    return replace(found, support=tuple(lines), unofficial=own)


def _settled(kb: Knowledge, target: Target, asked: Sequence[str], tool: Tool, ask: Asked | None) -> Solution:
    kept = _kept(kb, target, asked)
    if kept:
        pinned = [kept.get(text, text) for text in asked]
        found = gated(kb, solve(kb, target, pinned, tool), ask)
        if found.status == "solved" and found.resolution.state != "refused":
            is_replaced = found.build is not None and has_another_build(target, found.build)
            stays = [pin.replace("==", " ") for pin in kept.values() if not (is_replaced and pin.startswith("torch=="))]
            return replace(found, asked=tuple(asked), kept=tuple(stays))
    wanted = list(asked)
    passed_over: list[str] = []
    first: Solution | None = None
    for _ in range(_TRIES):
        found = gated(kb, solve(kb, target, wanted, tool), ask)
        found = replace(found, asked=tuple(asked), passed_over=(*passed_over, *found.passed_over))
        if found.status != "solved" and first is not None:
            break
        if found.resolution.state != "refused":
            return found
        first = first or found
        blamed = _blamed(found)
        passed_over.append(f"{blamed[0]} {blamed[1]}: {found.resolution.words}")
        wanted.append(f"{blamed[0]}!={blamed[1]}")
    assert first is not None
    return _refused(first, _free(kb, target, asked, tool, ask))


def _kept(kb: Knowledge, target: Target, asked: Sequence[str]) -> dict[str, str]:
    """Each bare wish of which a known release is installed, pinned to it: torch to its build too."""
    releases = {canonicalize_name(name): version.partition("+")[0] for name, version in target.installed}
    builds = {name: version for name, version in target.installed if name == "torch"}
    return {
        text: f"{text}=={(releases | builds)[canonicalize_name(text)]}"
        for text in asked
        if canonicalize_name(text) in releases and is_known(kb, text, releases[canonicalize_name(text)])
    }


def gated(kb: Knowledge, found: Solution, ask: Asked | None) -> Solution:
    """With what the resolver says of it, and of the nearest stack; a nearest stack that it refuses is none."""
    nearest = gated(kb, found.nearest, ask) if found.nearest else None
    if nearest and nearest.resolution.state == "refused":
        nearest = None
    differs = found.differs if nearest else ""
    if not found.commands:
        return replace(found, nearest=nearest, differs=differs)
    return replace(found, nearest=nearest, differs=differs, resolution=_asked(kb, found, ask))


def _asked(kb: Knowledge, found: Solution, ask: Asked | None) -> Resolution:
    about = question(found)
    if about is None:
        return Resolution("not-tried", detail="nothing of it lies on an index as a wheel")
    answer = ask(about) if ask else Resolution("not-tried", detail="no resolver was asked")
    # An older record does not overrule what uv says today, even where that is neither yes nor no.
    return answer if answer.by else recorded(kb, about) or answer


def recorded(kb: Knowledge, asked: Question) -> Resolution | None:
    """None where nothing was recorded that decides it. A stack that resolved on a glibc does on newer ones; one that
    was refused is refused on older ones."""
    found = kb.resolution(asked.key)
    if found is None or asked.glibc == MUSL:
        return None
    if found.resolved_from and Dotted(asked.glibc) >= found.resolved_from:
        answer = Resolution("resolved", found.by, found.source, found.as_of, found.detail, recorded=True)
    elif found.refused_to and Dotted(asked.glibc) <= found.refused_to:
        answer = Resolution("refused", found.by, found.source, found.as_of, found.refusal or "", recorded=True)
    else:
        return None
    return None if asked.left_out and answer.state == "resolved" else answer


def _blamed(found: Solution) -> tuple[str, str]:
    """The release to leave out: the first one beside torch that the refusal names, else the last; torch where there is
    no other."""
    named = {canonicalize_name(name) for name in re.findall(r"[A-Za-z][\w.-]*", found.resolution.detail)}
    picks = [p for p in found.picks if p.version]
    guilty = [p for p in picks if canonicalize_name(p.package) in named] or picks[-1:]
    if guilty:
        return guilty[0].package, guilty[0].version
    return "torch", found.build.version if found.build else ""


def _free(kb: Knowledge, target: Target, asked: Sequence[str], tool: Tool, ask: Asked | None) -> Solution | None:
    """The same packages in whatever releases resolve; None where none was pinned, or nothing does."""
    names = [Requirement(text).name for text in asked]
    found = _settled(kb, target, names, tool, ask) if names != list(asked) else None
    return found if found and found.status == "solved" else None


def _refused(found: Solution, nearest: Solution | None) -> Solution:
    answer = found.resolution
    reason = Reason("resolver", "no", f"{found.stack}: {answer.words}", answer.source, answer.as_of)
    differs = "other releases or extras than those that were asked" if nearest else ""
    refused = replace(found, status="impossible", commands=(), reasons=(*found.reasons, reason))
    return replace(refused, nearest=nearest, differs=differs)
