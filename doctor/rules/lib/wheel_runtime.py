"""A ROCm wheel of torch under WSL: its own HSA runtime asks for /dev/kfd, which WSL never has."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.versions import Dotted

_BY_LIBROCDXG = "7.2"
"""From this release on the runtime itself reaches WSL's GPU, through librocdxg (ROCm/librocdxg#1)."""
_SOURCE = (
    "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html: the wheel's "
    "libhsa-runtime64 is removed under WSL (2025)"
)


def hides_gpu(machine: Snapshot) -> bool:
    """Whether rocminfo, which takes WSL's runtime, lists a GPU that a torch with an older runtime of its own misses."""
    rocm, torch = Dotted(machine.torch.rocm or ""), machine.torch
    listed = any(gpu.index.hip is not None for gpu in machine.of_vendor("amd"))
    older = bool(rocm.numbers) and rocm < _BY_LIBROCDXG
    return bool(machine.host.wsl) and listed and torch.build == "rocm" and torch.available is False and older


def conflict(machine: Snapshot) -> Iterator[Finding]:
    """One finding where that is so; a container has its own ways to miss a GPU."""
    if machine.container.inside or not hides_gpu(machine):
        return
    folder = machine.torch.location or "the folder of torch"
    yield Finding(
        summary="Under WSL, torch loads its wheel's HSA runtime, which cannot use /dev/dxg; rocminfo lists the GPU.",
        severity=Severity.WARNING,
        subject=Subject(kind="library", id="libhsa-runtime64"),
        evidence=evidence(machine, ("host.wsl", "torch.version", "torch.rocm", "torch.available")),
        remedies=(
            way(
                "Move torch's own HSA runtime away, so that the one of WSL's ROCm is found.",
                Scope.ENVIRONMENT,
                step(f"Move libhsa-runtime64.so* out of {folder}/lib.", where="environment"),
                undo=(step("Move the files back.", where="environment"),),
                vendor="amd",
            ),
        ),
        source=_SOURCE,
    )
