from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import python_files
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_packages import below, major, package, pip_install, shown

RULE = Rule(
    id="numpy-abi-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="A module was compiled for another NumPy major version.",
    needs=({"packages"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
NumPy 2 or newer beside a torch, TensorFlow, ONNX Runtime or vLLM that was compiled for NumPy 1; or the error message
of any such module.

## Why it matters
The import crashes, or stops with "Numpy is not available" or "_ARRAY_API not found".

## Not raised when
The frameworks' releases support NumPy 2, or NumPy is 1.x, and no error message shows it.

## How to confirm
`python -c 'import numpy, torch; print(numpy.__version__); torch.zeros(1).numpy()'`

## Fix
Install NumPy 1.26, or a torch of 2.3 or newer.

## References
https://numpy.org/devdocs/numpy_2_0_migration_guide.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """NumPy of before the change, or a module that was built after it."""
    old = pip_install(machine, "Install NumPy 1.26.", "numpy==1.26.4")
    return old, pip_install(machine, "Install a newer release of the module that the error names (PACKAGE).",
                            "--upgrade", "PACKAGE")  # fmt: skip


_FIRST = {"torch": "2.3", "tensorflow": "2.18", "onnxruntime": "1.19", "onnxruntime-gpu": "1.19", "vllm": "0.8"}
"""The first release that was compiled for NumPy 2 too (published metadata, 2026-11-20)."""


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
            summary=f"{name} {held[name][:20]} was compiled for NumPy 1, but numpy {numpy.version[:20]} is installed.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="numpy"),
            evidence=shown(machine, package(machine, name), numpy),
            remedies=(pip_install(machine, "Install NumPy 1.26.", "numpy==1.26.4"),),
            verify=(python_after(machine), "-c", f"import {name.removesuffix('-gpu')}"),
        )
