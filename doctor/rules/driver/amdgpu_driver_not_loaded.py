"""An AMD GPU is on the bus, and amdgpu or its compute side KFD is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import commands, presence, run_line

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-driver-not-loaded",
    severity=Severity.ERROR,
    title="amdgpu or KFD is not loaded.",
    needs=[{"amdgpu_driver.loaded", "gpus"}, {"amdgpu_driver.loaded", "pci"}, {"kfd.present", "gpus"}, {"kfd.present"}],
    proven="synthetic",
    order=10,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "device-node-permission"),
    tags=("amd", "driver"),
    doc="""
## What it finds
An AMD GPU on the PCI bus while the kernel module amdgpu is not loaded, or is loaded and does not drive
that GPU; or a kernel
whose amdgpu has no KFD although ROCm is installed. A container shares the host's kernel: the fix is on the host.

## Why it matters
There is no /dev/kfd: `rocminfo` says "ROCk module is NOT loaded", torch finds no device.

## Not raised when
- No AMD GPU is known to be there, or it is unknown whether amdgpu is loaded.
- amdgpu is built into the kernel, has made /dev/kfd or owns a GPU: a missing line in /proc/modules means nothing
  then, nor does a `blacklist`.
- Another driver owns the GPU (gpu-bound-to-other-driver), or the system is WSL or said to be.
- `rocminfo` shows an agent of a GPU with its Uuid, llama.cpp lists one, or a torch built for ROCm reaches one. A pasted
  name alone says which card it is, and may be of another day.

## How to confirm
`lspci -nnk -d 1002:` shows the GPU without `Kernel driver in use: amdgpu`; `ls /sys/module/amdgpu /dev/kfd`.

## Fix
`modprobe amdgpu`; if that fails, the kernel log says why. Install or rebuild the driver for the running kernel.

## Fix safety
Loading the module disturbs no job. A driver installation wants a reboot.

## References
https://rocm.docs.amd.com/projects/install-on-linux/
""",
)
FIXES = (commands.load_module("amdgpu", "Load amdgpu on the host; if that fails the kernel log says why."),)


def unheard(machine: Snapshot) -> bool:
    """Where files are shown that amdgpu makes for a card that it drives, or the runtime lists one."""
    return machine.symptom("files-of-amdgpu-card-shown") is not None or _reached(machine)


def _reached(machine: Snapshot) -> bool:
    """Whether the runtime lists a GPU, or a program that computes with it found one."""
    found = machine.symptom("ggml-finds-gpus-told")
    return machine.symptom(*_REACHED) is not None or bool(found and "ROCm" in found.text)


_REACHED = ("rocminfo-lists-gpu-told", "rocminfo-agent-whole-told", "ollama-lists-amd-gpu-told")
"""The driver may be built into the kernel, where tools that look for the module miss it."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    gpus = presence.present(machine, "amd")
    free = presence.takeable(gpus)
    if not free or commands.in_wsl(machine) or machine.symptom("wsl-told"):
        return
    owned = presence.bound(gpus, "amdgpu")
    reached = _reached(machine) or (machine.torch.build == "rocm" and machine.torch.available)
    if machine.amdgpu_driver.loaded is False and not owned and not machine.kfd.present and not reached:
        yield _absent(machine, free)
        return
    yield from _left_out(machine, gpus)
    needs_kfd = bool(machine.rocm) or machine.torch.build == "rocm"
    if machine.kfd.present is False and owned and needs_kfd and not machine.kfd.nodes:
        yield Finding(
            severity=Severity.ERROR,
            summary="amdgpu is loaded without its compute side KFD, which ROCm needs.",
            subject=Subject(kind="driver", id="kfd"),
            evidence=evidence(machine, ("kfd.present", "kernel.release")),
            fixes=(Fix(text="Run a kernel built with CONFIG_HSA_AMD, or AMD's DKMS driver.", reboot=True),),
        )


def _absent(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Finding:
    inside = commands.in_container(machine)
    beside = all(g.integrated for g in gpus) and bool(machine.nvidia_driver.loaded)
    there = f"{len(gpus)} AMD GPU" + ("s" if len(gpus) > 1 else "")
    why = [e for e in machine.kernel_log.events or () if e.code in ("amdgpu-init-failed", "amdgpu-firmware-missing")]
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in why[:2])
    # A list of names is of another day, or a doubt.
    named = any(run_line.from_text(machine, f"gpus[{g.key}].index.hip") for g in gpus)
    return Finding(
        severity=Severity.INFO if beside else Severity.WARNING if named else Severity.ERROR,
        summary=f"amdgpu is not loaded {'on the host of this container (' if inside else 'for '}{there}"
        + (" on its bus)." if inside else "."),
        subject=Subject(kind="driver", id="amdgpu"),
        evidence=evidence(machine, ("amdgpu_driver.loaded", "amdgpu_driver.source", "gpus", "kernel.release")) + log,
        fixes=_fixes(machine),
        verify=("ls", "-l", "/dev/kfd"),
        source="https://rocm.docs.amd.com/projects/install-on-linux/",
    )


def _fixes(machine: Snapshot) -> tuple[Fix, ...]:
    if machine.amdgpu_driver.source == "absent":
        return commands.amdgpu_driver(machine)
    if machine.amdgpu_driver.source == "dkms":
        return (commands.rebuild_modules(machine), *FIXES)
    return FIXES


def _left_out(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """GPUs that no driver owns while the module is loaded."""
    others = presence.bound(gpus, "amdgpu")
    for gpu in gpus:
        if gpu.driver != "none" or machine.amdgpu_driver.loaded is False:
            continue
        yield Finding(
            severity=Severity.WARNING if others else Severity.ERROR,
            summary=f"amdgpu is loaded and does not drive {presence.label(gpu)}.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"gpus[{gpu.key}].driver", "amdgpu_driver.loaded")),
            fixes=(
                Fix(
                    text="Read why the driver refused the GPU in the kernel log.",
                    command=("journalctl", "-k", "-b", "--grep", "amdgpu"),
                    root=True,
                ),
            ),
        )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A node of KFD that is there says enough; one that is missing, only beside what is known of GPUs."""
    return bool(machine.kfd.present) or machine.gpus is not None or machine.pci is not None
