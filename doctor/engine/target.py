"""`--pid` and `--in`: which process is examined, and how, from its host."""

from __future__ import annotations

from dataclasses import replace

from doctor.engine import containers, inside
from doctor.engine.run import Options
from doctor.errors import InputError
from doctor.probes.lib.python_choice import choose
from doctor.system.base import System
from doctor.system.process import ProcessSystem


def of_process(system: System, options: Options, pid: int | None, container: str | None) -> Options:
    """The same with probes that look into that process or container, and into this host for the rest; those that it
    has already look into the process too."""
    found = containers.find(system, container) if container else None
    number = found.pid if found else pid or 0
    process = ProcessSystem(number, found.opener if found else None)
    if options.python:
        has_python(process, options.python, f"the process {number}")
    python = options.python or inside.interpreter(process)
    facts = found.facts if found else None
    if found and facts is not None:
        facts.put("process.container", f"{found.engine}:{found.name}", f"command:{found.engine} inspect")
    more = inside.bound(options.probes or (), process, python)
    source = f"{found.engine} container {found.name}" if found else f"process {number}"
    probes = (*inside.probes(process, number, facts, python), *more)
    return replace(options, probes=probes, python=None, source=source)  # they have the interpreter already


def has_python(system: System, named: str, where: str) -> None:
    """InputError where the tree, capture or process has no such interpreter or environment."""
    if choose(system, system.environ().value or {}, named) is None:
        raise InputError(f"--python {named[:200]}: {where} has no such interpreter or environment")
