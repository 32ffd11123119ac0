from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, presence, process_maps, run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.versions import Dotted

RULE = Rule(
    id="nvidia-driver-library-mismatch",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="The NVIDIA kernel module and the driver libraries have different versions.",
    needs=[
        {"nvidia_driver.version", "nvidia_driver.user_version"},
        {"nvidia_driver.version", "process.libraries"},
        {"nvidia_driver.nvml_error"},
        {"nvidia_driver.smi_error"},
        {"kernel_log.events"},
    ],
    proven="synthetic",
    order=10,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "cuda-compat-conflict"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
The loaded NVIDIA kernel module and libcuda or libnvidia-ml on disk (or in the container) have different versions.
Usually the driver package was updated while the old module stays loaded. Or libcuda's compiler of PTX
(libnvidia-ptxjitcompiler), on disk, is another driver's (a warning). Or no libcuda is found at all on a host.

## Why it matters
`nvidia-smi` fails with "Driver/library version mismatch"; new CUDA programs can't start.

## Not raised when
- Either version is unknown and nothing reported the mismatch.
- The newer library is a forward-compatibility copy (cuda-compat), which is meant to differ.
- A pasted text shows nvidia-smi's table or list of GPUs beside it: NVML, which checks both versions, answered. A
  client of another version that the kernel log names is then one program (a flatpak, a container), not the machine.
- The system is WSL, where NVML and the driver of Windows have numbers of their own.
- The kernel log shows an older mismatch, and both versions are known to match now.

## How to confirm
Compare `/proc/driver/nvidia/version` with the number in the file name behind `libnvidia-ml.so.1`.

## Fix
On a host: reboot, or stop all GPU users and reload the modules. In a container: recreate it to mount the libraries of
the host's current driver. An image must not contain its own copies.

## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html (NVML_ERROR_LIB_RM_VERSION_MISMATCH)
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Inside a container its libraries are the wrong ones; on a host the module is. Where a text shows that nvidia-smi
    answers as well, it answers on the host."""
    if commands.in_container(machine) or run_line.from_text(machine, "nvidia_driver.cuda_version"):
        restart = "Recreate the container, so that it gets the libraries of the host's driver."
        remove = "Remove the image's own driver libraries (libcuda, libnvidia-*)."
        rebuild = ways.step("Remove the packages that bring them from the image, and rebuild it.", where="container")
        return (
            ways.way(restart, Scope.CONTAINER, risk=ways.STOPS_CONTAINER),
            ways.way(remove, Scope.CONTAINER, rebuild, risk=ways.STOPS_CONTAINER),
        )
    more: dict[str, Any] = {"root": True, "vendor": "nvidia"}
    loaded, on_disk = machine.nvidia_driver.version, machine.nvidia_driver.module_on_disk
    if "reboot" in (machine.host.tried or ()) or (
        loaded and on_disk and not _differ(loaded, on_disk)
    ):  # a reboot loads the same module again
        text = "Build it; a driver that `dkms status` does not list needs its module package installed again."
        build = ways.step(text, "dkms", "autoinstall")
        title = "Install the module of the driver libraries' version, then reboot."
        change = {"reboot": True, "risk": commands.JOBS_STOP, **more}
        return (ways.way(title, Scope.DRIVER, build, commands.REBOOT, **change),)
    return (
        ways.way(
            "Reboot the host, so that the kernel loads the installed driver's module.",
            Scope.DRIVER,
            commands.REBOOT,
            reboot=True,
            risk=commands.JOBS_STOP,
            **more,
        ),
        ways.way(
            "Reload the NVIDIA modules without a reboot.",
            Scope.DRIVER,
            ways.step("Stop every program that uses the GPU, including the display and nvidia-persistenced."),
            ways.step("Unload the modules.", "modprobe", "-r", "nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"),
            ways.step("Load the installed one.", "modprobe", "nvidia"),
            risk="stops the programs that use the GPU",
            **more,
        ),
    )


_MISMATCH = ("LIB_RM_VERSION_MISMATCH", "version mismatch", "Function Not Found")
"""The last one: nvidia-smi asks the library for a function of another release (NVML_ERROR_FUNCTION_NOT_FOUND)."""


_RECENT_S = 14 * 86400


def _differ(module: str, library: str) -> bool:
    """By as many numbers as both have: `nvidia-smi --version` calls 595.71.05 595.71, people name the branch alone."""
    ours, theirs = Dotted(module).numbers, Dotted(library).numbers
    width = min(len(ours), len(theirs))
    return ours[:width] != theirs[:width]


def _answered(machine: Snapshot) -> bool:
    """Of a pasted text: nvidia-smi printed its table or listed GPUs, so NVML and module agree; the package, or the
    line of an older boot, may be another."""
    table = run_line.from_text(machine, "nvidia_driver.user_version") and bool(machine.nvidia_driver.cuda_version)
    return table or presence.answers(machine, "nvidia")


def _history(machine: Snapshot) -> Iterator[Evidence]:
    """The changes of the driver's packages that made it so, and who holds the old module in place."""
    for change in machine.changes or ():
        if "nvidia" in change.package and (change.age_s or 0) < _RECENT_S:
            by = f" by {change.by}" if change.by else ""
            words = f"{change.when}: {change.action} of {change.package} to {change.new or 'nothing'}{by}"
            yield Evidence(text=words, source=machine.source("changes"))
            break
    held = [f"{h.name} (pid {h.pid})" for h in machine.holders or () if any("nvidia" in n for n in h.nodes or ())]
    if held:
        text = f"the loaded module is held by {', '.join(held[:6])}"
        yield Evidence(text=text, source=machine.source("holders"))


def _no_library(machine: Snapshot) -> Finding | None:
    """The driver runs, and no program finds its CUDA library: a package for compute was left out or removed."""
    driver = machine.nvidia_driver
    if driver.libcuda_found is not False or machine.container.inside is not False or not driver.loaded:
        return None
    if machine.host.wsl is not False or any("/libcuda.so" in file.path for file in driver.libraries or ()):
        return None
    branch = str(Dotted(driver.version or "").major or "BRANCH")
    fix = ways.by_hand(
        "Install the driver's library for compute, in the driver's own version.",
        Scope.DRIVER,
        f"Ubuntu: libnvidia-compute-{branch}. Debian: libcuda1. RHEL, Fedora and SLES: nvidia-driver-cuda.",
        root=True,
    )
    return Finding(
        severity=Severity.ERROR,
        summary="The NVIDIA driver works, but no program finds its CUDA library libcuda.so.1.",
        why="CUDA programs find no GPU, even if `nvidia-smi` lists it.",
        subject=Subject(kind="library", id="libcuda.so.1"),
        evidence=evidence(machine, ("nvidia_driver.libcuda_found", "nvidia_driver.version")),
        remedies=(fix,),
        verify=("ldconfig", "-p"),
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if missing := _no_library(machine):
        yield missing
        return
    if commands.in_wsl(machine):  # NVML there is of the Linux side, the driver of Windows: they are numbered apart
        return
    driver = machine.nvidia_driver
    module, library = driver.version, driver.user_version
    mapped = process_maps.driver_of_another_version(machine)
    if mapped:
        library = mapped[0]
    errors = [
        name for name in ("nvml_error", "smi_error") if any(m in (getattr(driver, name) or "") for m in _MISMATCH)
    ]
    differ = bool(module and library and _differ(module, library) and not _is_compat(machine, library))
    differ = differ and not _answered(machine)
    taken = driver.libcuda.version
    if not differ and module and taken and _differ(module, taken) and not _is_compat(machine, taken):
        library, differ = taken, True  # the loader takes another copy than that of the usual folders
    logged = [e for e in machine.kernel_log.events or () if e.code == "nvidia-api-mismatch"]
    if not differ and (compiler := _other_compiler(machine, library)):
        yield compiler
    if not (errors or differ or (logged and not (module and library) and not _answered(machine))):
        return
    names = ["nvidia_driver.version", "nvidia_driver.user_version", "nvidia_driver.module_on_disk"]
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in logged[:1])
    yield Finding(
        severity=Severity.ERROR,
        summary=_summary(module, library if differ else None),
        subject=Subject(kind="driver", id="nvidia"),
        evidence=(
            *(mapped[1:] if mapped else ()),
            *evidence(machine, names + [f"nvidia_driver.{name}" for name in errors]),
            *log,
            *_history(machine),
        ),
        remedies=advice(machine, kb),
        verify=("nvidia-smi",),
    )


def _other_compiler(machine: Snapshot, library: str | None) -> Finding | None:
    """libcuda opens its compiler of PTX by name; one that another driver left there is not its own."""
    found = [f for f in machine.nvidia_driver.libraries or () if "ptxjitcompiler" in f.path]
    if not found or not library or any(not _differ(library, f.version or "") for f in found):
        return None
    return Finding(
        severity=Severity.WARNING,
        summary=f"PTX compiler {found[0].path.rpartition('/')[2]} comes from another driver than libcuda {library}.",
        why="",
        subject=Subject(kind="library", id="libnvidia-ptxjitcompiler.so.1"),
        evidence=evidence(machine, ("nvidia_driver.libraries", "nvidia_driver.user_version")),
        remedies=(
            ways.way("Install all packages of the driver in one version.", Scope.DRIVER, root=True, vendor="nvidia"),
        ),
    )


def _summary(module: str | None, library: str | None) -> str:
    if module and library:
        return f"NVIDIA kernel module {module} is loaded, but the driver libraries are {library}."
    return "The NVIDIA kernel module and the driver libraries have different versions."


def _is_compat(machine: Snapshot, library: str) -> bool:
    taken = machine.nvidia_driver.libcuda
    if taken.version == library and "compat" in (taken.path or ""):
        return True
    return any("compat" in f.path and f.version == library for f in machine.nvidia_driver.libraries or ())
