"""A process or a container, seen from its host: what both tell is joined into one machine.

From inside come the device nodes, the account, the environment, the Python packages and the limits; from the host the
GPUs, their drivers and the kernel. So it is known whose fault it is, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from doctor.engine.registry import Probe, probe_function, probe_names
from doctor.facts.sheet import FactSheet
from doctor.system.asked import LIMIT_FACTS
from doctor.system.base import System

_INSIDE = ("device_nodes", "account", "container", "environment", "python_env", "installs", "gpu_tools")
_OF_PROGRAMS = (
    *("host.shm_bytes", *(f"host.{name}" for name in LIMIT_FACTS)),
    *("host.glibc", "host.gcc", "host.gcc_runtimes", "host.gcc_version", "host.libstdcxx_headers"),
)
"""Facts of the probe `host` that differ inside: limits, the C library, the compiler. Never the host's own."""
_LIBRARIES = ("nvidia_driver.libraries", "nvidia_driver.user_version", "nvidia_driver.libcuda")
"""Facts of the probe `nvidia` that are of the root in which a program looks for them."""
_ANSWERS = ("nvidia_driver.nvml_", "nvidia_driver.smi_")
"""What NVML and nvidia-smi answer on the host, which says nothing of what they answer inside."""
_MOUNTS = "proc/self/ns/mnt"
_GIVES = {"device_nodes": ("nodes",), "container": ("container.inside",)}


def probes(inside: System, pid: int, extra: FactSheet | None = None, python: str | None = None) -> tuple[Probe, ...]:
    """For `examine` on the host's System. `extra` is what the engine says of the container; `python` the interpreter
    that the process runs."""
    made = [_joined(name, inside, python) for name in _INSIDE]
    made.append(Probe("process", lambda system, sheet: probe_function("process")(system, sheet, pid)))
    made.append(Probe("process_loader", lambda _system, sheet: probe_function("process_loader")(inside, sheet)))
    made.append(Probe("ways", lambda system, sheet: _ways(system, sheet, pid)))
    if extra is not None:
        # Whose container it is, the engine knows best; its variables are those of the start, not of the process.
        made.insert(0, Probe("engine", lambda _system, sheet: _put(extra, sheet, _of_container)))
        made.append(Probe("start", lambda _system, sheet: _put(extra, sheet, lambda fact: not _of_container(fact))))
    made.append(Probe("limits", _only(inside, "host", _OF_PROGRAMS)))
    made.append(Probe("libraries", lambda _system, sheet: _driver_libraries(inside, sheet)))
    others = [name for name in probe_names() if name not in _INSIDE]
    made += [_of_host(name, inside) for name in others]
    return tuple(made)


def bound(probes: Sequence[Probe], inside: System, python: str | None) -> Iterator[Probe]:
    """The same probes, of the process."""
    for probe in probes:
        run = partial(probe.run, python=python) if python and probe.name == "builds" else probe.run
        yield replace(probe, run=partial(_of_process, run, inside))


def _of_process(run: Callable[..., None], inside: System, _host: System, sheet: FactSheet) -> None:
    run(inside, sheet)


def _ways(system: System, sheet: FactSheet, pid: int) -> None:
    from doctor.engine.ways import probe

    probe(system, sheet, pid)


def _driver_libraries(inside: System, sheet: FactSheet) -> None:
    from doctor.probes.nvidia.nvidia import libraries

    libraries(inside, sheet)


def _joined(name: str, inside: System, python: str | None) -> Probe:
    def run(_system: System, sheet: FactSheet) -> None:
        if name == "python_env" and python:
            probe_function(name)(inside, sheet, python=python)
        else:
            probe_function(name)(inside, sheet)

    return Probe(name, run, _GIVES.get(name, ()))


def _of_host(name: str, inside: System) -> Probe:
    def run(system: System, sheet: FactSheet) -> None:
        if name not in ("host", "nvidia"):
            probe_function(name)(system, sheet)
            return
        own = FactSheet()
        probe_function(name)(system, own)
        apart = inside.link(_MOUNTS).value != system.link(_MOUNTS).value
        left = (*_OF_PROGRAMS, *_LIBRARIES, *(_ANSWERS if apart else ()))
        _put(own, sheet, lambda fact: not fact.startswith(left))

    return Probe(name, run)


def _only(inside: System, name: str, facts: tuple[str, ...]) -> Callable[[System, FactSheet], None]:
    def run(_system: System, sheet: FactSheet) -> None:
        own = FactSheet()
        probe_function(name)(inside, own)
        _put(own, sheet, lambda fact: fact in facts)

    return run


def _put(own: FactSheet, sheet: FactSheet, wanted: Callable[[str], bool]) -> None:
    for entry in own:
        if wanted(entry.name):
            sheet._add(entry)


def _of_container(fact: str) -> bool:
    return fact.startswith("container.")


def interpreter(inside: System) -> str | None:
    """What the process was started as, where that is the path of a Python: in a virtual environment its link."""
    argv = inside.read_text("proc/self/cmdline", limit=1 << 16).value or ""
    first = argv.partition("\0")[0]
    return first if first.startswith("/") and "python" in first.rpartition("/")[2] else None
