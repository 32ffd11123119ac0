"""compose.yaml (https://github.com/compose-spec/compose-spec). A `$` in a value is doubled: compose would expand it."""

from __future__ import annotations

from typing import Any

from doctor.launch.formats.command_line import size
from doctor.launch.formats.yaml_text import text
from doctor.launch.spec import Emitted, Line, Spec

_LISTS = {
    "device": "devices",
    "cdi": "devices",
    "group": "group_add",
    "cap": "cap_add",
    "mount": "volumes",
    "security": "security_opt",
}


def emit(spec: Spec) -> Emitted:
    service: dict[str, Any] = {"image": spec.image}
    lines = []
    for part in spec.parts:
        value = plain(part.value)
        if part.kind in _LISTS:
            service.setdefault(_LISTS[part.kind], []).append(f"{value}:{value}" if part.kind == "device" else value)
            lines.append(Line(f"{_LISTS[part.kind]}: {value}", part.reason))
        else:
            key, written = _key(part.kind, value)
            _put(service, key, written)
            lines.append(Line(key, part.reason))
    if spec.command:
        service["command"] = [plain(word) for word in spec.command]
    return Emitted(text({"services": {spec.name: service}}, lines, ()), tuple(lines))


def plain(value: str) -> str:
    return value.replace("$", "$$")


def _key(kind: str, value: str) -> tuple[str, Any]:
    if kind == "env":
        name, _, content = value.partition("=")
        return f"environment.{name}", content
    if kind == "ulimit":
        name, _, limit = value.partition("=")
        return f"ulimits.{name}", int(limit) if limit.lstrip("-").isdecimal() else limit
    if kind == "gpus":
        wanted = {"count": "all"} if value == "all" else {"device_ids": value.split(",")}
        device = {"driver": "nvidia", **wanted, "capabilities": ["gpu"]}
        return "deploy.resources.reservations.devices", [device]
    return {
        "shm": ("shm_size", size(int(value)) if kind == "shm" else value),
        "privileged": ("privileged", True),
    }.get(kind, (kind, value))


def _put(service: dict[str, Any], path: str, value: Any) -> None:
    *folders, last = path.split(".")
    for folder in folders:
        service = service.setdefault(folder, {})
    service[last] = value
