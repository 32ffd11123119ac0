"""`docker inspect` or `podman inspect` (JSON) -> how the container was started, in `docker run` options.

>>> sheet = read('[{"Id": "ab12", "State": {"Pid": 77}, "HostConfig": {"Devices": [{"PathOnHost": "/dev/kfd"}]}}]')
>>> sheet.get("container.run_args")
['-d', '--device=/dev/kfd']
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.printable import clean

PASTED = ({"trust": 260, "words": ('"hostconfig"',), "call": "read_pasted"},)

MAX_TEXT = 8 << 20
_ARGS_LIMIT = 200
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


def read(text: str, source: str = "text") -> FactSheet:
    """The first container of the list. Raises ParserError where there is none."""
    return facts(first(text), source)


def facts(table: Mapping[str, Any], source: str) -> FactSheet:
    sheet = FactSheet()
    config, host = _dict(table.get("Config")), _dict(table.get("HostConfig"))
    words = ["-d", *(clean(word, 400) for word in _words(host, config))][:_ARGS_LIMIT]
    sheet.put("container.run_args", words, source)
    image = config.get("Image") or table.get("ImageName")
    if isinstance(image, str):
        sheet.put("container.image", clean(image, 300), source)
    for pair in _list(config.get("Env")):
        name, equals, value = str(pair).partition("=")
        if equals and _ENV_NAME.fullmatch(name):
            sheet.put(f"environment[{name}]", clean(value, 4000), source)
    shm = host.get("ShmSize")
    if type(shm) is int and 0 < shm < 1 << 50 and host.get("IpcMode") != "host":
        sheet.put("host.shm_bytes", shm, source)
    return sheet


def first(text: str) -> Mapping[str, Any]:
    """The first container that the JSON holds."""
    if len(text) > MAX_TEXT or not text.lstrip().startswith(("[", "{")):
        raise ParserError("no `docker inspect` in the text")
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        raise ParserError("`docker inspect` was cut or is no JSON") from None
    table = table[0] if isinstance(table, list) and table else table
    if not isinstance(table, dict) or "HostConfig" not in table:
        raise ParserError("no container in the JSON: HostConfig is missing")
    return table


def _words(host: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    for device in _list(host.get("Devices")):
        path = _dict(device).get("PathOnHost")
        if isinstance(path, str):
            yield f"--device={path}"
    yield from _requests(host)
    yield from (f"--group-add={group}" for group in _list(host.get("GroupAdd")))
    yield from (f"--cap-add={cap}" for cap in _list(host.get("CapAdd")))
    yield from (f"--security-opt={option}" for option in _list(host.get("SecurityOpt")))
    yield from (f"--device-cgroup-rule={rule}" for rule in _list(host.get("DeviceCgroupRules")))
    yield from (f"-v={bind}" for bind in _list(host.get("Binds")) if str(bind).startswith("/dev"))
    for limit in _list(host.get("Ulimits")):
        row = _dict(limit)
        yield f"--ulimit={row.get('Name')}={row.get('Soft')}:{row.get('Hard')}"
    if host.get("Privileged") is True:
        yield "--privileged"
    if str(host.get("IpcMode", "")) == "host":
        yield "--ipc=host"
    if str(host.get("Runtime") or "runc") not in ("runc", "crun", "oci", "io.containerd.runc.v2"):
        yield f"--runtime={host['Runtime']}"
    if type(host.get("ShmSize")) is int:
        yield f"--shm-size={host['ShmSize']}"
    if config.get("User"):
        yield f"--user={config['User']}"


def _requests(host: Mapping[str, Any]) -> Iterator[str]:
    """`--gpus` and CDI names."""
    for request in _list(host.get("DeviceRequests")):
        row = _dict(request)
        ids = [str(one) for one in _list(row.get("DeviceIDs"))]
        if row.get("Driver") == "cdi":
            yield from (f"--device={name}" for name in ids)
        elif ids:
            yield f"--gpus=device={','.join(ids)}"
        else:
            yield f"--gpus={'all' if row.get('Count') == -1 else row.get('Count')}"


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value[:_ARGS_LIMIT] if isinstance(value, list) else []


def read_pasted(text: str, source: str = "text") -> FactSheet:
    """As `read`, with the line of the text that each fact is on."""
    begin = re.search(r"^[ \t]{0,20}[\[{]", text, re.MULTILINE)
    start = begin.start() if begin else 0
    placed = FactSheet()
    for entry in read(text[start:], source):
        name = entry.name.partition("[")[2].rstrip("]")
        word = f'"{name}=' if name else {"container.image": '"Image"', "host.shm_bytes": '"ShmSize"'}.get(entry.name)
        place = text.find(word or '"HostConfig"', start)
        placed.put(entry.name, entry.value, f"{source}:{text.count(chr(10), 0, max(place, 0)) + 1}", entry.detail)
    return placed
