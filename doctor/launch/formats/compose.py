"""compose.yaml (https://github.com/compose-spec/compose-spec). A `$` in a value is doubled: compose would expand it.

CDI devices are a reservation of driver `cdi`: under `devices:` Compose 2.26 takes their name for a path (seen).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.launch.formats.docker import size
from doctor.launch.spec import Emitted, Kind, Line, Part, Spec, bound, left_out
from doctor.launch.yaml_text import plain, text

LOCAL = True

_LISTS = {
    "device": "devices",
    "group": "group_add",
    "cap": "cap_add",
    "mount": "volumes",
    "volume": "volumes",
    "publish": "ports",
    "env_file": "env_file",
    "security": "security_opt",
}
_KEYS = {"name": "container_name", "workdir": "working_dir"}
_UNSAID: Mapping[Kind, str] = {
    "detach": "docker compose up -d starts it in the background",
    "engine_arg": "an option of docker and podman alone; add its key by hand",
}
_RESERVED = "deploy.resources.reservations.devices"


def emit(spec: Spec) -> Emitted:
    service: dict[str, Any] = {"image": spec.image}
    lines = []
    outer: dict[str, Any] = {}
    for part in spec.parts:
        if part.kind in _UNSAID:
            continue
        if part.kind == "volume":
            name = bound(part).source
            outer.setdefault("volumes", {})[name] = {"name": name}
        elif part.kind == "network" and not _is_mode(part.value):
            outer["networks"] = {part.value: {"name": part.value, "external": True}}
        key, value = _said(part)
        if part.kind in (*_LISTS, "cdi", "gpus"):
            lines.append(Line(f"{key}: {plain(part.value)}", part.reason))
        else:
            lines.append(Line(key if part.kind in ("env", "pass_env") else f"{key}: {value}", part.reason))
        _put(service, key, value, listed=part.kind in (*_LISTS, "cdi", "gpus"))
    if spec.command:
        service["command"] = [plain(word) for word in spec.command]
    unsaid = tuple(left_out(spec, _UNSAID))
    return Emitted(text({"services": {spec.name: service}, **outer}, lines, unsaid), tuple(lines), unsaid)


def _is_mode(network: str) -> bool:
    """What is no network's name."""
    return network in ("host", "none", "bridge") or network.startswith("container:")


def _said(part: Part) -> tuple[str, Any]:
    """The key, dotted, and its value, or one of its list."""
    value = plain(part.value)
    if part.kind in _LISTS:
        return _LISTS[part.kind], f"{value}:{value}" if part.kind == "device" else value
    if part.kind == "cdi":
        return _RESERVED, {"driver": "cdi", "device_ids": [value], "capabilities": ["gpu"]}
    if part.kind == "gpus":
        wanted: dict[str, Any] = {"count": "all"} if value == "all" else {"device_ids": value.split(",")}
        return _RESERVED, {"driver": "nvidia", **wanted, "capabilities": ["gpu"]}
    if part.kind == "env":
        name, _, content = value.partition("=")
        return f"environment.{name}", content
    if part.kind == "ulimit":
        name, _, limit = value.partition("=")
        return f"ulimits.{name}", int(limit)
    if part.kind == "shm":
        return "shm_size", size(int(value))
    if part.kind == "pass_env":
        return f"environment.{value}", None
    if part.kind == "network":
        return ("network_mode", value) if _is_mode(part.value) else ("networks", [value])
    if part.kind == "entrypoint":
        return "entrypoint", [value] if value else []
    if part.kind in _KEYS:
        return _KEYS[part.kind], value
    return part.kind, True if part.kind == "privileged" else value


def _put(service: dict[str, Any], path: str, value: Any, *, listed: bool) -> None:
    *folders, last = path.split(".")
    for folder in folders:
        service = service.setdefault(folder, {})
    service[last] = [*service.get(last, ()), value] if listed else value
