from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import set_to, unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.packages import family, install
from doctor.versions import Dotted

RULE = Rule(
    id="rocm-path-broken",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="PATH, ROCM_PATH or HIP_PATH does not point to ROCm.",
    needs=({"environment", "rocm"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
ROCM_PATH, ROCM_HOME or HIP_PATH that points to a folder without ROCm (in a pasted text: another release than the
installed one), or a build that cannot find ROCm's tools or headers.

## Why it matters
Builds use no compiler or the wrong one; libraries look for their data in a missing folder.

## Not raised when
The variable points to an installed ROCm or a folder above or below one, or the installations are not known.

## How to confirm
`echo $ROCM_PATH; ls /opt/rocm/bin/hipcc`

## Fix
Point the variable at the installed ROCm, or unset it; put its bin folder on PATH.

## Fix safety
No reboot. Changes variables of this environment only.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/post-install.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The installation that is there, or the tools of it."""
    here = _installed(machine)
    point = set_to(machine, "Point ROCM_PATH at ROCm and add its bin folder to PATH.", ROCM_PATH=here or "/opt/rocm")
    if here:
        return (point,)
    manager = family(machine)
    package = {"apt": "rocm-dev", "dnf": "rocm-devel", "zypper": "rocm-devel", "pacman": "rocm-hip-sdk"}.get(
        manager or ""
    )
    where = "" if manager == "pacman" else " (from AMD's repository)"
    argv = install(manager, package) if package else None
    tools = Step(text=f"Install ROCm's developer tools{where}.", command=argv)
    return (point.model_copy(update={"steps": (tools, *point.steps), "effect": (), "root": argv is not None}),)


def _installed(machine: Snapshot) -> str | None:
    return next((i.path for i in machine.rocm or () if i.kind == "prefix"), None)


def _repoint(machine: Snapshot, name: str) -> tuple[Remedy, ...]:
    """At the ROCm that is installed; else without the variable, which then defaults to /opt/rocm."""
    here = _installed(machine)
    there = (set_to(machine, f"Point {name} at {here}, where ROCm is installed.", **{name: here}),) if here else ()
    return (*there, unset(machine, name))


_NAMED = Lazy(r"/opt/rocm-(\d+\.\d+)")
_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A pasted text does not list every installation: there only another release than the one it names counts."""
    roots = [install.path.rstrip("/") for install in machine.rocm or ()]
    led = {way for install in machine.rocm or () for way in install.selected_by or ()}
    if machine.source("rocm").startswith("text:"):
        yield from _other_release(machine)
        return
    if roots and any(install.selected_by is None for install in machine.rocm or ()):
        roots.append("/opt/rocm")  # a link, and nobody looked where it leads
    for name in _VARIABLES:
        value = (machine.environment or {}).get(name, "").rstrip("/")
        within = any(r == value or r.startswith(f"{value}/") or value.startswith(f"{r}/") for r in roots)
        if not value.startswith("/opt/rocm") or within or name in led:  # led: through a link of another name
            continue
        yield _finding(machine, name, f"{name} points to {value[:80]}, but ROCm is not installed there.")


def _finding(machine: Snapshot, name: str, summary: str) -> Finding:
    return Finding(
        summary=summary,
        severity=Severity.WARNING,
        subject=Subject(kind="variable", id=name),
        evidence=evidence(machine, (f"environment[{name}]", "rocm")),
        remedies=_repoint(machine, name),
    )


def _other_release(machine: Snapshot) -> Iterator[Finding]:
    """ROCM_PATH=/opt/rocm-5.7.0 where ROCm 6.3.1 is what the text says is installed."""
    installed = [Dotted(i.version).series() for i in machine.rocm or () if i.version]
    for name in _VARIABLES:
        value = (machine.environment or {}).get(name, "")[:200]
        named = _NAMED.match(value)
        if named and installed and Dotted(named[1]).series() not in installed:
            yield _finding(machine, name, f"{name} points to {value[:80]}, but the installed ROCm is {installed[0]}.")
            return
