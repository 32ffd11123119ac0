from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import by_hand, set_to, unset
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="cuda-compat-conflict",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.RECONFIGURE,
    layer=Layer.LIBRARIES,
    title="CUDA forward-compatibility libraries are used where they cannot work.",
    needs=[
        {"environment", "gpus"},
        {"environment", "nvidia_driver.version"},
        {"symptom:compat-library-first"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=13,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
CUDA errors 803 or 804: a libcuda of cuda-compat, or of another driver, comes first on the library path.

## Why it matters
Forward compatibility works only on data-center GPUs, and not with every driver.

## Not raised when
- The driver is older than the libraries and the GPU is of a class that may use them.
- No compat folder is on the library path, or the GPU's class is not known.

## How to confirm
`ldconfig -p` and LD_LIBRARY_PATH: which libcuda.so.1 is first.

## Fix
Remove the compat folder from the library path, or use an image of a CUDA release that the driver supports.

## Fix safety
Applies to programs started afterwards; nothing on the host changes.

## References
https://docs.nvidia.com/deploy/cuda-compatibility/
""",
)
_COMPAT = Lazy(r"/cuda(?:-(?P<cuda>\d{1,2}\.\d))?/compat\b")
_GEFORCE = Lazy(r"geforce|\bgtx\b|\btitan\b", re.IGNORECASE)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Off the loader's path, or an image that needs none."""
    serves = machine.nvidia_driver.cuda_version or kb.driver_serves_cuda(machine.nvidia_driver.version)
    image = f"an image of CUDA {serves} or older" if serves else "an image of a CUDA that the driver supports"
    path = (machine.environment or {}).get("LD_LIBRARY_PATH", "")
    rest = [folder for folder in path.split(":") if folder and not _COMPAT.search(folder)]
    title = "Take cuda-compat off LD_LIBRARY_PATH."
    off = set_to(machine, title, LD_LIBRARY_PATH=":".join(rest)) if rest else unset(machine, "LD_LIBRARY_PATH")
    text = "The driver's own libcuda then serves it; `nvidia-smi` shows its CUDA version."
    return off, by_hand(f"Use {image}.", Scope.CONTAINER, text, undo="Use the old image again.", vendor="nvidia")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where a compat folder is on the loader's path and the GPU or the driver does not go with it."""
    where = _on_path(machine)
    if where is None:
        return
    name, cuda = where
    geforce = [g for g in machine.of_vendor("nvidia") if _is_geforce(g, kb)]
    why = f"{(geforce[0].name or geforce[0].key)[:60]} does not allow it (error 804)" if geforce else None
    source = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"
    if why is None and cuda and machine.nvidia_driver.version:
        from doctor.knowledge.windows import forward_compat

        answer = forward_compat(kb, cuda, machine.nvidia_driver.version)
        why = f"{answer.reason}: it hides the driver's own library (error 803)" if answer.no else None
        source = f"{answer.source} ({answer.as_of})"
    taken = machine.nvidia_driver.libcuda.path
    if why is None or machine.torch.available or (taken and not _COMPAT.search(taken)):
        return  # a folder that is named and holds no library is harmless
    yield Finding(
        severity=Severity.ERROR if taken else Severity.WARNING,
        summary=f"cuda-compat is on the library path, but {why}.",
        subject=Subject(kind="library", id="cuda-compat"),
        evidence=evidence(machine, (name, "nvidia_driver.version", *(f"gpus[{g.key}].name" for g in geforce[:1]))),
        remedies=advice(machine, kb),
        source=source,
    )


def _on_path(machine: Snapshot) -> tuple[str, str | None] | None:
    """The fact that shows a compat folder, and its CUDA release if the folder's name shows it."""
    path = (machine.environment or {}).get("LD_LIBRARY_PATH", "")
    if found := _COMPAT.search(path):
        return "environment[LD_LIBRARY_PATH]", found["cuda"]
    shown = machine.symptom("compat-library-first")
    if shown and (found := _COMPAT.search(shown.text)):
        return "symptom:compat-library-first", found["cuda"]
    return None


def _is_geforce(gpu: Gpu, kb: Knowledge) -> bool:
    known = kb.nvidia_gpu(gpu.pci_id)
    return known.gpu_class == "geforce" if known and known.gpu_class else bool(_GEFORCE.search(gpu.name or ""))
