"""The Snapshot: all that is known of one machine (or of what one text shows), and where each fact was read."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

from pydantic import Field

from doctor.facts.drivers import AmdgpuDriver, Install, Kfd, NvidiaDriver, Tool
from doctor.facts.engines import CdiFile, ContainerEngine, Toolkit
from doctor.facts.gemm import GemmProof, Measurement, Tuned
from doctor.facts.gpu import Gpu
from doctor.facts.host import (
    Account,
    Change,
    Container,
    DeviceNode,
    Holder,
    Host,
    Kernel,
    KernelLog,
    Os,
    PciDevice,
    RdmaDevice,
)
from doctor.facts.model import Model, Origin
from doctor.facts.origin import State
from doctor.facts.process import LostVariable, Process
from doctor.facts.python import (
    Build,
    GpuBinary,
    InstalledFault,
    Interpreter,
    LoadedLibrary,
    Package,
    PluginLibrary,
    Torch,
)

_STEP = re.compile(r"([a-z0-9_]+)(?:\[([^\]]*)\])?")


@lru_cache(4096)
def _steps(name: str) -> tuple[tuple[str, str | None], ...]:
    """The steps of a dotted name, each with the key of the member it asks for: `gpus[0000:c1:00.0].arch`."""
    return tuple((step[1], step[2]) for step in _STEP.finditer(name))


@lru_cache(4096)
def _plain(name: str) -> Callable[[Any], Any] | None:
    """Reads a dotted name without members in one call; None for any other."""
    return None if "[" in name else attrgetter(name)


class Symptom(Model):
    """An error text that was seen. `key` is its id in the catalogue of symptoms."""

    key: str
    text: str
    source: str

    @property
    def id(self) -> str:
        return self.key


class Snapshot(Model):
    """None means unknown, everywhere. Known absence is a value (`loaded` False, an empty tuple, `build` cpu)."""

    gpus: tuple[Gpu, ...] | None = None
    pci: tuple[PciDevice, ...] | None = None
    rdma: tuple[RdmaDevice, ...] | None = None
    nodes: tuple[DeviceNode, ...] | None = None
    """Device nodes that are there, and those that were looked for by name."""
    nvidia_driver: NvidiaDriver = NvidiaDriver()
    amdgpu_driver: AmdgpuDriver = AmdgpuDriver()
    kfd: Kfd = Kfd()
    rocm: tuple[Install, ...] | None = None
    cuda: tuple[Install, ...] | None = None
    tools: tuple[Tool, ...] | None = None
    """Compilers, converters, profilers and debuggers of both vendors."""
    loader: tuple[LoadedLibrary, ...] | None = None
    """Which copies of GPU libraries the loader gives a program that brings none itself."""
    torch: Torch = Torch()
    interpreter: Interpreter = Interpreter()
    process: Process = Process()
    packages: tuple[Package, ...] | None = None
    binaries: tuple[GpuBinary, ...] | None = None
    """Libraries of torch and its companions that carry GPU code or use torch's symbols."""
    libraries: tuple[LoadedLibrary, ...] | None = None
    """Names that torch's libraries ask the loader for, and what it takes for each."""
    plugin_libraries: tuple[PluginLibrary, ...] | None = None
    """What ONNX Runtime's providers and other frameworks' plugins need and would not find; () where nothing lacks."""
    installed_faults: tuple[InstalledFault, ...] | None = None
    """Of the packages of the GPU stack; () where every file that counts is there."""
    builds: tuple[Build, ...] | None = None
    """Of packages and libraries, where two machines are to be compared."""
    environment: Mapping[str, str] | None = None
    dead_paths: Mapping[str, str] | None = None
    """Variable → what is wrong with the file or folder that it names."""
    service_environment: Mapping[str, str] | None = None
    """What a text shows of the environment that a service was started with (its unit, or its own log)."""
    lost_variables: tuple[LostVariable, ...] | None = None
    """None where neither a script nor the processes above one were seen."""
    os: Os = Os()
    kernel: Kernel = Kernel()
    kernel_log: KernelLog = KernelLog()
    holders: tuple[Holder, ...] | None = None
    changes: tuple[Change, ...] | None = None
    """Of the last 30 days, newest first."""
    account: Account = Account()
    container: Container = Container()
    engines: tuple[ContainerEngine, ...] | None = None
    """Container engines that are installed here; () where none is."""
    toolkits: tuple[Toolkit, ...] | None = None
    cdi: tuple[CdiFile, ...] | None = None
    host: Host = Host()
    gemm_proofs: tuple[GemmProof, ...] | None = None
    """What `doctor blas --prove` saw run."""
    bench: tuple[Measurement, ...] | None = None
    """What `doctor bench` measured."""
    tuned: tuple[Tuned, ...] | None = None
    """Entries of TunableOp's results that were measured again."""
    symptoms: tuple[Symptom, ...] = ()
    origins: Mapping[str, Origin] = Field(default_factory=dict)

    def get(self, name: str) -> Any:
        """The value at a dotted name (`nvidia_driver.version`, `gpus[0000:c1:00.0].arch`); None where unknown."""
        plain = _plain(name)
        if plain is not None:
            try:
                return plain(self)
            except AttributeError:
                pass  # a table of names and values is on the way, None does, or there is no such fact
        here: Any = self
        for step, member in _steps(name):
            if here is None:
                return None
            if member is None:
                here = here.get(step) if isinstance(here, Mapping) else getattr(here, step)
                continue
            members = getattr(here, step)
            if isinstance(members, Mapping):
                here = members.get(member)
            else:
                here = next((m for m in members or () if m.key == member), None)
        return here

    def knows(self, name: str) -> bool:
        """Whether a fact, or `symptom:ID`, is known; `gpus[].errors.uncorrected`: whether that of one member is."""
        if name.startswith("symptom:"):
            return any(s.key == name[8:] for s in self.symptoms)
        listed, every, rest = name.partition("[]")
        if every:
            members = self.get(listed)
            if isinstance(members, Mapping) or "[" in rest:
                keys = members if isinstance(members, Mapping) else [m.key for m in members or ()]
                return any(self.knows(f"{listed}[{key}]{rest}") for key in keys)
            read = attrgetter(rest[1:] or "key")
            return any(read(member) is not None for member in members or ())
        return self.get(name) is not None

    def source(self, name: str) -> str:
        """Where a fact was read: its own origin, that of its first member, or that of the nearest enclosing name."""
        if name not in self.origins:
            name = next((n for n in self.origins if n.startswith((f"{name}[", f"{name}."))), name)
        while name:
            if name in self.origins:
                return self.origins[name].source
            name = name[: name.rfind("[")] if name.endswith("]") else name.rpartition(".")[0]
        return "unknown"

    def symptom(self, *ids: str) -> Symptom | None:
        return next((s for s in self.symptoms if s.key in ids), None)

    def of_vendor(self, vendor: str) -> tuple[Gpu, ...]:
        """The known GPUs of a vendor; () when none is known, which is not the same as none being there."""
        return tuple(g for g in self.gpus or () if g.vendor == vendor)

    def driver_known(self, vendor: str) -> bool:
        """Whether it was seen that the driver is loaded or not, or which module has each of the vendor's GPUs."""
        loaded = self.nvidia_driver.loaded if vendor == "nvidia" else self.amdgpu_driver.loaded
        if self.host.wsl and vendor == "nvidia" and self.nvidia_driver.nvml_gpus:
            return True  # the module is on the Windows side, and its library answers
        return loaded is not None or all(gpu.driver is not None for gpu in self.of_vendor(vendor))

    def unknown(self) -> Iterator[tuple[str, Origin]]:
        """Every fact that was asked for and is not known, with its origin."""
        for name, origin in self.origins.items():
            if origin.state not in (State.VALUE, State.ABSENT):
                yield name, origin
