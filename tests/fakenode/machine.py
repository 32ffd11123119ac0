"""A machine that a description makes, before it is written down: plain state that faults change.

Faults take a `Machine` and change it. What a fault does not touch stays as a healthy machine has it. All files are
written from this state, so sysfs, proc, the device nodes and NVML's answers agree unless a fault makes them differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fakenode.boards import Board

ROOT, VIDEO, RENDER, USER = 0, 44, 109, 1000
NOW_S = 123_400
"""Seconds since boot, when everything is asked."""


@dataclass
class Gpu:
    """One PCI GPU. `driver` is the bound kernel driver; None for none."""

    board: Board
    number: int
    """Among the GPUs of its vendor, in PCI order."""
    address: str
    driver: str | None
    partition: str = "SPX"
    sysfs: dict[str, str | None] = field(default_factory=dict)
    """Files of its PCI device that differ from a healthy one's; None for one that is missing."""
    bridge: dict[str, str | None] = field(default_factory=dict)
    """The same of the root port above it."""
    nvml: dict[str, str] = field(default_factory=dict)
    """Answers of NVML that differ (nvml.c names the keys)."""
    in_kfd: bool = True
    kfd: dict[str, int] = field(default_factory=dict)
    """Numbers of its KFD nodes that differ."""

    @property
    def bus(self) -> int:
        return int(self.address[5:7], 16)


@dataclass
class DeviceNode:
    mode: int = 0o666
    uid: int = ROOT
    gid: int = ROOT


@dataclass
class Process:
    name: str
    parent: int = 1
    opens: tuple[str, ...] = ()
    """Files that it holds open."""


@dataclass
class Command:
    """A program: what it answers to its arguments joined by blanks; `*` for all others."""

    answers: dict[str, str]
    code: int = 0
    errors: str = ""
    """Printed to standard error, with the exit code, where no answer fits."""
    folder: str = "usr/bin"
    hangs: bool = False


@dataclass
class Nvml:
    """The stand-in for NVML. `init` is the code that initialisation answers (0, or that of an NVML_ERROR)."""

    init: int = 0
    version: str = ""
    """Of the library; faults make it differ from the module's."""
    cuda: int = 13000
    missing: tuple[str, ...] = ()
    """Functions that this library does not have, as older ones."""
    folder: str = "usr/lib/x86_64-linux-gnu"


@dataclass
class Machine:
    """Paths have no leading slash."""

    distribution: str
    kernel: str
    gpus: list[Gpu]
    driver: str = ""
    """Version of NVIDIA's kernel module."""
    flavour: str = "open"
    amdgpu: str | None = None
    """Version of the DKMS module; None for the kernel's own."""
    cmdline: list[str] = field(default_factory=lambda: ["ro", "quiet"])
    modules: dict[str, str] = field(default_factory=dict)
    """Loaded modules → version; "" for one of the kernel's own."""
    module_on_disk: str | None = None
    """Version of the nvidia.ko that the running kernel would load."""
    params: dict[str, str] = field(default_factory=dict)
    """MODULE/NAME → value."""
    nodes: dict[str, DeviceNode] = field(default_factory=dict)
    """Path below dev → its node."""
    nvml: Nvml | None = None
    commands: dict[str, Command] = field(default_factory=dict)
    kernel_log: list[str] = field(default_factory=list)
    processes: dict[int, Process] = field(default_factory=dict)
    container: str | None = None
    shm: str = "size=264000000k"
    environment: dict[str, str] = field(default_factory=dict)
    uid: int = ROOT
    gids: list[int] = field(default_factory=lambda: [ROOT])
    files: dict[str, str | bytes] = field(default_factory=dict)
    """Files written last, over whatever is there."""
    links: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    """Files and folders taken away at the end."""
    rocm: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    wsl: bool = False
    arch: str = "x86_64"
    nvswitches: tuple[str, int] | None = None
    iommu: str = "identity"
    """Type of the IOMMU's groups; "" for no IOMMU."""
    memory_kib: int = 528_000_000
    cpu_flags: str = "fpu lm sse sse2 ssse3 sse4_1 sse4_2 cx16 lahf_lm popcnt avx avx2 bmi1 bmi2 f16c fma movbe abm"

    def of(self, vendor: str) -> list[Gpu]:
        return [g for g in self.gpus if g.board.vendor == vendor]

    def log(self, text: str, at: float = 100.0) -> None:
        """A line of the kernel's log, seconds after boot."""
        self.kernel_log.append(f"[{at:12.6f}] {text}")
