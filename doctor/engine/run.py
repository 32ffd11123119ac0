"""One check from start to end: probes, profile, rules, report."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from doctor.engine import registry
from doctor.engine.gather import TOTAL_S, gather

if TYPE_CHECKING:
    from doctor.engine.allow import Allowed
    from doctor.engine.recording import Recording
    from doctor.findings import Report
    from doctor.profiles import Profile
    from doctor.system.base import System


@dataclass(frozen=True)
class Options:
    """What a check is asked. `profile` is the one the user named; without it one is matched, and none is fine.
    `only` and `skip` are rule ids and tags; `source` is what was judged, when it is not this machine."""

    profile: Profile | None = None
    match_profile: bool = True
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    allowed: Sequence[Allowed] = ()
    source: str | None = None
    python: str | None = None
    """The interpreter that the user named."""
    since: str | None = None
    """From when on the kernel log is judged (`2h`, `3d`, a date); this boot without it."""
    expect_gpus: int | None = None
    """How many GPUs should be usable; 0: none is expected."""
    total_s: float = TOTAL_S
    probes: Sequence[registry.Probe] | None = None
    checks: Sequence[registry.Check] | None = None
    record: Recording | None = None
    """Takes what the probes read, for a bundle."""


def of_python(probes: Sequence[registry.Probe], python: str | None) -> Sequence[registry.Probe]:
    """The probes, to read the packages of this interpreter."""
    if python is None:
        return probes
    return [replace(p, run=partial(p.run, python=python)) if p.name in ("python_env", "builds") else p for p in probes]


def examine(system: System, options: Options) -> Report:
    """Asks the machine everything, within `total_s` seconds, and judges the answers.

    What the judging needs is imported while the probes wait for the machine: their children start small."""
    probes = of_python(registry.probes() if options.probes is None else options.probes, options.python)
    if options.since:
        probes = [replace(p, run=partial(p.run, since=options.since)) if p.name == "kernel_log" else p for p in probes]
    gathered = gather(system, probes, options.total_s, options.record, _prepare)
    from doctor.engine.identify import identify
    from doctor.engine.judge import judge
    from doctor.knowledge import Knowledge

    kb = Knowledge()
    machine = identify(gathered.machine, kb)
    profile, why = options.profile, "named by --profile" if options.profile else ""
    if profile is None and options.match_profile and machine.gpus:
        from doctor.profiles import match

        profile, why = match(machine)
    report = judge(
        machine,
        kb,
        profile,
        checks=options.checks,
        only=options.only,
        skip=options.skip,
        allowed=options.allowed,
        source=options.source,
        chosen="named" if options.profile else "matched",
        why=why,
        expect_gpus=options.expect_gpus,
    )
    update = {"created": _now(), "redacted": bool(getattr(system, "redacted", False))}
    return report.model_copy(update=update)


def _now() -> str:
    """UTC, to the second; SOURCE_DATE_EPOCH fixes it."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.datetime.fromtimestamp(int(fixed) if fixed.isdigit() else int(time.time()), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _prepare() -> None:
    for name in ("facts.snapshot", "engine.judge", "engine.identify", "knowledge"):
        import_module(f"doctor.{name}")
    registry.checks()
