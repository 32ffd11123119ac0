from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.pip import pip, python_of
from doctor.rules.lib.python_packages import release

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="python-version-unsupported",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="No build of the package exists for this Python version.",
    needs=({"packages", "interpreter.version"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
pip or uv that finds no build of a GPU package for this Python, an installed package whose metadata excludes it, or a
text that lists a package's Python versions without this one.

## Why it matters
Nothing is installed, or pip silently falls back to an old or CPU-only release.

## Not raised when
The metadata of every installed package allows this Python, and no error message shows it. pip lists only wheels for a
CUDA or ROCm for which the requested torch was never built: that index has none for any Python.

## How to confirm
`python --version` against the wheels' tags (cp311, cp312 …).

## Fix
Create an environment with a Python that the release has wheels for.

## References
https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
""",
)

_SERVED = ("3.12", "3.11", "3.13", "3.10")
"""Pythons that most GPU packages have wheels for, in that order (PyPI, 2026-11-20)."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Another Python than the one at hand (one that torch's release serves), or another release of the package."""
    here = ".".join((machine.interpreter.version or "").split(".")[:2])
    row = kb.torch_build(release(machine.torch.version) or "")
    tags = row.pythons if row else ()
    named = [f"{tag[2]}.{tag[3:]}" for tag in tags if tag.startswith("cp3") and tag[3:].isdecimal()]
    order = [v for v in _SERVED if v in named] + sorted(set(named) - set(_SERVED)) if named else list(_SERVED)
    other = next((version for version in order if version != here), None)
    this = f"Python {here}" if here else "this Python"
    listing = (python_of(machine), "-m", "pip", "index", "versions", "PACKAGE")
    keep = way(
        f"Install a release of the package that has wheels for {this}.",
        Scope.ENVIRONMENT,
        step("List its releases (PACKAGE: its name).", *listing, where="environment"),
        *pip(machine, "Install one of them.", "PACKAGE==VERSION"),
        keeps=(this,) if here else (),
    )
    if other is None:
        return (keep,)
    make = step("Create it.", "uv", "venv", "--python", other, f".venv-{other}", where="environment")
    fill = step("Activate it and install the packages again.", where="environment")
    undo = (step("Remove the folder.", "rm", "-r", f".venv-{other}", where="environment"),)
    new = way(f"Create an environment with Python {other}.", Scope.ENVIRONMENT, make, fill, undo=undo)
    return (new, keep)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Metadata of what is installed; of what could not be installed only error texts tell."""
    yield from python_files.python_version(machine)


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Names the Python, where it is known. Nothing where the index itself has no such release."""
    if _index_lacks(machine, kb):
        return
    version = (machine.interpreter.version or "")[:20]
    yield Finding(
        summary=f"No build of the package exists for Python {version}." if version else RULE.title,
        subject=Subject(kind="python"),
        evidence=(
            Evidence(text=symptom.text, source=symptom.source),
            *evidence(machine, ("interpreter.version",)),
        ),
        remedies=advice(machine, kb),
    )


_OFFERED = Lazy(r"requirement torch==v?(?P<asked>\d\.\d{1,2}\.\d)\S{0,16} \(from versions: (?P<listed>[^)]{1,300})")
_LABEL = Lazy(r"\+(cu\d{2,3}|rocm\d\.[\d.]{1,4})(?=[,)\s]|$)")


def _index_lacks(machine: Snapshot, kb: Knowledge) -> bool:
    """Whether pip shows wheels for this Python of one CUDA or ROCm, for which the asked torch was never built: cu121
    ends at torch 2.5, ROCm 5.6 at 2.2."""
    for symptom in machine.symptoms:
        found = _OFFERED.search(symptom.text)
        labels = set(_LABEL.findall(found["listed"])) if found else set()
        release = kb.torch_build(found["asked"]) if found and len(labels) == 1 else None
        if release and release.cuda_variants and release.rocm_variants:
            return not labels & {*release.cuda_variants, *(f"rocm{v}" for v in release.rocm_variants)}
    return False
