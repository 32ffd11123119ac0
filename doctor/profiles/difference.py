"""What differs between two profiles: hardware, expectations, flags, needs, image, baselines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doctor.profiles.expectation import Expectation
from doctor.profiles.model import Profile


@dataclass(frozen=True)
class Difference:
    """None: that side says nothing of it."""

    part: str
    """`hardware`, `expect`, `flag`, `need`, `image`, `baseline`"""
    name: str
    before: str | None
    after: str | None


def differences(before: Profile, after: Profile) -> tuple[Difference, ...]:
    """In the order of the parts, then by name."""
    old, new = dict(_parts(before)), dict(_parts(after))
    keys = dict.fromkeys([*old, *new])
    return tuple(
        Difference(part, name, old.get((part, name)), new.get((part, name)))
        for part, name in sorted(keys, key=lambda k: (_ORDER.index(k[0]), k[1]))
        if old.get((part, name)) != new.get((part, name))
    )


_ORDER = ("hardware", "expect", "flag", "need", "image", "baseline")


def _parts(profile: Profile) -> Iterator[tuple[tuple[str, str], str]]:
    for key, value in profile.hardware.model_dump(exclude_none=True).items():
        if value not in ((), None):
            yield ("hardware", key), _text(value)
    for expectation in profile.expect:
        yield ("expect", _called(expectation)), f"{expectation.wants} ({expectation.severity or 'as the rule'})"
    for flag in profile.flag:
        yield ("flag", flag.name + (f", {flag.only}" if flag.only else "")), f"{flag.value} ({flag.kind})"
    for need in profile.need:
        beside = f" {need.value}" if need.kind in ("cap", "device") else ""
        yield ("need", need.kind + beside + (f", {need.only}" if need.only else "")), need.value
    if profile.image:
        image = profile.image
        for key, value in (("base", image.base), ("python", image.python), ("targets", image.targets)):
            if value:
                yield ("image", key), _text(value)
        for pip in image.pip:
            yield ("image", f"pip {pip.name}"), pip.full or "the newest"
        for apt in image.apt:
            yield ("image", f"apt {apt.name}"), apt.version or "any version"
    for row in profile.baseline:
        number = row.value.floor if row.value.floor is not None else row.value.p50
        yield ("baseline", row.what), f"{number:g} {row.value.unit} ({row.library})"


def _called(expectation: Expectation) -> str:
    when = expectation.when
    return expectation.fact + (f" when {when.fact} is {_text(when.equals or when.one_of or False)}" if when else "")


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
