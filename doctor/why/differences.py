"""Two snapshots -> what differs, in parts that can be carried from one to the other: a variable, a package, a driver.

What differs on any two machines (ids, addresses, times, temperatures, memory in use) is no difference, and a version
that is written in another way (7.2, 7.2.0) is none either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doctor.facts import Snapshot
from doctor.facts.model import Origin
from doctor.facts.python import Build
from doctor.findings import Layer
from doctor.redaction.tally import MASK

_WHOLE = {
    "nvidia_driver": Layer.DRIVER,
    "amdgpu_driver": Layer.DRIVER,
    "kfd": Layer.DRIVER,
    "kernel": Layer.DRIVER,
    "kernel_log": Layer.DRIVER,
    "gpus": Layer.GPU,
    "pci": Layer.GPU,
    "rdma": Layer.DEVICES,
    "nodes": Layer.DEVICES,
    "account": Layer.DEVICES,
    "os": Layer.LIBRARIES,
    "rocm": Layer.LIBRARIES,
    "cuda": Layer.LIBRARIES,
    "loader": Layer.LIBRARIES,
    "libraries": Layer.LIBRARIES,
    "plugin_libraries": Layer.LIBRARIES,
    "tools": Layer.LIBRARIES,
    "interpreter": Layer.TORCH,
    "binaries": Layer.TORCH,
    "installed_faults": Layer.TORCH,
    "container": Layer.CONTAINER,
    "engines": Layer.CONTAINER,
    "toolkits": Layer.CONTAINER,
    "cdi": Layer.CONTAINER,
}
"""Facts that are carried whole, and the layer that they belong to."""
_PACKAGES = "packages"
_OF_MACHINES = {
    *("uuid", "serial", "pid", "uptime_s", "age_s", "boot_s", "since", "time", "clock", "seconds", "recent"),
    *("memory_used_bytes", "memory_available_bytes", "temperature_c", "power_w", "index", "numa_node", "render_node"),
    *("pci_address", "address", "slot", "inode", "key", "location", "path", "prefix", "smi_seconds", "site_packages"),
    *("requires", "chosen_by", "wanted_by", "intended", "minor", "devnum", "uid", "gid", "gids", "user"),
    "groups",
}
"""Fields that differ on any two machines, or say where something lies rather than what it is."""
_CHOICES = {"loader", "libraries", "plugin_libraries", "engines", "toolkits"}
"""Facts whose keys are names, and whose paths are what the loader chose: those say what it is."""
_SITE = re.compile(r"^.*/(?:site|dist)-packages/")
PSEUDONYM = re.compile(r"\b((?:user|host|site|domain|name|path)-)(?:[0-9a-f]{8}\b|\*)")
"""Two keys of redaction give one name two stand-ins."""
_BUILDER = re.compile(r"\(\S+@\S+\) ?")
"""Who built a kernel, in its version."""
_ZEROS = re.compile(r"^(v?\d+(?:\.\d+)*?)(?:\.0)+$")


@dataclass(frozen=True)
class Difference:
    """`name` is `environment[NAME]`, `packages[NAME]` or a fact; values are None where the side lacks it."""

    name: str
    layer: Layer
    good: Any = field(compare=False)
    bad: Any = field(compare=False)
    modules: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    """What a package is imported as."""


def differences(good: Snapshot, bad: Snapshot, *, same_names: bool = False) -> tuple[Difference, ...]:
    """Of what is known of both sides: what one side did not read is no difference. `same_names`: both were redacted
    with one key, so that two stand-ins are two names."""
    good, bad = (side if same_names else _without_names(side) for side in (good, bad))
    return (*_variables(good, bad), *_packages(good, bad), *_facts(*_by_build(good, bad)), *_libraries(good, bad))


def _without_names(side: Snapshot) -> Snapshot:
    text = PSEUDONYM.sub(r"\1*", side.model_dump_json(exclude={"origins"}))
    return Snapshot.model_validate_json(text).model_copy(update={"origins": side.origins})


def _by_build(good: Snapshot, bad: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Where both loaders take the same file, in whatever folder it lies, both take that of BAD."""
    mine, theirs = _builds(bad, "library:"), _builds(good, "library:")
    same = {name for name in mine if mine[name].digest == theirs.get(name, mine[name]).digest and name in theirs}
    if not same:
        return good, bad
    update: dict[str, Any] = {}
    for fact in ("loader", "libraries"):
        rows, others = getattr(good, fact), {row.key: row for row in getattr(bad, fact) or ()}
        if rows is not None:
            update[fact] = tuple(others.get(row.key, row) if row.key in same else row for row in rows)
    return good.model_copy(update=update), bad


def _builds(side: Snapshot, kind: str) -> dict[str, Build]:
    return {row.key.removeprefix(kind): row for row in side.builds or () if row.key.startswith(kind)}


def _libraries(good: Snapshot, bad: Snapshot) -> Iterable[Difference]:
    """Another file under the same path: its path says nothing of it."""
    theirs, mine = _builds(good, "library:"), _builds(bad, "library:")
    for name in sorted(theirs.keys() & mine.keys()):
        one, other = theirs[name], mine[name]
        if one.digest != other.digest and one.path == other.path:
            words = (f"{side.path} (build {side.digest[:8]})" for side in (one, other))
            yield Difference(f"builds[{name}]", Layer.LIBRARIES, *words)


def carried(good: Snapshot, bad: Snapshot, which: Collection[Difference]) -> Snapshot:
    """BAD with the facts of those differences as GOOD has them, and with where they were read."""
    update: dict[str, Any] = {}
    variables, packages = dict(bad.environment or {}), {p.name: p for p in bad.packages or ()}
    theirs = {p.name: p for p in good.packages or ()}
    for one in which:
        head, _, member = one.name.partition("[")
        member = member.removesuffix("]")
        if head == "environment":
            _put(variables, member, (good.environment or {}).get(member))
            update["environment"] = variables
        elif head == _PACKAGES:
            _put(packages, member, theirs.get(member))
            update[_PACKAGES] = tuple(packages.values())
            if member == "torch":
                update["torch"] = good.torch
            update.update(_belonging(good, bad, member, update))
        elif head.startswith("host."):
            host = update.get("host", bad.host)
            update["host"] = host.model_copy(update={head[5:]: getattr(good.host, head[5:])})
        else:
            update[head] = getattr(good, head)
    update["origins"] = _origins(good, bad, {stem(one.name) for one in which})
    return bad.model_copy(update=update)


def stem(name: str) -> str:
    """`environment` of `environment[NAME]`, `host` of `host.iommu`."""
    return name.split(".")[0].split("[")[0]


def _origins(good: Snapshot, bad: Snapshot, stems: set[str]) -> dict[str, Origin]:
    """Where it was read, or why it could not be, goes along: rules look at that too."""
    kept = {name: origin for name, origin in bad.origins.items() if stem(name) not in stems}
    return kept | {name: origin for name, origin in good.origins.items() if stem(name) in stems}


def _belonging(good: Snapshot, bad: Snapshot, package: str, update: Mapping[str, Any]) -> dict[str, Any]:
    """What was read out of a package's files goes where the package goes."""
    made: dict[str, Any] = {}
    for name in ("binaries", "installed_faults", "plugin_libraries"):
        mine, theirs = update.get(name, getattr(bad, name)), getattr(good, name)
        if mine is not None and theirs is not None:
            kept = tuple(row for row in mine if row.package != package)
            made[name] = (*kept, *(row for row in theirs if row.package == package))
    return made


def _put(rows: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


def _variables(good: Snapshot, bad: Snapshot) -> Iterable[Difference]:
    if good.environment is None or bad.environment is None:
        return
    digests = [{name: row.digest for name, row in _builds(side, "variable:").items()} for side in (good, bad)]
    for name in sorted({*good.environment, *bad.environment}):
        one, other = good.environment.get(name), bad.environment.get(name)
        if _meaning(one) != _meaning(other):
            yield Difference(f"environment[{name}]", Layer.FLAGS, one, other)
        elif one and MASK in one and digests[0].get(name) != digests[1].get(name):
            yield Difference(f"environment[{name}]", Layer.FLAGS, one, f"{other} (another one)")


def _packages(good: Snapshot, bad: Snapshot) -> Iterable[Difference]:
    if good.packages is None or bad.packages is None:
        return
    sides = [{p.name: p.version for p in side.packages or ()} for side in (good, bad)]
    builds = [_builds(side, "package:") for side in (good, bad)]
    for name in sorted({*sides[0], *sides[1]}):
        values = [side.get(name) for side in sides]
        made = [side[name] for side in builds if name in side]
        if _meaning(values[0]) == _meaning(values[1]):
            if len({row.digest for row in made}) < 2:
                continue
            values = [f"{value} (build {row.digest[:8]})" for value, row in zip(values, made, strict=True)]
        modules = dict.fromkeys(word for row in made for word in row.modules or ())
        yield Difference(f"{_PACKAGES}[{name}]", Layer.TORCH, *values, modules=tuple(modules))


def _facts(good: Snapshot, bad: Snapshot) -> Iterable[Difference]:
    for name, layer in _WHOLE.items():
        yield from _fact(name, layer, getattr(good, name), getattr(bad, name))
    for name in type(good.host).model_fields:
        if name not in _OF_MACHINES:
            yield from _fact(f"host.{name}", Layer.DRIVER, getattr(good.host, name), getattr(bad.host, name))


def _fact(name: str, layer: Layer, good: Any, bad: Any) -> Iterable[Difference]:
    dropped = _OF_MACHINES - {"key", "path"} if name in _CHOICES else _OF_MACHINES
    one, other = _meaning(good, dropped), _meaning(bad, dropped)
    if isinstance(one, list) and isinstance(other, list):
        one, other = _alike(one, other)
    if one in (None, {}) or other in (None, {}):  # not read, on one side
        return
    if isinstance(one, dict) and isinstance(other, dict):
        differing = [k for k in one if k in other and one[k] != other[k]]
        if differing:
            sides = ({k: getattr(side, k, one.get(k)) for k in differing} for side in (good, bad))
            yield Difference(name, layer, *sides)
    elif one != other:
        yield Difference(name, layer, one, other)


def _alike(one: list[Any], other: list[Any]) -> tuple[list[Any], list[Any]]:
    """Members with the fields that both sides know: one has NVML, the other has not."""
    both = {k for row in one if isinstance(row, dict) for k in row} & {
        k for row in other if isinstance(row, dict) for k in row
    }
    if not both:
        return one, other
    first, second = ([{k: v for k, v in row.items() if k in both} for row in side] for side in (one, other))
    return sorted(first, key=repr), sorted(second, key=repr)


def _meaning(value: Any, dropped: Collection[str] = _OF_MACHINES) -> Any:
    """The value without what differs on any two machines; members of lists in an order of their own."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(k): _meaning(v, dropped) for k, v in value.items() if k not in dropped and v is not None}
    if isinstance(value, (list, tuple)):
        return sorted((_meaning(member, dropped) for member in value), key=repr)
    if not isinstance(value, str):
        return value
    value = _BUILDER.sub("", value)
    return _ZEROS.sub(r"\1", value if dropped is _OF_MACHINES else _SITE.sub("", value))
