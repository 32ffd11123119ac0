"""The loaded NVIDIA kernel module and the user-space driver libraries are of different versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import commands, presence, process_maps, run_line
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-driver-library-mismatch",
    severity=Severity.ERROR,
    title="The NVIDIA kernel module and its user-space libraries are of different versions.",
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
The kernel runs one version of the NVIDIA module, and libcuda or libnvidia-ml on disk (or in the container) are of
another. Most often the driver package was updated and the old module is still loaded.

## Why it matters
`nvidia-smi` fails with "Driver/library version mismatch"; new CUDA programs can't start.

## Not raised when
- Either version is unknown and nothing reported the mismatch.
- The newer library is a forward-compatibility copy (cuda-compat), which is meant to differ.
- A pasted text shows nvidia-smi's table or list of GPUs beside it: NVML, which checks both versions, answered. A
  client of another version that the kernel log names is then one program (a flatpak, a container), not the machine.
- The system is WSL, where NVML and the driver of Windows have numbers of their own.
- The kernel log tells of an older mismatch, and both versions are known to agree now.

## How to confirm
Compare `/proc/driver/nvidia/version` with the number in the file name behind `libnvidia-ml.so.1`.

## Fix
On a host: reboot, or stop all GPU users and reload the modules. In a container: start it anew, so that the libraries of
the host's present driver are mounted; an image must not carry its own copies.

## Fix safety
The reboot stops every job of the node; running CUDA programs go on working until then.

## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html (NVML_ERROR_LIB_RM_VERSION_MISMATCH)
""",
)
FIXES = (commands.reboot("Reboot the host, so that the module of the installed driver is loaded."),)
_MISMATCH = ("LIB_RM_VERSION_MISMATCH", "version mismatch", "Function Not Found")
"""The last one: nvidia-smi asks the library for a function of another release (NVML_ERROR_FUNCTION_NOT_FOUND)."""


def unheard(machine: Snapshot) -> bool:
    """Where the module that runs, the one on disk and the libraries are all shown, as far as they are, of one version,
    and neither NVML nor nvidia-smi was refused. Where one version is all that is shown, and a program fell over a line
    of its own source: it takes two versions to differ."""
    driver = machine.nvidia_driver
    if driver.version and machine.symptom("crash-in-own-source-told"):
        return True
    shown = [v for v in (driver.version, driver.module_on_disk, driver.user_version) if v]
    refused = driver.nvml_error or driver.smi_error or machine.symptom(*_REFUSED)
    return len(shown) > 1 and not refused and not any(_differ(shown[0], other) for other in shown[1:])


_REFUSED = (
    *("nvml-version-mismatch", "nvrm-api-mismatch", "cuda-driver-mismatch-803"),
    *("nvidia-smi-fails-told", "nvidia-smi-refuses-told", "nvidia-smi-cannot-communicate"),
)


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


def excludes(machine: Snapshot) -> bool:
    """Where the kernel log names one client of another version, nvidia-smi lists GPUs, and no program says that the
    versions differ: it was one program with libraries of its own (a flatpak, a container)."""
    from doctor.knowledge.symptoms import shared

    if machine.symptom("nvrm-api-mismatch") is None or not presence.answers(machine, "nvidia"):
        return False
    others = (s.key for s in machine.symptoms if s.key != "nvrm-api-mismatch")
    return not any(cause.rule == RULE.id for key in others for cause in shared().causes(key, machine))


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if commands.in_wsl(machine):  # NVML there is of the Linux side, the driver of Windows: they are numbered apart
        return
    driver = machine.nvidia_driver
    module, library = driver.version, driver.user_version
    mapped = process_maps.driver_of_another_version(machine)
    if mapped:
        library = mapped[0]
    said = [name for name in ("nvml_error", "smi_error") if any(m in (getattr(driver, name) or "") for m in _MISMATCH)]
    differ = bool(module and library and _differ(module, library) and not _is_compat(machine, library))
    answered = _answered(machine)
    differ = differ and not answered
    logged = [e for e in machine.kernel_log.events or () if e.code == "nvidia-api-mismatch"]
    if not (said or differ or (logged and not (module and library) and not answered)):
        yield from _second_driver(machine)
        return
    names = ["nvidia_driver.version", "nvidia_driver.user_version", "nvidia_driver.module_on_disk"]
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in logged[:1])
    yield Finding(
        severity=Severity.ERROR,
        summary=_summary(module, library if differ else None),
        subject=Subject(kind="driver", id="nvidia"),
        evidence=(
            *(mapped[1:] if mapped else ()),
            *evidence(machine, names + [f"nvidia_driver.{name}" for name in said]),
            *log,
            *_history(machine),
        ),
        fixes=_fixes(machine),
        verify=("nvidia-smi",),
    )


def _second_driver(machine: Snapshot) -> Iterator[Finding]:
    """Somebody tells of a driver that was installed in a container, and nvidia-smi there gets no answer."""
    own = machine.symptom("driver-of-its-own-in-container-told")
    if own and machine.container.inside and machine.nvidia_driver.smi_error and not machine.nvidia_driver.version:
        yield Finding(
            severity=Severity.WARNING,
            summary="The container has a driver of its own beside the host's.",
            basis="both",
            evidence=(Evidence(text=own.text, source=own.source), *evidence(machine, ["nvidia_driver.smi_error"])),
            fixes=(Fix(text="Remove the driver's packages from the container, or install the host's release there."),),
        )


def _summary(module: str | None, library: str | None) -> str:
    if module and library:
        return f"NVIDIA kernel module {module} is loaded, and the driver libraries are {library}."
    return "The NVIDIA kernel module and the driver libraries are of different versions."


def _is_compat(machine: Snapshot, library: str) -> bool:
    """Whether that version belongs to a forward-compatibility copy."""
    return any("compat" in f.path and f.version == library for f in machine.nvidia_driver.libraries or ())


def _fixes(machine: Snapshot) -> tuple[Fix, ...]:
    if commands.in_container(machine):
        return (
            Fix(text="Start the container anew, so that it gets the libraries of the host's present driver."),
            Fix(
                text="Remove driver libraries (libcuda, libnvidia-*) that the image carries itself.", where="container"
            ),
        )
    return FIXES
