"""What an engine is: asked of one of this machine, or by the facts of another's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from doctor.errors import InputError
from doctor.facts.engines import EngineMode
from doctor.facts.snapshot import Snapshot
from doctor.launch.engine import CDI_SINCE, Engine, Name, Spec
from doctor.parsers.container import cdi_spec, docker_info
from doctor.probes.container.engines import HOOK
from doctor.probes.lib import engine_mode
from doctor.probes.lib.engine_mode import CDI_FOLDERS
from doctor.system.base import System
from doctor.system.engine_api import Api, as_table, place
from doctor.system.engine_sockets import ASK_S, Place
from doctor.versions import Dotted

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
            answer = docker_info.read(api.version(), api.info())
        finally:
            api.close()
        found: Name = "docker"
    else:
        base = _podman_base(environ) if name == "podman" else (name,)
        answer, found = _podman(_info(system, base)), "podman"
    mode = EngineMode.model_validate(engine_mode.on_host(system, found, answer))
    return replace(_engine(system, found, mode, system.which(HOOK).value is not None), base=base, program=program.value)


def known(system: System, machine: Snapshot, name: Name) -> Engine | None:
    """The engine of a machine that is not this one, as its facts describe it; None where it has none of that name."""
    there = next((one for one in machine.engines or () if one.key == name), None)
    if there is None:
        return None
    hook = any(toolkit.hook for toolkit in machine.toolkits or ())
    return replace(_engine(system, name, there.mode, hook), base=(name,), program=there.path or name)


def _engine(system: System, name: Name, mode: EngineMode, toolkit: bool) -> Engine:
    number = Dotted(mode.version or "0")
    folders = mode.cdi_folders or CDI_FOLDERS
    return Engine(
        name,
        number,
        runtimes=frozenset(mode.runtimes or ()),
        cdi=number.numbers >= CDI_SINCE[name] and (name == "podman" or bool(mode.cdi_folders)),
        cdi_folders=folders,
        rootless=bool(mode.rootless),
        userns_remap=bool(mode.userns_remap),
        selinux=bool(mode.selinux),
        device_boolean=mode.device_boolean,
        seccomp=mode.seccomp_profile or "",
        desktop=bool(mode.desktop),
        oci_runtime=mode.oci_runtime or "",
        toolkit=toolkit,
        capped=mode.limits or {},
        specs=tuple(spec for folder in folders for spec in _specs(system, folder)),
    )


def rdma_nodes(system: System) -> tuple[str, ...]:
    """What verbs open: not `umad` and `issm`, which manage the fabric."""
    names = system.list_dir("dev/infiniband").value or ()
    return tuple(f"/dev/infiniband/{name}" for name in names if re.fullmatch(r"uverbs\d{1,4}|rdma_cm", name))


def _is_podman(system: System, program: str) -> bool:
    """podman-docker's `docker` is a shell script of some lines that starts podman."""
    script = system.read_bytes(program.lstrip("/"), length=400).value or b""
    return script.startswith(b"#!") and b"podman" in script


def _docker_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    """DOCKER_HOST wins over DOCKER_CONTEXT, as with docker itself; both are passed as options, so that one engine
    is asked and starts it."""
    host, context = environ.get("DOCKER_HOST"), environ.get("DOCKER_CONTEXT")
    if host:
        return ("docker", "--host", host)
    return ("docker", "--context", context) if context else ("docker",)


def _podman_base(environ: Mapping[str, str]) -> tuple[str, ...]:
    for name in ("CONTAINER_HOST", "CONTAINER_CONNECTION"):
        if environ.get(name):
            raise InputError(f"{name} is {environ[name][:60]!r}, which may be another machine: unset it")
    return ("podman",)


def _info(system: System, base: tuple[str, ...]) -> Mapping[str, Any]:
    reading = system.run((*base, "info", "--format", "json"), deadline_s=ASK_S, limit=4 << 20)
    if reading.value is None:
        raise InputError(f"{base[0]} does not answer ({reading.state.value}): {reading.detail or 'no reason given'}")
    try:
        table = json.loads(reading.value.stdout)
    except (ValueError, RecursionError):
        table = None
    if reading.value.code or not isinstance(table, dict):
        silent = f"no output, exit code {reading.value.code}"
        last = ((reading.value.stderr or reading.value.stdout).strip().splitlines()[-1:] or [silent])[0]
        raise InputError(f"{base[0]} info: {last[:160]}")
    return table


def _podman(info: Mapping[str, Any]) -> dict[str, Any]:
    host = as_table(info.get("host"))
    if host.get("serviceIsRemote"):
        raise InputError(f"podman talks to a service elsewhere: {_ELSEWHERE}")
    security = as_table(host.get("security"))
    return {
        "version": str(as_table(info.get("version")).get("Version") or "0"),
        "rootless": bool(security.get("rootless")),
        "selinux": bool(security.get("selinuxEnabled")),
        "oci_runtime": str(as_table(host.get("ociRuntime")).get("name") or ""),
    }


def _specs(system: System, folder: str) -> list[Spec]:
    found = []
    for name in system.list_dir(folder.lstrip("/")).value or ():
        if name.endswith((".json", ".yaml")):
            path = f"{folder}/{name}"
            reading = system.read_text(path.lstrip("/"), limit=cdi_spec.MAX_TEXT).then(cdi_spec.read)
            if reading.value is not None:
                gone = (need for need in reading.value.needs()[:400] if system.stat(need.lstrip("/")).is_absent)
                found.append(Spec(path, reading.value, tuple(gone)))
    return found
