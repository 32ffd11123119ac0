"""Which release of the amdgpu driver runs, and whether it has a known fault here: shared by the rules on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.facts import Snapshot
from doctor.findings import Finding, Scope, Severity, Subject, evidence
from doctor.knowledge.store import table
from doctor.rules.lib.advice import by_hand, sentence
from doctor.versions import Dotted

_SEVERITY = {"certain": Severity.ERROR, "likely": Severity.WARNING, "possible": Severity.INFO}
_FAULTS = ("amdgpu-vm-fault", "amdgpu-ring-timeout", "amd-memory-access-fault", "hip-launch-failure")
"""Texts of a GPU that faults or hangs: with one, a fault that is only possible is worth a warning."""
_LAST_OWN_SERIES = 6
"""Modules of the 5.x and 6.x lines; driver packages carry ROCm's numbers up to 6.4, so that a number may be either."""


class Release(NamedTuple):
    """`text` is the release; `exact` False: it is this one or an older one."""

    text: str
    exact: bool


def release_of(machine: Snapshot) -> Release | None:
    """None where the driver is the kernel's own, or its number means nothing."""
    driver = machine.amdgpu_driver
    if driver.source == "in-tree":
        return None
    if driver.release:
        return Release(driver.release, exact=True)
    number = Dotted(driver.version or "")
    if not number.numbers or (number.major or 0) > _LAST_OWN_SERIES:
        return None
    known = _modules()
    for module, release in known:
        if str(number).partition("-")[0] == module:
            return Release(release, exact=True)
    if number < known[0][0]:
        # 6.2.4 is the module of ROCm 5.7, and may be meant as the driver of ROCm 6.2: the newer is assumed
        is_series = number.numbers[:2] <= (6, 4) and not ((5, 8) <= number.numbers[:2] < (6, 0))
        return Release(str(number) if is_series else "5.4.3", exact=number.numbers[:2] == (6, 4))
    above = next((release for module, release in known if number < module), None)
    return Release(above, exact=False) if above else None


def _modules() -> list[tuple[str, str]]:
    """Module number → the first driver release that has it, the oldest first."""
    rows: dict[str, str] = {}
    for row in table("amdgpu_drivers").values():
        module = (row.get("module_version") or "").partition("-")[0]
        if module:
            rows.setdefault(module, row["version"].removesuffix(".x"))
    return sorted(rows.items(), key=lambda row: Dotted(row[0]).numbers)


def known_faults(machine: Snapshot, rule: str) -> Iterator[Finding]:
    """A finding for each known fault of that rule whose conditions all hold."""
    if machine.gpus == () and machine.amdgpu_driver.loaded is not True and rule != "nvidia-kernel-incompatible":
        return
    from doctor.knowledge.faults import faults

    for fault in faults():
        facts = fault.facts(machine) if fault.rule == rule else None
        if facts is None:
            continue
        seen = machine.symptom(*fault.felt, *(_FAULTS if rule == "amdgpu-driver-known-bad" else ()))
        sure = "likely" if seen and fault.sure == "possible" else fault.sure
        yield Finding(
            severity=_SEVERITY[sure],
            suspect=fault.sure == "possible",
            summary=sentence(fault.what),
            subject=Subject(kind="driver", id="nvidia" if fault.nvidia else "amdgpu"),
            evidence=evidence(machine, facts),
            remedies=(
                by_hand(
                    fault.fix,
                    Scope.DRIVER,
                    undo="Reinstall the old release, then reboot.",
                    root=True,
                    reboot=True,
                    vendor="nvidia" if fault.nvidia else "amd",
                ),
            ),
            source=f"{fault.source} ({fault.as_of})",
        )
