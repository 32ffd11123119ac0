"""A Spec as Docker's API takes it, for the container that `--prove` starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.errors import InputError
from doctor.launch.spec import Kind, Spec
from doctor.system.base import System

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


def environment(system: System, spec: Spec, environ: Mapping[str, str]) -> dict[str, str]:
    """As docker's command line fills it: the files, then `-e`. Raises InputError on a file that docker refuses."""
    files = [pair for part in spec.of("env_file") for pair in _file(system, part.value, environ)]
    passed = {part.value: environ[part.value] for part in spec.of("pass_env") if part.value in environ}
    return {**dict(files), **passed, **spec.env}


def _file(system: System, path: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A value is taken as it is, with its quotes and spaces; a name alone is what the caller has."""
    reading = system.read_text(path)
    if reading.value is None:
        raise InputError(f"--env-file {path} can't be read ({reading.state.value})")
    for number, whole in enumerate(reading.value.removeprefix("\ufeff").split("\n"), 1):
        line = whole.removesuffix("\r").lstrip()
        name, given, value = line.partition("=")
        if not line or line.startswith("#"):
            continue
        if not name or re.search(r"[ \t]", name):
            raise InputError(f"--env-file {path}, line {number}: {name[:40]!r} is not the name of a variable")
        if given or name in environ:
            yield name, value if given else environ[name]
