"""A profile and a node's report -> in which facts the node is not as the profile expects, and which are not known.

Only expectations of severity warning or error count, as they do in `doctor check --profile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from doctor.facts import Snapshot
from doctor.profiles import Profile
from doctor.profiles.expectation import Expectation
from doctor.profiles.matching import misfit
from doctor.profiles.model import considered

_AREA_OF = {
    "nvidia_driver": "driver", "amdgpu_driver": "driver", "kernel": "kernel", "rocm": "stack", "cuda": "stack",
    "torch": "stack", "interpreter": "stack", "toolkits": "stack", "engines": "stack", "packages": "packages",
    "environment": "flags", "pci": "links", "rdma": "links", "nodes": "devices",
}  # fmt: skip
_GPU_FACTS = {"firmware_bundle": "firmware: bundle", "vbios": "firmware: vbios", "numa_node": "gpu: GPU NUMA nodes",
              "memory_bytes": "gpu: GPU memory", "errors.ecc_enabled": "gpu: GPU ECC",
              "sensors.power_limit_w": "gpu: GPU power limit"}  # fmt: skip


def name_of(fact: str) -> str:
    """The fleet's name of a fact of the snapshot; configuration.py reads those that nodes are compared by.

    >>> name_of("nvidia_driver.version"), name_of("gpus[*].persistence_mode"), name_of("rocm[*].version")
    ('driver: nvidia_driver.version', 'gpu: GPU persistence mode', 'stack: rocm')
    """
    head, every, field = fact.partition("[*].")
    if head == "gpus" and every:
        of_errors = field.removeprefix("errors.")
        plain = f"errors: {of_errors}" if of_errors != field else field
        return _GPU_FACTS.get(field) or f"gpu: GPU {plain.replace('_', ' ')}"
    area = _AREA_OF.get(head.partition(".")[0], "system")
    if (head, field) in (("rocm", "version"), ("cuda", "version")):
        return f"{area}: {head}"
    return f"{area}: {fact.removeprefix('environment.')}"


class Deviation(NamedTuple):
    """`fact` is the fleet's name of it, `AREA: NAME`."""

    fact: str
    expected: str
    value: str


class Outcome(NamedTuple):
    """What a profile says of one node that it is for; or may be for, where that is not known."""

    deviations: tuple[Deviation, ...] = ()
    unknown: tuple[str, ...] = ()
    applies: bool = True


class Expected:
    """One profile; asked about each node."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._count = profile.hardware.count
        self._hardware = profile.hardware.model_copy(update={"count": None})
        self._for_any = not (self._hardware.arch or self._hardware.pci_ids or self._hardware.names)
        self._expectations = [e for e in profile.expect if e.severity != "info"]
        facts = [e.fact for e in profile.expect] + [e.when.fact for e in profile.expect if e.when]
        self._read = {"gpus", "origins"} | {fact.partition("[")[0].partition(".")[0] for fact in facts}
        self.replaced = {name_of(e.fact) for e in self._expectations if e.contains is None}
        """Facts that the profile compares in place of the majority."""
        if self._count:
            self.replaced.add("gpu: GPUs")

    def outcome(self, snapshot: Mapping[str, Any]) -> Outcome | None:
        """None for a node that the profile is not for: one with other GPUs, or known to have none."""
        try:
            machine = Snapshot.model_validate({k: v for k, v in snapshot.items() if k in self._read})
        except ValueError:  # of another version, or made by hand
            return Outcome(unknown=("the report's form",), applies=False)
        gpus = considered(machine)
        if not gpus:
            return Outcome(unknown=("gpu: GPUs",), applies=False) if machine.gpus is None else None
        other = None if self._for_any else misfit(self._hardware, gpus)
        if other is not None:
            return None if other.certain else Outcome(unknown=("gpu: GPU model",), applies=False)
        return self._judged(machine, len(gpus))

    def _judged(self, machine: Snapshot, gpus: int) -> Outcome:
        wrong, unknown = [], []
        if self._count and self._count != gpus:
            wrong.append(Deviation("gpu: GPUs", str(self._count), str(gpus)))
        for expectation in self.profile.for_machine(machine).expect:
            answer = self.profile.answer(expectation, machine) if expectation in self._expectations else "holds"
            if answer == "deviates":
                name = name_of(expectation.fact)
                wrong.append(Deviation(name, expectation.wants, self._found(expectation, machine)))
            elif answer == "unknown" and not (
                expectation.fact.startswith("torch.") and machine.torch.installed is False
            ):
                unknown.append(name_of(expectation.fact))
        return Outcome(tuple(wrong), tuple(unknown))

    def _found(self, expectation: Expectation, machine: Snapshot) -> str:
        """The wrong values, each once."""
        unmet = expectation.unmet(machine, self.profile.covered(machine))
        return ", ".join(dict.fromkeys(expectation.shown(value) for _, value in unmet))
