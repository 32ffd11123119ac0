from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import advice as ways
from doctor.rules.lib import boot, commands, module_flavour, presence, run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.error_texts import pointing_to
from doctor.rules.lib.module_build import elsewhere
from doctor.versions import Dotted

RULE = Rule(
    id="nvidia-driver-not-loaded",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
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
An NVIDIA GPU on the PCI bus while the kernel module `nvidia` is not loaded, or is loaded but does not drive that GPU.
A container shares the host's kernel: seen from inside one, the module is missing on the host.

Also a module that DKMS built only for other kernels, if it is unknown whether it is loaded.

Also a driver branch that no longer supports the GPU (Kepler after 470; Maxwell, Pascal and Volta after 580), where
something reports that no GPU is seen.

## Why it matters
Nothing can use the GPU: `nvidia-smi` cannot communicate with the NVIDIA driver, and CUDA finds no device.

## Not raised when
- No NVIDIA GPU is known to be there, or it is unknown whether the module is loaded.
- Another driver owns the GPU (nouveau-loaded, gpu-bound-to-other-driver).
- A pasted text shows that nvidia-smi lists the GPU, as in the guest to which a hypervisor's host passes it.
- The system is WSL, where the driver is on the Windows side.
- The module is loaded and only the container lacks the devices (container-missing-gpu-passthrough).

## How to confirm
`lspci -nnk -d 10de:` shows the GPU without `Kernel driver in use: nvidia`; `/proc/driver/nvidia/version` is missing.

## Fix
On the host, with root:

- The module is installed for this kernel: `modprobe nvidia`. If that fails, `dmesg` shows why (Secure Boot, nouveau,
  an unsupported GPU).
- It is built for another kernel: install this kernel's headers, then `dkms autoinstall`.
- No driver is installed: Ubuntu `apt-get install nvidia-driver-580-open`; Debian, RHEL, Fedora and SLES from NVIDIA's
  repository (see nvidia-driver-too-old); Arch `pacman -Syu nvidia-open-dkms`. Then reboot.
- The GPU is older than the branch: Maxwell to Volta need 580, Kepler 470.

## Fix safety
Loading the module stops no job; undo with `modprobe -r nvidia`. Installing a driver needs a reboot and stops every
GPU job.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error message says it: load the module where a driver is installed, else install one."""
    if machine.of_vendor("amd") and not machine.of_vendor("nvidia"):
        return ()
    if machine.nvidia_driver.module_on_disk or machine.nvidia_driver.loaded:
        return _remedies(machine, kb)
    load, installs = (
        commands.load_module("nvidia", _LOAD),
        commands.nvidia_driver(machine, module_flavour.wanted(machine, kb)),
    )
    if machine.container.engine == "apptainer":
        title = "Run it on a node with the NVIDIA driver: --nv takes the driver's libraries from the node."
        return (ways.looks(title, "nvidia-smi", "-L", vendor="nvidia"), *installs)
    return (*installs, load) if machine.symptom(*_NO_LIBRARY) else (load, *installs)


_NO_LIBRARY = ("container-cli-load-library", "nvml-library-missing", "libcuda-missing")
"""The host lacks the driver's libraries: more is missing than the module."""


_LOAD = "Load the NVIDIA kernel module, if the driver is installed on the host."


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


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A version alone is that of a package where something says that the module can't be reached, or was not built."""
    if machine.nvidia_driver.loaded is not None:
        return True
    return pointing_to(machine, RULE.id, leaving_out=_MISSED_ELSEWHERE) is None


_MISSED_ELSEWHERE = frozenset(
    {
        "nvml-library-not-found", "custom-device-uvm", "container-cli-load-library", "container-cli-driver-error",
        "nvidia-smi-not-found",
        "torch-no-nvidia-driver", "libcuda-missing", "nvml-library-missing",
        "persistenced-no-devices", "apptainer-host-without-driver", "gres-device-missing",
        "rm-init-adapter-failed",
        "cdi-generation-without-driver", "numba-finds-no-driver", "paddle-driver-library-not-found",
        "bitsandbytes-no-libcuda",
    }
)  # fmt: skip
"""What programs print as well where the driver runs and they have no library of it, no node or no GPU: a version that
is written down beside them is that of a driver that was seen."""


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
            summary=f"NVIDIA driver {major} does not support {presence.label(gpu)[:60]};"
            f" {last} is the last branch that does.",
            subject=Subject(kind="driver", id="nvidia"),
            evidence=evidence(machine, ("nvidia_driver.version", f"gpus[{gpu.key}].name", "nvidia_driver.smi_error")),
            remedies=_of_branch(machine, last),
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
        summary=f"The running kernel {running[:40]} has no NVIDIA module; DKMS built it for {built[0][:40]}.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.built_for", "kernel.release")),
        remedies=(commands.rebuild_modules(machine),),
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
    summary = f"The NVIDIA kernel module is not loaded {where} {there if not inside else f'({there} on its bus)'}"
    kept_out = () if inside else boot.kept_out(machine, "nvidia")
    return Finding(
        severity=Severity.ERROR,
        summary=f"{summary}: {kept_out[0].partition(':')[0][:60]} keeps it out." if kept_out else f"{summary}.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=(
            *(Evidence(text=line, source=machine.source("kernel.kept_out")) for line in kept_out[:3]),
            *evidence(machine, ("nvidia_driver.loaded", "gpus", "nvidia_driver.module_on_disk", "kernel.release")),
        ),
        remedies=(boot.let_in(machine, "nvidia", kept_out),) if kept_out else _remedies(machine, kb),
        verify=("nvidia-smi", "-L"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )


def _of_branch(machine: Snapshot, last: int) -> tuple[Remedy, ...]:
    """The last branch that drives the GPU: 580 is packaged everywhere, older ones come from NVIDIA's archive."""
    if str(last) == commands.NVIDIA_BRANCH:
        return commands.nvidia_driver(machine, "proprietary", branch=str(last))
    text = f"Take the newest {last}.xx from https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/ and install it."
    title = f"Install an NVIDIA driver of branch {last}, the last one for this GPU."
    steps = (ways.step(text), commands.REBOOT)
    return (ways.way(title, Scope.DRIVER, *steps, root=True, reboot=True, risk=commands.JOBS_STOP, vendor="nvidia"),)


def _remedies(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    if machine.nvidia_driver.module_on_disk and not commands.in_container(machine):
        return (commands.load_module("nvidia"),)
    built, running = machine.nvidia_driver.built_for, machine.kernel.release
    if built and running and running not in built and not commands.in_container(machine):
        return (commands.rebuild_modules(machine),)
    return commands.nvidia_driver(machine, module_flavour.wanted(machine, kb))


def _not_initialised(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """The kernel log says so, and NVML, which came up, does not answer for that GPU."""
    failed = {e.device: e for e in machine.kernel_log.events or () if e.code == "nvidia-rm-init-failed"}
    for gpu in gpus if machine.nvidia_driver.nvml_gpus is not None else ():
        event = failed.get(gpu.pci_address)
        if event and gpu.driver == "nvidia" and gpu.index.smi is None:
            yield Finding(
                severity=Severity.ERROR,
                summary=f"The NVIDIA driver cannot initialise {presence.label(gpu)}.",
                why="",
                subject=presence.subject(gpu),
                evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
                remedies=(
                    ways.way(
                        "Power the machine off and on; if the GPU still fails, reseat or replace it.",
                        Scope.HARDWARE,
                        risk=commands.JOBS_STOP,
                        reboot=True,
                        root=True,
                    ),
                ),
                verify=("nvidia-smi", "-L"),
            )


def _left_out(machine: Snapshot, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    """GPUs that no driver owns while the module is loaded for others, and those that it could not initialise."""
    yield from _not_initialised(machine, gpus)
    for gpu in gpus:
        served = gpu.pci_address in (machine.nvidia_driver.proc_gpus or ())
        if gpu.driver != "none" or served:
            continue
        yield Finding(
            severity=Severity.WARNING if presence.bound(gpus, "nvidia") else Severity.ERROR,
            summary=f"The NVIDIA module is loaded but does not drive {presence.label(gpu)}.",
            why="",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"gpus[{gpu.key}].driver", "nvidia_driver.version")),
            remedies=(
                ways.kernel_log("Read the kernel log to see why the driver rejected the GPU.", "nvrm", "nvidia"),
            ),
            verify=("nvidia-smi", "-L"),
        )
