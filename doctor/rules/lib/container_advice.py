"""Remedies that start a container with the GPU: by engine and vendor, with what is known of it in the command."""

from __future__ import annotations

import re

from doctor.facts.snapshot import Snapshot
from doctor.findings import Remedy, Scope, Step
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import STOPS_CONTAINER, step, way
from doctor.rules.lib.hardware import nodes_of

UNMAPPED = 65534
"""The number of a group that the user namespace does not map (man 7 user_namespaces)."""
AMD_NODES = ("--device", "/dev/kfd", "--device", "/dev/dri")
_IMAGE = Lazy(r"[\w][\w./:@-]{0,199}")
_JETSON = Lazy(r"\bJetson\b|\bTegra|\bOrin\b|\bXavier\b|\bnvgpu\b|\bThor\b", re.IGNORECASE)


def image(machine: Snapshot) -> str:
    """The image that the container is of, or the placeholder IMAGE."""
    name = machine.container.image or ""
    return name if _IMAGE.fullmatch(name) else "IMAGE"


def is_jetson(machine: Snapshot) -> bool:
    """By the kernel's name, or by that of the GPU."""
    named = any(_JETSON.search(gpu.name or "") for gpu in machine.gpus or ())
    return named or "tegra" in (machine.kernel.release or "")


def recreate(
    machine: Snapshot, title: str, *options: str, vendor: str | None = None, before: Step | None = None
) -> Remedy:
    """Start a container with those options, by the engine at hand; a running one takes no new options."""
    engine = "podman" if machine.container.engine == "podman" else "docker"
    note = " (IMAGE: your image; your other options go before it)" if image(machine) == "IMAGE" else ""
    start = step(f"Start a new container{note}.", engine, "run", *options, image(machine))
    steps = (before, start) if before else (start,)
    return way(title, Scope.CONTAINER, *steps, risk=STOPS_CONTAINER, vendor=vendor)


def pod(title: str, text: str, vendor: str | None = None) -> Remedy:
    """A change of a pod's manifest, which replaces the pod."""
    apply = step("Apply it (MANIFEST.yaml: the pod's manifest).", "kubectl", "apply", "-f", "MANIFEST.yaml")
    return way(title, Scope.CONTAINER, step(text), apply, risk="replaces the pod", vendor=vendor)


def with_nvidia(machine: Snapshot) -> tuple[Remedy, ...]:
    """Ways to give a container NVIDIA's GPUs."""
    engine, vendor = machine.container.engine, "nvidia"
    if engine == "apptainer":
        return (_apptainer(machine, "--nv", "nvidia-smi", vendor),)
    if engine == "kubernetes":
        text = "Add `nvidia.com/gpu: 1` to resources.limits of the container (needs NVIDIA's device plugin)."
        return (pod("Request the GPU in the pod's manifest.", text, vendor),)
    if is_jetson(machine):
        title = "Recreate the container with NVIDIA's runtime, which Jetson needs."
        return (recreate(machine, title, "--runtime", "nvidia", vendor=vendor),)
    cdi = recreate(machine, "Recreate the container with CDI.", "--device", "nvidia.com/gpu=all", vendor=vendor)
    if engine == "podman":
        return (cdi,)
    gpus = "Recreate the container with --gpus all (needs NVIDIA's container toolkit on the host)."
    return (recreate(machine, gpus, "--gpus", "all", vendor=vendor), cdi)


def with_amd(machine: Snapshot) -> tuple[Remedy, ...]:
    """Ways to give a container AMD's GPUs."""
    engine, vendor = machine.container.engine, "amd"
    if engine == "apptainer":
        return (_apptainer(machine, "--rocm", "rocminfo", vendor),)
    if engine == "kubernetes":
        text = "Add `amd.com/gpu: 1` to resources.limits of the container (needs AMD's device plugin)."
        return (pod("Request the GPU in the pod's manifest.", text, vendor),)
    gid = next((n.gid for n in nodes_of(machine, "kfd", "render") if n.gid), None)
    return (with_group(machine, gid),)


def with_group(machine: Snapshot, gid: int | None, mapped: bool = True) -> Remedy:
    """AMD's nodes and the number of the group that owns them. `mapped` False: the user namespace has no number for it,
    so that only podman's keep-groups passes it on."""
    if machine.container.engine == "kubernetes":
        number = str(gid) if gid is not None else "RENDER_GID (`stat -c %g /dev/kfd` on the node)"
        text = f"Set `spec.securityContext.supplementalGroups: [{number}]`."
        return pod("Add the pod to the group that owns the GPU's nodes.", text, "amd")
    if machine.container.engine == "podman" or not mapped or gid == UNMAPPED:
        podman = machine.model_copy(update={"container": machine.container.model_copy(update={"engine": "podman"})})
        title = "Recreate the container with the GPU's nodes and your own groups."
        return recreate(podman, title, *AMD_NODES, "--group-add", "keep-groups", vendor="amd")
    title = "Recreate the container with the GPU's nodes and the group that owns them."
    if gid is not None:
        return recreate(machine, title, *AMD_NODES, "--group-add", str(gid), vendor="amd")
    stat = step("On the host, read the group's number: it is RENDER_GID below.", "stat", "-c", "%g", "/dev/kfd")
    return recreate(machine, title, *AMD_NODES, "--group-add", "RENDER_GID", vendor="amd", before=stat)


def _apptainer(machine: Snapshot, option: str, test: str, vendor: str) -> Remedy:
    start = step("Start it this way.", "apptainer", "exec", option, image(machine), test)
    return way(f"Start the container with {option}.", Scope.CONTAINER, start, vendor=vendor)
