"""No build of the package exists for this Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import python_files
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

_TOLD = ("python-releases-told", "python-tag-of-wheel-told", "python-too-old-or-new")
"""Symptoms whose text names the Pythons that a package is for."""

RULE = Rule(
    id="python-version-unsupported",
    severity=Severity.ERROR,
    title="No build of the package exists for this Python.",
    needs=(
        {"packages", "interpreter.version"},
        *({"interpreter.version", f"symptom:{key}"} for key in _TOLD),
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
pip or uv that finds no build of a GPU package for this Python, an installed package whose metadata refuses it, or a
text that names the Pythons of a package, this one not among them.

## Why it matters
Nothing is installed, or pip silently falls back to an old or CPU-only release.

## Not raised when
The metadata of every installed package allows this Python, and no error text was seen. pip lists wheels of one CUDA or
ROCm for which the torch that was asked for was never built: that index has none for any Python.

## How to confirm
`python --version` against the wheels' tags (cp311, cp312 …).

## Fix
Make an environment with a Python that the release has wheels for.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
""",
)

FIXES = (
    Fix(
        text="Make an environment with a Python that this release has wheels for (3.10 to 3.12 serve most).",
        command=("uv", "venv", "--python", "3.12"),
        where="environment",
    ),
)


def excludes(machine: Snapshot) -> bool:
    """Where pip is not found either: there is one for each Python, and an index that has none has nothing."""
    return machine.symptom("index-without-pip-told") is not None


def unheard(machine: Snapshot) -> bool:
    """Where a build misses pkg_resources: setuptools left it out, whatever the Python. From 3.12 on environments have
    no setuptools to begin with, and there the Python may be why. Where a compiled module of an installed torch ends
    the interpreter: a build for this Python is there."""
    ended = machine.torch.version is not None and machine.symptom("interpreter-ended-by-signal-told") is not None
    if ended:
        return True
    here = Dotted(machine.interpreter.version or "0").series()
    return machine.symptom("pkg-resources-missing-told") is not None and Dotted(here or "0") < "3.12"


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Metadata of what is installed; of what could not be installed only error texts tell."""
    yield from python_files.python_version(machine)
    here = Dotted(machine.interpreter.version or "").series()
    for symptom in machine.symptoms:
        if symptom.key in _TOLD and here and not _allows(symptom.text, here):
            yield Finding(
                summary=f"Python {here} is not among the releases that the package is said to be for.",
                severity=Severity.WARNING,
                subject=Subject(kind="python"),
                evidence=(
                    Evidence(text=symptom.text, source=symptom.source),
                    *evidence(machine, ("interpreter.version",)),
                ),
                fixes=FIXES,
            )
            return


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
        fixes=FIXES,
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


_NUMBER = Lazy(r"(?:python ?(?P<op>[<>=~!]*) ?|cp|, |or |and |[<>]=? ?)(?P<number>3\.?\d{1,2})\b", re.IGNORECASE)
_FROM = Lazy(r">=|or (?:newer|later|higher|above)|and (?:newer|above)|\+", re.IGNORECASE)
_NOT = Lazy(r"not (?:yet )?support|unsupported|not compatible|too (?:new|old)|not in", re.IGNORECASE)


def _allows(text: str, here: str) -> bool:
    """Whether a text names this Python (`cp312`, `3.9 or 3.10`), or a range that holds it. True where it names none."""
    numbers = [n["number"] for n in _NUMBER.finditer(text[:300])]
    named = {n if "." in n else f"3.{n[1:]}" for n in numbers}
    if not named or (_NOT.search(text) and here in named):
        return not named
    if _FROM.search(text):
        return Dotted(here) >= min(named, key=lambda n: Dotted(n).numbers)
    return here in named or bool(_NOT.search(text))
