from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import torch_install
from doctor.rules.lib.advice import unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.missing_libraries import OF_EXTENSIONS, missing_runtimes
from doctor.rules.lib.python_packages import package
from doctor.versions import Dotted

RULE = Rule(
    id="torch-rocm-version-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="torch's ROCm does not match the installed ROCm or its driver.",
    needs=({"torch.rocm", "rocm"}, {"rocm", "symptom:rocm-library-not-found"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    facts_decide=False,
    tags=("python", "amd"),
    doc="""## What it finds
A ROCm build of torch that loads libraries of another ROCm, or runs on a driver outside its support window. Or a
missing runtime library whose soname is of another ROCm than the installed one.

## Why it matters
Symbols are missing at import, or libraries of one release read kernels of another.

## Not raised when
The releases have the same or neighbouring majors, the installed ROCm is not known, or LD_LIBRARY_PATH does not point
to it: a wheel has its own libraries, so the distance alone is a warning.

## How to confirm
`python -c 'import torch; print(torch.version.hip)'` and `/opt/rocm/.info/version`.

## Fix
Use the torch build of the installed ROCm, and keep /opt/rocm/lib out of LD_LIBRARY_PATH: the wheel has its own.

## References
https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """The build for the ROCm that is there, or torch's own libraries alone."""
    off = unset(machine, _PATH, because=": torch's wheel brings its own ROCm").model_copy(update={"vendor": "amd"})
    return torch_install.install(machine, "amd"), off


_FAR = 2
"""Majors apart: neighbouring ones are within AMD's support window of a year (user and kernel space matrix, 2026-09)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A runtime of torch's own major that is not found, else majors that are far apart; nearer ones work together."""
    yield from _runtime_not_found(machine)
    yield from _symbol_of_other_release(machine)
    ours = Dotted(machine.torch.rocm or "").major
    # A wheel's own libraries come first, unless LD_LIBRARY_PATH leads to others.
    met = (i for i in machine.rocm or () if i.selected_by is None or "LD_LIBRARY_PATH" in i.selected_by)
    held = [Dotted(i.version).major for i in met if i.version]
    theirs = [major for major in held if major is not None]
    if ours is None or not theirs or min(abs(major - ours) for major in theirs) < _FAR:
        return
    yield Finding(
        summary=f"torch was built for ROCm {(machine.torch.rocm or '')[:12]}, but ROCm {max(theirs)} is installed.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "torch.rocm", "rocm")),
        remedies=advice(machine),
    )


def _symbol_of_other_release(machine: Snapshot) -> Iterator[Finding]:
    """LD_LIBRARY_PATH leads torch to the libraries of another ROCm than its own, and a symbol is missing among them:
    within one release all of them fit."""
    missing, path = machine.symptom("rocm-library-undefined-symbol"), (machine.environment or {}).get(_PATH, "")
    ours = Dotted(machine.torch.rocm or "").series()
    theirs = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    if missing is None or "/rocm" not in path or not machine.torch.rocm or not theirs or ours in theirs:
        return
    if package(machine, *_OTHERS):
        return
    yield Finding(
        summary=f"torch was built for ROCm {ours[:12]}, but {_PATH} points to ROCm {max(theirs)[:12]}.",
        severity=Severity.WARNING,
        subject=Subject(kind="variable", id=_PATH),
        explains=(*RULE.explains, "gpu-libs-conflict"),
        evidence=(
            Evidence(text=missing.text, source=missing.source),
            *evidence(machine, ("torch.version", "rocm", f"environment[{_PATH}]")),
        ),
        remedies=tuple(reversed(advice(machine))),
    )


_PATH = "LD_LIBRARY_PATH"


def _runtime_not_found(machine: Snapshot) -> Iterator[Finding]:
    """libamdhip64.so.6 is asked for by a torch for ROCm 6 where another ROCm is installed."""
    ours = Dotted(machine.torch.rocm or "").major
    held = {Dotted(i.version).major for i in machine.rocm or () if i.version}
    for missing in missing_runtimes(machine):
        if ours != missing.major and (machine.torch.available is True or OF_EXTENSIONS.search(missing.symptom.text)):
            continue  # torch runs, or the line names who asks for it
        if missing.stack == "rocm" and held and missing.major not in held and _asks(machine, ours, missing.major, held):
            yield Finding(
                summary=f"{missing.library} comes from ROCm {missing.major}, but ROCm {max(map(str, held))} is here.",
                severity=Severity.WARNING,
                subject=Subject(kind="package", id="torch"),
                evidence=(
                    Evidence(text=missing.symptom.text, source=missing.symptom.source),
                    *evidence(machine, ("torch.version", "rocm")),
                ),
                remedies=advice(machine),
            )
            return


def _asks(machine: Snapshot, ours: int | None, wanted: int, held: set[int | None]) -> bool:
    """Whether it is torch that asks for the library of ROCm `wanted`."""
    if ours == wanted:
        return True
    there = ours in held if ours is not None else machine.torch.version is not None and machine.torch.build != "cuda"
    return there and not package(machine, *_OTHERS)


_OTHERS = ("onnxruntime", "onnxruntime-rocm", "tensorflow-rocm", "jaxlib", "vllm", "bitsandbytes", "torch-scatter")
