"""An NVIDIA GPU is on the bus and the NVIDIA kernel module does not drive it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.redaction.lazy import Lazy
from doctor.rules import commands, presence, run_line
from doctor.rules.module_build import elsewhere
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-driver-not-loaded",
    severity=Severity.ERROR,
    title="The NVIDIA kernel module is not loaded.",
    needs=[
        {"nvidia_driver.loaded", "gpus"},
        {"nvidia_driver.loaded", "pci"},
        {"nvidia_driver.version", "gpus"},
        {"nvidia_driver.built_for", "kernel.release"},
    ],
    proven="synthetic",
    order=10,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-uvm-missing", "device-node-permission"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
An NVIDIA GPU on the PCI bus while the kernel module `nvidia` is not loaded, or is loaded and does not drive that GPU.
A container shares the host's kernel: seen from inside one, the module is missing on the host.

Also a module that DKMS built for other kernels than the one that runs, where it isn't known whether it is loaded.

Also a driver of a branch that no longer drives the GPU (Kepler after 470; Maxwell, Pascal and Volta after 580), where
something says that no GPU is seen.

## Why it matters
Nothing can use the GPU: `nvidia-smi` says that it couldn't communicate with the NVIDIA driver, CUDA finds no device.

## Not raised when
- No NVIDIA GPU is known to be there, or it is unknown whether the module is loaded.
- Another driver owns the GPU (nouveau-loaded, gpu-bound-to-other-driver).
- A pasted text shows that nvidia-smi lists the GPU, as in the guest to which a hypervisor's host passes it.
- The system is WSL, where the driver is on the Windows side.
- The module is loaded and only the container lacks the devices (container-missing-gpu-passthrough).

## How to confirm
`lspci -nnk -d 10de:` shows the GPU without `Kernel driver in use: nvidia`; `/proc/driver/nvidia/version` is missing.

## Fix
Load the module where its file is there for the running kernel; otherwise install the driver, or build its module for
this kernel, on the host. If loading fails, the kernel log says why (Secure Boot, nouveau, an unsupported GPU).

## Fix safety
Loading a module disturbs no job. Installing a driver wants the GPU idle, and a reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
FIXES = (
    Fix(text="Install NVIDIA's driver on the host, or load it (`modprobe nvidia`); the kernel log says why it fails."),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    gpus = presence.present(machine, "nvidia")
    free = presence.takeable(gpus)
    if dropped := _dropped(machine, kb):
        yield dropped
        return
    if machine.nvidia_driver.loaded is None and (other := _of_other_kernels(machine)):
        yield other
        return
    if not free or commands.in_wsl(machine):
        return
    if machine.nvidia_driver.loaded is False and presence.answers(machine, "nvidia"):
        return  # nvidia-smi lists it in the guest or machine that it is for
    if machine.nvidia_driver.loaded is False and not presence.bound(gpus, "nvidia"):
        yield _absent(machine, kb, len(free))
    elif machine.nvidia_driver.loaded:
        yield from _left_out(machine, gpus)


def excludes(machine: Snapshot) -> bool:
    """A Space of ZeroGPU: its main process has no GPU by design, and nobody in it loads a driver. Where nvidia-smi
    lists a GPU of the text and nothing says that it can't be reached, its driver is loaded, whatever a program sees."""
    if machine.symptom("zerogpu-told") is not None:
        return True
    if machine.nvidia_driver.smi_error is not None or machine.nvidia_driver.loaded is False:
        return False
    listed = any(presence.listed(machine, gpu) for gpu in machine.of_vendor("nvidia"))
    return listed and machine.symptom(*_UNREACHED) is None


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A version alone is that of a package where something says that the module can't be reached, or was not built."""
    if machine.nvidia_driver.loaded is not None:
        return True
    from doctor.knowledge.symptoms import shared

    told = (symptom.key for symptom in machine.symptoms if symptom.key not in _MISSED_ELSEWHERE)
    return not any(c.rule == RULE.id and c.sure != "possible" for key in told for c in shared().causes(key, machine))


_MISSED_ELSEWHERE = frozenset(
    {
        "nvml-library-not-found", "custom-device-nvidia", "container-cli-load-library", "container-cli-driver-rpc",
        "container-cli-cuda-error", "toolkit-looks-in-driver-container-told", "nvidia-smi-not-found",
        "torch-no-nvidia-driver", "libcuda-missing", "nvml-library-missing", "cuda-driver-version-zero",
        "persistenced-no-devices", "apptainer-nv-finds-nothing", "apptainer-host-without-driver", "gres-device-missing",
        "rm-init-adapter-failed", "device-handle-not-found", "kernel-headers-named", "vgpu-profile-named",
        "cdi-generation-without-driver", "numba-finds-no-driver", "paddle-driver-library-not-found",
        "rapids-detects-no-driver", "bitsandbytes-no-libcuda", "gpu-operator-driver-not-ready",
    }
)  # fmt: skip
"""What programs print as well where the driver runs and they have no library of it, no node or no GPU: a version that
is written down beside them is that of a driver that was seen."""


_UNREACHED = (
    "nvidia-smi-cannot-communicate",
    "nvml-driver-not-loaded",
    "nvidia-driver-absent-told",
    "nvidia-module-unloaded-told",
    "nvidia-module-of-other-kernel",
    "nvidia-smi-absent-on-host-told",
    "nvidia-module-no-such-device",
    "modprobe-nvidia-not-found",
    "nvidia-drm-module-absent",
    "driver-unreachable-told",
    "driver-gone-after-kernel-update-told",
    "driver-packages-of-kernel-missing",
    "kernel-headers-missing-told",
    "kernel-build-tree-missing",
    "module-compiler-refused",
    "driver-not-loaded-told",
    "nvtop-nvml-without-driver",
    "nvidia-unit-failed",
    "nvidia-packages-unresolved",
    "kernel-module-package-helps-told",
    "module-not-rebuilt-told",
    "nvidia-kernel-sources-missing",
    "dkms-tree-broken",
    "dkms-status-without-build",
    "guest-driver-wrong-kind-told",
)
"""Symptoms by which the module is absent, whatever version is written down beside."""


_BEFORE_MAXWELL = (
    (Lazy(r"\bG(?:TX?|eForce) ?[45]\d\d\b|\bTesla [CMS]20[579]0|\bQuadro [2456]000\b(?! ?Ada)", re.IGNORECASE), 390),
    (
        Lazy(
            r"\bG(?:TX?|eForce) ?(?:6\d\d|7(?!45|50)\d\d)M?\b|\bTITAN (?:Black|Z\b)|\b(?:Tesla|Quadro|GRID) K\d{1,4}",
            re.IGNORECASE,
        ),
        470,
    ),
)
"""Names of the generations that have no compute capability in the tables, and the last branch that drives them:
NVIDIA's list of legacy GPUs (nvidia.com/en-us/drivers/unix/legacy-gpu)."""


def _dropped(machine: Snapshot, kb: Knowledge) -> Finding | None:
    """A GPU that the driver's branch no longer drives, while something says that no GPU is seen."""
    driver = machine.nvidia_driver
    major = Dotted(driver.version or "").major or 0
    unseen = (
        driver.smi_error is not None
        or machine.torch.available is False
        or machine.symptom(*run_line.NO_GPU_SEEN) is not None
    )
    if not unseen or commands.in_wsl(machine) or machine.os.id == "windows":
        return None
    from doctor.knowledge.windows import is_past_branch

    for gpu in machine.of_vendor("nvidia"):
        last = _last_branch(kb, gpu)
        if (
            last is None
            or not is_past_branch(major, last)
            or gpu.uuid
            or gpu.driver == "nvidia"
            or gpu.index.smi is not None
        ):
            continue
        return Finding(
            severity=Severity.ERROR,
            summary=f"Driver {major} leaves {presence.label(gpu)[:60]} alone: {last} is the last branch for it.",
            subject=Subject(kind="driver", id="nvidia"),
            evidence=evidence(machine, ("nvidia_driver.version", f"gpus[{gpu.key}].name", "nvidia_driver.smi_error")),
            fixes=(Fix(text=f"Install a driver of branch {last}.", reboot=True),),
            verify=("nvidia-smi", "-L"),
            source="https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/",
        )
    return None


def _of_other_kernels(machine: Snapshot) -> Finding | None:
    """A module that was built, and not for the kernel that runs: after an update of the kernel without its headers."""
    built, running = machine.nvidia_driver.built_for, machine.kernel.release
    if not built or not running or running in built or elsewhere(machine, "nvidia"):
        return None
    if presence.answers(machine, "nvidia") or presence.bound(presence.present(machine, "nvidia"), "nvidia"):
        return None
    return Finding(
        severity=Severity.WARNING,
        summary=f"DKMS built the NVIDIA module for kernel {built[0][:40]}, and {running[:40]} runs: it has none.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.built_for", "kernel.release")),
        fixes=(commands.rebuild_modules(machine),),
        verify=("dkms", "status"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )


def _last_branch(kb: Knowledge, gpu: Gpu) -> int | None:
    from doctor.knowledge.windows import driver_branches_of

    last = driver_branches_of(kb, gpu.arch)[1] if gpu.arch else None
    if last:
        return int(last)
    return next((branch for name, branch in _BEFORE_MAXWELL if name.search(gpu.name or "")), None)


def _absent(machine: Snapshot, kb: Knowledge, gpus: int) -> Finding:
    inside = commands.in_container(machine)
    where = "on the host of this container" if inside else "for"
    there = f"{gpus} NVIDIA GPU{'s' if gpus > 1 else ''}"
    summary = f"The NVIDIA kernel module is not loaded {where} {there if not inside else f'({there} on its bus)'}."
    return Finding(
        severity=Severity.ERROR,
        summary=summary,
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.loaded", "gpus", "nvidia_driver.module_on_disk", "kernel.release")),
        fixes=_fixes(machine, kb),
        verify=("nvidia-smi", "-L"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )


def _fixes(machine: Snapshot, kb: Knowledge) -> tuple[Fix, ...]:
    if machine.nvidia_driver.module_on_disk and not commands.in_container(machine):
        return (commands.load_module("nvidia"),)
    built, running = machine.nvidia_driver.built_for, machine.kernel.release
    if built and running and running not in built and not commands.in_container(machine):
        return (commands.rebuild_modules(machine),)
    flavours = {
        kb.open_module(g.pci_id or g.arch) or kb.open_module(g.arch) for g in presence.present(machine, "nvidia")
    }
    if flavours == {None}:
        return commands.nvidia_driver(machine, None)
    return commands.nvidia_driver(machine, "proprietary" if "unsupported" in flavours else "open")


def _left_out(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """GPUs that no driver owns while the module is loaded for others."""
    for gpu in gpus:
        served = gpu.pci_address in (machine.nvidia_driver.proc_gpus or ())
        if gpu.driver != "none" or served:
            continue
        yield Finding(
            severity=Severity.WARNING if presence.bound(gpus, "nvidia") else Severity.ERROR,
            summary=f"The NVIDIA module is loaded and does not drive {presence.label(gpu)}.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"gpus[{gpu.key}].driver", "nvidia_driver.version")),
            fixes=(
                Fix(
                    text="Read why the driver refused the GPU in the kernel log.",
                    command=("journalctl", "-k", "-b", "--grep", "NVRM"),
                    root=True,
                ),
            ),
            verify=("nvidia-smi", "-L"),
        )
