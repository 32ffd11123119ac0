from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.knowledge.gfx_support import support_of
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import gfx_override, hardware
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.blas_support import rocblas_has
from doctor.rules.lib.error_texts import failing
from doctor.rules.lib.integrated import discrete, is_integrated
from doctor.versions import Dotted

RULE = Rule(
    id="amd-gpu-unsupported-by-rocm",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="The installed ROCm does not support this GPU.",
    needs=[{"gpus", "rocm"}],
    proven="synthetic",
    order=18,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    facts_decide=False,
    tags=("amd", "driver"),
    doc="""
## What it finds
A GPU whose gfx target the installed ROCm release does not list.

## Why it matters
rocminfo shows no GPU agent, or libraries have no kernels for it.

## Not raised when
The knowledge base has no row for the release or the GPU, torch is known to work, ollama reports that it runs on the
GPU, or Folding@home lists it as a device of OpenCL; wheels of ROCm for the target are installed; it is an integrated
GPU beside a card. Where rocBLAS of that release has code for the GPU, or HSA_OVERRIDE_GFX_VERSION makes it pass for
one that the release lists, it is information.

## How to confirm
Compare the gfx target of `rocminfo` with AMD's list.

## Fix
| GPU | What works |
|--|--|
| gfx900, gfx906 (Vega, Radeon VII, MI50) | PyTorch's wheels for ROCm 6.3, the last whose rocBLAS has kernels for them: `pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.3` |
| gfx1031, gfx1032, gfx1034, gfx1035, gfx1036 (RX 6500 to 6800M, Ryzen 6000 and 7000) | AMD's wheels of torch 2.12 for ROCm 7.14, or `HSA_OVERRIDE_GFX_VERSION=10.3.0` (unofficial): the code of gfx1030 runs |
| gfx1103 (Radeon 780M), gfx1150, gfx1151 (Ryzen AI 300) | PyTorch's wheels from 2.14 on (rocm7.2) have code for them; with older ones gfx1103 runs as 11.0.2 (unofficial) |
| gfx1152, gfx1153 | AMD's wheels of torch 2.14 for ROCm 10.1, or `HSA_OVERRIDE_GFX_VERSION=11.5.0` (unofficial) |
| gfx90c (Ryzen 4000 and 5000 G) | `HSA_OVERRIDE_GFX_VERSION=9.0.0` (unofficial; some programs crash) |
| gfx803 (RX 400 and 500) | no ROCm since 4.0; use a program with a Vulkan backend |

`doctor explain gfx1031` prints the commands for a target. Test an override before you keep it.

## Fix safety
An override affects one job: no root, no reboot; undo by unsetting it. AMD does not test it: programs can crash, hang
the GPU or give wrong results. Another torch build affects only this environment.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",  # noqa: E501 (rows of a table)
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    gfx = next((g.arch for g in machine.of_vendor("amd") if g.arch), None)
    return gfx_override.remedies(machine, kb, gfx) if gfx else ()


_FITS = (
    "hip-no-device",
    "hip-no-device-code",
    "kfd-names-chip-unsupported",
    "ollama-amdgpu-unsupported",
    "rocclr-no-compatible-code-objects",
    "hip-invalid-device-function",
    "hip-shared-object-init-failed",
    "hsa-incompatible-kernel-object",
    "hsa-init-out-of-resources",
    "program-crashed",
    "amd-memory-access-fault",
    "amdgpu-ring-timeout",
    "cuda-no-kernel-image",
    "rocblas-tensile-missing",
)
"""What programs say on a GPU that their ROCm does not know. Another error text is of another cause, most likely."""


_SERVES = ("layers-on-gpu",)
"""Engines with kernels of their own that took the GPU; OpenCL's are compiled for whatever GPU its platform lists."""


_STARTS_AND_DIES = ("program-crashed", "amd-memory-access-fault")
"""torch counts the GPUs of which it has no code as well: what dies at the first kernel was not known to work."""


_REFUSED = (
    "kfd-names-chip-unsupported",
    "ollama-amdgpu-unsupported",
    "hip-no-device",
    "hip-no-device-code",
    "hsa-init-out-of-resources",
)


_WITHOUT_GFX8 = (4, 0)
"""From this release on AMD supports no GPU before gfx9. Source: the hardware lists of ROCm 3.10 and 4.0;
github.com/ROCm/ROCm/issues/1695, as of 2022-03."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.torch.available and machine.symptom(*_STARTS_AND_DIES) is None:
        return
    # Distributions build their own ROCm for more GPUs than AMD lists.
    releases = [(r.version, r.key) for r in machine.rocm or () if r.version and r.kind != "distribution"]
    if not releases:
        return
    seen: set[str] = set()
    other = failing(machine)
    fits = None if machine.symptom("rocblas-tensile-missing") else machine.symptom(*_FITS)
    serves = fits is None and machine.symptom(*_SERVES) is not None
    doubtful = fits is None and (other or serves)
    others = discrete(machine)
    for gpu in machine.of_vendor("amd"):
        arch = gpu.arch
        if others and is_integrated(gpu):  # a processor's small GPU beside a card
            continue
        if not arch or arch in seen:
            continue
        seen.add(arch)
        if _libraries_for(machine, arch) or any(_supports(kb, version, arch) is not False for version, _ in releases):
            continue
        names = [f"gpus[{gpu.key}].arch", *(f"rocm[{key}].version" for _, key in releases)]
        code = _has_code(machine, kb, releases, arch) or _passes_for_listed(machine, kb, releases)
        said = (Evidence(text=text, source=source) for text, source in list(support_of(kb, arch).lines())[1:])
        yield Finding(
            severity=Severity.INFO if doubtful or code else Severity.WARNING,
            suspect=not serves and not (code and _others_listed(machine, kb, releases, arch)),
            summary=f"ROCm {str(releases[0][0])[:40]} does not officially support {arch[:40]}.",
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=(*evidence(machine, names), _range(kb, str(releases[0][0]), arch), *said),
            remedies=_with_newer(machine, kb, str(releases[0][0]), arch),
            explains=(*RULE.explains, *_refused_too(machine)),
        )


def _libraries_for(machine: Snapshot, arch: str) -> bool:
    """Whether the wheels of ROCm that are installed name the target, or its family: they are built for it, whatever
    AMD lists. Source: ROCm/TheRock RELEASES.md (rocm-sdk-libraries-gfx1151, -gfx120X-all, -gfx94X-dcgpu)."""
    for installed in machine.packages or ():
        found = _LIBRARIES.match(installed.name.lower().replace("_", "-"))
        if found and re.fullmatch(found[1].replace("x", "."), arch):
            return True
    return False


_LIBRARIES = Lazy(r"rocm-sdk-libraries-(gfx\d{1,3}[0-9a-fx]{1,2})(?:-|$)")


def _refused_too(machine: Snapshot) -> Iterator[str]:
    """HSA that finds no resources may have been refused the node, and says the same of a GPU that it does not know."""
    refused = machine.symptom("kfd-open-permission", "kfd-denied", "dri-open-permission")
    if machine.symptom("hsa-init-out-of-resources") and refused is None and not machine.account.member_of:
        yield "device-node-permission"


def _has_code(machine: Snapshot, kb: Knowledge, releases: Sequence[tuple[str | None, str]], arch: str) -> bool:
    """Whether a release before the first or after the last that lists the target has code for it: then it works more
    often than not. Not where a program refuses the GPU, nor in WSL, whose driver knows fewer."""
    listed = kb.rocm_range(arch)
    if listed is None or machine.host.wsl or machine.symptom(*_REFUSED):
        return False
    if all(hardware.runtime_refuses(arch, version) for version, _ in releases):
        return False
    releases = [r for r in releases if not Dotted(r[0] or "").reaches(listed[0]) or not Dotted(r[0] or "") <= listed[1]]
    return any(rocblas_has(version, arch) for version, _ in releases)


def _passes_for_listed(machine: Snapshot, kb: Knowledge, releases: Sequence[tuple[str | None, str]]) -> bool:
    """Whether HSA_OVERRIDE_GFX_VERSION makes it pass for a target that a release lists."""
    named = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", (machine.environment or {}).get(gfx_override.NAME, ""))
    target = f"gfx{named[1]}{int(named[2]):x}{int(named[3]):x}" if named else ""
    return bool(target) and any(_supports(kb, version or "", target) for version, _ in releases)


def _others_listed(machine: Snapshot, kb: Knowledge, releases: Sequence[tuple[str | None, str]], arch: str) -> bool:
    """Whether another GPU here is one that the release lists: the fault may be of what serves both."""
    others = {g.arch for g in machine.of_vendor("amd") if g.arch and g.arch != arch}
    return any(_supports(kb, version or "", other) for version, _ in releases for other in others)


def _with_newer(machine: Snapshot, kb: Knowledge, version: str, arch: str) -> tuple[Remedy, ...]:
    """The GPU's own ways, and a newer ROCm that lists it: first where no torch could bring its own."""
    ways, span = gfx_override.remedies(machine, kb, arch), kb.rocm_range(arch)
    if span is None or Dotted(version) >= span[0]:
        return ways
    title = f"Upgrade ROCm to {span[0]} or newer, the first that lists {arch[:20]}."
    guide = f"Install it by AMD's guide: {_GUIDE}"
    newer = by_hand(title, Scope.HOST, guide, undo="Install the old release again.", root=True, vendor="amd")
    return (*ways, newer) if machine.torch.version else (newer, *ways)


_GUIDE = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"


def _range(kb: Knowledge, version: str, arch: str) -> Evidence:
    """From which release to which the GPU is listed, and who says so."""
    from doctor.knowledge.windows import rocm_lists_gpu

    answer = rocm_lists_gpu(kb, version, arch)
    if answer.verdict == "unknown":
        answer = rocm_lists_gpu(kb, Dotted(version).series(), arch)
    return Evidence(
        text=answer.reason, source=f"{answer.source[:200]} ({answer.as_of})" if answer.source else "catalogue"
    )


def _supports(kb: Knowledge, version: str, arch: str) -> bool | None:
    """Of a release that the table does not have, what all releases of its series answer."""
    known = kb.rocm_supports(version, arch)
    known = known if known is not None else kb.rocm_supports(Dotted(version).series(), arch)
    if known is None and re.match(r"gfx[678]\d\d$", arch) and Dotted(version).numbers >= _WITHOUT_GFX8:
        return False
    return known
