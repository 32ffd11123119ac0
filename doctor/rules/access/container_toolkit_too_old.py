from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.versions import Dotted

RULE = Rule(
    id="container-toolkit-too-old",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.CONTAINER,
    title="NVIDIA's container toolkit is too old for the driver or the engine.",
    needs=({"container.toolkit_version"},),
    proven="synthetic",
    explains=(
        *(
            "torch-sees-no-gpu",
            "framework-sees-no-gpu",
            "container-missing-gpu-passthrough",
            "visible-devices-conflict",
        ),
        "cdi-spec-missing-or-stale",
    ),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
An NVIDIA or AMD container toolkit that predates the driver, the engine or a security fix.

## Why it matters
Containers start without some libraries or nodes, or not at all ('nvidia-container-cli: … undefined symbol').

## Not raised when
The release has no known bug that matches what is seen. A release with only a known security hole is information. So
is one with a known bug in a text that points to no cause.

## How to confirm
`nvidia-ctk --version` and `nvidia-container-cli --version` on the host.

## Fix
Update the toolkit and restart the engine.

## Fix safety
Restarting Docker stops its containers unless live-restore is on.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/release-notes.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The toolkit and its library are one version."""
    from doctor.rules.lib import packages

    both = ("nvidia-container-toolkit", "libnvidia-container1")
    manager = packages.host_family(machine)
    steps = (
        *((step("Refresh the package lists.", "apt-get", "update"),) if manager == "apt" else ()),
        step("Upgrade both packages.", *(packages.install(manager, *both) or ())),
        step("Restart Docker.", "systemctl", "restart", "docker"),
    )
    risk = "stops running containers unless live-restore is on"
    title = "Upgrade NVIDIA's container toolkit and libnvidia-container1 on the host."
    undo = (step("Install the old versions of both packages again, then restart Docker."),)
    more = {"root": True, "restarts": ("docker",), "risk": risk, "vendor": "nvidia", "undo": undo}
    return (way(title, Scope.HOST, *steps, **more),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A release with a known fault, one that the driver outgrew, and one with a known hole."""
    version = machine.container.toolkit_version
    if not version:
        return
    fault = _fault(machine, Dotted(version))
    if fault is None:
        return
    why, shown_by = fault
    yield Finding(
        summary=f"Container toolkit {version[:20]} is too old: {why}.",
        severity=Severity.WARNING if shown_by else Severity.INFO,
        # A hole makes nothing fail, and a fault of which nothing is seen is none of this text.
        explains=(*RULE.explains, "wsl-gpu-misconfigured") if _WSL_NVML in why else RULE.explains,
        suspect=0 if shown_by else 2 if _FLOOR in why else 4,
        subject=Subject(kind="package", id="nvidia-container-toolkit"),
        evidence=evidence(machine, ("container.toolkit_version", "nvidia_driver.version", "container.engine_text")),
        remedies=advice(machine, kb),
        verify=("nvidia-ctk", "--version"),
    )


_FLOOR = "1.17.8"
"""The oldest release in which every hole with a known fix is fixed (knowledge: container_floor)."""
_FAULTY = {
    "1.8.0": (
        "it uses the wrong cgroup in nested containers; 1.8.1 fixes it",
        ("cgroup-subsystem-devices", "device-filter-program-empty"),
    ),
    "1.14.0": (
        "it ignores settings of config.toml; 1.14.1 reads them",
        ("container-cli-device-unknown", "nvml-unknown-error"),
    ),
    "1.17.0": ("the hooks of its CDI specs fail; 1.17.1 fixes it", ("oci-hook-failed",)),
    "1.17.4": (
        "the compatibility libraries of images are no longer mounted; 1.17.5 brings them back",
        ("cuda-ptx-toolchain",),
    ),
    "1.17.7": (
        "it drops container flags in some set-ups; 1.17.8 fixes it",
        (
            "enroot-nvidia-hook",
            "toolkit-ldcache-fails",
            "cuda-no-device",
            "cuda-no-device-code",
            "oci-hook-failed",
            "no-gpu-in-compose",
            "devices-allow-denied",
            "cgroup-bpf-rootless",
        ),
    ),
}
"""Known faults by release: github.com/NVIDIA/nvidia-container-toolkit issues 108, 776, 1091, 1093, 1101, and its
notes."""
_GRAPHICS_FIRST, _GRAPHICS_LAST = "1.18.0", "1.18.1"
"""Releases whose hook for DRM nodes is given wrong arguments in legacy mode (release notes of 1.18.2)."""
_LDCONFIG_FIRST, _LDCONFIG_FIXED = "1.17", "1.18.0"
"""Releases whose start of ldconfig is killed on newer systems (nvidia-container-toolkit issue 1246)."""
_GPUCOMP_DRIVER, _GPUCOMP_TOOLKIT = 550, "1.14"
"""Drivers from there on need libnvidia-gpucomp, which these toolkits pass (nvidia-container-toolkit issue 615)."""
_WSL_NVML = "1.4.0"
"""The first release that knows all of NVML under WSL (NVIDIA/libnvidia-container pkg/deb/changelog.old: 1.4.0)."""
_CGROUP2 = "1.8"
"""The first release for cgroup v2 (github.com/NVIDIA/nvidia-docker/issues/1447)."""


def _fault(machine: Snapshot, version: Dotted) -> tuple[str, bool] | None:
    """(what is wrong, whether something that is seen fits it); the fault that is seen first."""
    if str(version) in _FAULTY:
        why, shows = _FAULTY[str(version)]
        return why, machine.symptom(*shows) is not None or run_line.sees_none(machine)
    ldcache = machine.symptom("toolkit-ldcache-fails")
    if Dotted(_LDCONFIG_FIRST) <= version < Dotted(_LDCONFIG_FIXED) and ldcache and "signal 9" in ldcache.text:
        return f"its ldconfig is killed on this system; {_LDCONFIG_FIXED} fixes it", True
    driver = Dotted(machine.nvidia_driver.version or "").major
    if driver and driver >= _GPUCOMP_DRIVER and version < Dotted(_GPUCOMP_TOOLKIT):
        return f"it does not pass libnvidia-gpucomp, which driver {driver} needs", machine.symptom(
            "gpucomp-missing", "toolkit-ldcache-fails", "enroot-nvidia-hook", "oci-hook-failed"
        ) is not None
    if version < Dotted(_WSL_NVML) and machine.host.wsl and machine.symptom("container-cli-driver-error"):
        return f"it queries WSL's driver without NVML; {_WSL_NVML} uses it", True
    if version < Dotted(_CGROUP2) and machine.symptom("cgroup-subsystem-devices"):
        return f"it does not support cgroup v2; {_CGROUP2} does", True
    # A hook that fails on the driver itself says nothing of the specs.
    of_specs = machine.symptom("oci-hook-failed", "cdi-unknown-field") and not machine.symptom("nvml-version-mismatch")
    if of_specs and version < Dotted("1.14"):
        return "its hooks do not match specs of a newer release", True
    if version < Dotted("1.12") and machine.symptom("device-filter-program-empty"):
        return "the kernel rejects its device filter; a newer release reads the existing one", True
    if version < Dotted(_FLOOR):
        return f"{_FLOOR} fixes known security holes", False
    return None
