"""What installed packages require of each other, by their own metadata: which requirement is not met."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.python import Package
    from doctor.facts.snapshot import Snapshot
    from doctor.knowledge.frameworks import TensorflowBuild


_FLOOR = re.compile(r">=\s?(\d{1,4}(?:\.\d{1,4}){0,2})")
"""What most packages ask of Python: to compare it needs no parser of the whole grammar."""


class Unmet(NamedTuple):
    """`package` wants `wants` in `specifier` (`==2.4.1`); `held` is the installed one, None where none is."""

    package: Package
    wants: str
    specifier: str
    held: Package | None

    @property
    def too_old(self) -> bool:
        """The installed release is older than what is asked for; a newer one often serves all the same."""
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion, Version

        try:
            here = Version(self.held.version if self.held else "")
            floors = [s for s in SpecifierSet(self.specifier) if s.operator in (">=", ">", "==", "~=")]
            return any(here < Version(floor.version.removesuffix(".*")) for floor in floors)
        except InvalidVersion:
            return False

    @property
    def other_major(self) -> bool:
        """No release of the installed one's major is asked for."""
        return self.held is not None and not _meets(self.specifier, f"{Dotted(self.held.version).major}.0.0")


def unmet(
    machine: Snapshot, packages: Iterable[str] | None = None, wants: Iterable[str] | None = None
) -> Iterator[Unmet]:
    """Requirements that the installed packages do not meet. `packages`: only what these require; `wants`: only what is
    required of these. A package that is there twice in two versions is passed over: which one Python takes is another
    question."""
    held, asking = _one_each(machine), set(packages or ())
    wanted = set(wants or ())
    python, processor = machine.interpreter.version, machine.host.machine
    for package in machine.packages or ():
        if (asking and package.name not in asking) or not package.requires or held.get(package.name) is not package:
            continue
        for line in package.requires:
            name, specifier = _parsed(line, python, processor)
            if not name or (wanted and name not in wanted):
                continue
            there = held.get(name)
            if name in held and there is None:
                continue  # twice, in two versions
            if there is None or (specifier and not _meets(specifier, there.version)):
                yield Unmet(package, name, specifier, there)


def python_unmet(machine: Snapshot) -> Iterator[Package]:
    """Packages whose metadata refuses this Python."""
    version = machine.interpreter.version
    if not version:
        return
    for package in machine.packages or ():
        if package.requires_python and not _meets(package.requires_python, version.rstrip("+")):
            yield package


def holds(line: str, python: str | None) -> bool:
    """Whether a requirement counts on Linux with that Python; False for one that can't be read."""
    return _parsed(line, python, None)[0] != ""


def _one_each(machine: Snapshot) -> dict[str, Package | None]:
    """Name → the package; None where it is there in several versions."""
    found: dict[str, Package | None] = {}
    for package in machine.packages or ():
        known = found.get(package.name, package)
        found[package.name] = known if known and known.version == package.version else None
    return found


@lru_cache(4096)
def _parsed(line: str, python: str | None, processor: str | None) -> tuple[str, str]:
    """Normalised name and specifier; ("", "") for a line that can't be read, or that does not hold on Linux with that
    Python and processor, as far as these are known."""
    marker = line.partition(";")[2]
    if (processor is None and "platform_machine" in marker) or (python is None and "python_" in marker):
        return "", ""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    environment = {
        "python_version": ".".join((python or "").split(".")[:2]),
        "python_full_version": python or "",
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": processor or "",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    try:
        requirement: Any = Requirement(line)
        if requirement.url or (requirement.marker and not requirement.marker.evaluate(environment)):
            return "", ""
        return canonicalize_name(requirement.name), str(requirement.specifier)
    except (InvalidRequirement, ValueError, KeyError):  # markers compare whatever the metadata says
        return "", ""


def _meets(specifier: str, version: str) -> bool:
    """True too where either can't be read: what is not known is no fault."""
    if (floor := _FLOOR.fullmatch(specifier)) and version.replace(".", "").isdecimal():
        return Dotted(version) >= Dotted(floor[1])
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def tested_tensorflow(version: str) -> TensorflowBuild | None:
    """With what a TensorFlow release was built and tested (`2.17.0`, `2.17.1` asks the release of that minor)."""
    from doctor.knowledge.store import table

    rows = table("tensorflow_builds")
    row = rows.get(version) or rows.get(f"{Dotted(version).series()}.0")
    from doctor.knowledge.frameworks import TensorflowBuild

    return TensorflowBuild.model_validate(row) if row else None
