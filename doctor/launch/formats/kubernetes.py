"""A Pod; with ports, a Deployment and the Service that leads to it.

Every `$` in a value is doubled: Kubernetes expands `$(NAME)` and reads `$$` as one `$`.

GPUs are asked for by number: which ones is the device plugin's choice.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.errors import InputError
from doctor.launch.names import Port, label, port
from doctor.launch.spec import OF_DOCKER, Emitted, Kind, Line, Spec, beside_gpus, bound, left_out
from doctor.launch.yaml_text import plain, text

_RESOURCES = {"amd": "amd.com/gpu", "nvidia": "nvidia.com/gpu"}
_UNSAID = {
    "ulimit": "has no field of a Pod: raise the limit of the node's container runtime",
    "runtime": "is the node's choice (runtimeClassName, or its default runtime)",
}
_OPTIONS: Mapping[Kind, str] = {
    "name": "is the name of the object, as a DNS label",
    "detach": "the cluster runs it in the background",
    "engine_arg": OF_DOCKER,
}
LABEL = "app.kubernetes.io/name"
_LAST_ID = (1 << 31) - 1
_SHM = "/dev/shm"  # noqa: S108  the container's own


def emit(spec: Spec) -> Emitted:
    pod, lines, unsaid = pod_spec(spec)
    if not spec.one("publish"):
        table = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": spec.name}, "spec": pod}
        return Emitted(text(table, lines, unsaid), lines, unsaid)
    pod["restartPolicy"] = "Always"
    deployment = {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {LABEL: spec.name}},
        "template": {"metadata": {"labels": {LABEL: spec.name}}, "spec": pod},
    }
    table = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": spec.name}, "spec": deployment}
    lines = (
        Line("restartPolicy: Always", "a Deployment's only one: what has ports is a server"),
        Line("strategy Recreate", "the old Pod returns its GPUs before the new one asks for them"),
        *(line for line in lines if not line.text.startswith("restartPolicy")),
    )
    return Emitted(text([table, service(spec)], lines, unsaid), lines, unsaid)


def service(spec: Spec) -> dict[str, Any]:
    """What leads to the published ports of the Pods with this name's label. Raises InputError on one port for two."""
    rows = [
        {"name": f"{p.protocol}-{p.host or p.inside}", "port": p.host or p.inside, "targetPort": p.inside}
        | ({"protocol": "UDP"} if p.protocol == "udp" else {})
        for p in _ports(spec)
    ]
    if twice := next((row["name"] for row in rows if [one["name"] for one in rows].count(row["name"]) > 1), None):
        raise InputError(f"-p: a Service can't have port {twice} twice: choose another number in front")
    selects = {"selector": {LABEL: spec.name}, "ports": rows}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": spec.name}, "spec": selects}


def _ports(spec: Spec) -> list[Port]:
    return [port(part.value) for part in spec.of("publish")]


def pod_spec(spec: Spec) -> tuple[dict[str, Any], tuple[Line, ...], tuple[str, ...]]:
    """The `spec` of a Pod, why each of its parts is there, and what a Pod can't say."""
    container: dict[str, Any] = {"name": spec.name, "image": spec.image}
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    lines = [Line("restartPolicy: Never", "the command runs once")]
    lines += _starts(spec, container)
    lines += _variables(spec, container)
    lines += _net(spec, pod, container)
    if spec.vendor:
        limits = Counter(_resources(spec))
        container["resources"] = {"limits": dict(limits)}
        for resource, count in limits.items():
            what = "partition" if resource in spec.resources and ":" in "".join(spec.gpus) else "GPU"
            why = f"{count} {what}{'s' if count > 1 else ''}, handed out by the vendor's device plugin"
            lines.append(Line(f"limits {resource}: {count}", why))
    lines += _groups(spec, pod)
    lines += _security(spec, container)
    lines += _volumes(spec, pod, container)
    return pod, tuple(lines), tuple(_unsaid(spec))


def _resources(spec: Spec) -> Sequence[str]:
    """One for each GPU. Raises InputError where the plugin's mixed name of one is not known."""
    if not spec.mixed:
        return [_RESOURCES[spec.vendor or ""]] * spec.count
    named = [resource for resource in spec.resources if resource]
    if len(named) != spec.count:
        raise InputError("--mixed: the MIG profile or partition mode of a chosen GPU is not known on this machine")
    return named


def _starts(spec: Spec, container: dict[str, Any]) -> Iterator[Line]:
    """The command takes the place of an empty entrypoint."""
    words = [plain(word) for word in spec.command]
    for part in spec.of("entrypoint"):
        container["command"] = [plain(part.value)] if part.value else words
        words = words if part.value else []
        yield Line(f"command {part.value}".rstrip(), part.reason)
    if words:
        container["args"] = words
    for part in spec.of("workdir"):
        container["workingDir"] = part.value
        yield Line(f"workingDir {part.value}", part.reason)


def _variables(spec: Spec, container: dict[str, Any]) -> Iterator[Line]:
    rows: list[dict[str, Any]] = [{"name": name, "value": plain(value)} for name, value in spec.env.items()]
    yield from (Line(f"env {part.value.partition('=')[0]}", part.reason) for part in spec.of("env"))
    passed, secret = [part.value for part in spec.of("pass_env")], f"{spec.name}-env"
    create = f"kubectl create secret generic {secret} " + " ".join(f'--from-literal={n}="${n}"' for n in passed)
    for part in spec.of("pass_env"):
        key = {"secretKeyRef": {"name": secret, "key": part.value}}
        rows.append({"name": part.value, "valueFrom": key})
        yield Line(f"env {part.value} valueFrom secretKeyRef", f"{part.reason}; create the Secret first: {create}")
    if rows:
        container["env"] = rows
    for number, part in enumerate(spec.of("env_file")):
        held = f"{spec.name}-env-file-{number}"
        container.setdefault("envFrom", []).append({"secretRef": {"name": held}})
        first = f"kubectl create secret generic {held} --from-env-file={shlex.quote(part.value)}"
        yield Line(f"envFrom secretRef {held}", f"{part.reason}; create the Secret first: {first}")


def _net(spec: Spec, pod: dict[str, Any], container: dict[str, Any]) -> Iterator[Line]:
    if spec.one("network") == "host":
        pod["hostNetwork"] = True
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
        reason = next(spec.of("network")).reason
        yield Line("hostNetwork", reason)
        yield Line("dnsPolicy ClusterFirstWithHostNet", "names of the cluster still resolve")
    for part, found in zip(spec.of("publish"), _ports(spec), strict=True):
        row: dict[str, Any] = {"containerPort": found.inside}
        container.setdefault("ports", []).append(row | ({"protocol": "UDP"} if found.protocol == "udp" else {}))
        yield Line(f"containerPort {found.inside}", part.reason)
        outside = "a Service of the cluster; from outside: kubectl port-forward"
        yield Line(f"Service port {found.host or found.inside}", f"{part.reason}: {outside}")


def _groups(spec: Spec, pod: dict[str, Any]) -> Iterator[Line]:
    for part in spec.of("group"):
        if part.value.isdecimal():
            pod.setdefault("securityContext", {}).setdefault("supplementalGroups", []).append(int(part.value))
            yield Line(f"supplementalGroups {part.value}", f"{part.reason}; the nodes of the cluster must agree on it")
    for part in spec.of("user"):
        uid, _, gid = part.value.partition(":")
        if max(int(uid), int(gid or 0)) > _LAST_ID:
            raise InputError(f"--user {part.value}: the highest UID and GID of a Pod is {_LAST_ID}")
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
    capabilities = [(part.value, part.reason) for part in spec.of("cap")]
    if any(part.value.startswith("memlock=") for part in spec.of("ulimit")):
        capabilities.append(("IPC_LOCK", "locked memory: a Pod can't raise the limit, and this capability ignores it"))
    for value, reason in capabilities:
        context.setdefault("capabilities", {}).setdefault("add", []).append(value)
        yield Line(f"capabilities {value}", reason)
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
        mount = bound(part)
        volume = {"name": f"host-{number}", "hostPath": {"path": mount.source}}
        _mount(pod, container, volume, mount.inside, read_only=mount.read_only)
        yield Line(f"hostPath {mount.source}", part.reason)
    for number, part in enumerate(spec.of("volume")):
        mount, claim = bound(part), label(bound(part).source)
        volume = {"name": f"volume-{number}", "persistentVolumeClaim": {"claimName": claim}}
        _mount(pod, container, volume, mount.inside, read_only=mount.read_only)
        yield Line(f"persistentVolumeClaim {claim}", f"{part.reason}; create the claim first: its size is yours to say")


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
    if any(":" in name for name in spec.gpus) and not spec.mixed:
        own = ", ".join(sorted({resource for resource in spec.resources if resource}))
        yield f"the names of partitions ({own or 'not known'}), which a device plugin with mixed names has (--mixed)"
    yield from left_out(spec, _OPTIONS)
    if spec.one("network") not in (None, "host"):
        yield f"--network {spec.one('network')}: a Pod has the cluster's network or the host's"
    if any(p.address for p in _ports(spec)):
        yield "the addresses of -p: a Service listens inside the cluster"
    for part in spec.parts:
        if beside_gpus(part):
            yield f"{part.value}: a device plugin of its own hands it out (resources.limits)"
        elif part.kind == "security" and part.value != "seccomp=unconfined":
            yield f"{part.value} has no field of a Pod"
        elif part.kind in _UNSAID:
            yield f"{part.value} {_UNSAID[part.kind]}"
