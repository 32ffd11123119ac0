"""What the container engine at hand is and can do, from what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from doctor.errors import InputError
from doctor.readers import cdi_spec
from doctor.readers.cdi_spec import CdiSpec
from doctor.system.base import System
from doctor.versions import Dotted

Name = Literal["docker", "podman"]

CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
ASK_S = 8.0
_CDI_SINCE: Mapping[str, tuple[int, ...]] = {"docker": (25,), "podman": (4, 1)}
"""Docker 25 reads CDI specs (behind a feature flag until 28.3); podman since 4.1."""
_NEWEST_SPEC: Mapping[str, tuple[tuple[tuple[int, ...], str], ...]] = {
    "docker": (((26, 1), "0.7.0"), ((25,), "0.6.0")),
    "podman": (((5, 1), "0.7.0"), ((4, 1), "0.5.0")),
}
"""The newest cdiVersion that an engine is known to read. 0.7.0 by Docker 26.1 and podman 5.1: release notes of the
NVIDIA container toolkit 1.19.1; podman 4.3 refuses all after 0.5.0 (seen), which is taken for all before 5.1."""


@dataclass(frozen=True)
class Spec:
    """A CDI spec file and, where it can't be used, why."""

    path: str
    read: CdiSpec
    missing: tuple[str, ...] = ()
    """Paths of the host that it names and that are not there."""


@dataclass(frozen=True)
class Engine:
    """`version` is the server's. `cdi` False: it can't, or is configured not to."""

    name: Name
    version: Dotted
    runtimes: frozenset[str] = frozenset()
    cdi: bool = False
    cdi_folders: tuple[str, ...] = CDI_FOLDERS
    rootless: bool = False
    desktop: bool = False
    memlock: int | None = None
    """Bytes that the engine's own process may lock; -1 without a limit; None where it can't be seen."""
    specs: tuple[Spec, ...] = ()
    base: tuple[str, ...] = field(default=())
    """The command line that reaches it: `docker`, or with `--host`."""

    @property
    def newest_spec(self) -> Dotted | None:
        """The newest cdiVersion that it reads."""
        for since, spec in _NEWEST_SPEC[self.name]:
            if self.version.numbers >= since:
                return Dotted(spec)
        return None

    def reads(self, spec: CdiSpec) -> bool:
        newest = self.newest_spec
        return newest is not None and Dotted(spec.version).numbers <= newest.numbers


def ask(system: System, name: Name, host: str | None = None) -> Engine:
    """Raises InputError where the engine is not there, does not answer, or runs on another machine."""
    if host and not host.startswith("unix://"):
        raise InputError(f"DOCKER_HOST is {host[:60]!r}: another machine's engine has other GPUs; use its own shell")
    base = (name, "--host", host) if host and name == "docker" else (name,)
    if name == "docker":
        _refuse_remote(system, base, host)
    version, info = _told(system, base, "version"), _told(system, base, "info")
    engine = _docker(version, info, base) if name == "docker" else _podman(version, info, base)
    return _with_specs(system, engine)


def _refuse_remote(system: System, base: tuple[str, ...], host: str | None) -> None:
    where = system.run((*base, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"), deadline_s=ASK_S)
    told = where.value.stdout.strip() if where.value and where.value.code == 0 else ""
    if not host and told and not told.startswith("unix://"):
        raise InputError(f"docker's context leads to {told[:60]!r}: that machine has other GPUs; use its own shell")


def _told(system: System, base: tuple[str, ...], word: str) -> Mapping[str, Any]:
    form = "json" if base[0] == "podman" else "{{json .}}"
    reading = system.run((*base, word, "--format", form), deadline_s=ASK_S, limit=4 << 20)
    if reading.value is None:
        raise InputError(f"{base[0]} is not there or does not answer ({reading.state.value}): install or start it")
    try:
        table = json.loads(reading.value.stdout)
    except (ValueError, RecursionError):
        table = None
    if reading.value.code or not isinstance(table, dict):
        last = (reading.value.stderr or reading.value.stdout).strip().splitlines()[-1:] or ["no output"]
        raise InputError(f"{base[0]} {word}: {last[0][:160]}")
    return table


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
        cdi=bool(folders) and number.numbers >= _CDI_SINCE["docker"],
        cdi_folders=folders or CDI_FOLDERS,
        rootless=any("rootless" in option for option in security),
        desktop="Docker Desktop" in str(info.get("OperatingSystem", "")),
        base=base,
    )


def _podman(version: Mapping[str, Any], info: Mapping[str, Any], base: tuple[str, ...]) -> Engine:
    said = _dict(version.get("Client")).get("Version") or _dict(info.get("version")).get("Version")
    number = Dotted(str(said or "0"))
    host = _dict(info.get("host"))
    return Engine(
        "podman",
        number,
        cdi=number.numbers >= _CDI_SINCE["podman"],
        rootless=bool(_dict(host.get("security")).get("rootless")),
        base=base,
    )


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _with_specs(system: System, engine: Engine) -> Engine:
    from dataclasses import replace

    found = []
    for folder in engine.cdi_folders:
        for name in system.list_dir(folder.lstrip("/")).value or ():
            if name.endswith((".json", ".yaml")):
                path = f"{folder}/{name}"
                reading = system.read_text(path.lstrip("/"), limit=cdi_spec.MAX_TEXT).then(cdi_spec.read)
                if reading.value is not None:
                    found.append(Spec(path, reading.value, _missing(system, reading.value)))
    return replace(engine, specs=tuple(found), memlock=_memlock(system))


def _missing(system: System, spec: CdiSpec) -> tuple[str, ...]:
    return tuple(path for path in spec.needs()[:400] if system.stat(path.lstrip("/")).is_absent)


def _memlock(system: System) -> int | None:
    """Of dockerd: a container's limit can't be raised above it ("error setting rlimit type 8")."""
    pid = (system.read_text("run/docker.pid").value or "").strip()
    if not pid.isdecimal():
        return None
    for line in (system.read_text(f"proc/{pid}/limits").value or "").splitlines():
        if line.startswith("Max locked memory"):
            hard = line.split()[4]
            return -1 if hard == "unlimited" else int(hard) if hard.isdecimal() else None
    return None
