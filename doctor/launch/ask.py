"""Asks an engine of this machine what it is: `version`, `info`, its CDI specs and the limits of its own process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from doctor.errors import InputError
from doctor.launch.engine import CDI_FOLDERS, CDI_SINCE, Engine, Name, Spec
from doctor.readers import cdi_spec
from doctor.readers.cdi_spec import CdiSpec
from doctor.system.base import System
from doctor.versions import Dotted

ASK_S = 8.0
_LIMITS = {"Max locked memory": "memlock", "Max open files": "nofile"}
_SYS_RESOURCE = 24
"""Number of the capability that may raise a hard limit (capability.h)."""
_HOOK = "nvidia-container-runtime-hook"
"""What docker's `--gpus` starts; it looks for it on its own PATH (moby, daemon/nvidia_linux.go)."""
_ELSEWHERE = "that machine has other GPUs; run doctor there"


def ask(system: System, name: Name, environ: Mapping[str, str]) -> Engine:
    """`environ`: the caller's, for DOCKER_HOST, DOCKER_CONTEXT and podman's CONTAINER_HOST. Raises InputError where the
    engine is not there, does not answer, or runs on another machine."""
    program = system.which(name)
    if program.value is None:
        raise InputError(f"{name}: {program.detail or 'no such program'}; install it, or print with --emit {name}")
    base = _docker_base(environ) if name == "docker" else _podman_base(environ)
    if name == "docker":
        _refuse_remote(system, base)
    version, info = _told(system, base, "version"), _told(system, base, "info")
    is_podman = "host" in info  # under docker's name too (podman-docker)
    engine = _podman(version, info, base) if is_podman else _docker(version, info, base)
    toolkit = system.which(_HOOK).value is not None
    specs = tuple(spec for folder in engine.cdi_folders for spec in _specs(system, folder))
    return replace(engine, program=program.value, toolkit=toolkit, specs=specs, capped=_capped(system, engine))


def _docker_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    """DOCKER_HOST wins over DOCKER_CONTEXT, as with docker itself; both are said by option, so that what is asked and
    what is started are one engine."""
    host, context = environ.get("DOCKER_HOST"), environ.get("DOCKER_CONTEXT")
    if host and not host.startswith("unix://"):
        raise InputError(f"DOCKER_HOST is {host[:60]!r}: {_ELSEWHERE}")
    if host:
        return ("docker", "--host", host)
    return ("docker", "--context", context) if context else ("docker",)


def _podman_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    for name in ("CONTAINER_HOST", "CONTAINER_CONNECTION"):
        if environ.get(name):
            raise InputError(f"{name} is {environ[name][:60]!r}, which may be another machine: unset it")
    return ("podman",)


def _refuse_remote(system: System, base: tuple[str, ...]) -> None:
    """What the context in use leads to; an engine before 19.03 has none."""
    if "--host" in base:
        return
    named = base[2:]
    where = system.run(
        ("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}", *named), deadline_s=ASK_S
    )
    told = where.value.stdout.strip() if where.value and where.value.code == 0 else ""
    if told and not told.startswith("unix://"):
        raise InputError(f"docker's context leads to {told[:60]!r}: {_ELSEWHERE}, or: docker context use default")


def _told(system: System, base: tuple[str, ...], word: str) -> Mapping[str, Any]:
    form = "json" if base[0] == "podman" else "{{json .}}"
    reading = system.run((*base, word, "--format", form), deadline_s=ASK_S, limit=4 << 20)
    if reading.value is None:
        raise InputError(f"{base[0]} does not answer ({reading.state.value}): {reading.detail or 'start it'}")
    try:
        table = json.loads(reading.value.stdout)
    except (ValueError, RecursionError):
        table = None
    if reading.value.code or not isinstance(table, dict):
        raise InputError(_refused(base[0], word, reading.value.stderr or reading.value.stdout))
    return table


def _refused(name: str, word: str, said: str) -> str:
    """Docker's own last line, and what to do about the two that everybody meets."""
    last = (said.strip().splitlines()[-1:] or ["no output"])[0][:160]
    if "permission denied" in said:
        return f"{name} {word}: {last}. To mend: sudo usermod -aG docker $USER, then log in again"
    if "Cannot connect" in said or "Is the docker daemon running" in said:
        return f"{name} {word}: {last} To mend: sudo systemctl start docker"
    return f"{name} {word}: {last}"


def _docker(version: Mapping[str, Any], info: Mapping[str, Any], base: tuple[str, ...]) -> Engine:
    server = _dict(version.get("Server"))
    number = Dotted(str(server.get("Version") or info.get("ServerVersion") or "0"))
    folders = tuple(str(f) for f in info.get("CDISpecDirs") or () if str(f).startswith("/"))
    security = [str(option) for option in info.get("SecurityOptions") or ()]
    return Engine(
        "docker",
        number,
        runtimes=frozenset(map(str, _dict(info.get("Runtimes")))),
        # The engine lists the folders only where it looks for specs.
        cdi=bool(folders) and number.numbers >= CDI_SINCE["docker"],
        cdi_folders=folders or CDI_FOLDERS,
        rootless=any("rootless" in option for option in security),
        desktop="Docker Desktop" in str(info.get("OperatingSystem", "")),
        base=base,
    )


def _podman(version: Mapping[str, Any], info: Mapping[str, Any], base: tuple[str, ...]) -> Engine:
    said = _dict(version.get("Client")).get("Version") or _dict(info.get("version")).get("Version")
    number = Dotted(str(said or "0"))
    host = _dict(info.get("host"))
    if host.get("serviceIsRemote"):
        raise InputError(f"podman talks to a service elsewhere: {_ELSEWHERE}")
    return Engine(
        "podman",
        number,
        cdi=number.numbers >= CDI_SINCE["podman"],
        rootless=bool(_dict(host.get("security")).get("rootless")),
        oci_runtime=str(_dict(host.get("ociRuntime")).get("name") or ""),
        base=base,
    )


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _specs(system: System, folder: str) -> list[Spec]:
    found = []
    for name in system.list_dir(folder.lstrip("/")).value or ():
        if name.endswith((".json", ".yaml")):
            path = f"{folder}/{name}"
            reading = system.read_text(path.lstrip("/"), limit=cdi_spec.MAX_TEXT).then(cdi_spec.read)
            if reading.value is not None:
                found.append(Spec(path, reading.value, _missing(system, reading.value)))
    return found


def _missing(system: System, spec: CdiSpec) -> tuple[str, ...]:
    return tuple(path for path in spec.needs()[:400] if system.stat(path.lstrip("/")).is_absent)


def _capped(system: System, engine: Engine) -> Mapping[str, int]:
    """Of the process that starts containers: dockerd, or podman, which is a child of this one. A limit can be raised
    only with CAP_SYS_RESOURCE ("error setting rlimit type 8" otherwise)."""
    pid = "self" if engine.name == "podman" else (system.read_text("run/docker.pid").value or "").strip()
    if pid != "self" and (not pid.isdecimal() or engine.rootless):
        return {}
    status = system.read_text(f"proc/{pid}/status").value or ""
    held = next((row.split()[1] for row in status.splitlines() if row.startswith("CapEff:")), "")
    if not held or int(held, 16) >> _SYS_RESOURCE & 1:
        return {}
    rows = (system.read_text(f"proc/{pid}/limits").value or "").splitlines()
    hard = {_LIMITS[row[:25].strip()]: row[26:].split() for row in rows if row[:25].strip() in _LIMITS}
    return {name: int(words[1]) for name, words in hard.items() if words[1:2] and words[1].isdecimal()}
