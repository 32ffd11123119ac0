from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="container-runtime-not-configured",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.CONTAINER,
    title="The container engine is not configured for NVIDIA GPUs.",
    needs=({"engines"}, {"container.toolkit_installed"}, {"container.runtimes"}, {"container.default_runtime"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "container-missing-gpu-passthrough"),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
The NVIDIA Container Toolkit is missing on the host, or the engine was not configured for it.

## Why it matters
Containers get no GPU or do not start: 'could not select device driver', 'unknown or invalid runtime name'.

## Not raised when
The engine is Docker Desktop or a snap (container-engine-no-gpu-support), a CDI device is asked for, or no NVIDIA GPU
is intended. It is information unless the text says that no GPU is seen.

## How to confirm
`nvidia-ctk --version` and `docker info` (Runtimes) on the host.

## Fix
Install the toolkit, configure the engine, restart it.

## Fix safety
Restarting Docker stops its containers unless live-restore is on.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
""",
)

_RESTART = "stops running containers unless live-restore is on"


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Install the toolkit where it is not known to be there, configure the engine, restart it."""
    from doctor.rules.lib import repositories

    if machine.of_vendor("amd") and not machine.of_vendor("nvidia"):
        return ()
    install = tuple(repositories.container_toolkit(machine))
    there = machine.container.toolkit_installed or any(kit.key == "nvidia" for kit in machine.toolkits or ())
    if machine.container.engine == "kubernetes" or machine.symptom(
        "device-plugin-no-nvml", "device-plugin-incompatible"
    ):
        text = "Install NVIDIA's GPU Operator, or set `runtimeClassName: nvidia` in the pod."
        return (way("Run pods with NVIDIA's runtime.", Scope.CONTAINER, step(text), vendor="nvidia"),)
    if machine.container.engine == "podman":
        argv = ("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
        steps = (*(() if there else install), step("Write the CDI spec.", *argv))
        return (way("Set up CDI for Podman.", Scope.HOST, *steps, root=True, vendor="nvidia"),)
    steps = (
        *(() if there else install),
        step("Add the nvidia runtime to Docker.", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
        step("Restart Docker.", "systemctl", "restart", "docker"),
    )
    title = (
        "Configure Docker for NVIDIA's container toolkit."
        if there
        else "Install NVIDIA's container toolkit for Docker."
    )
    return (way(title, Scope.HOST, *steps, root=True, restarts=("docker",), risk=_RESTART, vendor="nvidia"),)


def _set_up(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """This host's own engines: a configuration that can't be read, no toolkit, no runtime."""
    broken = [one.config_error for one in machine.engines or ()] + [one.config_error for one in machine.toolkits or ()]
    for fault in broken:
        if fault:
            yield Finding(
                summary=f"The container engine's configuration has an error: {fault.rstrip('.')[:180]}.",
                severity=Severity.ERROR,
                subject=Subject(kind="file", id=fault.partition(",")[0]),
                evidence=evidence(machine, ("engines", "toolkits")),
                remedies=advice(machine, kb) if _UNDEFINED in fault else (_edited(fault.partition(",")[0]),),
            )
    if any(broken):
        return
    nvidia = machine.of_vendor("nvidia") and machine.nvidia_driver.loaded
    if not nvidia or not machine.engines or machine.toolkits is None or machine.container.inside:
        return
    if not any(kit.key == "nvidia" for kit in machine.toolkits):
        summary = "NVIDIA's container toolkit is not installed; container engines are."
        yield _finding(machine, kb, summary, "toolkits").model_copy(update=_REMARK)
        return
    docker = next((e for e in machine.engines if e.key == "docker"), None)
    by_cdi = any(spec.kind in ("nvidia.com/gpu", None) for spec in machine.cdi or ())
    if docker and docker.runtimes == () and not by_cdi:
        summary = "Docker has no nvidia runtime and no CDI spec, so only `--gpus` works."
        yield _finding(machine, kb, summary, "engines").model_copy(update=_REMARK)


_REMARK = {"severity": Severity.INFO, "suspect": 0}
_UNDEFINED = "default-runtime is nvidia, which its runtimes do not define"


def _edited(file: str) -> Remedy:
    """Docker reads its file when it starts; other engines read theirs for each container."""
    edit = step(f"Correct that line of {file[:200]}.")
    if file != "/etc/docker/daemon.json":
        return way("Correct that line.", Scope.HOST, edit, root=True)
    check = step("Check the file.", "python3", "-m", "json.tool", file)
    start = step("Start Docker with it.", "systemctl", "restart", "docker")
    title = "Correct that line and restart Docker."
    return way(title, Scope.HOST, edit, check, start, root=True, restarts=("docker",), risk=_RESTART)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Toolkit and runtimes as this host has them, and as a text or the engine states them."""
    yield from _set_up(machine, kb)
    box = machine.container
    meant = run_line.vendors_meant(machine)
    by_cdi = any("nvidia.com/" in device for device in run_line.options(machine, "--device"))
    if run_line.apart(machine) or meant == {"amd"} or by_cdi:
        return
    if box.toolkit_installed is False:
        yield _finding(machine, kb, "NVIDIA's container toolkit is not installed.", "container.toolkit_installed")
    elif (
        box.runtimes is not None
        and not any("nvidia" in name for name in box.runtimes)
        and (
            run_line.passes_nvidia(machine) or meant == {"nvidia"}  # else that runtime was never meant to be there
        )
    ):
        yield _finding(machine, kb, "The container engine has no nvidia runtime configured.", "container.runtimes")
    elif box.default_runtime == "runc" and _pods_run_under_it(machine):
        yield _finding(
            machine, kb, "Pods run under runc, which does not pass NVIDIA GPUs to them.", "container.default_runtime"
        )


def _pods_run_under_it(machine: Snapshot) -> bool:
    """A pod without a runtimeClass; or a text that speaks of pods that see no GPU beside the engine's settings."""
    if machine.container.engine == "kubernetes" or machine.symptom(
        "device-plugin-no-nvml", "device-plugin-incompatible"
    ):
        return "nvidia" not in run_line.options(machine, "--runtime")
    return False


def _finding(machine: Snapshot, kb: Knowledge, summary: str, fact: str) -> Finding:
    sure = run_line.sees_none(machine) or run_line.vendors_meant(machine) == {"nvidia"}
    return Finding(
        summary=summary,
        severity=Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure else 5,
        subject=Subject(kind="container", id="engine"),
        evidence=evidence(machine, (fact, "container.engine_text")),
        remedies=advice(machine, kb),
        verify=("nvidia-ctk", "--version"),
    )
