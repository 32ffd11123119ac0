"""A Pod. Every `$` in a value is doubled: Kubernetes expands `$(NAME)` and reads `$$` as one `$`.

GPUs are asked for by number: which ones is the device plugin's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.launch.formats.yaml_text import text
from doctor.launch.spec import Emitted, Line, Spec, beside_gpus

_RESOURCES = {"amd": "amd.com/gpu", "nvidia": "nvidia.com/gpu"}
_UNSAID = {
    "ulimit": "has no field of a Pod: raise the limit of the node's container runtime",
    "runtime": "is the node's choice (runtimeClassName, or its default runtime)",
}
_SHM = "/dev/shm"  # noqa: S108  the container's own


def emit(spec: Spec) -> Emitted:
    pod, lines, left_out = pod_spec(spec)
    table = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": spec.name}, "spec": pod}
    return Emitted(text(table, lines, left_out), lines, left_out)


def pod_spec(spec: Spec) -> tuple[dict[str, Any], tuple[Line, ...], tuple[str, ...]]:
    """The `spec` of a Pod, why each of its parts is there, and what a Pod can't say."""
    container: dict[str, Any] = {"name": spec.name, "image": spec.image}
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    lines = [Line("restartPolicy: Never", "the command runs once")]
    if spec.command:
        container["args"] = [plain(word) for word in spec.command]
    if spec.env:
        container["env"] = [{"name": name, "value": plain(value)} for name, value in spec.env.items()]
        lines += [Line(f"env {part.value.partition('=')[0]}", part.reason) for part in spec.of("env")]
    if spec.vendor:
        resource, count = _RESOURCES[spec.vendor], spec.count
        container["resources"] = {"limits": {resource: count}}
        gpus = f"{count} GPU{'s' if count > 1 else ''}"
        lines.append(Line(f"limits {resource}: {count}", f"{gpus}, handed out by the vendor's device plugin"))
    lines += _groups(spec, pod)
    lines += _security(spec, container)
    lines += _volumes(spec, pod, container)
    return pod, tuple(lines), tuple(_unsaid(spec))


def plain(value: str) -> str:
    return value.replace("$", "$$")


def _groups(spec: Spec, pod: dict[str, Any]) -> Iterator[Line]:
    for part in spec.of("group"):
        if part.value.isdecimal():
            pod.setdefault("securityContext", {}).setdefault("supplementalGroups", []).append(int(part.value))
            yield Line(f"supplementalGroups {part.value}", f"{part.reason}; the nodes of the cluster must agree on it")
    for part in spec.of("user"):
        uid, _, gid = part.value.partition(":")
        context = pod.setdefault("securityContext", {})
        context["runAsUser"] = int(uid)
        if gid:
            context["runAsGroup"] = int(gid)
        yield Line(f"runAsUser {part.value}", part.reason)
    for part in spec.of("ipc"):
        pod["hostIPC"] = True
        yield Line("hostIPC", part.reason)


def _security(spec: Spec, container: dict[str, Any]) -> Iterator[Line]:
    context: dict[str, Any] = {}
    for part in spec.of("cap"):
        context.setdefault("capabilities", {}).setdefault("add", []).append(part.value)
        yield Line(f"capabilities {part.value}", part.reason)
    for part in spec.of("security"):
        if part.value == "seccomp=unconfined":
            context["seccompProfile"] = {"type": "Unconfined"}
            yield Line("seccompProfile Unconfined", part.reason)
    for part in spec.of("privileged"):
        context["privileged"] = True
        yield Line("privileged", part.reason)
    if not any(spec.of("privileged")):
        context["allowPrivilegeEscalation"] = False
        yield Line("allowPrivilegeEscalation: false", "nothing of GPU work needs set-uid programs")
    container["securityContext"] = context


def _volumes(spec: Spec, pod: dict[str, Any], container: dict[str, Any]) -> Iterator[Line]:
    for part in spec.of("shm"):
        _mount(pod, container, {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": part.value}}, _SHM)
        yield Line(f"{_SHM} of {part.value} bytes", part.reason)
    for number, part in enumerate(spec.of("mount")):
        host, inside, *mode = part.value.split(":")
        volume = {"name": f"host-{number}", "hostPath": {"path": host}}
        _mount(pod, container, volume, inside, read_only=mode == ["ro"])
        yield Line(f"hostPath {host}", part.reason)


def _mount(
    pod: dict[str, Any], container: dict[str, Any], volume: dict[str, Any], path: str, *, read_only: bool = False
) -> None:
    pod.setdefault("volumes", []).append(volume)
    mount: dict[str, Any] = {"name": volume["name"], "mountPath": path}
    if read_only:
        mount["readOnly"] = True
    container.setdefault("volumeMounts", []).append(mount)


def _unsaid(spec: Spec) -> Iterator[str]:
    if spec.vendor and not spec.every:
        yield f"which GPUs ({', '.join(spec.gpus)}): the device plugin chooses"
    if any(":" in name for name in spec.gpus):
        yield (
            "partitions: one counts as a GPU where the device plugin has one name for all; under mixed naming ask for "
            "its own (nvidia.com/mig-1g.10gb, amd.com/cpx_nps4)"
        )
    for part in spec.parts:
        if beside_gpus(part):
            yield f"{part.value}: a device plugin of its own hands it out (resources.limits)"
        elif part.kind == "security" and part.value != "seccomp=unconfined":
            yield f"{part.value} has no field of a Pod"
        elif part.kind in _UNSAID:
            yield f"{part.value} {_UNSAID[part.kind]}"
