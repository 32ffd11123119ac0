"""What support asks for beside what a check reads: outputs of both vendors' tools, packages, topology, engine state,
TunableOp's files. Each is asked in a child of its own with a deadline; no tool that wakes a sleeping GPU is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.bundle.pack import LeftOut
from doctor.system import child

if TYPE_CHECKING:
    from doctor.system.base import System

DEADLINE_S = 8.0
TEXT_LIMIT = 2 << 20
"""Characters of one text that are kept, its end where it is longer."""

_DOCKER = ("docker", "-H", "unix:///var/run/docker.sock")
_GPU_TOOLS = {
    "nvidia-smi.txt": ("nvidia-smi",),
    "nvidia-smi-q.txt": ("nvidia-smi", "-q"),
    "nvidia-smi-topo.txt": ("nvidia-smi", "topo", "-m"),
    "amd-smi-static.txt": ("amd-smi", "static"),
    "amd-smi-metric.txt": ("amd-smi", "metric"),
    "rocm-smi.txt": ("rocm-smi", "-a"),
    "rocm-smi-topology.txt": ("rocm-smi", "--showtopo"),
    "rocminfo.txt": ("rocminfo",),
}
_TOOLS = {
    "lspci.txt": ("lspci", "-nnk"),
    "lspci-tree.txt": ("lspci", "-tvnn"),
    "lscpu.txt": ("lscpu",),
    "numactl.txt": ("numactl", "-H"),
    "packages-deb.txt": ("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${db:Status-Abbrev}\n"),
    "packages-rpm.txt": ("rpm", "-qa"),
    "dkms.txt": ("dkms", "status"),
    "docker-version.txt": (*_DOCKER, "version"),
    "docker-info.txt": (*_DOCKER, "info"),
    "podman-version.txt": ("podman", "--version"),
}
_TUNABLE = ("PYTORCH_TUNABLEOP_FILENAME", "HIPBLASLT_TUNING_FILE", "HIPBLASLT_TUNING_OVERRIDE_FILE")
_OF_PROCESS = ("environ", "cmdline", "limits", "cgroup", "status", "maps")

Text = tuple[str, str, str]
"""Name in the bundle, origin, content."""


def wanted(system: System, *, since: str | None, include: Sequence[str], pid: int | None) -> dict[str, tuple[str, ...]]:
    """What is asked: name in the bundle → argv, or `file` and a path."""
    asked_for: dict[str, tuple[str, ...]] = dict(_TOOLS)
    if not any(_asleep(system)):
        asked_for.update(_GPU_TOOLS)
    when = ("--since", since) if since else ("-b",)
    asked_for["kernel.txt"] = ("journalctl", "-k", *when, "--no-pager", "-o", "short-iso")
    asked_for["dmesg.txt"] = ("dmesg",)
    environment = system.environ().value or {}
    tunable = [environment[name] for name in _TUNABLE if environment.get(name, "").startswith("/")]
    for number, path in enumerate((*tunable, *include), 1):
        asked_for[f"file-{number}.txt"] = ("file", path.lstrip("/"))
    if pid is not None:
        asked_for.update({f"process-{name}.txt": ("file", f"proc/{pid}/{name}") for name in _OF_PROCESS})
    return asked_for


def collect(system: System, asked_for: dict[str, tuple[str, ...]]) -> tuple[list[Text], list[LeftOut]]:
    """All at once; what hangs costs its deadline and is listed as left out."""
    found: list[Text] = []
    out: list[LeftOut] = []

    def on_message(name: str, message: list[str]) -> None:
        text, why = message
        origin = _origin(asked_for[name])
        if why:
            out.append(LeftOut(origin, why))
        else:
            found.append((name, origin, text))

    outcomes = child.run_side_by_side(
        [child.Job(name, _work(system, argv)) for name, argv in asked_for.items()], DEADLINE_S, on_message
    )
    out += [LeftOut(_origin(asked_for[o.name]), o.reason or o.state) for o in outcomes if o.state != "finished"]
    return sorted(found), out


def _origin(argv: Sequence[str]) -> str:
    return f"file:/{argv[1]}" if argv[0] == "file" else "command:" + " ".join(argv)


def _work(system: System, argv: tuple[str, ...]) -> Callable[[child.Send], None]:
    def work(send: child.Send) -> None:
        if argv[0] == "file":
            reading = system.read_text(argv[1], limit=16 << 20)
            text, why = reading.value or "", reading.detail or reading.state.value
        else:
            ran = system.run(argv, deadline_s=DEADLINE_S - 1)
            output = ran.value
            text = "" if output is None else output.stdout + (f"\n[stderr]\n{output.stderr}" if output.stderr else "")
            why = (ran.detail or ran.state.value) if output is None else ("" if text.strip() else "printed nothing")
            reading = ran.named(ran.source)  # type: ignore[assignment]
        send([text[-TEXT_LIMIT:], "" if reading.known and text.strip() else why or "empty"])

    return work


def _asleep(system: System) -> Iterator[bool]:
    for driver in ("amdgpu", "nvidia"):
        for name in (system.list_dir(f"sys/bus/pci/drivers/{driver}").value or ())[:256]:
            if ":" in name:
                status = system.read_text(f"sys/bus/pci/devices/{name}/power/runtime_status").value
                yield bool(status and status.startswith("suspend"))
