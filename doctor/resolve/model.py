"""What is asked (a machine and packages), and what comes out (commands, or why there are none and what would do)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from doctor.knowledge.age import day_of
from doctor.knowledge.windows import Answer, Verdict

Kind = Literal["gpu", "driver", "rocm", "python", "platform", "release", "package", "resolver"]
Status = Literal["solved", "impossible", "unknown"]
Vendor = Literal["nvidia", "amd"]
IN_TREE = "in-tree"
"""Target.driver of the amdgpu that the kernel brings, which has no release of its own."""


@dataclass(frozen=True)
class Resolution:
    """Whether a resolver accepts the stack for the described machine. `not-tried` proves nothing either way."""

    state: Literal["resolved", "not-tried", "refused"]
    by: str = ""
    """`uv 0.13.9`; empty where no resolver answered."""
    source: str = ""
    """The indexes that were asked."""
    as_of: str = ""
    detail: str = ""
    recorded: bool = False
    """From the catalogue's records, not asked now."""

    @property
    def words(self) -> str:
        """`resolved by uv 0.13.9 on 2026-11-23 (88 packages for Python 3.12)`"""
        by = f" by {self.by} on {self.as_of}{', recorded' if self.recorded else ''}" if self.by else ""
        if self.state == "not-tried":
            return f"not resolved: {self.detail}"
        return f"{self.state}{by} ({self.detail})"


NOT_ASKED = Resolution("not-tried", detail="no resolver was asked")


@dataclass(frozen=True)
class Target:
    """The machine that packages are for. None: not known, and then not held against a stack."""

    vendor: Vendor | None = None
    arch: str | None = None
    """`gfx942`, `sm_90`"""
    driver: str | None = None
    """NVIDIA's driver, or the release of the amdgpu driver (`30.10`, `6.4.1`)."""
    rocm: str | None = None
    """The ROCm installed on the machine; where no amdgpu release is known, the driver is taken to be of it."""
    python: str | None = None
    """`3.12`"""
    os: str | None = None
    os_version: str | None = None
    glibc: str | None = None
    libc: Literal["glibc", "musl"] | None = None
    """None: not known."""
    machine: str = "x86_64"
    gpu: str | None = None
    """The GPU as it was named."""
    interpreter: str | None = None
    """Path of the Python that commands are written for."""
    installed: tuple[tuple[str, str], ...] = ()
    """Packages of that Python with their releases."""

    def words(self) -> str:
        """`sm_90 (H100), driver 570.124, Python 3.12, ubuntu 24.04, x86_64`"""
        named = f" ({self.gpu})" if self.gpu and self.gpu != self.arch else ""
        parts = [
            f"{self.arch}{named}" if self.arch else None,
            f"driver {self.driver}" if self.driver else None,
            f"ROCm {self.rocm}" if self.rocm else None,
            f"Python {self.python}" if self.python else None,
            f"{self.os} {self.os_version or ''}".strip() if self.os else None,
            f"glibc {self.glibc}" if self.glibc and not self.os else None,
            self.machine,
        ]
        return ", ".join(p for p in parts if p)


@dataclass(frozen=True)
class Build:
    """An official build of torch. `bundled_by`: it comes with that package, and its version is not known here."""

    version: str
    tag: str
    """`cu130`, `rocm7.2`, `cpu`"""
    plain: bool = False
    """The wheel of the Python package index that a plain `pip install torch` takes."""
    bundled_by: str | None = None

    @property
    def cuda(self) -> str | None:
        digits = self.tag[2:]
        return f"{digits[:-1]}.{digits[-1]}" if self.tag.startswith("cu") and digits.isdigit() else None

    @property
    def rocm(self) -> str | None:
        return self.tag[4:] if self.tag.startswith("rocm") else None

    @property
    def words(self) -> str:
        return f"the torch of {self.bundled_by}" if self.bundled_by else f"torch {self.version}+{self.tag}"


@dataclass(frozen=True)
class Reason:
    """Why something goes or does not go together."""

    kind: Kind
    verdict: Verdict
    text: str
    source: str = ""
    as_of: str = ""

    @classmethod
    def of(cls, kind: Kind, answer: Answer, about: str = "") -> Reason:
        text = f"{about}: {answer.reason}" if about else answer.reason
        return cls(kind, answer.verdict, text, answer.source, answer.as_of)


@dataclass(frozen=True)
class Pick:
    """A package's release, the way it is installed, and why."""

    package: str
    version: str
    requirement: str
    index: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: str | None = None
    note: str | None = None
    image: str | None = None
    from_torch: bool = False
    """It comes from the index of torch's build, where wheels of one name differ by CUDA."""
    cuda: str | None = None
    """The CUDA that it brings or asks for."""
    rocm: tuple[str, ...] = ()
    compiled: bool = False
    """No index has a wheel of it: it is built from source on the machine."""
    family: tuple[str, ...] = ()
    """torchvision and torchaudio where its metadata asks for them: they come from the index of torch's build."""
    reasons: tuple[Reason, ...] = ()

    @property
    def words(self) -> str:
        """`jax[cuda12] 0.12.0`; the name of an image."""
        return self.image or f"{self.requirement.partition('==')[0] or self.package} {self.version}".strip()


@dataclass(frozen=True)
class Change:
    """Something of the machine that would have to change for what was asked, and what would then run."""

    text: str
    stack: str


@dataclass(frozen=True)
class Unofficial:
    """A stack for a relative of the GPU, whose code runs with a variable set. Nobody tests it."""

    variable: str
    """`HSA_OVERRIDE_GFX_VERSION=10.3.0`"""
    runs_as: str
    risk: str
    stack: str
    commands: tuple[tuple[str, ...], ...]
    resolution: Resolution


@dataclass(frozen=True)
class Solution:
    """The answer. `commands` in order; empty unless `solved`."""

    status: Status
    target: Target
    asked: tuple[str, ...]
    build: Build | None = None
    picks: tuple[Pick, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[Reason, ...] = ()
    needs: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    nearest: Solution | None = None
    differs: str = ""
    """What the nearest stack leaves out or takes instead."""
    resolution: Resolution = NOT_ASKED
    passed_over: tuple[str, ...] = ()
    """Newer releases that were not chosen, each with the reason."""
    kept: tuple[str, ...] = ()
    """Installed releases that the stack leaves as they are: `torch 2.13.0`."""
    support: tuple[tuple[str, str], ...] = ()
    """Who supports an AMD GPU that AMD does not list, as (sentence, source)."""
    unofficial: Unofficial | None = None
    knowledge: dict[str, str] = field(default_factory=dict)

    @property
    def stack(self) -> str:
        """`torch 2.11.0+cu128, vllm 0.26.0`"""
        parts = [self.build.words] if self.build and not self.build.bundled_by else []
        return ", ".join([*parts, *(p.words for p in self.picks)]) or "nothing"

    @property
    def is_sure(self) -> bool:
        """Whether a resolver accepts it, and its GPU is known if it needs one."""
        return self.resolution.state == "resolved" and bool(self.target.arch or self.target.vendor is None)

    @property
    def rests_on(self) -> Reason | None:
        """The oldest dated fact that the answer rests on."""
        dated = [r for r in self.reasons if r.as_of]
        return min(dated, key=lambda r: day_of(r.as_of), default=None)

    def refusals(self) -> tuple[Reason, ...]:
        return tuple(r for r in self.reasons if r.verdict == "no")


def worst(reasons: Iterable[Reason]) -> Verdict:
    """`no` over `unknown` over `yes`."""
    verdicts = {r.verdict for r in reasons}
    return "no" if "no" in verdicts else "unknown" if "unknown" in verdicts else "yes"
