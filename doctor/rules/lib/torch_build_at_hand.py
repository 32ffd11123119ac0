"""Which build of torch is installed where its version alone does not say it: what PyPI gives for that release there."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.facts.snapshot import Snapshot
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.arguments import Knowledge
from doctor.rules.lib.python_packages import release
from doctor.rules.lib.run_line import from_text

_CUDA_WHEELS = Lazy(r"nvidia-(?:cublas|cudnn|cuda-runtime|nccl|cusparse)(?:-cu\d\d)?$")
_BLIND = (
    "torch-reports-no-gpu",
    "torch-reports-no-hip-gpu",
    "torch-not-compiled-with-cuda",
    "deserialize-on-cuda-without-cuda",
)


class Build(NamedTuple):
    """`kind`: cuda, rocm, cpu."""

    kind: str
    cuda: str | None


def build_of(machine: Snapshot, kb: Knowledge) -> Build | None:
    """What is known of torch's build; None where neither it nor its release is known."""
    torch = machine.torch
    if torch.build:
        return Build(torch.build, torch.cuda)
    plain = release(torch.version)
    if plain is None or plain != torch.version:
        return None
    if _cpu_only(machine, kb, plain):
        return Build("cpu", None)
    if any(_CUDA_WHEELS.match(p.name[:60]) for p in machine.packages or ()):
        row = kb.torch_build(plain)
        return Build("cuda", row.default_cuda if row else None)
    return None


def on_arm(machine: Snapshot) -> bool:
    """An Arm CPU, by its own name or by that of a GPU that is never beside another (Grace, Jetson)."""
    if machine.host.machine:
        return machine.host.machine in ("aarch64", "arm64")
    return any(_ARM.search(gpu.name or "") for gpu in machine.gpus or ())


_ARM = Lazy(r"\b(?:G[HB]200|GB300|GB10|Jetson|Orin|Xavier|Thor|NVIDIA Graphics Device \(nvgpu\))\b", re.IGNORECASE)


def _cpu_only(machine: Snapshot, kb: Knowledge, version: str) -> bool:
    """PyPI's wheels for Windows, and for aarch64 up to 2.10, are CPU builds (wheels on PyPI, 2026-11-20). Only where
    torch itself says that it has no GPU: the same version may come from elsewhere."""
    blind = machine.torch.available is False or any(s.key in _BLIND for s in machine.symptoms)
    if not blind:
        return False
    row = kb.torch_build(version)
    arm = on_arm(machine) and row is not None and not getattr(row, "default_cuda_aarch64", None)
    return arm or machine.os.id == "windows"


GPU_MISSED = ("torch-reports-no-gpu", "torch-reports-no-hip-gpu", "torch-not-compiled-with-cuda")
"""A person or a program misses the GPU."""


def cpu_on_purpose(machine: Snapshot) -> bool:
    """Whether a pasted text of a CPU build misses no GPU, and its error is one that a build for a GPU gives as well."""
    if machine.torch.build != "cpu" or not from_text(machine, "torch.build"):
        return False
    own = any(symptom.key.startswith(("user-error-", "plain-exception-")) for symptom in machine.symptoms)
    return own and machine.symptom(*GPU_MISSED) is None
