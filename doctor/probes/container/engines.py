"""The container engines that are installed, how they run, the vendors' toolkits, and the CDI specs.

Cost: a few stats; on a machine that has CDI specs, one a path that they name; with an engine and a GPU, the package
database for their versions and two questions to Docker's socket, or `podman --version`. Inside a container there is
nothing to find.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.container import config_fault
from doctor.parsers.lib.printable import clean
from doctor.probes.lib import engine_mode
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "stat:usr/{bin,sbin}/* public",
    "stat:usr/local/bin/* public",
    "file:etc/docker/daemon.json public",
    "file:etc/nvidia-container-runtime/config.toml public",
    "dir:etc/cdi public",
    "dir:var/run/cdi public",
    "file:etc/cdi/* public",
    "file:var/run/cdi/* public",
    "stat:** public",
    "file:var/lib/dpkg/status public",
    *engine_mode.READS,
)
_ENGINES = {"docker": "dockerd", "podman": "podman", "containerd": "containerd", "cri-o": "crio"}
_TOOLKITS = {"nvidia": "nvidia-ctk", "amd": "amd-ctk"}
_FOLDERS = ("usr/bin", "usr/sbin", "usr/local/bin")
_PACKAGES = {
    "engines[docker]": ("docker-ce", "docker.io", "moby-engine"),
    "engines[podman]": ("podman",),
    "engines[containerd]": ("containerd.io", "containerd"),
    "toolkits[nvidia]": ("nvidia-container-toolkit-base", "nvidia-container-toolkit"),
    "toolkits[amd]": ("amd-container-toolkit",),
}
HOOK = "nvidia-container-runtime-hook"
"""What docker's `--gpus` starts; it looks for it on its own PATH (moby, daemon/nvidia_linux.go)."""
_DRIVER_FILE = re.compile(r"/lib(?:cuda|nvidia-ml)\.so\.(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)$")
_PATHS_AT_MOST = 400


def probe(system: System, sheet: FactSheet) -> None:
    found = [*_programs(system, sheet, "engines", _ENGINES), *_programs(system, sheet, "toolkits", _TOOLKITS)]
    daemon: dict[str, Any] = {}
    if "engines[docker]" in found:
        daemon = _daemon(_as_text(system.read_text("etc/docker/daemon.json", limit=1 << 20)), sheet)
        if fault := _unstartable(system, daemon):
            sheet.put(
                "engines[docker].config_error", f"/etc/docker/daemon.json, {fault}", "file:/etc/docker/daemon.json"
            )
    if "toolkits[nvidia]" in found:
        _toolkit(_as_text(system.read_text(_TOOLKIT_CONFIG, limit=1 << 20)), sheet)
        hook = any(system.stat(f"{folder}/{HOOK}").known for folder in _FOLDERS)
        sheet.put("toolkits[nvidia].hook", hook, f"file:/{_FOLDERS[0]}/{HOOK}")
    if found and _has_gpu(system):
        _versions(system, sheet, found)
        _modes(system, sheet, found, daemon)
    _specs(system, sheet)


def _modes(system: System, sheet: FactSheet, found: list[str], daemon: dict[str, Any]) -> None:
    for fact in ("engines[docker]", "engines[podman]"):
        if fact not in found:
            continue
        name, version = fact[len("engines[") : -1], sheet.get(f"{fact}.version")
        asked = engine_mode.docker(system) if name == "docker" else None
        if asked is None:
            answer, source = engine_mode.podman(system, version), "command:podman --version"
        elif asked.value is not None:
            answer, source = asked.value, asked.source
        elif sheet.get("engines[docker].runtimes") is None:  # the configuration is not known either
            sheet.miss(f"{fact}.mode.version", asked.state, asked.source, asked.detail)
            continue
        else:
            answer, source = engine_mode.docker_by_files(daemon, version), "file:/etc/docker/daemon.json"
        for field, value in engine_mode.on_host(system, name, answer).items():
            sheet.put(f"{fact}.mode.{field}", value, source)


def _programs(system: System, sheet: FactSheet, fact: str, names: dict[str, str]) -> Iterator[str]:
    here = False
    for name, program in names.items():
        for folder in _FOLDERS:
            reading = system.stat(f"{folder}/{program}")
            if reading.value is not None:
                here = True
                sheet.put(f"{fact}[{name}].path", f"/{folder}/{program}", reading.source)
                yield f"{fact}[{name}]"
                break
    if here:
        return
    programs = system.stat(_FOLDERS[0])
    if programs.value is not None:
        sheet.put(fact, [], programs.source, "none of their programs is there")
    else:
        sheet.miss(fact, programs.state, programs.source, programs.detail)


def _as_text(reading: Reading[str]) -> Reading[str]:
    """A file that holds NUL is no text: no line of it can be named, and a disk or a network may have made it so. What
    is text and breaks the grammar is a fault of the file."""
    if "\0" in (reading.value or ""):
        return Reading(State.UNREADABLE, reading.source, None, "it is no text")
    return reading


def _daemon(reading: Reading[str], sheet: FactSheet) -> dict[str, Any]:
    """The configuration, which says what is to be put; empty where there is none, or none that can be read.
    https://docs.docker.com/reference/cli/dockerd/#daemon-configuration-file"""
    if reading.is_absent:
        sheet.put("engines[docker].runtimes", [], reading.source, "there is no such file: runc alone")
        return {}
    try:
        table = json.loads(reading.value or "")
    except (ValueError, RecursionError):
        table = None
    if reading.value is not None and (fault := config_fault.of_json(reading.value)):
        sheet.put("engines[docker].config_error", f"/etc/docker/daemon.json, {clean(fault, 200)}", reading.source)
    if not isinstance(table, dict):
        state = State.UNREADABLE if reading.known else reading.state
        sheet.miss("engines[docker].runtimes", state, reading.source, reading.detail)
        return {}
    runtimes = table.get("runtimes")
    names = [clean(str(name), 60) for name in runtimes][:40] if isinstance(runtimes, dict) else []
    sheet.put("engines[docker].runtimes", names, reading.source)
    if isinstance(table.get("default-runtime"), str):
        sheet.put("engines[docker].default_runtime", clean(table["default-runtime"], 60), reading.source)
    features = table.get("features")
    if isinstance(features, dict) and isinstance(features.get("cdi"), bool):
        sheet.put("engines[docker].cdi", features["cdi"], reading.source)
    return table


def _unstartable(system: System, daemon: dict[str, Any]) -> str | None:
    """Why no container starts: the default runtime is not defined, or its program is not there."""
    name, runtimes = daemon.get("default-runtime"), daemon.get("runtimes")
    if not isinstance(name, str) or name == "runc" or "." in name or "/" in name:  # names of containerd's own
        return None
    held = runtimes.get(name) if isinstance(runtimes, dict) else None
    if not isinstance(held, dict):
        return f"default-runtime is {clean(name, 60)}, which its runtimes do not define"
    path = held.get("path")
    places = [path] if isinstance(path, str) and path.startswith("/") else [f"/{f}/{path}" for f in _FOLDERS]
    if path and all(system.stat(place.strip("/")).is_absent for place in places):
        return f"default-runtime {clean(name, 60)} starts {clean(str(path), 100)}, which is not there"
    return None


def _toolkit(reading: Reading[str], sheet: FactSheet) -> None:
    """https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"""
    if reading.value is None:
        if reading.is_absent:
            sheet.put("toolkits[nvidia].no_cgroups", False, reading.source, "there is no such file: its defaults")
        else:
            sheet.miss("toolkits[nvidia].no_cgroups", reading.state, reading.source, reading.detail)
        return
    if fault := config_fault.of_toml(reading.value):
        sheet.put("toolkits[nvidia].config_error", f"/{_TOOLKIT_CONFIG}, {clean(fault, 200)}", reading.source)
        return
    setting = _NO_CGROUPS.search(reading.value)
    sheet.put("toolkits[nvidia].no_cgroups", bool(setting and setting[1] == "true"), reading.source)


_TOOLKIT_CONFIG = "etc/nvidia-container-runtime/config.toml"
_NO_CGROUPS = re.compile(r"^[ \t]{0,20}no-cgroups[ \t]{0,8}=[ \t]{0,8}(true|false)\b", re.MULTILINE)


def _has_gpu(system: System) -> bool:
    names = system.list_dir("dev").value or ()
    return any(name in ("kfd", "nvidiactl", "dxg") for name in names)


def _versions(system: System, sheet: FactSheet, found: list[str]) -> None:
    from doctor.parsers.kernel import dpkg_status

    wanted = tuple(name for fact in found for name in _PACKAGES.get(fact, ()))
    status = system.read_text("var/lib/dpkg/status", limit=32 << 20)
    packages = status.then(partial(dpkg_status.read, prefixes=wanted)).value or {}
    for fact in found:
        version = next((packages[name] for name in _PACKAGES.get(fact, ()) if name in packages), None)
        if version:
            sheet.put(f"{fact}.version", _upstream(version), status.source, f"package version {version}")


def _upstream(version: str) -> str:
    """Of a package's version.

    >>> _upstream("5:26.1.5+dfsg1-9"), _upstream("1.17.8-1"), _upstream("5:27.3.1-1~ubuntu.24.04~noble")
    ('26.1.5', '1.17.8', '27.3.1')
    """
    return re.split(r"[-+~]", version.partition(":")[2] if ":" in version else version)[0]


def _specs(system: System, sheet: FactSheet) -> None:
    named = sheet.get("engines[docker].mode.cdi_folders") or ()
    folders = dict.fromkeys(f.lstrip("/") for f in (*engine_mode.CDI_FOLDERS, *named))
    listings = {folder: system.list_dir(folder) for folder in folders}
    paths = [
        f"{folder}/{name}"
        for folder, names in listings.items()
        for name in names.value or ()
        if name.endswith((".json", ".yaml"))
    ]
    blind = next((r for r in listings.values() if not r.known and not r.is_absent), None)
    if not paths and blind is None:
        sheet.put("cdi", [], next(iter(listings.values())).source)
    elif blind is not None:
        sheet.miss("cdi", blind.state, blind.source, blind.detail)
    for path in paths[:40]:
        _spec(system, sheet, path)


def _spec(system: System, sheet: FactSheet, path: str) -> None:
    from doctor.parsers.container import cdi_spec

    reading = system.read_text(path, limit=cdi_spec.MAX_TEXT).then(cdi_spec.read)
    fact = f"cdi[/{path}]"
    if reading.value is None:
        sheet.miss(f"{fact}.kind", reading.state, reading.source, reading.detail)
        if reading.state is State.UNREADABLE:
            sheet.put(f"{fact}.fault", clean(reading.detail or "", 160), reading.source)
        return
    spec = reading.value
    named = spec.needs()[:_PATHS_AT_MOST]
    sheet.put(f"{fact}.kind", spec.kind, reading.source)
    sheet.put(f"{fact}.version", spec.version, reading.source)
    sheet.put(f"{fact}.devices", sorted(spec.devices)[:200], reading.source)
    sheet.put(f"{fact}.majors", dict(list(spec.majors().items())[:_PATHS_AT_MOST]), reading.source)
    drivers = [match[1] for one in named if (match := _DRIVER_FILE.search(one))]
    if drivers:
        sheet.put(f"{fact}.driver", drivers[0], reading.source)
    sheet.put(f"{fact}.missing", [p for p in named if system.stat(p.lstrip("/")).is_absent][:40], reading.source)
