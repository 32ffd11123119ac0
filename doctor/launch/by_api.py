"""A Spec as Docker's API takes it, for the container that `--prove` starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.launch.spec import Kind, Spec

UNSAID: tuple[Kind, ...] = ("engine_arg", "env_file")
"""Words and files that docker's own command line reads."""
_LISTS: Mapping[Kind, str] = {
    "group": "group_add",
    "cap": "cap_add",
    "mount": "binds",
    "volume": "binds",
    "security": "security_opt",
}
_VALUES: Mapping[Kind, str] = {"runtime": "runtime", "ipc": "ipc_mode"}


def host_config(spec: Spec) -> dict[str, Any]:
    """Arguments of the SDK's `create_host_config`, for every part that is the host's to give."""
    found: dict[str, Any] = {}
    for part in spec.parts:
        value = part.value
        if part.kind in _LISTS:
            found.setdefault(_LISTS[part.kind], []).append(value)
        elif part.kind in _VALUES:
            found[_VALUES[part.kind]] = value
        elif part.kind == "device":
            found.setdefault("devices", []).append(f"{value}:{value}:rwm")
        elif part.kind == "cdi":
            found.setdefault("device_requests", []).append({"driver": "cdi", "device_ids": [value]})
        elif part.kind == "gpus":
            which: dict[str, Any] = {"count": -1} if value == "all" else {"device_ids": value.split(",")}
            found.setdefault("device_requests", []).append({**which, "capabilities": [["gpu"]]})
        elif part.kind == "shm":
            found["shm_size"] = int(value)
        elif part.kind == "ulimit":
            name, _, limit = value.partition("=")
            soft, _, hard = limit.partition(":")
            found.setdefault("ulimits", []).append({"name": name, "soft": int(soft), "hard": int(hard or soft)})
        elif part.kind == "privileged":
            found["privileged"] = True
    return found
