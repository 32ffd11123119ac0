"""Asks an engine of this machine what it is: `version`, `info`, its CDI specs and the limits of its own process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from doctor.errors import InputError
from doctor.launch.engine import CDI_FOLDERS, CDI_SINCE, Engine, Name, Spec
from doctor.parsers.container import cdi_spec
from doctor.parsers.container.cdi_spec import CdiSpec
from doctor.system.base import System
from doctor.system.engine_api import ASK_S, Api, Place, place
from doctor.versions import Dotted

_LIMITS = {"Max locked memory": "memlock", "Max open files": "nofile"}
_SYS_RESOURCE = 24
"""Number of the capability that may raise a hard limit (capability.h)."""
_HOOK = "nvidia-container-runtime-hook"
"""What docker's `--gpus` starts; it looks for it on its own PATH (moby, daemon/nvidia_linux.go)."""
_ELSEWHERE = "that machine has other GPUs; run doctor there"


def ask(system: System, name: Name, environ: Mapping[str, str], connect: Callable[[Any, Place], Api] = Api) -> Engine:
    """`environ`: the caller's, for DOCKER_HOST, DOCKER_CONTEXT and podman's CONTAINER_HOST. docker is asked by its API,
    podman, which has no daemon, by the program that will be started. Raises InputError where the engine is not there,
    does not answer, or runs on another machine."""
    program = system.which(name)
    if program.value is None:
        raise InputError(f"{name}: {program.detail or 'no such program'}; install it, or print with --emit {name}")
    if name == "docker" and not _is_podman(system, program.value):
        base, where = _docker_base(environ), place(environ)
        if not where.is_local:
            raise InputError(f"docker's engine is at {where.address[:60]!r}: {_ELSEWHERE}")
        api = connect("docker", where)
        try:
            engine = _docker(api.version(), api.info(), base)
        finally:
            api.close()
    else:
        base = _podman_base(environ) if name == "podman" else (name,)
        engine = _podman(_told(system, base, "version"), _told(system, base, "info"), base)
    toolkit = system.which(_HOOK).value is not None
    specs = tuple(spec for folder in engine.cdi_folders for spec in _specs(system, folder))
    if engine.selinux:
        engine = replace(engine, selinux=_enforces(system), device_boolean=_boolean(system, "container_use_devices"))
    return replace(engine, program=program.value, toolkit=toolkit, specs=specs, capped=_capped(system, engine))


def rdma_nodes(system: System) -> tuple[str, ...]:
    """What verbs open: not `umad` and `issm`, which manage the fabric."""
    names = system.list_dir("dev/infiniband").value or ()
    return tuple(f"/dev/infiniband/{name}" for name in names if re.fullmatch(r"uverbs\d{1,4}|rdma_cm", name))


def _enforces(system: System) -> bool:
    """Permissive mode logs and refuses nothing; what can't be read is taken for enforcing, as the engine says."""
    return (system.read_text("sys/fs/selinux/enforce").value or "1").strip() == "1"


def _boolean(system: System, name: str) -> bool | None:
    """The first of the two numbers is the one in force."""
    words = (system.read_text(f"sys/fs/selinux/booleans/{name}").value or "").split()
    return words[0] == "1" if words else None


def _is_podman(system: System, program: str) -> bool:
    """podman-docker's `docker` is a shell script of some lines that starts podman."""
    script = system.read_bytes(program.lstrip("/"), length=400).value or b""
    return script.startswith(b"#!") and b"podman" in script


def _docker_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    """DOCKER_HOST wins over DOCKER_CONTEXT, as with docker itself; both are said by option, so that what is asked and
    what is started are one engine."""
    host, context = environ.get("DOCKER_HOST"), environ.get("DOCKER_CONTEXT")
    if host:
        return ("docker", "--host", host)
    return ("docker", "--context", context) if context else ("docker",)


def _podman_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    for name in ("CONTAINER_HOST", "CONTAINER_CONNECTION"):
        if environ.get(name):
            raise InputError(f"{name} is {environ[name][:60]!r}, which may be another machine: unset it")
    return ("podman",)


def _told(system: System, base: tuple[str, ...], word: str) -> Mapping[str, Any]:
    reading = system.run((*base, word, "--format", "json"), deadline_s=ASK_S, limit=4 << 20)
    if reading.value is None:
        raise InputError(f"{base[0]} does not answer ({reading.state.value}): {reading.detail or 'no reason given'}")
    try:
        table = json.loads(reading.value.stdout)
    except (ValueError, RecursionError):
        table = None
    if reading.value.code or not isinstance(table, dict):
        last = ((reading.value.stderr or reading.value.stdout).strip().splitlines()[-1:] or ["no output"])[0]
        raise InputError(f"{base[0]} {word}: {last[:160]}")
    return table


def _docker(version: Mapping[str, Any], info: Mapping[str, Any], base: tuple[str, ...]) -> Engine:
    number = Dotted(str(version.get("Version") or info.get("ServerVersion") or "0"))
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
        userns_remap="name=userns" in security,
        selinux="name=selinux" in security,
        seccomp=next((o.partition("profile=")[2] for o in security if o.startswith("name=seccomp,profile=/")), ""),
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
        selinux=bool(_dict(host.get("security")).get("selinuxEnabled")),
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
