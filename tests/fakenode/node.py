"""A described machine, and how to run programs in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from doctor.knowledge import Knowledge
from tests.fakenode import layout
from tests.fakenode.boards import Board, board
from tests.fakenode.layout_amd import parts_of
from tests.fakenode.machine import RENDER, VIDEO, Command, DeviceNode, Gpu, Machine, Nvml, Process
from tests.fakenode.run import Job, Result, run_all
from tests.fakenode.systems import DISTRIBUTIONS

Fault = Callable[[Machine], None]
"""Changes a healthy machine into a broken one. Faults are applied in order."""

_FIRST_BUS, _BUS_STEP, _INTEGRATED_BUS = 0x05, 0x10, 0xC5
_NVIDIA_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")
_WSL_FOLDER = "usr/lib/wsl/lib"


@dataclass(frozen=True)
class Node:
    """What a machine is. Everything has a default, so that a description says what matters.

    `board` and `count` are the GPUs, `beside` further boards (an APU beside a card). The driver is `driver` of NVIDIA's
    branch and `flavour` (open, proprietary), or `amdgpu`, the version of the DKMS module (None: the kernel's own).
    `rocm` and `cuda` are the installed releases, the last one linked at /opt/rocm or /usr/local/cuda. `container` is
    docker, podman or kubernetes where the machine is seen from inside one.
    """

    board: str | None = None
    count: int = 1
    beside: tuple[str, ...] = ()
    distribution: str = "ubuntu-22.04"
    kernel: str | None = None
    driver: str = "580.95.05"
    flavour: str = "open"
    amdgpu: str | None = "6.12.12"
    rocm: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    partition: str = "SPX"
    container: str | None = None
    wsl: bool = False
    arch: str = "x86_64"
    environment: dict[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def machine(self) -> Machine:
        """The state with all faults applied."""
        made = _healthy(self)
        for fault in self.faults:
            fault(made)
        return made

    @contextmanager
    def laid_out(self, folder: Path | None = None) -> Iterator[LaidOut]:
        """The machine below a folder: a temporary one, or `folder`, which must be empty and is then kept."""
        machine = self.machine()
        if folder is not None:
            layout.write(machine, folder)
            yield LaidOut(folder, machine)
            return
        with tempfile.TemporaryDirectory(prefix="fakenode-", dir=_in_memory()) as made:
            layout.write(machine, Path(made))
            yield LaidOut(Path(made), machine)


@dataclass(frozen=True)
class LaidOut:
    """A machine that stands below `root`, and may be looked at with `doctor check --root` as well."""

    root: Path
    machine: Machine

    def job(self, argv: Sequence[str], *, timeout_s: float = 60) -> Job:
        """One run for `run_all`; `doctor` as the first word is this checkout's program."""
        nodes = tuple((f"/dev/{path}", n.mode, n.uid, n.gid) for path, n in self.machine.nodes.items())
        return Job(
            self.root,
            tuple(argv),
            self.machine.environment,
            nodes,
            self.machine.uid,
            tuple(self.machine.gids),
            timeout_s,
        )

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Result:
        """Live: the machine's root is `/`, its nodes are in /dev. Refused where the kernel allows no namespace."""
        return run_all([self.job(argv, timeout_s=timeout_s)])[0]


def _in_memory() -> str | None:
    """A folder in memory, where making thousands of small files is quick; None where programs may not be run there."""
    folder = "/dev/shm"
    usable = os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return folder if usable else None


def _healthy(node: Node) -> Machine:
    kernel = node.kernel or DISTRIBUTIONS[node.distribution].kernel
    gpus = _gpus(node)
    made = Machine(
        node.distribution, kernel, gpus, rocm=node.rocm, cuda=node.cuda, container=node.container, wsl=node.wsl,
        arch=node.arch, environment=dict(node.environment),
    )  # fmt: skip
    if made.container:
        made.shm = "size=33554432k"
    if made.of("nvidia"):
        _with_nvidia(node, made)
    if made.of("amd"):
        _with_amd(node, made)
    return made


def _gpus(node: Node) -> list[Gpu]:
    boards: list[Board] = [board(node.board)] * node.count if node.board else []
    boards += [board(name) for name in node.beside]
    numbers = {"nvidia": 0, "amd": 0}
    gpus = []
    for place, one in enumerate(boards):
        bus = _INTEGRATED_BUS if one.integrated else _FIRST_BUS + _BUS_STEP * place
        driver = "nvidia" if one.vendor == "nvidia" else "amdgpu"
        partition = node.partition if one.xccs > 1 else "SPX"
        gpus.append(Gpu(one, numbers[one.vendor], f"0000:{bus:02x}:00.0", driver, partition))
        numbers[one.vendor] += 1
    return gpus


def _with_nvidia(node: Node, made: Machine) -> None:
    cuda = Knowledge().driver_serves_cuda(node.driver) or "13.0"
    major, minor = cuda.split(".")[:2]
    made.driver, made.flavour = node.driver, node.flavour
    folder = _WSL_FOLDER if node.wsl else DISTRIBUTIONS[node.distribution].libraries
    made.nvml = Nvml(version=node.driver, cuda=int(major) * 1000 + int(minor) * 10, folder=folder)
    if node.wsl:
        for gpu in made.gpus:
            gpu.driver = None
        made.nodes["dxg"] = DeviceNode()
        return
    made.modules |= dict.fromkeys(_NVIDIA_MODULES, node.driver)
    if not node.container:
        made.module_on_disk = node.driver
    for gpu in made.of("nvidia"):
        made.nodes[f"nvidia{gpu.number}"] = DeviceNode()
    for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"):
        made.nodes[name] = DeviceNode()
    switch = made.of("nvidia")[0].board.nvswitch
    if switch and len(made.of("nvidia")) == 8:
        made.nvswitches = switch
        made.nodes |= {f"nvidia-nvswitch{n}": DeviceNode() for n in range(switch[1])}
        made.nodes["nvidia-nvswitchctl"] = DeviceNode()
        if not node.container:
            made.processes[812] = Process("nv-fabricmanager")
            made.commands["nv-fabricmanager"] = Command({"--version": f"Fabric Manager version is : {node.driver}\n"})
            made.files["usr/lib/systemd/system/nvidia-fabricmanager.service"] = "[Service]\n"
    if not node.container:
        made.processes[811] = Process("nvidia-persistenced", opens=("/dev/nvidiactl", "/dev/nvidia0"))


def _with_amd(node: Node, made: Machine) -> None:
    cards = made.of("amd")
    made.modules["amdgpu"] = node.amdgpu or ""
    made.params["amdgpu/noretry"] = "-1"
    made.nodes["kfd"] = DeviceNode(0o660, 0, RENDER)
    minor = 128
    for place, gpu in enumerate(cards):
        made.nodes[f"dri/card{place}"] = DeviceNode(0o660, 0, VIDEO)
        for _ in range(parts_of(gpu)):
            made.nodes[f"dri/renderD{minor}"] = DeviceNode(0o660, 0, RENDER)
            minor += 1
