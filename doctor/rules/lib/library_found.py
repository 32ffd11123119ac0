"""A program that says which release of a GPU library it found: another than that of the wheel that is installed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.python_packages import package, shown
from doctor.versions import Dotted

_NAMED_BY = ("jax-found-other-library", "tensorflow-cudnn-older")
_FOUND = Lazy(
    r"\bFound (cu\w{2,8}) version (\d{4,6})\b|\bLoaded runtime (CuDNN) library: (\d{1,2}\.\d{1,2}\.\d{1,2})\b"
)
"""jax/_src/xla_bridge.py; xla/stream_executor/cuda/cuda_dnn.cc"""


def another_copy(machine: Snapshot) -> Iterator[Finding]:
    """One finding where what was found is older than the wheel: another copy comes first on the loader's path."""
    for symptom in (machine.symptom(key) for key in _NAMED_BY):
        match = _FOUND.search(symptom.text) if symptom else None
        if not symptom or not match:
            continue
        name, release = (match[1] or match[3]).lower(), match[2] or match[4]
        wheel = next((w for cuda in ("11", "12", "13") if (w := package(machine, f"nvidia-{name}-cu{cuda}"))), None)
        if wheel and _older(release, wheel.version):
            yield Finding(
                summary=f"The program found an older {match[1] or match[3]} than the wheel {wheel.name}: another copy.",
                severity=Severity.WARNING,
                basis="both",
                subject=Subject(kind="library", id=name),
                evidence=(Evidence(text=symptom.text, source=symptom.source), *shown(machine, wheel)),
            )
            return


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
