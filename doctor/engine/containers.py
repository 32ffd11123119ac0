"""A running container by its name: its first process, and what the engine says of how it was started.

docker and podman are asked by their API, podman without a service by its command, containerd and CRI-O by crictl; all
of them on this machine, whatever contexts and variables say. A name may say whose it is: `podman:web`. Nothing in the
container changes; whether it can open a node is tried by its own shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from doctor.engine import cri, local_engines
from doctor.errors import DoctorError, InputError, ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.container import container_inspect, seccomp_profile
from doctor.system import asked
from doctor.system.base import Reading, System
from doctor.system.engine_api import Api
from doctor.system.engine_sockets import Place

ENGINES = ("docker", "podman", "crictl")
ASK_S = 8.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,200}){0,2}")
_ERRNOS = (("Permission denied", "EACCES"), ("Operation not permitted", "EPERM"), ("No such device", "ENXIO"))
_PODMAN_PROFILES = ("etc/containers/seccomp.json", "usr/share/containers/seccomp.json")
"""containers-common: the first that is there."""
_TRY = ("sh", "-c", 'exec 3<>"$1"', "sh")
Connect = Callable[[Any, Place], Api]


Opener = Callable[[str], Reading[str]]


@dataclass(frozen=True)
class Found:
    """`facts` are of how it was started; `opener` tries a node as the container's own user."""

    engine: str
    name: str
    pid: int
    facts: FactSheet
    opener: Opener | None


def find(system: System, wanted: str, connect: Connect = Api) -> Found:
    """Raises InputError where no engine knows a running container of that name."""
    engine, _, name = wanted.rpartition(":")
    if engine and engine not in ENGINES:
        raise InputError(f"--in {wanted[:80]!r}: {engine[:20]!r} is none of {', '.join(ENGINES)}")
    if not _NAME.fullmatch(name):
        raise InputError(f"--in {wanted[:80]!r}: not a container's name or id")
    reasons: list[str] = []
    for candidate in (engine,) if engine else ENGINES:
        if candidate == "crictl":
            found = _crictl(system, name, reasons)
        else:
            found = _by_api(system, candidate, name, reasons, connect)
        if found is None and candidate == "podman":
            found = _by_podman(system, name, reasons)
        if found is not None:
            return found
    raise InputError(f"--in {name[:80]!r}: found no running container of that name ({'; '.join(reasons)})")


def _by_api(system: System, engine: str, name: str, reasons: list[str], connect: Connect) -> Found | None:
    sockets = list(local_engines.sockets(system, engine))
    if not sockets and engine == "docker":
        reasons.append("docker: no socket of its daemon is here")
    for socket in sockets:
        try:
            api = connect(engine, Place(f"unix:///{socket}"))
        except DoctorError as error:
            reasons.append(str(error)[:200])
            continue
        try:
            found = _found(system, engine, name, api.container(name), _by_exec(api, name), reasons)
        except DoctorError as error:
            reasons.append(str(error)[:200])
            found = None
        if found:
            return found
        api.close()
    return None


def _by_podman(system: System, name: str, reasons: list[str]) -> Found | None:
    """By its command, where no service of podman's listens: it needs none."""
    start = local_engines.podman(system)
    if start is None or not system.which("podman").known:
        reasons.append("podman: this account has no containers" if start is None else "podman is not here")
        return None
    text = _output(system, (*start, "inspect", "--type", "container", name), reasons)
    if text is None:
        return None
    try:
        table = container_inspect.first(text)
    except ParserError as error:
        reasons.append(f"podman: {error}")
        return None
    return _found(system, "podman", name, table, _opener(system, (*start, "exec", name)), reasons)


def _found(
    system: System, engine: str, name: str, table: Mapping[str, Any], opener: Opener, reasons: list[str]
) -> Found | None:
    source = f"command:{engine} inspect"
    state = table.get("State")
    pid = state.get("Pid") if isinstance(state, dict) else None
    if type(pid) is not int or pid <= 0:
        reasons.append(f"{engine}: {name[:60]} does not run")
        return None
    facts = container_inspect.facts(table, source)
    facts.put("container.engine", engine, source)
    _profile(system, table, facts, source)
    return Found(engine, name, pid, facts, opener)


def _profile(system: System, table: Mapping[str, Any], facts: FactSheet, source: str) -> None:
    """The seccomp profile that was asked for by name: Docker keeps its text, podman its path. Where none was it is the
    engine's own: podman's is a file of the host, of Docker's the rule knows what it closes."""
    host = table.get("HostConfig")
    options = host.get("SecurityOpt") if isinstance(host, dict) else None
    pairs = [str(option).partition("=") for option in options] if isinstance(options, list) else []
    named = [profile for name, _, profile in pairs if name == "seccomp"]
    if not named and "podman" in source:
        named = [f"/{path}" for path in _PODMAN_PROFILES if system.stat(path).known][:1]
    if not named or named[0] in ("", "unconfined", "builtin"):
        return
    profile = named[0]
    if not profile.lstrip().startswith("{"):
        profile = system.read_text(profile.lstrip("/"), limit=seccomp_profile.MAX_TEXT).value or ""
    added = [str(cap).removeprefix("CAP_") for cap in host.get("CapAdd") or ()] if isinstance(host, dict) else []
    with suppress(ParserError):  # a profile that is gone or no profile says nothing
        facts.put("container.mempolicy", seccomp_profile.mempolicy(profile, added), source, "its seccomp profile")


def _resolved(spec: Any, facts: FactSheet, source: str) -> None:
    """The seccomp rules of an OCI runtime's configuration, in which capabilities are resolved already."""
    linux = spec.get("linux") if isinstance(spec, dict) else None
    profile = linux.get("seccomp") if isinstance(linux, dict) else None
    if isinstance(profile, dict):
        with suppress(ParserError):
            facts.put("container.mempolicy", seccomp_profile.mempolicy(profile, ()), source, "its seccomp profile")


def _crictl(system: System, name: str, reasons: list[str]) -> Found | None:
    """By id, or by the name of a pod: `POD`, `POD/CONTAINER`, `NAMESPACE/POD/CONTAINER`."""
    if not system.which("crictl").known:
        reasons.append("crictl is not here")
        return None
    starts = list(local_engines.crictl(system))
    if not starts:
        reasons.append("crictl: neither its configuration nor a runtime's socket is here")
    answers = (_in_runtime(system, start, name, reasons) for start in starts)
    return next((found for found in answers if found), None)


def _in_runtime(system: System, start: tuple[str, ...], name: str, reasons: list[str]) -> Found | None:
    before = len(reasons)
    for words in cri.listings(name):
        running = cri.running(_output(system, (*start, *words), reasons) or "")
        if len(running) > 1:
            names = ", ".join(sorted(f"{one.namespace}/{one.pod}/{one.name}"[:120] for one in running)[:8])
            raise InputError(f"--in {name[:80]!r}: several run by that name; say which: {names}")
        for one in running:
            text = _output(system, (*start, "inspect", one.id), reasons)
            info = cri.info(text or "")
            pid = info.get("pid")
            if type(pid) is int and pid > 0:
                facts = FactSheet()
                facts.put("container.engine", "kubernetes", "command:crictl inspect")
                _resolved(info.get("runtimeSpec"), facts, "command:crictl inspect")
                return Found("crictl", name, pid, facts, _opener(system, (*start, "exec", one.id)))
    if len(reasons) == before:
        reasons.append("crictl: none runs by that name")
    return None


def _output(system: System, argv: tuple[str, ...], reasons: list[str]) -> str | None:
    reading = system.run(argv, deadline_s=ASK_S, limit=container_inspect.MAX_TEXT)
    if reading.value is None or reading.value.code:
        last = (reading.value.stderr if reading.value else reading.detail or "").strip().splitlines()[-1:]
        reasons.append(f"{argv[0]}: {last[0][:100] if last else reading.state.value}")
        return None
    return reading.value.stdout


def _opener(system: System, start: tuple[str, ...]) -> Opener:
    def tried(path: str) -> Reading[str]:
        node = f"/{asked.relative(path)}"
        reading = system.run((*start, *_TRY, node), deadline_s=ASK_S)
        source = f"command:{' '.join(start)} sh"
        if reading.value is None:
            return Reading(reading.state, source, None, reading.detail)
        return _answer(reading.value.code, reading.value.stderr, source, node)

    return tried


def _by_exec(api: Api, name: str) -> Opener:
    def tried(path: str) -> Reading[str]:
        node, source = f"/{asked.relative(path)}", f"command:{api.name} exec {name} sh"
        try:
            ran = api.execute(name, (*_TRY, node))
        except DoctorError as error:
            return Reading(State.FAILED, source, None, str(error)[:200])
        return _answer(ran.code, ran.stderr or ran.stdout, source, node)

    return tried


def _answer(code: int, output: str, source: str, node: str) -> Reading[str]:
    if code == 0:
        return Reading(State.VALUE, source, "ok")
    last = output.strip().rpartition("\n")[2]
    for words, errno in _ERRNOS:
        if words in last and node in last:  # an engine that may not exec says the same of something else
            return Reading(State.VALUE, source, errno, output.strip()[:200])
    return Reading(State.FAILED, source, None, output.strip()[:200])
