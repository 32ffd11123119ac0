"""PATH, ROCM_PATH or HIP_PATH lead to no ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import hearsay
from doctor.redaction.lazy import Lazy
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="rocm-path-broken",
    severity=Severity.ERROR,
    title="PATH, ROCM_PATH or HIP_PATH lead to no ROCm.",
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
ROCM_PATH, ROCM_HOME or HIP_PATH that name a folder in which no ROCm is installed (of a pasted text: another release
than the installed one), or a build that can't find ROCm's tools or headers.

## Why it matters
Builds take no compiler or the wrong one; libraries look for their data in a folder that is not there.

## Not raised when
The variable names an installed ROCm or a folder above or below one, or installations are not known.

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

FIXES = (
    Fix(
        text="Install ROCm's developer tools, put /opt/rocm/bin on PATH and set ROCM_PATH=/opt/rocm.",
        where="environment",
    ),
)

_NAMED = Lazy(r"/opt/rocm-(\d+\.\d+)")
_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


def unheard(machine: Snapshot) -> bool:
    """Where what was built and run gives wrong values, or a report names the compiler or the parts that it found:
    nothing of ROCm was missed. Where variables lead to ROCm and each names the release that is installed. Where ROCm's
    tools were run by their path and show the GPUs, and nothing is told to be absent or of another release. Where a
    build names the folder of ROCm that it found, or variables the usual one, and nothing fails."""
    if machine.symptom("output-garbage", "hipcc-found-told", "julia-found-rocm-told") or _all_lead_there(machine):
        return True
    found = machine.symptom("rocm-home-found-told") is not None
    if (found or (_all_usual(machine) and not hearsay.trouble(machine, ""))) and not machine.symptom("work-fails-told"):
        return True
    ran = machine.symptom("rocm-tool-run-told") is not None and bool(machine.of_vendor("amd"))
    return ran and machine.symptom("rocm-part-missed-told") is None


def _all_lead_there(machine: Snapshot) -> bool:
    shown = [value for name in _VARIABLES if (value := (machine.environment or {}).get(name))]
    named = [_NAMED.match(value) for value in shown]
    installed = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    return bool(shown) and all(found and Dotted(found[1]).series() in installed for found in named)


def _all_usual(machine: Snapshot) -> bool:
    shown = [value.rstrip("/") for name in _VARIABLES if (value := (machine.environment or {}).get(name))]
    return bool(shown and machine.rocm) and set(shown) == {"/opt/rocm"}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A pasted text does not list every installation: there only another release than the one it names counts."""
    roots = [install.path.rstrip("/") for install in machine.rocm or ()]
    led = {way for install in machine.rocm or () for way in install.selected_by or ()}
    if machine.source("rocm").startswith("text:"):
        yield from _other_release(machine)
        return
    for name in _VARIABLES:
        value = (machine.environment or {}).get(name, "").rstrip("/")
        if not value.startswith("/opt/rocm") or any(r.startswith(value) or value.startswith(f"{r}/") for r in roots):
            continue
        if name in led:  # through a link of another name
            continue
        yield Finding(
            summary=f"{name} names {value[:80]}, where no ROCm is installed.",
            severity=Severity.WARNING,
            subject=Subject(kind="variable", id=name),
            evidence=evidence(machine, (f"environment[{name}]", "rocm")),
            fixes=(Fix(text=f"Unset {name}, or point it at an installed ROCm.", where="environment"),),
        )


def _other_release(machine: Snapshot) -> Iterator[Finding]:
    """ROCM_PATH=/opt/rocm-5.7.0 where ROCm 6.3.1 is what the text says is installed."""
    installed = [Dotted(i.version).series() for i in machine.rocm or () if i.version]
    for name in _VARIABLES:
        value = (machine.environment or {}).get(name, "")[:200]
        named = _NAMED.match(value)
        if named and installed and Dotted(named[1]).series() not in installed:
            yield Finding(
                summary=f"{name} names {value[:80]}; ROCm {installed[0]} is what is installed.",
                severity=Severity.WARNING,
                subject=Subject(kind="variable", id=name),
                evidence=evidence(machine, (f"environment[{name}]", "rocm")),
                fixes=(Fix(text=f"Unset {name}, or point it at an installed ROCm.", where="environment"),),
            )
            return
