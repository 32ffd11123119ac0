"""Containers of a Kubernetes manifest that ask for a GPU, or are handed its nodes -> faults.

What a request must be: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/ (as of 2026-11-23).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.images.lint.compose_file import NODES, SMALL_SHM, moving_tag, other_vendor, ranks
from doctor.images.lint.model import Fault
from doctor.parsers.container.yaml_tree import Node

_GPU = re.compile(r"(?:amd|nvidia)\.com/(?:gpu|mig-|cpx|dpx|tpx|spx|qpx)\S{0,60}")
_PART = re.compile(r"\d{0,9}\.\d{0,9}[1-9]\d{0,9}|\d{0,9}[1-9]\d?\d?m")

_VOLUME = "a volume emptyDir {medium: Memory} at /dev/shm"


def faults(pod: Node) -> Iterator[Fault]:
    for container in pod.at("containers").items:
        name = container.at("name").text or "container"
        limits, requests = (_gpus(container.at("resources", part)) for part in ("limits", "requests"))
        if limits or requests:
            yield from moving_tag(name, container)
            yield from _amounts(name, container, limits, requests)
            yield from _rights(name, pod, container)
        else:
            yield from _by_path(name, pod, container)


def _gpus(resources: Node) -> dict[str, Node]:
    return {name: node for name, node in resources.fields.items() if _GPU.fullmatch(name)}


def _amounts(name: str, container: Node, limits: Mapping[str, Node], requests: Mapping[str, Node]) -> Iterator[Fault]:
    for resource, node in requests.items():
        limit = limits.get(resource)
        if limit is None:
            text = f"{name}: {resource} is set in requests only, and the API server refuses the pod"
            yield Fault(node.line, "image-gpu-request-wrong", "error", text, "put it under limits")
        elif limit.text != node.text:
            text = f"{name}: {resource} differs between requests and limits, and the API server refuses the pod"
            yield Fault(node.line, "image-gpu-request-wrong", "error", text, "leave it under limits alone")
    total = sum(int(node.text or "0") for node in limits.values() if (node.text or "").isdecimal())
    if total and all((node.text or "").isdecimal() for node in limits.values()):
        yield from ranks(name, container, total)
    for resource, node in limits.items():
        yield from other_vendor(node.line, name, container.at("image").text, resource.partition(".")[0])
        if _PART.fullmatch(node.text or ""):
            text = f"{name}: {resource} takes whole numbers, and the API server refuses {(node.text or '')[:20]}"
            fix = "1; parts of a GPU are resources of their own (MIG, partitions), or replicas of the device plugin"
            yield Fault(node.line, "image-gpu-request-wrong", "error", text, fix)


def _rights(name: str, pod: Node, container: Node) -> Iterator[Fault]:
    privileged = container.at("securityContext", "privileged")
    if privileged.text == "true":
        text = f"{name}: privileged opens all GPUs of the node, also those that other pods were given"
        fix = "leave it out; the device plugin opens its GPUs"
        yield Fault(privileged.line, "image-privileged", "warning", text, fix)
    host_ipc = pod.at("hostIPC")
    if host_ipc.text == "true":
        text = f"{name}: what is needed of hostIPC is a large /dev/shm"
        yield Fault(host_ipc.line, "image-ipc-host", "warning", text, _VOLUME)
    elif not any(mount.at("mountPath").text == "/dev/shm" for mount in container.at("volumeMounts").items):  # noqa: S108
        yield Fault(container.line, "image-shm-small", "info", f"{name}: {SMALL_SHM}", _VOLUME)


def _by_path(name: str, pod: Node, container: Node) -> Iterator[Fault]:
    """A hostPath shows the node's file, and the container's device cgroup still refuses to open it."""
    if container.at("securityContext", "privileged").text == "true":
        return
    paths = {volume.at("name").text: volume.at("hostPath", "path").text or "" for volume in pod.at("volumes").items}
    for mount in container.at("volumeMounts").items:
        path = paths.get(mount.at("name").text, "")
        if path.startswith(NODES):
            text = f"{name}: {path[:60]} by hostPath is there and can't be opened: the device cgroup refuses it"
            fix = "resources.limits: amd.com/gpu or nvidia.com/gpu, which the device plugin serves"
            yield Fault(mount.line, "image-device-missing", "error", text, fix)
