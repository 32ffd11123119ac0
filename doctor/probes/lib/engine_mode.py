"""How a container engine of this host runs: what it answers of itself, else what its files say, and the limits and
security layers of the host that it is under.

Docker is asked over its socket, and only where its daemon runs: a connection would start it otherwise. podman has no
daemon, and its `info` makes folders in the account's home: only `podman --version` is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from doctor.facts.origin import State
from doctor.parsers.container import docker_info
from doctor.parsers.lib.printable import clean
from doctor.system import unix_http
from doctor.system.base import Reading, System
from doctor.versions import Dotted

READS: tuple[str, ...] = (
    "stat:run/docker.pid public",
    "stat:var/run/docker.sock public",
    "stat:run/user/*/docker.{pid,sock} public",
    "derived:docker-info:*/docker.sock public",
    "command:podman --version public",
    "file:etc/containers/containers.conf public",
    "file:usr/share/containers/containers.conf public",
    "file:run/docker.pid public",
    "file:proc/*/{status,limits} of the one that starts containers public",
    "file:sys/fs/selinux/{enforce,booleans/container_use_devices} public",
)
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""Where engines look for CDI specs unless their configuration says otherwise; a later folder wins."""
_CDI_ON = (28, 3)
"""From this release Docker reads CDI specs unless its configuration turns that off (release notes of 28.3)."""
_ASK_S = 2.0
_LIMITS = {"Max locked memory": "memlock", "Max open files": "nofile"}
_HARD_LIMIT = re.compile(rf"^({'|'.join(_LIMITS)}) +\S{{1,20}} +([0-9]{{1,20}}) ", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s{1,8}([0-9a-f]{1,16})$", re.MULTILINE)
_SYS_RESOURCE = 24
"""Number of the capability that may raise a hard limit (capability.h)."""
_RUNTIME = re.compile(r'^[ \t]{0,20}runtime[ \t]{0,8}=[ \t]{0,8}"([A-Za-z0-9_./-]{1,200})"', re.MULTILINE)


def docker(system: System) -> Reading[dict[str, Any]]:
    """What the daemon answers; `not-asked` where none runs here."""
    for path, pid in _docker_places(system):
        if system.kind != "tree" and _is_socket(system, path) and system.stat(pid).known:
            return system.derived("docker-info", path, partial(_answer, f"/{path}")).then(docker_info.recorded)
    return Reading(State.NOT_ASKED, "file:/var/run/docker.sock", None, "no daemon of Docker runs here")


def _docker_places(system: System) -> Iterator[tuple[str, str]]:
    """The account's own first, as its context says once a rootless Docker was set up."""
    uid = (system.account().value or {}).get("uid", 0)
    if uid:
        yield f"run/user/{uid}/docker.sock", f"run/user/{uid}/docker.pid"
    yield "var/run/docker.sock", "run/docker.pid"


def _is_socket(system: System, path: str) -> bool:
    found = system.stat(path).value
    return found is not None and found.kind == "socket"


def _answer(socket: str) -> dict[str, Any]:
    return docker_info.read(*(unix_http.get(socket, question, _ASK_S) for question in ("/version", "/info")))


def docker_by_files(daemon: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """What a daemon with this configuration (daemon.json) would answer; what no file says is left out."""
    features, runtimes = daemon.get("features"), daemon.get("runtimes")
    folders, seccomp = daemon.get("cdi-spec-dirs"), daemon.get("seccomp-profile")
    found: dict[str, Any] = {
        "runtimes": sorted(clean(str(name), 60) for name in runtimes)[:40] if isinstance(runtimes, dict) else [],
        "userns_remap": bool(daemon.get("userns-remap")),
        "selinux": daemon.get("selinux-enabled") is True,
        "seccomp_profile": clean(seccomp, 400) if isinstance(seccomp, str) and seccomp.startswith("/") else "",
    }
    if version is not None:
        turned = features.get("cdi") if isinstance(features, dict) else None
        on = turned if isinstance(turned, bool) else Dotted(version).numbers >= _CDI_ON
        named = docker_info.folders(folders) if isinstance(folders, list) else CDI_FOLDERS
        found |= {"version": version, "cdi_folders": list(named) if on else []}
    return found


def podman(system: System, version: str | None) -> dict[str, Any]:
    """`version` is its package's, for a tree, where no program is run."""
    printed = system.run(("podman", "--version"))
    match = re.search(r"\d{1,3}(?:\.\d{1,3}){1,3}", printed.value.stdout[:200]) if printed.value else None
    found: dict[str, Any] = {
        "oci_runtime": _oci_runtime(system),
        "selinux": system.stat("sys/fs/selinux/enforce").known,
    }
    if match or version:
        found["version"] = match[0] if match else version
    uid = (system.account().value or {}).get("uid")
    return found if uid is None else {**found, "rootless": uid != 0}


def _oci_runtime(system: System) -> str:
    """As configured, else the first that is installed, in podman's own order; empty: not known."""
    for path in ("etc/containers/containers.conf", "usr/share/containers/containers.conf"):
        if found := _RUNTIME.search(system.read_text(path).value or ""):
            return found[1].rpartition("/")[2]
    return next((name for name in ("crun", "runc") if system.stat(f"usr/bin/{name}").known), "")


def on_host(system: System, name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, with what this host lets that engine do."""
    found = {**answer, "limits": _limits(system, name, rootless=bool(answer.get("rootless")))}
    if answer.get("selinux"):
        found["selinux"] = _enforces(system)
        if (switch := _boolean(system, "container_use_devices")) is not None:
            found["device_boolean"] = switch
    return found


def _enforces(system: System) -> bool:
    """Permissive mode logs and refuses nothing; what can't be read is taken for enforcing, as the engine says."""
    return (system.read_text("sys/fs/selinux/enforce").value or "1").strip() == "1"


def _boolean(system: System, name: str) -> bool | None:
    """The first of the two numbers is the one in force."""
    words = (system.read_text(f"sys/fs/selinux/booleans/{name}").value or "").split()
    return words[0] == "1" if words else None


def _limits(system: System, name: str, *, rootless: bool) -> dict[str, int]:
    """Of the process that starts containers: dockerd, or podman, which is a child of this one. A limit can be raised
    only with CAP_SYS_RESOURCE ("error setting rlimit type 8" otherwise)."""
    pid = "self" if name == "podman" else (system.read_text("run/docker.pid").value or "").strip()
    if pid != "self" and (rootless or not re.fullmatch(r"[0-9]{1,9}", pid)):
        return {}
    held = _CAPABILITIES.search(system.read_text(f"proc/{pid}/status").value or "")
    if held is None or int(held[1], 16) >> _SYS_RESOURCE & 1:
        return {}
    rows = _HARD_LIMIT.findall(system.read_text(f"proc/{pid}/limits").value or "")
    return {_LIMITS[name]: int(hard) for name, hard in rows}
