"""Profile and lock -> everything that an image's files are written from.

A recipe holds no path, date or name of the machine that made it.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from doctor.images.bases import Base
from doctor.images.inside import Inner
from doctor.images.lockfile import AptLock, BaseLock, Deb, Lock, Platform, Wheel, WheelLock, shipped, shipped_name
from doctor.images.refuse import check_stack, checked_base
from doctor.images.sources import Build, builds
from doctor.knowledge import Knowledge
from doctor.parsers.python.dist_info import normal
from doctor.profiles import Profile
from doctor.profiles.parts import Flag, Pip, Serve

UID = 10001
DOCTOR_NEEDS = ("defusedxml", "nvidia-ml-py", "packaging", "pydantic", "PyYAML", "rich", "typer", "zstandard")
"""What the doctor inside imports: what pyproject.toml lists but docker, since no engine is there; a test says so."""


@dataclass(frozen=True)
class Wanted:
    """A distribution package and why it is there."""

    name: str
    why: str
    version: str | None = None

    @property
    def asked(self) -> str:
        return f"{self.name}={self.version}" if self.version else self.name


@dataclass(frozen=True)
class Recipe:
    profile: Profile
    base: Base
    lock: Lock | None
    doctor: Inner | None = None
    """The doctor in the image; None: it is left out."""

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def vendor(self) -> Literal["amd", "nvidia"] | None:
        return self.profile.hardware.vendor

    @property
    def image(self) -> str:
        wish = self.profile.image
        return (wish.base if wish else None) or ""

    @property
    def platform(self) -> Platform:
        wish = self.profile.image
        return self.lock.platform if self.lock else wish.platform if wish else "linux/amd64"

    @property
    def python(self) -> str:
        wish = self.profile.image
        return (wish.python if wish else None) or self.base.own_python or self.base.python

    @property
    def interpreter(self) -> str:
        """That the virtual environment is made of."""
        return "/usr/local/bin/python3" if self.base.own_python else f"/usr/bin/python{self.python}"

    @property
    def targets(self) -> tuple[str, ...]:
        wish = self.profile.image
        return (wish.targets if wish else ()) or self.profile.hardware.arch

    @property
    def pip(self) -> tuple[Pip, ...]:
        return self.profile.image.pip if self.profile.image else ()

    @property
    def serve(self) -> Serve | None:
        return self.profile.image.serve if self.profile.image else None

    @cached_property
    def builds(self) -> tuple[Build, ...]:
        return builds(self.profile, self.targets, self.torch_runtime)

    @property
    def torch(self) -> Pip | None:
        return next((p for p in self.pip if p.name == "torch"), None)

    @property
    def torch_runtime(self) -> str | None:
        """`13.2` or `7.14`: the CUDA or ROCm that torch must be built for; None where the profile does not say."""
        local = (self.torch.local or "") if self.torch else ""
        if local.startswith("rocm"):
            return local[4:]
        if local.startswith("cu") and local[2:].isdigit():
            return f"{local[2:-1]}.{local[-1]}"
        fact = "torch.rocm" if self.vendor == "amd" else "torch.cuda"
        return next((str(e.series) for e in self.profile.expect if e.fact == fact and e.series), None)

    @cached_property
    def runtime_packages(self) -> tuple[Wanted, ...]:
        rows = [Wanted("ca-certificates", "certificates for https")]
        if not self.base.own_python:
            rows.append(Wanted(f"python{self.python}", "the Python of the stack and of the doctor"))
        if self.torch:
            why = "Triton compiles and links a launcher while it runs"
            rows += [Wanted("gcc", why), Wanted("libc6-dev", why)]
            rows.append(Wanted("g++", "torch.compile compiles C++ for what runs on the CPU"))
            if not self.base.own_python:
                rows.append(Wanted(f"python{self.python}-dev", why))
        if self.torch and self.profile.workload == "train":
            why = "NCCL and RCCL load libibverbs for RDMA, and use sockets without it"
            rows += [Wanted("ibverbs-providers", why), Wanted("librdmacm1", why)]
        if self.profile.image:
            rows += [Wanted(a.name, a.why, a.version) for a in self.profile.image.apt]
        return tuple({r.name: r for r in rows}.values())

    @cached_property
    def build_packages(self) -> tuple[Wanted, ...]:
        rows = [] if self.base.own_python else [Wanted(f"python{self.python}-venv", "makes the virtual environment")]
        for build in self.builds:
            rows += [Wanted(name, f"{build.name} is compiled") for name in build.apt]
        return tuple({r.name: r for r in rows}.values())

    @property
    def apt_asked(self) -> tuple[str, ...]:
        return (*(p.asked for p in self.runtime_packages), "|", *(p.asked for p in self.build_packages))

    @property
    def compile_needs(self) -> tuple[str, ...]:
        """Python packages that what is compiled imports and runs with, beside those that the profile names."""
        named = {normal(p.name) for p in self.pip}
        rows = {need for build in self.builds for need in build.python if normal(bare(need)) not in named}
        return tuple(sorted(rows))

    @property
    def stack_asked(self) -> tuple[str, ...]:
        return (*(asked(p) for p in self.pip), *self.compile_needs)

    @property
    def question(self) -> tuple[object, ...]:
        """All that a lock is asked for; boards that differ in nothing of it share their lock."""
        return self.platform, self.image, self.python, self.apt_asked, self.stack_asked, bool(self.doctor), self.lock

    @property
    def flags(self) -> tuple[Flag, ...]:
        return tuple(f for f in self.profile.flag if f.kind == "safe-default")

    @property
    def digest(self) -> str | None:
        """Of the base, where the lock is of this base."""
        if "@" in self.image:
            return self.image.partition("@")[2]
        part = self.lock.base if self.lock else None
        return part.digest if part and part.asked == self.image else None

    @property
    def place(self) -> str:
        """The base's name without a digest: the profile's, or the mirror's that the lock knows it by alone."""
        part = self.lock.base if self.lock and self.digest else None
        return (part.mirror if part and part.mirror else self.image).partition("@")[0]

    @property
    def reference(self) -> str:
        return f"{self.place}@{self.digest}" if self.digest else self.image

    @property
    def debs(self) -> tuple[tuple[Deb, ...], tuple[Deb, ...]] | None:
        """Of the runtime and of the build stage."""
        part = self.lock.apt if self.lock else None
        if part is None or part.asked != self.apt_asked or part.base != self.digest:
            return None
        return part.runtime, part.build

    @property
    def snapshot(self) -> str | None:
        return self.lock.apt.snapshot if self.debs is not None and self.lock and self.lock.apt else None

    @property
    def wheels(self) -> tuple[Wheel, ...] | None:
        return self._wheels(self.lock.stack if self.lock else None, self.stack_asked)

    @property
    def doctor_wheels(self) -> tuple[Wheel, ...] | None:
        return self._wheels(self.lock.doctor if self.lock else None, DOCTOR_NEEDS) if self.doctor else ()

    def _wheels(self, part: WheelLock | None, wanted: tuple[str, ...]) -> tuple[Wheel, ...] | None:
        if not wanted:
            return ()
        return part.wheels if part and (part.asked, part.python) == (wanted, self.python) else None

    @property
    def parts(self) -> dict[str, BaseLock | AptLock | WheelLock | None]:
        """What of the lock is used, by what it holds; None: nothing does."""
        lock = self.lock or Lock(epoch=0)
        found: dict[str, BaseLock | AptLock | WheelLock | None] = {
            "the base's digest": (lock.base or BaseLock(asked=self.image, digest=self.digest)) if self.digest else None,
            "versions of the distribution's packages": lock.apt if self.debs is not None else None,
        }
        if self.stack_asked:
            found["hashes of the Python packages"] = lock.stack if self.wheels is not None else None
        if self.doctor:
            found["hashes of what the doctor inside needs"] = lock.doctor if self.doctor_wheels is not None else None
        return found

    @property
    def unlocked(self) -> tuple[str, ...]:
        """What the lock does not hold; () where the image can be built again to the same bytes."""
        return tuple(name for name, part in self.parts.items() if part is None)

    @property
    def epoch(self) -> int:
        """Of the lock; without one, the same for all."""
        return self.lock.epoch if self.lock else _epoch(datetime.date(2026, 1, 1))


def asked(package: Pip) -> str:
    """A package as the lock knows it.

    >>> asked(Pip.model_construct(name="torch", version="2.13.0", local="rocm7.2", index="https://x.org"))
    'torch==2.13.0+rocm7.2 @ https://x.org'
    """
    return plain(package) + (f" @ {package.index}" if package.index else "")


def plain(package: Pip, extras: bool = True) -> str:
    """As a requirement: `torch==2.13.0+rocm7.2`. `>=0.dev0` lets builds of the day in."""
    named = f"[{','.join(package.extras)}]" if package.extras and extras else ""
    return f"{package.name}{named}" + (f"=={package.full}" if package.full else ">=0.dev0")


def bare(requirement: str) -> str:
    """The name of a requirement.

    >>> bare("nvidia-cuda-nvcc==13.2.*")
    'nvidia-cuda-nvcc'
    """
    return re.split(r"[=<>!~\[ ]", requirement, maxsplit=1)[0]


def recipe(
    profile: Profile,
    lock: Lock | None,
    kb: Knowledge | None = None,
    doctor: Inner | None = None,
) -> Recipe:
    """Raises Impossible or InputError where there can be no such image."""
    base = checked_base(profile)
    check_stack(kb or Knowledge(), profile, base)
    made = Recipe(profile, base, lock, doctor)
    builds(profile, made.targets, made.torch_runtime)
    return made


def with_lock(recipe: Recipe) -> Recipe:
    """A recipe without a lock gets that which ships for what its image is made of, as far as one does. Its time is that
    of its newest part."""
    if recipe.lock:
        return recipe
    platform = recipe.platform
    base = shipped(BaseLock, shipped_name("base", platform, recipe.image))
    apt = shipped(AptLock, shipped_name("apt", platform, recipe.image, *recipe.apt_asked))
    wanted = (recipe.stack_asked, DOCTOR_NEEDS if recipe.doctor else ())
    stack, ours = (
        shipped(WheelLock, shipped_name("wheels", platform, recipe.python, *asked)) if asked else None
        for asked in wanted
    )
    days = [part.as_of for part in (base, apt, stack, ours) if part and part.as_of]
    if not days:
        return recipe
    lock = Lock(platform=platform, epoch=_epoch(max(days)), base=base, apt=apt, stack=stack, doctor=ours)
    return replace(recipe, lock=lock)


def _epoch(day: datetime.date) -> int:
    return int(datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc).timestamp())
