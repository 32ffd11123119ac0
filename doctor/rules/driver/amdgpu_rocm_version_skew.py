from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import commands
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.amdgpu_release import release_of
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.versions import Dotted

RULE = Rule(
    id="amdgpu-rocm-version-skew",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="The amdgpu driver and ROCm versions do not support each other.",
    needs=[
        {"amdgpu_driver.version", "rocm"},
        {"amdgpu_driver.release", "rocm"},
        {"amdgpu_driver.version", "torch.rocm"},
        {"amdgpu_driver.release", "torch.rocm"},
        {"kernel.release", "gpus", "rocm"},
        {"kernel.release", "gpus", "torch.rocm"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=17,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "driver"),
    doc="""
## What it finds
amdgpu and ROCm releases that AMD does not support together, or a kernel's own amdgpu that is too new for a ROCm, which
then crashes.

## Why it matters
The runtime needs kernel interfaces that are missing: GPUs disappear, or calls fail with an invalid argument.

## Not raised when
- The kernel's own driver runs: it has no release number, and its kernel version shows what it supports. The exception
  is Strix Halo on a kernel that reports other wave state sizes than ROCm before 7.2 accepts: programs crash.
- The release of either is not known, or AMD's tables do not list it; another patch of the driver's series is listed.
- ROCm is older than the driver and the driver's release is only estimated from its module number.

## How to confirm
Compare `modinfo amdgpu` and the ROCm release with AMD's matrix.

## Fix
Change one of the two to a release that supports the other.

## Fix safety
The driver: host, root, reboot; every GPU job on the node stops. Another ROCm affects only the programs that use it.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The driver that goes with the ROCm, or user-space ROCm that goes with the driver."""
    return (*commands.amdgpu_driver(machine), _other_rocm("a ROCm release"))


def _other_rocm(what: str) -> Remedy:
    text = "AMD lists which driver each ROCm supports: " + _MATRIX
    title = f"Keep the driver and use {what} that supports it (torch's wheel or a container brings its own ROCm)."
    return by_hand(title, Scope.ENVIRONMENT, text, undo="Install the old release again.", vendor="amd")


_MATRIX = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html"


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the first ROCm that the driver's release is not listed with."""
    from doctor.knowledge.windows import kmd_serves_rocm

    driver = release_of(machine)
    if driver is None:
        yield from _older_than_kernel(machine)
        return
    for name, rocm in _spoken(machine):
        answer = kmd_serves_rocm(kb, driver.text, rocm)
        newer = Dotted(rocm or "").numbers[:2] > Dotted(driver.text).numbers[:2] or driver.text.startswith("3")
        if not answer.no or not (driver.exact or newer) or _unlisted(kb, driver.text, rocm or ""):
            continue
        yield Finding(
            severity=Severity.WARNING,
            summary=f"amdgpu {driver.text[:20]} and ROCm {(rocm or '')[:20]} do not support each other.",
            subject=Subject(kind="driver", id="amdgpu"),
            explains=(*RULE.explains, *()),
            evidence=(
                *evidence(machine, ("amdgpu_driver.version", "amdgpu_driver.release", name)),
                Evidence(text=answer.reason, source=f"{answer.source[:200]} ({answer.as_of})"),
            ),
            remedies=advice(machine, kb),
            source=f"{answer.source} ({answer.as_of})",
        )
        return


def _unlisted(kb: Knowledge, driver: str, rocm: str) -> bool:
    """Whether the tables are silent rather than against it: another patch of the driver's series is listed with the
    ROCm, or that series of ROCm is in none of them (previews, builds for vendors)."""
    from doctor.knowledge.windows import kmd_serves_rocm

    series = Dotted(rocm).series()
    known = any(kb.user_window(v) or kb.rocm_release(v) for v in (rocm, series, f"{series}.0"))
    patch = Dotted(driver)
    first = ".".join(map(str, patch.numbers[:2]))
    near = len(patch.numbers) > 2 and kmd_serves_rocm(kb, f"{first}.0", rocm).verdict == "yes"
    return near or not known


def _spoken(machine: Snapshot) -> list[tuple[str, str | None]]:
    """Name and value of each ROCm that is known: those of the machine, then that in torch's wheel."""
    return [(f"rocm[{r.key}].version", r.version) for r in machine.rocm or ()] + [("torch.rocm", machine.torch.rocm)]


_RESIZED = "gfx1151"
"""The target whose wave state ROCm before 7.2 took for smaller than it is."""
_KERNEL_TELLS = (6, 18, 4)
"""From this kernel on, amdkfd reports the sizes and checks those that a queue requests."""
_CRASHES = ("program-crashed", "amd-memory-access-fault", "hip-launch-failure", "hsa-init-out-of-resources")
_SOURCE = (
    "https://github.com/ROCm/TheRock/issues/2991; https://github.com/kyuz0/amd-strix-halo-toolboxes/issues/45;"
    " https://github.com/pytorch/pytorch/issues/173367 (2026-01)"
)


def _older_than_kernel(machine: Snapshot) -> Iterator[Finding]:
    """Strix Halo: a kernel with the sizes of its wave state, and a ROCm from before they were fixed."""
    gpu = next((g for g in machine.of_vendor("amd") if g.arch == _RESIZED), None)
    kernel, crash = machine.kernel.release, machine.symptom(*_CRASHES)
    if gpu is None or crash is None or machine.host.wsl or Dotted(kernel or "").numbers < _KERNEL_TELLS:
        return
    built_apart = {f"rocm[{r.key}].version" for r in machine.rocm or () if r.kind == "distribution"}
    for name, rocm in _spoken(machine):
        number = Dotted(rocm or "").numbers[:2]
        fixed = number >= (7, 11) or (7, 2) <= number < (7, 9)  # 7.9 and 7.10 were cut before the change
        if not number or fixed or name in built_apart:
            continue
        yield Finding(
            severity=Severity.WARNING,
            suspect=True,
            summary=f"ROCm {(rocm or '')[:20]} is too old for kernel {(kernel or '')[:30]} on Strix"
            " Halo; 7.2 is the first that works.",
            subject=Subject(kind="driver", id="amdgpu"),
            evidence=(
                *evidence(machine, ("kernel.release", name, f"gpus[{gpu.key}].arch")),
                Evidence(text=crash.text[:200], source=crash.source),
            ),
            remedies=(_other_rocm("ROCm 7.2 or newer"),),
            source=_SOURCE,
        )
        return
