"""What a profile holds, as pydantic models: hardware, expectations, flags, needs of a container, image, baselines.

Each value says where it comes from, as of when, and who is behind it. The check judges the expectations, the image
builder reads `image` and the flags that are a safe default, `doctor run` reads `need` and the flags of the workload,
and `doctor bench` the baselines.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, model_validator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Judged, ProfileVerdict
from doctor.profiles.expectation import Answer, Data, Evidence, Expectation, Status
from doctor.profiles.parts import Baseline, Flag, Hardware, ImageWish, Need
from doctor.profiles.text import (
    Line,
    Name,
    PartName,
)

Workload = Literal["any", "train", "serve"]


_STACK = (
    "torch.",
    "rocm[*]",
    "cuda[*]",
    "os.",
    "kernel.release",
    "nvidia_driver.version",
    "amdgpu_driver.version",
    "interpreter.",
    "packages[*]",
)
"""Facts of the stack, which is its owner's choice; the others are of the hardware and how the host is set up."""


class Profile(Data):
    """One known-good stack."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    about: Line
    status: Status
    evidence: Evidence | None = None
    """What the status rests on."""
    workload: Workload = "any"
    only_named: bool = False
    """Matched to no machine unless its workload is asked for: the image of one application, or a stack that nothing
    on a machine points to."""
    order: Annotated[int, Field(ge=1, le=99)] = 50
    """Among profiles for the same hardware the lower comes first: 10 the current stack, 20 the one before, …"""
    extends: tuple[PartName, ...] = ()
    hardware: Hardware = Hardware()
    expect: tuple[Expectation, ...] = ()
    flag: tuple[Flag, ...] = ()
    need: tuple[Need, ...] = ()
    image: ImageWish | None = None
    baseline: tuple[Baseline, ...] = ()
    _matched: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _is_shown(self) -> Profile:
        if self.status in ("resolved", "built") and self.evidence is None:
            raise ValueError(
                f"status {self.status} says by what and when; evidence = {{ url = …, as_of = … }} is missing"
            )
        return self

    @property
    def plain_name(self) -> str:
        """Its name where a `+` can't stand, in the names of images and build targets; its folder is called so too."""
        return self.name.replace("+", "-")

    @property
    def image_name(self) -> str:
        return f"doctor/{self.plain_name}"

    def expectation(self, rule: str) -> Expectation | None:
        """What this profile says about a rule's fact; None when nothing."""
        return next((e for e in self.expect if e.rule == rule), None)

    def as_matched(self) -> Profile:
        """The same for a machine whose owner named no profile: another stack than this one is no fault then, so what
        is expected of the stack is in the verdict only and sets no rule's severity."""
        quiet = {"severity": "info", "rule": None}
        expect = tuple(e.model_copy(update=quiet) if e.fact.startswith(_STACK) else e for e in self.expect)
        matched = self.model_copy(update={"expect": expect})
        matched._matched = True
        return matched

    def is_silent(self, expectation: Expectation) -> bool:
        """Whether only the verdict mentions an expectation that is not met: of a profile that nobody named."""
        return self._matched and (expectation.severity == "info" or expectation.fact.startswith(_STACK))

    def for_machine(self, machine: Snapshot) -> Profile:
        """Without the expectations that do not apply to it (`when`)."""
        kept = tuple(e for e in self.expect if e.when is None or e.when.applies(machine) is not False)
        return self if len(kept) == len(self.expect) else self.model_copy(update={"expect": kept})

    def covered(self, machine: Snapshot) -> frozenset[str]:
        """Keys of the GPUs whose facts `gpus[*]` mentions: those of the vendor that are not beside the point."""
        return frozenset(g.key for g in considered(machine) if self.hardware.vendor in (None, g.vendor))

    def answer(self, expectation: Expectation, machine: Snapshot) -> Answer:
        """Also unknown where it is not known whether it applies, and the fact is not as it should be."""
        answer = expectation.judge(machine, self.covered(machine))
        if answer == "deviates" and expectation.when and expectation.when.applies(machine) is None:
            return "unknown"
        return answer

    def verdict(self, machine: Snapshot, chosen: Literal["named", "matched"], why: str) -> ProfileVerdict:
        """How each expectation came out."""
        judged = tuple(self._judged(e, machine) for e in self.for_machine(machine).expect)
        facts = {a: tuple(j.fact for j in judged if j.outcome == a) for a in ("holds", "deviates", "unknown")}
        return ProfileVerdict(name=self.name, status=self.status, chosen=chosen, why=why, judged=judged, **facts)

    def _judged(self, expectation: Expectation, machine: Snapshot) -> Judged:
        outcome = self.answer(expectation, machine)
        found = expectation.values(machine, self.covered(machine))
        wrong = [v for _, v in expectation.unmet(machine, self.covered(machine))] if outcome == "deviates" else []
        seen = list(dict.fromkeys(expectation.shown(v) for v in (wrong or [v for _, v in found if v is not None])))
        return Judged(
            fact=expectation.fact,
            outcome=outcome,
            wants=expectation.wants,
            found=", ".join(seen[:4]) + (" …" if len(seen) > 4 else "") if seen else None,
            severity=expectation.severity,
            rule=expectation.rule,
            why=expectation.why,
            status=expectation.status,
            source=expectation.source.url,
            as_of=expectation.source.as_of.isoformat(),
        )


def considered(machine: Snapshot) -> tuple[Gpu, ...]:
    """The GPUs that a profile is asked about: AMD's and NVIDIA's; without the one inside the CPU where a vendor's card
    is beside it."""
    gpus = [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia")]
    cards = {g.vendor for g in gpus if not g.integrated}
    return tuple(g for g in gpus if not (g.integrated and g.vendor in cards))
