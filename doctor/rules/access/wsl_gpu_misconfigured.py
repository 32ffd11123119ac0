"""WSL without its way to the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line, wheel_runtime
from doctor.rules.blas_support import rocm_of
from doctor.rules.hardware import has_no
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="wsl-gpu-misconfigured",
    severity=Severity.ERROR,
    title="WSL's way to the GPU is incomplete.",
    needs=({"host.wsl", "nodes"}, {"host.wsl"}),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-driver-not-loaded", "amdgpu-driver-not-loaded"),
        *("container-missing-gpu-passthrough", "device-node-permission", "container-runtime-not-configured"),
    ),
    order=11,
    facts_decide=False,
    tags=("access", "wsl"),
    doc="""## What it finds
WSL without /dev/dxg, through which all GPU work goes there, and a container of ROCm 7.2 to 7.12 that was given it
and is not told to look there.

## Why it matters
Under WSL the driver lives on the Windows side. Without /dev/dxg no library can reach it; a Linux driver does not help.

## Not raised when
/dev/dxg is there, or inside a container (it must be passed there). Where rocminfo lists the GPU, its runtime comes up,
and torch brings an older HSA runtime of its own: that is gpu-libs-conflict.

## How to confirm
`ls -l /dev/dxg` and, on Windows, `wsl --version` and `wsl -l -v` (VERSION must be 2).

## Fix
Update WSL and the Windows driver. Never install a Linux kernel driver inside.

## Fix safety
`wsl --shutdown` stops all distributions.

## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html
https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/install-radeon.html
""",
)

FIXES = (
    Fix(text="On Windows: install the vendor's current GPU driver and update WSL.", command=("wsl.exe", "--update")),
    Fix(text="On Windows: restart WSL.", command=("wsl.exe", "--shutdown"), risk="Stops every running distribution."),
    Fix(text="ROCm before 7.13 needs HSA_ENABLE_DXG_DETECTION=1 in the environment.", where="environment"),
)


_NO_DRIVER = (
    *(
        "nvidia-smi-cannot-communicate",
        "nvidia-smi-not-found",
        "torch-no-nvidia-driver",
        "libcuda-missing",
        "cuda-no-device",
    ),
    *(
        "rocm-module-not-loaded",
        "hip-no-device",
        "kfd-missing-in-container",
        "nvml-library-not-found",
        "nvml-library-missing",
    ),
    *("rocminfo-shows-no-gpu", "wsl-adapter-not-found", "docker-custom-device-missing"),
)


_NEVER_THERE = frozenset({"rocm-module-not-loaded", "kfd-missing-in-container"})
"""Said under WSL always: no amdgpu is loaded there and no /dev/kfd made, the way to the GPU is /dev/dxg."""


_RUNTIME_FAILS = (
    *("hsa-init-failed", "hsa-init-out-of-resources", "topology-lacks-engine-id"),
    *("wsl-librocdxg", "wsl-thunk-asserts", "wsl-hsa-kmt"),
)
"""What ROCm itself says where it lists nothing: a list beside it is of another day, or of another system."""


def _lists_gpu(machine: Snapshot) -> bool:
    """Whether rocminfo lists a GPU: then WSL's way to it is whole. That no amdgpu is loaded is said there always. A
    list beside a runtime that does not come up is of another run, or of other settings."""
    listed = any(gpu.index.hip is not None for gpu in machine.of_vendor("amd"))
    return listed and machine.symptom(*_RUNTIME_FAILS) is None


def _misses_module_alone(machine: Snapshot) -> bool:
    """Whether nothing says that no GPU is seen, or that a part of WSL's way is absent, but what looks for the module or
    its node, which WSL has not."""
    from doctor.knowledge.symptoms import shared

    missed = machine.symptom(*(run_line.NO_GPU_SEEN - _NEVER_THERE), *_RUNTIME_FAILS)
    if missed is not None or machine.torch.available is False:
        return False
    told = (symptom.key for symptom in machine.symptoms if symptom.key not in _NEVER_THERE)
    return not any(c.rule == RULE.id and c.sure != "possible" for key in told for c in shared().causes(key, machine))


def _said(machine: Snapshot) -> Iterator[Finding]:
    """A text from WSL that says that no driver is there: under WSL it is Windows' driver that is not reached."""
    symptom = machine.symptom(*(key for key in _NO_DRIVER if key not in _NEVER_THERE or not _lists_gpu(machine)))
    if (
        machine.torch.available is True
        or machine.torch.build == "cpu"
        or machine.container.inside
        or machine.symptom("ray-worker-without-gpu")
        or (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")  # that hides them all
        or wheel_runtime.hides_gpu(machine)  # WSL's own way is whole: rocminfo took it
    ):
        return
    if symptom is None:
        if run_line.sees_none(machine) and not (_lists_gpu(machine) and _misses_module_alone(machine)):
            yield Finding(
                summary="A program under WSL sees no GPU: WSL's own path to it comes first.",
                severity=Severity.INFO,
                suspect=1,
                subject=Subject(kind="node", id="/dev/dxg"),
                evidence=evidence(machine, ("host.wsl", "os.name", "torch.available")),
                fixes=FIXES,
                verify=("ls", "-l", "/dev/dxg"),
            )
        return
    yield Finding(
        summary="Under WSL the GPU's driver on the Windows side is not reached.",
        severity=Severity.WARNING,
        subject=Subject(kind="node", id="/dev/dxg"),
        evidence=(Evidence(text=symptom.text, source=symptom.source), *evidence(machine, ("host.wsl", "os.name"))),
        fixes=FIXES,
        verify=("ls", "-l", "/dev/dxg"),
    )


def excludes(machine: Snapshot) -> bool:
    """Where rocminfo lists a GPU under WSL, and no program misses it."""
    return machine.host.wsl is True and _lists_gpu(machine) and _misses_module_alone(machine)


def unheard(machine: Snapshot) -> bool:
    """That somebody works under WSL is no complaint of its way to the GPU; nor is anything where torch has its GPU, or
    rocminfo lists it and no program misses it; nor where WSL is not named at all."""
    if machine.host.wsl is None and machine.symptom("wsl-named", "wsl-told") is None:
        return True
    if machine.torch.available is True or (_lists_gpu(machine) and _misses_module_alone(machine)):
        return True
    return machine.host.wsl is True and not run_line.sees_none(machine) and not run_line.complained_of(machine)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Only the node decides; its absence must be known."""
    if machine.host.wsl and not machine.container.inside and has_no(machine, "dxg"):
        yield Finding(
            summary="WSL has no /dev/dxg, so nothing in it can reach the GPU.",
            subject=Subject(kind="node", id="/dev/dxg"),
            evidence=evidence(machine, ("host.wsl", "kernel.release", "nodes")),
            fixes=FIXES[:2],
            verify=("ls", "-l", "/dev/dxg"),
        )
    elif machine.host.wsl:
        yield from _unasked(machine)
        yield from _said(machine)


_BY_LIBROCDXG, _BY_ITSELF = Dotted("7.2"), Dotted("7.13")
"""The release whose runtime reaches WSL's GPU through librocdxg (ROCm/librocdxg#1), and the one that looks there
unasked (rocr-runtime core/util/flag.h)."""


def _unasked(machine: Snapshot) -> Iterator[Finding]:
    """A container that has /dev/dxg and sees no GPU, of a ROCm that looks there only when it is asked to."""
    rocm = Dotted(rocm_of(machine) or "")
    given = any("/dev/dxg" in device for device in run_line.options(machine, "--device"))
    if not given or not rocm.numbers or not _BY_LIBROCDXG <= rocm < _BY_ITSELF:
        return
    asked = (machine.environment or {}).get(_DETECTION) == "1"
    if asked or "amd" not in run_line.vendors_meant(machine) or not run_line.sees_none(machine):
        return
    yield Finding(
        summary=f"The container has /dev/dxg, and its ROCm looks for a GPU there only with {_DETECTION}=1.",
        severity=Severity.WARNING,
        subject=Subject(kind="variable", id=_DETECTION),
        evidence=evidence(machine, ("host.wsl", "container.run_args", "rocm", "torch.rocm")),
        fixes=FIXES[2:],
    )


_DETECTION = "HSA_ENABLE_DXG_DETECTION"
