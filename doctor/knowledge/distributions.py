"""The table of distributions: which row a system is."""

from __future__ import annotations

from doctor.knowledge.nvidia import Distribution
from doctor.knowledge.store import table


def distributions() -> tuple[Distribution, ...]:
    return tuple(Distribution.model_validate(row) for row in table("distributions").values())


def distribution_of(os_id: str, version: str | None, codename: str | None = None) -> Distribution | None:
    """The row of `ID` and `VERSION_ID` of os-release, or of the Ubuntu that `UBUNTU_CODENAME` says it is built on; None
    for a release that is not listed."""
    rows = distributions()
    own = (row for row in rows if os_id.lower() in row.os and _is_of(version or "", row.version))
    return next(own, None) or next((row for row in rows if codename and row.codename == codename), None)


def _is_of(version: str, release: str) -> bool:
    return not release or version == release or version.startswith(f"{release}.")
