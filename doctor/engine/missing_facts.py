"""What to say of a rule that could not tell: which facts miss, and why each is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import TYPE_CHECKING

from doctor.facts import Snapshot, State
from doctor.facts.watched import pattern_of
from doctor.findings import Rule, Unchecked

if TYPE_CHECKING:
    from doctor.engine.registry import Check

_WORDS = {
    State.DENIED: "permission denied",
    State.TIMED_OUT: "timed out",
    State.FAILED: "failed",
    State.UNREADABLE: "unreadable",
    State.TOO_LARGE: "too large",
    State.NOT_RECORDED: "not in the capture",
    State.NOT_ASKED: "not asked",
    State.ABSENT: "not there",
    State.VALUE: "not known",
}


def could_not_tell(check: Check, known: Set[str], why: Mapping[str, str]) -> Unchecked:
    """Names the facts that are missing in the alternative that is nearest to being known, each with its reason."""
    missing = check.standing(check.names & known)[1]
    return _unchecked(check.rule.id, missing, tuple(map(why.__getitem__, missing)))


def looked_at_unknown(rule: Rule, names: Iterable[str], why: Mapping[str, str]) -> Unchecked:
    """Of a check that found nothing, and looked at facts that are not known. One member of a list speaks for all."""
    shown = {pattern_of(name): name for name in reversed(list(names))}
    missing = tuple(sorted(shown.values())[:_AT_MOST])
    return _unchecked(rule.id, missing, tuple(map(why.__getitem__, missing)))


_AT_MOST = 4


@lru_cache(2048)
def _unchecked(rule: str, missing: tuple[str, ...], reasons: tuple[str, ...]) -> Unchecked:
    rows = zip(missing, reasons, strict=True)
    return Unchecked(rule=rule, facts=missing, reason="; ".join(f"{name}: {reason}" for name, reason in rows))


class Reasons(dict[str, str]):
    """Why facts of one machine are not known, each looked up once."""

    def __init__(self, machine: Snapshot) -> None:
        super().__init__()
        self.machine = machine

    def __missing__(self, name: str) -> str:
        self[name] = reason = why_unknown(name, self.machine)
        return reason


def why_unknown(name: str, machine: Snapshot) -> str:
    """`permission denied (file:/dev/kfd)`: the reason of the nearest enclosing name that has an origin."""
    here = name.replace("[*]", "")
    while here:
        origin = machine.origins.get(here)
        if origin is not None:
            detail = f": {origin.detail}" if origin.detail else ""
            return f"{_WORDS[origin.state]} ({origin.source}{detail})"
        here = here[: here.rfind("[")] if here.endswith("]") else here.rpartition(".")[0]
    return "not asked" if not name.startswith("symptom:") else "not seen"


def lacks_parts(machine: Snapshot) -> bool:
    """Whether a part of the stack is known not to be here."""
    return machine.torch.installed is False or machine.container.inside is False or machine.gpus == ()


def does_not_apply(rule: Rule, machine: Snapshot) -> str | None:
    """Why there is nothing to find, where every way to decide the rule asks for something that is known not to be
    here: `torch is not installed`, `not in a container`, `this error text was not seen`."""
    reasons = []
    for needs in rule.alternatives:
        reason = next(filter(None, (_absent(name, machine) for name in needs)), None)
        if reason is None:
            return None
        reasons.append(reason)
    return next((reason for reason in reasons if reason != _NO_TEXT), reasons[0]) if reasons else None


_NO_TEXT = "its error text was not seen"


@lru_cache(2048)
def _top(name: str) -> str:
    return name.split("[")[0].split(".")[0]


def _absent(name: str, machine: Snapshot) -> str | None:
    if name.startswith("symptom:"):
        return _NO_TEXT if machine.symptom(name[8:]) is None else None
    top = _top(name)
    if top == "torch" and machine.torch.installed is False and machine.torch.version is None:
        return "torch is not installed"
    if top in ("container", "service_environment") and machine.container.inside is False:
        return "not in a container"
    if top == "gpus" and machine.gpus == () and name != "gpus":
        return "no GPU was found"
    if top in ("nvidia_driver", "amdgpu_driver"):
        loaded = machine.nvidia_driver.loaded if top == "nvidia_driver" else machine.amdgpu_driver.loaded
        return "no GPU was found" if machine.gpus == () and loaded is False else None
    return None
