"""A program that says which release of a GPU library it found: another than that of the wheel that is installed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.python_packages import package, shown
from doctor.versions import Dotted

_SAID_BY = ("jax-found-other-library", "tensorflow-cudnn-older")
_FOUND = Lazy(
    r"\bFound (cu\w{2,8}) version (\d{4,6})\b|\bLoaded runtime (CuDNN) library: (\d{1,2}\.\d{1,2}\.\d{1,2})\b"
)
"""jax/_src/xla_bridge.py; xla/stream_executor/cuda/cuda_dnn.cc"""


def another_copy(machine: Snapshot) -> Iterator[Finding]:
    """One finding where what was found is older than the wheel: another copy comes first on the loader's path."""
    for said in (machine.symptom(key) for key in _SAID_BY):
        match = _FOUND.search(said.text) if said else None
        if not said or not match:
            continue
        name, release = (match[1] or match[3]).lower(), match[2] or match[4]
        wheel = next((w for cuda in ("11", "12", "13") if (w := _wheel(machine, name, cuda))), None)
        if wheel and _older(release, wheel.version):
            yield Finding(
                summary=f"The program found an older {match[1] or match[3]} than the wheel {wheel.name}: another copy.",
                severity=Severity.WARNING,
                basis="both",
                subject=Subject(kind="library", id=name),
                evidence=(Evidence(text=said.text, source=said.source), *shown(machine, wheel)),
            )
            return


_TOLD = Lazy(r"(?i)\b(cuDNN|NCCL|cuBLAS|RCCL|MIOpen|hipBLASLt|rocBLAS|MKL)[ -]?v?(\d{1,4}\.\d{1,3})")


def other_release_told(machine: Snapshot) -> Iterator[Finding]:
    """A text that says which release something was built with, and that another one is on the system."""
    made, here = None, None
    built, found = (_TOLD.search(made.text) if made else None), (_TOLD.search(here.text) if here else None)
    if not made or not here or not built or not found or built[1].lower() != found[1].lower() or built[2] == found[2]:
        return
    yield Finding(
        summary=f"Built with {built[1]} {built[2]}; {found[1]} {found[2]} is on the system.",
        severity=Severity.WARNING,
        basis="symptom",
        subject=Subject(kind="library", id=built[1].lower()),
        evidence=tuple(Evidence(text=said.text, source=said.source) for said in (made, here)),
    )


_FOR_CUDA = Lazy(r"(?i)nccl\w*[-=]{1,2}\d[\w.]*-\d\+cuda(\d{1,2})\.\d|\bCUDA[ -]?v?(\d{1,2})(?:\.\d)?")


def nccl_of_another_cuda(machine: Snapshot) -> Iterator[Finding]:
    """NCCL's own package is of another CUDA than the only toolkit, and a call of it fails."""
    told, failed = None, machine.symptom("nccl-test-fails-at-cuda")
    match = _FOR_CUDA.search(told.text) if told else None
    here = {Dotted(i.version).major for i in machine.cuda or () if i.version}
    if not told or not failed or not match or len(here) != 1 or int(match[1] or match[2]) in here:
        return
    yield Finding(
        summary=f"NCCL is built for CUDA {match[1] or match[2]}, but the toolkit is CUDA {here.pop()}.",
        severity=Severity.WARNING,
        basis="both",
        subject=Subject(kind="library", id="nccl"),
        evidence=tuple(Evidence(text=said.text, source=said.source) for said in (failed, told)),
    )


def _wheel(machine: Snapshot, name: str, cuda: str) -> Package | None:
    return package(machine, f"nvidia-{name}-cu{cuda}")


def _older(found: str, wheel: str) -> bool:
    ours, theirs = Dotted(_dotted(found)).numbers[:3], Dotted(wheel).numbers[:3]
    return len(ours) == 3 and len(theirs) == 3 and ours[:2] < theirs[:2]


def _dotted(number: str) -> str:
    """What a library's own number means: 120205 is 12.2.5 and 90101 is 9.1.1, 8907 is 8.9.7 and 12300 is 12.3.0."""
    if "." in number:
        return number
    thousands = len(number) == 4 or (len(number) == 5 and number[0] == "1")
    minor = number[-3] if thousands else number[-4:-2]
    return f"{number[: -3 if thousands else -4]}.{int(minor)}.{int(number[-2:])}"
