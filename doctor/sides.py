"""GOOD and BAD, A and B, as they are named on the command line: a bundle, a capture, a JSON report, a Python, a
container, a process, or this machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from doctor.bundle.open import is_bundle, open_bundle, parsed
from doctor.bundle.record import private_report
from doctor.engine.run import Options, examine
from doctor.engine.target import of_process
from doctor.errors import InputError
from doctor.findings import Report
from doctor.redaction.site import Site
from doctor.report.formats.json import as_data
from doctor.system.capture import CaptureSystem
from doctor.system.given import read_given_bytes
from doctor.system.live import LiveSystem

THIS = ("this", "-", ".")
"""Words for this machine. A file or folder that is called so is named with its folder: `./this`."""
_LIMIT = 64 << 20


def report(name: str, site: Site | None = None) -> Report:
    """Its report, redacted: of what is live, with the pseudonyms that its bundle would have, so that redaction makes no
    difference. Raises InputError."""
    if name in THIS:
        return private_report(LiveSystem(), Options(), site)
    pid, container = process_of(name), name[3:] if name.startswith("in:") else None
    if pid is not None or container:
        system = LiveSystem()
        return _redacted(examine(system, of_process(system, Options(match_profile=False), pid, container)), site)
    path = Path(name)
    if not path.exists():
        raise InputError(f"{name}: no such file or folder; `this` is this machine, `in:NAME` a container, `pid:N`")
    if python := python_of(path):
        return private_report(LiveSystem(), Options(python=str(python), match_profile=False), site)
    if path.is_dir():
        return private_report(CaptureSystem(path), Options(), site)
    if is_bundle(path):
        return examine(open_bundle(path).system(), Options())
    data = parsed(name, "report", read_given_bytes(path, _LIMIT))
    try:
        made = Report.model_validate(data)
    except ValueError as error:  # pydantic's is one
        fault = " ".join(str(error).split()[:20])
        raise InputError(f"{name}: not a doctor.report/2: {fault[:160]}") from None
    return made if made.redacted else _redacted(made, site)


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
