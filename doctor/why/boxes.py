"""`in:CONTAINER` and `image:NAME` as sides that COMMAND runs on: in fresh containers that are thrown away.

Each is made of BAD's image and options, with single options, devices, variables and layers of GOOD's. What they mount
is read-only there, so a run changes nothing of the user's. COMMAND is started without the image's entrypoint, as
`docker exec` does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from doctor.errors import InputError
from doctor.findings import Layer
from doctor.system.engine_api import Api, EngineError, NotThere, connected
from doctor.system.engine_sockets import Name
from doctor.why.differences import Difference
from doctor.why.layers import Layers
from doctor.why.ranking import is_of_the_stack
from doctor.why.scratch import Change
from doctor.why.trial import Disk, Ended

_OF_CONFIG = {"WorkingDir": "--workdir", "User": "--user"}
_DEFAULTS = {"WorkingDir": "/", "User": "0"}
"""What an empty value means: left empty, the image's own would be taken."""
_SCALARS = {
    **{"ShmSize": "--shm-size", "IpcMode": "--ipc", "PidMode": "--pid", "Privileged": "--privileged"},
    **{"Memory": "--memory", "MemorySwap": "--memory-swap", "PidsLimit": "--pids-limit", "NanoCpus": "--cpus"},
    **{"CpusetCpus": "--cpuset-cpus", "CpusetMems": "--cpuset-mems", "Runtime": "--runtime", "Init": "--init"},
    **{"ReadonlyRootfs": "--read-only", "UsernsMode": "--userns", "CgroupnsMode": "--cgroupns"},
    "NetworkMode": "--network",
}
_WORDS = {
    **{"CapAdd": "--cap-add", "CapDrop": "--cap-drop", "SecurityOpt": "--security-opt", "GroupAdd": "--group-add"},
    "DeviceCgroupRules": "--device-cgroup-rule",
}
_TABLES = {"Sysctls": "--sysctl", "Tmpfs": "--tmpfs"}
_ORDER = ("device", "option", "layer", "variable")
_LOG = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}


class Item(NamedTuple):
    """One thing that a container is made with: what people read of it, and what the engine does, under `key`."""

    shown: str
    key: str
    raw: Any


@dataclass(frozen=True)
class Box:
    """What a fresh container of it is made with. `image` is an id."""

    engine: Name
    name: str
    image: str
    items: Mapping[Change, Item]

    def variables(self) -> dict[str, str]:
        return {name: item.shown for (kind, name), item in self.items.items() if kind == "variable"}


def is_box(name: str) -> bool:
    return name.startswith(("in:", "image:"))


def box(name: str) -> Box:
    """Of `in:CONTAINER`, `in:podman:CONTAINER` or `image:NAME`. Raises InputError where the engine has none."""
    kind, _, rest = name.partition(":")
    head, _, last = rest.partition(":")
    engine: Name = "podman" if head == "podman" else "docker"
    rest = last if head in ("docker", "podman") and last else rest
    with connected(engine) as api:
        if kind == "image":
            found = api.image(rest)
            if found is None:
                raise InputError(f"{name}: {engine} has no such image here, and --prove pulls none")
            return Box(engine, rest, str(found["Id"]), items(found.get("Config") or {}, {}))
        held = api.container(rest)
        return Box(engine, rest, str(held["Image"]), items(held.get("Config") or {}, held.get("HostConfig") or {}))


def box_options(names: tuple[str, str], redacted: Callable[[Any], Any]) -> tuple[Difference, ...]:
    """What two containers were started with, as differences. Variables are the environment's; layers say nothing
    without a run."""
    sides = [{c: item.shown for c, item in box(name).items.items() if c[0] in ("option", "device")} for name in names]
    found = sorted(c for c in {*sides[0], *sides[1]} if sides[0].get(c) != sides[1].get(c))
    values = {c: [redacted(side[c]) if c in side else None for side in sides] for c in found}
    return tuple(Difference(f"{c[0]}[{redacted(c[1])}]", Layer.CONTAINER, *values[c]) for c in found)


def items(config: Mapping[str, Any], host: Mapping[str, Any]) -> dict[Change, Item]:
    """Of what `inspect` shows of a container, each part that can be given to another one."""
    return dict(_items(config, host))


def _items(config: Mapping[str, Any], host: Mapping[str, Any]) -> Iterator[tuple[Change, Item]]:
    for key, flag in _OF_CONFIG.items():
        given = config.get(key) or _DEFAULTS[key]
        yield ("option", flag), Item(given, key, given)
    for row in config.get("Env") or ():
        variable, _, content = row.partition("=")
        yield ("variable", variable), Item(content, "Env", row)
    for key, flag in _SCALARS.items():
        if host.get(key):
            yield ("option", flag), Item(str(host[key]), key, host[key])
    for key, flag in _WORDS.items():
        for word in host.get(key) or ():
            yield ("option", f"{flag} {word}"), Item("given", key, word)
    for key, flag in _TABLES.items():
        for part, content in (host.get(key) or {}).items():
            yield ("option", f"{flag} {part}"), Item(content or "given", key, {part: content})
    for row in host.get("Ulimits") or ():
        name = str(row["Name"]).lower().removeprefix("rlimit_")  # as podman writes it, and does not read it
        yield ("option", f"--ulimit {name}"), Item(f"{row['Soft']}:{row['Hard']}", "Ulimits", {**row, "Name": name})
    yield from _devices(host)
    yield from _mounts(host)


def _devices(host: Mapping[str, Any]) -> Iterator[tuple[Change, Item]]:
    for row in host.get("Devices") or ():
        shown = f"{row.get('PathOnHost')} ({row.get('CgroupPermissions')})"
        yield ("device", str(row.get("PathInContainer"))), Item(shown, "Devices", row)
    for row in host.get("DeviceRequests") or ():
        ids = ",".join(row.get("DeviceIDs") or ()) or ("all" if row.get("Count") == -1 else str(row.get("Count")))
        flag = "--device" if row.get("Driver") == "cdi" else "--gpus"
        yield ("device", f"{flag} {ids}"), Item("passed", "DeviceRequests", row)


def _mounts(host: Mapping[str, Any]) -> Iterator[tuple[Change, Item]]:
    """Read-only, and without options that would relabel the user's files."""
    for row in host.get("Binds") or ():
        source, _, rest = row.partition(":")
        target = rest.partition(":")[0]
        yield ("option", f"--volume {target}"), Item(source, "Binds", f"{source}:{target}:ro")
    for row in host.get("Mounts") or ():
        if row.get("Type") in ("bind", "volume") and row.get("Source"):
            raw = {"Type": row["Type"], "Source": row["Source"], "Target": row["Target"], "ReadOnly": True}
            yield ("option", f"--volume {row['Target']}"), Item(row["Source"], "Mounts", raw)


def config_of(given: Iterable[Item], inherited: Iterable[str], command: Sequence[str]) -> dict[str, Any]:
    """What the engine makes a container of. `inherited` are variables of the image, which go unless they are given."""
    config: dict[str, Any] = {"Env": [], "Entrypoint": [command[0]], "Cmd": list(command[1:])}
    host: dict[str, Any] = {"LogConfig": _LOG}
    for _, key, raw in given:
        if key == "Env":
            config["Env"].append(raw)
        elif key in _OF_CONFIG:
            config[key] = raw
        elif key in _SCALARS:
            host[key] = raw
        elif key in _TABLES:
            host.setdefault(key, {}).update(raw)
        else:
            host.setdefault(key, []).append(raw)
    names = {row.partition("=")[0] for row in config["Env"]}
    config["Env"] += [name for name in inherited if name not in names]
    return {**config, "HostConfig": host, "Labels": {"doctor": "why"}, "Healthcheck": {"Test": ["NONE"]}}


@contextmanager
def tried(good: Box, bad: Box, tell: Callable[[str], None]) -> Iterator[BoxTrial]:
    """Raises InputError where the two are not of one engine of this machine."""
    if good.engine != bad.engine:
        raise InputError(f"{good.name} is of {good.engine} and {bad.name} of {bad.engine}: --prove needs one engine")
    with connected(good.engine) as api, tempfile.TemporaryDirectory(prefix="doctor-why-") as folder:
        if not api.where.is_local:
            raise InputError(f"{api.where.address}: --prove runs COMMAND here, and this engine is on another machine")
        layers = Layers(api, good.image, bad.image, Path(folder), tell)
        try:
            yield BoxTrial(api, good, bad, layers, Path(folder))
        finally:
            layers.close()


class BoxTrial:
    begins = ""
    as_it_is = " It ran in a fresh container: what was changed inside the running one since its start is not in it."
    remains = (
        "what --prove does not carry: health checks, ports, and whether mounts can be written to",
        "what both containers have, or was changed inside them since they started",
    )

    def __init__(self, api: Api, good: Box, bad: Box, layers: Layers, folder: Path) -> None:
        self.api, self.good, self.bad, self.layers, self.folder = api, good, bad, layers, folder
        self.store = Path(api.root() or folder)
        names = sorted({*good.items, *bad.items})
        differing = [name for name in names if good.items.get(name) != bad.items.get(name)]
        found = [*differing, *(("layer", str(n)) for n in range(1, layers.number + 1))]
        self.found: tuple[Change, ...] = tuple(sorted(found, key=_rank))
        self.identity = [self.found, good.image, bad.image, [self.values(change) for change in differing]]

    def values(self, change: Change) -> tuple[str | None, str | None]:
        if change[0] == "layer":
            return self.layers.made_by(int(change[1]))
        good, bad = (side.items.get(change) for side in (self.good, self.bad))
        return good and good.shown, bad and bad.shown

    def run(self, which: Sequence[Change], command: list[str], seconds: float) -> Ended:
        carried = dict(self.bad.items)
        for change in which:
            if change in self.good.items:
                carried[change] = self.good.items[change]
            else:
                carried.pop(change, None)
        numbers = {int(name) for kind, name in which if kind == "layer"}
        return self._in(self.layers.image(numbers), carried, command, seconds)

    def run_good(self, command: list[str], seconds: float) -> Ended:
        return self._in(self.good.image, self.good.items, command, seconds)

    def _in(self, image: str, given: Mapping[Change, Item], command: list[str], seconds: float) -> Ended:
        config = config_of(given.values(), self.layers.variables(), command)
        full = Disk(self.store)
        try:
            done = self.api.tried(image, config, deadline_s=seconds, halt=full)
        except (EngineError, NotThere) as error:  # a device that is not there, a program that the image lacks
            return Ended(None, why=str(error).rpartition("failed: ")[2][:200])
        full.check()
        if done is None:
            return Ended(None, why=f"no end within {seconds:g} s")
        return Ended(done.code, done.stdout + done.stderr)


def _rank(change: Change) -> tuple[int, bool, int, str]:
    unlikely = change[0] == "variable" and not is_of_the_stack("environment", change[1])
    return _ORDER.index(change[0]), unlikely, int(change[1]) if change[0] == "layer" else 0, change[1]
