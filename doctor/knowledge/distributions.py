"""The table of distributions: which row a system is."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.knowledge.nvidia import Distribution
from doctor.knowledge.store import table


def distributions() -> tuple[Distribution, ...]:
    """Every row."""
    return tuple(Distribution.model_validate(row) for row in table("distributions").values())


def distribution_of(os_ids: Iterable[str], version: str | None) -> Distribution | None:
    """The row of `ID` (and `ID_LIKE`) and `VERSION_ID` of os-release; None for a release that is not listed."""
    for os_id in os_ids:
        for row in distributions():
            if os_id.lower() in row.os and _is_of(version or "", row.version):
                return row
    return None


def _is_of(version: str, release: str) -> bool:
    return not release or version == release or version.startswith(f"{release}.")
