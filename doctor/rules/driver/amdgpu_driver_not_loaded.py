from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import advice as ways
from doctor.rules.lib import boot, commands, presence, run_line
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="amdgpu-driver-not-loaded",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="The amdgpu driver or its compute part (KFD) is not loaded.",
    needs=[
        {"kernel.cmdline", "gpus"},
        {"amdgpu_driver.loaded", "gpus"},
        {"amdgpu_driver.loaded", "pci"},
        {"kfd.present", "gpus"},
        {"kfd.present"},
    ],
    proven="synthetic",
    order=10,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "device-node-permission"),
    tags=("amd", "driver"),
    doc="""
## What it finds
An AMD GPU on the PCI bus while the kernel module amdgpu is not loaded, or is loaded but does not drive that GPU; or a
kernel whose amdgpu has no KFD although ROCm is installed. A container shares the host's kernel: the fix is on the
host.

## Why it matters
There is no /dev/kfd: `rocminfo` prints "ROCk module is NOT loaded", torch finds no device.

## Not raised when
- No AMD GPU is known to be there, or it is unknown whether amdgpu is loaded.
- amdgpu is built into the kernel, has made /dev/kfd or owns a GPU: a missing line in /proc/modules means nothing
  then, nor does a `blacklist`.
- Another driver owns the GPU (gpu-bound-to-other-driver), or the system is WSL, or the text calls it that.
- `rocminfo` shows an agent of a GPU with its Uuid, llama.cpp lists one, or a torch built for ROCm reaches one. A
  pasted name alone only identifies the card and may be older.

## How to confirm
`lspci -nnk -d 1002:` shows the GPU without `Kernel driver in use: amdgpu`; `ls /sys/module/amdgpu /dev/kfd`.

## Fix
On the host, with root:

- `modprobe amdgpu`; if that fails, `dmesg` shows why.
- With AMD's DKMS driver: install the kernel's headers, then `dkms autoinstall`.
- No driver: Ubuntu, RHEL, SLES `amdgpu-dkms` from AMD's repository; Debian, Fedora and Arch ship amdgpu with the
  kernel and need the firmware package (`firmware-amd-graphics`, `amd-gpu-firmware`, `linux-firmware-amdgpu`).
- `nomodeset` or a blacklist on the kernel command line: remove it and reboot.

## Fix safety
Loading the module stops no job; undo with `modprobe -r amdgpu`. Installing a driver needs a reboot.

## References
https://rocm.docs.amd.com/projects/install-on-linux/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """By where the module is from, as far as that is known."""
    if machine.of_vendor("nvidia") and not machine.of_vendor("amd"):
        return ()
    if word := _kept_out_by(machine):
        return (boot.without_argument(machine, word),)
    load = commands.load_module("amdgpu", "Load amdgpu on the host.")
    if machine.amdgpu_driver.source == "dkms":
        return (commands.rebuild_modules(machine), load)
    return (load, *commands.amdgpu_driver(machine)) if machine.amdgpu_driver.source else (load,)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    gpus = presence.present(machine, "amd")
    free = presence.takeable(gpus)
    if not free or commands.in_wsl(machine):
        return
    owned = presence.bound(gpus, "amdgpu")
    reached = machine.torch.available and machine.torch.build == "rocm"
    if machine.amdgpu_driver.loaded is False and not owned and not machine.kfd.present and not reached:
        yield _absent(machine, kb, free)
        return
    if machine.amdgpu_driver.loaded is None and not owned and not reached and _kept_out_by(machine) == "nomodeset":
        yield Finding(
            severity=Severity.WARNING,
            summary="The kernel option nomodeset keeps amdgpu from loading.",
            subject=Subject(kind="driver", id="amdgpu"),
            evidence=evidence(machine, ("kernel.cmdline",)),
            remedies=advice(machine, kb),
            verify=("ls", "-l", "/dev/kfd"),
            source="Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c, drm_firmware_drivers_only()",
        )
        return
    yield from _left_out(machine, gpus)
    yield from _not_in_kfd(machine, gpus)
    if machine.kfd.present is False and owned and (machine.rocm or machine.torch.build == "rocm"):
        yield Finding(
            severity=Severity.ERROR,
            summary="amdgpu is loaded without its compute part KFD, which ROCm needs.",
            subject=Subject(kind="driver", id="kfd"),
            evidence=evidence(machine, ("kfd.present", "kernel.release")),
            remedies=(
                *commands.amdgpu_driver(machine),
                ways.way("Boot a kernel that is built with CONFIG_HSA_AMD.", Scope.DRIVER, root=True, reboot=True),
            ),
        )


def _kept_out_by(machine: Snapshot) -> str | None:
    """The word of the kernel's command line that keeps amdgpu from loading. `nomodeset` does, unless amdgpu.modeset=1
    is beside it."""
    words = (machine.kernel.cmdline or "").split()
    if "nomodeset" in words and "amdgpu.modeset=1" not in words:
        return "nomodeset"
    lists = (_BLACKLIST.fullmatch(word) for word in words)
    return next((found[0] for found in lists if found and "amdgpu" in found[1].split(",")), None)


_BLACKLIST = Lazy(r"(?:modprobe\.|module_)blacklist=([\w,-]{1,200})")


def _absent(machine: Snapshot, kb: Knowledge, gpus: tuple[Gpu, ...]) -> Finding:
    inside = commands.in_container(machine)
    beside = all(g.integrated for g in gpus) and bool(machine.nvidia_driver.loaded)
    there = f"{len(gpus)} AMD GPU" + ("s" if len(gpus) > 1 else "")
    cmdline = ("kernel.cmdline",) if _kept_out_by(machine) else ()
    kept_out = () if inside else boot.kept_out(machine, "amdgpu")
    # A list of names is of another day, or a doubt.
    named = any(run_line.from_text(machine, f"gpus[{g.key}].index.hip") for g in gpus)
    return Finding(
        severity=Severity.INFO if beside else Severity.WARNING if named else Severity.ERROR,
        summary=f"amdgpu is not loaded {'on the host of this container (' if inside else 'for '}{there}"
        + (" on its bus)." if inside else f": {kept_out[0].partition(':')[0][:60]} keeps it out." if kept_out else "."),
        subject=Subject(kind="driver", id="amdgpu"),
        evidence=(
            *(Evidence(text=line, source=machine.source("kernel.kept_out")) for line in kept_out[:3]),
            *evidence(machine, ("amdgpu_driver.loaded", "amdgpu_driver.source", "gpus", "kernel.release", *cmdline)),
            *_logged(machine, "amdgpu-firmware-missing", "amdgpu-init-failed")[:2],
        ),
        remedies=(boot.let_in(machine, "amdgpu", kept_out),) if kept_out else advice(machine, kb),
        verify=("ls", "-l", "/dev/kfd"),
        source="https://rocm.docs.amd.com/projects/install-on-linux/",
    )


def _logged(machine: Snapshot, *codes: str, of: Gpu | None = None) -> list[Evidence]:
    """Lines of the kernel's log; of a GPU those that name it, or no GPU at all."""
    source = machine.source("kernel_log.events")
    others = [g.pci_address for g in machine.gpus or () if of and g.pci_address and g.pci_address != of.pci_address]
    logged = (e.text for e in machine.kernel_log.events or () if e.code in codes)
    return [Evidence(text=text, source=source) for text in logged if not any(o in text for o in others)]


def _left_out(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """GPUs that no driver owns while the module is loaded."""
    others = presence.bound(gpus, "amdgpu")
    for gpu in gpus:
        if gpu.driver != "none" or machine.amdgpu_driver.loaded is False:
            continue
        firmware = _logged(machine, "amdgpu-firmware-missing", of=gpu)
        yield Finding(
            severity=Severity.WARNING if others else Severity.ERROR,
            summary=f"amdgpu is loaded but does not drive {presence.label(gpu)}"
            + (": a firmware file is missing." if firmware else "."),
            subject=presence.subject(gpu),
            evidence=(
                *evidence(machine, (f"gpus[{gpu.key}].driver", "amdgpu_driver.loaded")),
                *(firmware or _logged(machine, "amdgpu-init-failed", of=gpu))[:2],
            ),
            remedies=(
                *((commands.amdgpu_firmware(machine),) if firmware else ()),
                ways.kernel_log("Read the kernel log to see why the driver rejected the GPU.", "amdgpu", "amd"),
            ),
        )


def _not_in_kfd(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """KFD lists a GPU and leaves out another of the same model. A container or a job may be given some of them only."""
    listed = {gpu.pci_id for gpu in gpus if gpu.index.kfd is not None and gpu.pci_id}
    if machine.container.inside or "SLURM_JOB_ID" in (machine.environment or {}):
        return
    for gpu in gpus if machine.kfd.nodes else ():
        if gpu.driver == "amdgpu" and gpu.index.kfd is None and gpu.pci_id in listed:
            yield Finding(
                severity=Severity.WARNING,
                summary=f"amdgpu drives {presence.label(gpu)}, but KFD does not list it: ROCm cannot use it.",
                why="",
                subject=presence.subject(gpu),
                evidence=(
                    *evidence(machine, (f"gpus[{gpu.key}].driver", "kfd.nodes")),
                    *_logged(machine, "amdgpu-init-failed", of=gpu)[:2],
                ),
                remedies=(ways.kernel_log("Read the kernel log to see why KFD rejected the GPU.", "kfd", "amd"),),
            )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A node of KFD that is there says enough; one that is missing, only beside what is known of GPUs."""
    asked = machine.amdgpu_driver.loaded is not None or machine.kfd.present is not None
    return bool(machine.kfd.present) or (asked and (machine.gpus is not None or machine.pci is not None))
