from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.python_packages import package, pip_install, release, shown
from doctor.rules.lib.torch_install import torch_again
from doctor.versions import Dotted

RULE = Rule(
    id="triton-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="triton is missing, installed twice, or incompatible with torch.",
    needs=({"packages", "torch.version"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A triton whose release differs from the one that the installed torch pins, or two packages that both install the
module `triton`.

## Why it matters
torch.compile and every triton kernel fail at import or at the first compilation.

## Not raised when
torch is not a plain release with a known pin, or triton has the pinned release. Beside torch for ROCm, PyPI's triton
is information where a text shows another failure: it has code for AMD GPUs too. AMD's images also have a triton
without a suffix, built for their torch.

## How to confirm
`python -m pip check` and `python -c 'import triton; print(triton.__version__)'`

## Fix
Install the triton that this torch pins.

## References
Requirement lines in the published metadata of torch (2026-11-20)
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """torch installs the triton that it pins."""
    title = "Install torch again in the same version: pip then installs the triton that it pins."
    return (pip_install(machine, title, *torch_again(machine)),)


_FROM_SOURCE = Lazy(r"\+git|\da0\b|\.dev|\+\w*nv\d")
"""A build of somebody's own, as images of AMD and NVIDIA carry them, goes with the triton that it was built beside."""
_SAME_MODULE = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-windows", "triton-rocm")


def _goes_with_torch(machine: Snapshot) -> bool:
    from doctor.knowledge import Knowledge

    torch, held = release(machine.torch.version), [p for name in _SAME_MODULE if (p := package(machine, name))]
    build = Knowledge().torch_build(torch) if torch and len(held) == 1 else None
    pin = (build.pins.get("triton") or "").removeprefix("==") if build else ""
    return bool(release(pin)) and held[0].name == "triton" and release(held[0].version) == release(pin)


def _of_amds_image(machine: Snapshot) -> bool:
    """Whether AMD put the packages together: its image, or a vLLM that was built for ROCm, comes with its triton."""
    vllm = package(machine, "vllm")
    image = (machine.container.image or "").removeprefix("docker.io/")
    return image.startswith("rocm/") or "+rocm" in ((vllm and vllm.version) or "")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The pin first, then doubles."""
    yield from python_files.triton(machine)
    torch, held = release(machine.torch.version), package(machine, "triton")
    build = kb.torch_build(torch) if torch and machine.torch.build in ("cuda", None) else None
    pin = (build.pins.get("triton") or "").removeprefix("==") if build else ""
    own = any(_FROM_SOURCE.search(version or "") for version in (machine.torch.version, held and held.version))
    if held and not own and release(pin) and release(held.version) and Dotted(pin).compare(Dotted(held.version)):
        yield Finding(
            summary=f"triton {held.version[:40]} is installed, but torch {torch} needs triton {pin}.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="triton"),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
            remedies=(pip_install(machine, f"Install triton {pin}.", f"triton=={pin}"),),
            source=f"{build.source} ({build.as_of})" if build else None,
        )
    of_rocm = package(machine, "pytorch-triton-rocm", "triton-rocm")
    of_pypi = held is not None and release(held.version) == held.version and not own
    if machine.torch.build == "rocm" and held and of_pypi and not of_rocm:
        # Wheels of PyPI have code for AMD's GPUs since 3.0 and often serve: a cause where something of Triton fails.
        fails = any("triton" in f"{s.key} {s.text}".lower() for s in machine.symptoms)
        yield Finding(
            summary=f"triton {held.version[:20]} from PyPI is installed beside torch for ROCm, which brings its own.",
            severity=Severity.WARNING if fails or not machine.symptoms else Severity.INFO,
            # a banner gives torch's own the same number
            suspect=0 if fails or _of_amds_image(machine) or _goes_with_torch(machine) else 1,
            subject=Subject(kind="package", id="triton"),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
            remedies=(
                pip_install(
                    machine,
                    "Remove the CUDA build of triton, then install torch for ROCm again.",
                    *torch_again(machine),
                    remove=("triton",),
                ),
            ),
        )
    doubles = [p for name in _SAME_MODULE if (p := package(machine, name))]
    if len(doubles) > 1:
        yield Finding(
            summary=f"{' and '.join(p.name for p in doubles)} both install the module triton.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="triton-double"),
            evidence=shown(machine, *doubles),
            remedies=(
                pip_install(
                    machine,
                    "Remove all copies of triton, then install torch again.",
                    *torch_again(machine),
                    remove=tuple(p.name for p in doubles),
                ),
            ),
        )
