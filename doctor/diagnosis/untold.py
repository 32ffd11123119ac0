"""What to say of a rule that could not tell: which facts miss, and why each is not known."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts import Snapshot, State
from doctor.findings import Rule, Unchecked

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


def could_not_tell(rule: Rule, machine: Snapshot, knows: Mapping[str, bool]) -> Unchecked:
    """Names the facts that miss in the alternative that is nearest to being known, each with its reason."""
    alternatives = [[n for n in needs if not knows[n]] for needs in rule.needs]
    alternatives = [a for a in alternatives if not all(n.startswith("symptom:") for n in a)] or alternatives
    fewest: list[str] = min(alternatives, key=len)
    missing = tuple(sorted(fewest))
    return Unchecked(rule=rule.id, facts=missing, reason="; ".join(f"{n}: {why_unknown(n, machine)}" for n in missing))


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


def is_moot(rule: Rule, machine: Snapshot) -> bool:
    """Whether every way to decide it asks for something that is known not to be here: a fact of torch where none is
    installed, of a container on a host, of GPUs or a driver on a machine without, an error text that was not seen.
    There is nothing to find then."""
    return bool(rule.needs) and all(any(_known_absent(name, machine) for name in needs) for needs in rule.needs)


def _known_absent(name: str, machine: Snapshot) -> bool:
    if name.startswith("symptom:"):
        return machine.symptom(name[8:]) is None
    top = name.split("[")[0].split(".")[0]
    if top == "torch":
        return machine.torch.installed is False and machine.torch.version is None
    if top in ("container", "service_environment"):
        return machine.container.inside is False
    if top == "gpus":
        return machine.gpus == () and name != "gpus"
    if top in ("nvidia_driver", "amdgpu_driver"):
        loaded = machine.nvidia_driver.loaded if top == "nvidia_driver" else machine.amdgpu_driver.loaded
        return machine.gpus == () and loaded is False
    return False
