"""GOOD and BAD, A and B, as they are named on the command line: a bundle, a capture, a JSON report, a Python, a
container, a process, or this machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from doctor.bundle.open import is_bundle, open_bundle, parsed
from doctor.bundle.pack import mark_of
from doctor.bundle.record import private_report
from doctor.engine import registry
from doctor.engine.judge import judge
from doctor.engine.registry import Probe
from doctor.engine.run import Options, examine
from doctor.engine.target import of_process
from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.redaction.pseudonyms import Site
from doctor.report.formats.json import as_data
from doctor.report.key import local_key
from doctor.system.asked import LIMIT_FACTS
from doctor.system.capture import CaptureSystem
from doctor.system.engine_api import EngineError, connected
from doctor.system.engine_sockets import Name
from doctor.system.given import read_given_bytes
from doctor.system.live import LiveSystem

THIS = ("this", "-", ".")
"""Words for this machine. A file or folder that is called so is named with its folder: `./this`."""
_LIMIT = 64 << 20


def report(name: str, site: Site | None = None, more: Sequence[Probe] = ()) -> Report:
    """Its report, redacted: of what is live, with the pseudonyms that its bundle would have, so that redaction makes no
    difference. Raises InputError."""
    probes = (*registry.probes(), *more)
    if name in THIS:
        return private_report(LiveSystem(), Options(probes=probes), site)
    pid, container = process_of(name), name[3:] if name.startswith("in:") else None
    if pid is not None or container:
        return _redacted(_inside(pid, container, more), site)
    if name.startswith("image:"):
        return _redacted(_of_image(name, more), site)
    path = Path(name)
    if not path.exists():
        raise InputError(
            f"{name}: no such file or folder; `this` is this machine, `in:NAME` a container, `image:NAME`, `pid:N`"
        )
    if python := python_of(path):
        return private_report(LiveSystem(), Options(python=str(python), match_profile=False, probes=probes), site)
    if path.is_dir():
        return private_report(CaptureSystem(path), Options(probes=probes), site)
    if is_bundle(path):
        return examine(open_bundle(path).system(), Options(probes=probes))
    data = parsed(name, "report", read_given_bytes(path, _LIMIT))
    try:
        made = Report.model_validate(data)
    except ValueError as error:  # pydantic's is one
        schema = str(data.get("schema"))[:40]
        raise InputError(f"{name}: not a report of this version's `doctor check --format json` ({schema})") from error
    return made if made.redacted else _redacted(made, site)


def key_mark(name: str, site: Site | None) -> str | None:
    """Two sides with one mark have the same pseudonyms; None where nobody knows the key."""
    path = Path(name)
    if name not in THIS and path.exists() and is_bundle(path):
        mark = open_bundle(path).manifest.get("key")
        return mark if isinstance(mark, str) else None
    return mark_of((site and site.key) or local_key()) if is_live(name) else None


def is_live(name: str) -> bool:
    """Whether it is looked at now, rather than read from a file."""
    return name in THIS or name.startswith(("in:", "image:", "pid:")) or bool(python_of(Path(name)))


def _inside(pid: int | None, container: str | None, more: Sequence[Probe]) -> Report:
    system = LiveSystem()
    try:
        options = of_process(system, Options(match_profile=False, probes=more), pid, container)
    except InputError as error:
        raise InputError(str(error).removeprefix("--in ")) from None
    return examine(system, options)


_OF_A_RUN = ("nodes", "account", "process", "holders")


def _of_image(name: str, more: Sequence[Probe]) -> Report:
    """What lies in an image, seen in a container in which nothing runs. Devices, limits and other options are of a run,
    which an image says nothing of."""
    engine: Name = "podman" if name.startswith("image:podman:") else "docker"
    reference = name.removeprefix("image:").removeprefix(f"{engine}:")
    with connected(engine) as api:
        if api.image(reference) is None:
            raise InputError(f"{name}: {engine} has no such image here; pull it first")
        try:
            with api.sleeping(reference) as container:
                machine = _inside(None, f"{engine}:{container}", more).snapshot
        except EngineError as error:
            raise InputError(f"{name}: can't be looked into: {error}") from error
    empty = Snapshot()
    update = {
        **{field: getattr(empty, field) for field in _OF_A_RUN},
        "container": empty.container.model_copy(update={"inside": True}),
        "host": machine.host.model_copy(update=dict.fromkeys(("shm_bytes", *LIMIT_FACTS))),
        "origins": {n: o for n, o in machine.origins.items() if not n.startswith(_OF_A_RUN)},
    }
    return judge(machine.model_copy(update=update), Knowledge(), source=name)


def _redacted(made: Report, site: Site | None) -> Report:
    return Report.model_validate(as_data(made, site=site)).model_copy(update={"redacted": True})


def process_of(name: str) -> int | None:
    """N of `pid:N`; InputError where it is no number."""
    if not name.startswith("pid:"):
        return None
    number = name[4:]
    if not (number.isdecimal() and 0 < int(number) < 1 << 31):
        raise InputError(f"{name[:40]}: not a process number")
    return int(number)


def python_of(path: Path) -> Path | None:
    """`bin/python` of an environment's folder, or the interpreter that is named itself."""
    if path.is_dir():
        found = next((p for p in (path / "bin/python3", path / "bin/python") if p.exists()), None)
        return found.absolute() if found else None
    return path.absolute() if path.name.startswith("python") and os.access(path, os.X_OK) else None
