"""Text of a CDI spec (/etc/cdi/*.json or *.yaml) -> which devices it names and which nodes and files each brings.

>>> spec = read('{"cdiVersion": "0.5.0", "kind": "amd.com/gpu", "devices": [{"name": "0", "containerEdits":'
...             ' {"deviceNodes": [{"path": "/dev/kfd"}]}}]}')
>>> spec.kind, spec.devices["0"].nodes
('amd.com/gpu', ('/dev/kfd',))

The format: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doctor.errors import ParserError
from doctor.parsers.lib import yaml_depth

MAX_TEXT = 4 << 20
MAX_DEVICES = 4096
_PATH = re.compile(r"/[^\x00-\x1f\x7f]{1,4095}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}")
_KIND = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}/[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_VERSION = re.compile(r"v?(\d{1,3}\.\d{1,3}\.\d{1,3})")


@dataclass(frozen=True)
class Edits:
    """What one device, or all of a spec, brings into a container. Paths are those of the host."""

    nodes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    gids: tuple[int, ...] = ()
    """additionalGids, of spec 0.7.0 and later."""
    owners: tuple[tuple[str, int], ...] = ()
    """(path on the host, gid) of the nodes that get a gid of their own in the container."""
    majors: tuple[tuple[str, int], ...] = ()
    """(path on the host, major number) of the nodes that the spec numbers."""


@dataclass(frozen=True)
class CdiSpec:
    """`version` is the spec's cdiVersion; an engine that knows only older ones refuses the whole file."""

    version: str
    kind: str
    """`nvidia.com/gpu`, `amd.com/gpu`."""
    devices: Mapping[str, Edits]
    common: Edits

    def needs(self) -> tuple[str, ...]:
        """Every path of the host that the spec names."""
        edits = (self.common, *self.devices.values())
        return tuple(sorted({path for one in edits for path in (*one.nodes, *one.mounts)}))

    def majors(self) -> dict[str, int]:
        """Major numbers of device nodes, by the path on the host; of the first device that gives one."""
        edits = (self.common, *self.devices.values())
        return dict(pair for one in reversed(edits) for pair in one.majors)


def read(text: str) -> CdiSpec:
    """Raises ParserError where it is no CDI spec. Names and paths that are none of the format's are left out."""
    table = _table(text)
    version = _VERSION.fullmatch(str(table.get("cdiVersion", "")))
    kind = table.get("kind")
    if not version or not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ParserError("no cdiVersion and kind: not a CDI spec")
    devices = {
        str(row["name"]): _edits(row.get("containerEdits"))
        for row in _rows(table.get("devices"))
        if _NAME.fullmatch(str(row.get("name", "")))
    }
    return CdiSpec(version[1], kind, devices, _edits(table.get("containerEdits")))


def _table(text: str) -> Mapping[str, Any]:
    if len(text) > MAX_TEXT:
        raise ParserError(f"{len(text)} characters; a CDI spec has at most {MAX_TEXT}")
    try:
        table = json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise ParserError(f"neither JSON nor YAML: {str(error)[:80]}") from None
    if not isinstance(table, dict):
        raise ParserError("not a CDI spec: no mapping")
    return table


def _yaml(text: str) -> Any:
    import yaml

    if "cdiVersion" not in text:
        raise ValueError("no cdiVersion")
    if re.search(r"(?m)^[^#\n]{0,200}[:\-\[,]\s{0,4}[&*][A-Za-z0-9]", text):
        raise ValueError("anchors and aliases are not of a CDI spec")  # they multiply
    yaml_depth.check(text)
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  a safe loader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _rows(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value[:MAX_DEVICES] if isinstance(row, dict))


def _edits(value: Any) -> Edits:
    if not isinstance(value, dict):
        return Edits()
    gids = value.get("additionalGids")
    return Edits(
        nodes=_paths(value.get("deviceNodes"), "hostPath", "path"),
        owners=tuple(_numbers(value.get("deviceNodes"), "gid")),
        majors=tuple(_numbers(value.get("deviceNodes"), "major")),
        mounts=_paths(value.get("mounts"), "hostPath"),
        gids=tuple(g for g in gids[:64] if _is_gid(g)) if isinstance(gids, list) else (),
    )


def _numbers(nodes: Any, key: str) -> Iterator[tuple[str, int]]:
    for row in _rows(nodes):
        for path in _paths([row], "hostPath", "path"):
            if _is_gid(row.get(key)):
                yield path, row[key]


def _is_gid(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 32


def _paths(value: Any, *keys: str) -> tuple[str, ...]:
    found = (next((row[k] for k in keys if isinstance(row.get(k), str)), "") for row in _rows(value))
    return tuple(path for path in found if _PATH.fullmatch(path))
