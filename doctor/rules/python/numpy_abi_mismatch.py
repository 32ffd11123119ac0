"""A module was compiled against another NumPy major version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import python_files
from doctor.rules.python_packages import below, major, package, pip_install, shown
from doctor.rules.torch_install import python_of

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="numpy-abi-mismatch",
    severity=Severity.ERROR,
    title="A module was compiled against another NumPy major version.",
    needs=({"packages"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
NumPy 2 or newer beside a torch, TensorFlow, ONNX Runtime or vLLM that was compiled against NumPy 1; or the error text
of any module in that case.

## Why it matters
"Numpy is not available", "_ARRAY_API not found" or a crash at import.

## Not raised when
The frameworks are of releases made for NumPy 2, or NumPy is 1.x, and no error text was seen.

## How to confirm
`python -c 'import numpy, torch; print(numpy.__version__); torch.zeros(1).numpy()'`

## Fix
Install NumPy 1.26, or a torch of 2.3 or newer.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://numpy.org/devdocs/numpy_2_0_migration_guide.html
""",
)

FIXES = (
    Fix(
        text="Install NumPy 1.26, or a newer release of the module that the error names.",
        command=("python3", "-m", "pip", "install", "numpy==1.26.4"),
        where="environment",
    ),
)

_FIRST = {"torch": "2.3", "tensorflow": "2.18", "onnxruntime": "1.19", "onnxruntime-gpu": "1.19", "vllm": "0.8"}
"""The first release that was compiled for NumPy 2 too (published metadata, 2026-11-20)."""


def unheard(machine: Snapshot) -> bool:
    """Words say only that numpy is in the list of packages: a module of the other ABI fails with numpy's own text."""
    return True


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The frameworks whose bound is known; of other modules only their error texts tell."""
    yield from python_files.numpy(machine)
    numpy = package(machine, "numpy")
    if numpy is None or (major(numpy.version) or 0) < 2:
        return
    held = {name: found.version for name in _FIRST if (found := package(machine, name))}
    held.setdefault("torch", machine.torch.version or "")
    older = [name for name, version in held.items() if below(version, _FIRST[name])]
    for name in older[:1]:
        yield Finding(
            summary=f"{name} {held[name][:20]} was compiled against NumPy 1; numpy {numpy.version[:20]} is installed.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="numpy"),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, numpy)),
            fixes=(pip_install(machine, "Install NumPy 1.26.", "numpy==1.26.4"),),
            verify=(python_of(machine), "-c", "import torch; torch.zeros(1).numpy()"),
        )
