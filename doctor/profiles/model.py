"""What a profile holds, as pydantic models: hardware, expectations, flags, needs of a container, image, baselines.

Each value says where it comes from, as of when, and who stands behind it. The check judges the expectations, the image
builder reads `image` and the flags that are a safe default, `doctor run` reads `need` and the flags of the workload,
and `doctor bench` the baselines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Judged, ProfileVerdict
from doctor.profiles.expectation import Answer, Data, Expectation, Source, Status
from doctor.profiles.text import (
    Arch,
    Image,
    Line,
    Name,
    Package,
    PartName,
    PciId,
    Revision,
    Url,
    Value,
    Variable,
    Version,
)

Workload = Literal["any", "train", "serve"]
_SIZE = re.compile(r"[1-9][0-9]{0,5}[KMG]")
_CAP = re.compile(r"[A-Z][A-Z_]{2,30}")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_DEVICE = re.compile(r"/dev/[A-Za-z0-9_./-]{1,100}")


class Hardware(Data):
    """Which GPUs a profile is for. The ids decide where both sides have them, then the names; a key that is left out
    matches everything."""

    vendor: Literal["amd", "nvidia"] | None = None
    arch: tuple[Arch, ...] = ()
    pci_ids: tuple[PciId, ...] = ()
    revisions: tuple[Revision, ...] = ()
    """Of these ids, only those revisions; for cards that share an id."""
    names: tuple[Line, ...] = ()
    """Words that the GPU's name holds: `RX 7900`. Asked only where no PCI id is known."""
    except_names: tuple[Line, ...] = ()
    count: Annotated[int, Field(ge=1, le=1024)] | None = None

    @model_validator(mode="after")
    def _of_one_vendor(self) -> Hardware:
        mark = {"amd": ("1002:", "gfx"), "nvidia": ("10de:", "sm_")}.get(self.vendor or "")
        if mark is None and (self.pci_ids or self.arch):
            raise ValueError("vendor is missing beside pci_ids or arch; amd or nvidia is wanted")
        for given, start in ((self.pci_ids, mark and mark[0]), (self.arch, mark and mark[1])):
            wrong = next((g for g in given if start and not g.startswith(start)), None)
            if wrong:
                raise ValueError(f"{wrong} is none of {self.vendor}'s; it begins with {start} there")
        return self


class Flag(Data):
    """An environment variable. `safe-default`: may be baked into an image; `workload`: set where the workload runs;
    `conditional`: only where `only` holds."""

    name: Variable
    value: Value
    kind: Literal["safe-default", "workload", "conditional"]
    why: Line
    source: Source
    versions: Line | None = None
    """The versions that read it: `ROCm >= 7.13`."""
    only: Line | None = None
    """When it is right, in words."""

    @model_validator(mode="after")
    def _condition(self) -> Flag:
        if (self.kind == "conditional") != (self.only is not None):
            raise ValueError("kind conditional and `only` (when it is right) go together")
        return self


class Need(Data):
    """What a container needs to run it, and no more: never privileged, unconfined or the host's IPC."""

    kind: Literal["shm", "memlock", "nofile", "stack", "cap", "device"]
    value: str
    why: Line
    source: Source
    only: Line | None = None

    @model_validator(mode="after")
    def _right(self) -> Need:
        pattern, wanted = {
            "shm": (_SIZE, "a size such as 8G"),
            "memlock": (re.compile(r"unlimited|" + _SIZE.pattern), "unlimited, or a size such as 8G"),
            "stack": (_SIZE, "a size such as 64M"),
            "nofile": (_COUNT, "a number such as 65536"),
            "cap": (_CAP, "a capability without CAP_, such as SYS_PTRACE"),
            "device": (_DEVICE, "a node such as /dev/infiniband"),
        }[self.kind]
        if not pattern.fullmatch(self.value) or ".." in self.value:
            raise ValueError(f"{self.kind} can't be {self.value[:40]!r}; {wanted} is wanted")
        if self.kind == "cap" and self.value in ("ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO"):
            raise ValueError(f"cap {self.value} is as good as privileged; no profile may ask for it")
        return self


class Pip(Data):
    """A Python package of the image. `index`: where alone it may come from; without one, the default index."""

    name: Package
    version: Version | None = None
    """None: the newest when it is locked. Only of a page of links, whose builds come daily."""
    local: Annotated[str, Field(pattern=r"^[a-z0-9.]{1,40}$")] | None = None
    """The local part of the wheel's version: `rocm7.2`, `cu130`."""
    index: Url | None = None
    links: bool = False
    """`index` is a page of links, as pip's --find-links takes it, and no index."""
    extras: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$")], ...] = ()
    compile: bool = False
    """From its source, for the image's targets alone, against the image's torch."""
    git: Annotated[str, Field(pattern=r"^https://[A-Za-z0-9._/-]{3,200}$")] | None = None
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The source is this repository at this commit, which stands for its bytes; else it is the index's archive."""
    why: Line
    source: Source

    @model_validator(mode="after")
    def _from_one_place(self) -> Pip:
        if self.links and self.index is None:
            raise ValueError("links = true speaks of `index`, which is missing")
        if (self.git is None) != (self.commit is None):
            raise ValueError("git and commit (40 hex digits) go together")
        if self.git and (self.index or not self.compile):
            raise ValueError("what comes from git is compiled (compile = true), and has no index")
        if self.version is None and (not self.links or self.name == "torch"):
            raise ValueError("version is missing; only packages of a page of links go without")
        return self

    @property
    def full(self) -> str | None:
        """`2.13.0+rocm7.2`; None where the lock finds the version."""
        return f"{self.version}+{self.local}" if self.version and self.local else self.version


class Apt(Data):
    """A package of the image's distribution."""

    name: Package
    version: Version | None = None
    why: Line
    source: Source


class ImageWish(Data):
    """What the image holds. The lock says which bytes that is."""

    base: Image | None = None
    python: Annotated[str, Field(pattern=r"^3\.[0-9]{1,2}$")] | None = None
    targets: tuple[Arch, ...] = ()
    """Compilation targets of source builds, and of wheels that come by target."""
    pip: tuple[Pip, ...] = ()
    apt: tuple[Apt, ...] = ()


class Number(Data):
    """`p50`: a median that was measured; `floor`: what at least should come out."""

    p50: float | None = None
    floor: float | None = None
    min: float | None = None
    max: float | None = None
    unit: Line

    @model_validator(mode="after")
    def _one(self) -> Number:
        if (self.p50 is None) == (self.floor is None):
            raise ValueError("one of p50, floor is wanted")
        return self


class Baseline(Data):
    """A number to compare with: what was measured, how, and on which software."""

    what: Line
    value: Number
    method: Line
    dtype: Line
    shape: Line
    library: Line
    software: Mapping[str, Line]
    """Name → version of what the number was made with."""
    source: Source

    @field_validator("software")
    @classmethod
    def _some(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if not value:
            raise ValueError("is empty; the versions that the number was made with are wanted")
        return value


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
    workload: Workload = "any"
    only_named: bool = False
    """Never matched to a machine: the image of one application, or a stack for which nothing on a machine speaks."""
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

    def expectation(self, rule: str) -> Expectation | None:
        """What this profile says about a rule's fact; None when nothing."""
        return next((e for e in self.expect if e.rule == rule), None)

    def as_matched(self) -> Profile:
        """The same for a machine whose owner named no profile: another stack than this one is no fault then, so what
        is expected of the stack is told in the verdict, is no finding, and sets no rule's severity."""
        quiet = {"severity": "info", "rule": None}
        expect = tuple(e.model_copy(update=quiet) if e.fact.startswith(_STACK) else e for e in self.expect)
        matched = self.model_copy(update={"expect": expect})
        matched._matched = True
        return matched

    def is_silent(self, expectation: Expectation) -> bool:
        """Whether an expectation is told in the verdict only, and is no finding where it does not hold."""
        return self._matched and expectation.fact.startswith(_STACK)

    def for_machine(self, machine: Snapshot) -> Profile:
        """Without the expectations that do not apply to it (`when`)."""
        kept = tuple(e for e in self.expect if e.when is None or e.when.applies(machine) is not False)
        return self if len(kept) == len(self.expect) else self.model_copy(update={"expect": kept})

    def covered(self, machine: Snapshot) -> frozenset[str]:
        """Keys of the GPUs whose facts `gpus[*]` speaks of: those of the vendor that are not beside the point."""
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
        seen = list(dict.fromkeys(expectation.said(v) for v in (wrong or [v for _, v in found if v is not None])))
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
    stands beside it."""
    gpus = [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia")]
    cards = {g.vendor for g in gpus if not g.integrated}
    return tuple(g for g in gpus if not (g.integrated and g.vendor in cards))
