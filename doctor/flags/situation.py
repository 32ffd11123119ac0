"""What conditions on flags are asked against: variables, and what is known of GPUs, versions and the job.

Everything may be unknown; None then. An environment is `partial` where a file shows some variables of a program and
others may come from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.versions import Dotted

_COMPONENTS = {
    "nccl": ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"),
    "te": ("transformer-engine", "transformer_engine"),
    "flash-attn": ("flash-attn", "flash_attn"),
    "triton": ("triton", "pytorch-triton-rocm", "triton-rocm"),
    "jax": ("jax", "jaxlib"),
    "aiter": ("aiter", "amd-aiter"),
    "megatron": ("megatron-core", "megatron-bridge"),
}
"""Packages that carry a component, where its name is not the package's."""

_BRINGS = re.compile(r"\+rocm(?:\d{1,2}\.\d{1,2}$|sdk)")
"""Builds of pytorch.org and of ROCm's wheels: their libraries are their own. Others take those of the system."""


@dataclass(frozen=True)
class Situation:
    env: Mapping[str, str]
    machine: Snapshot = field(default_factory=Snapshot)
    partial: bool = False
    counted: bool = True
    """False: the GPUs stand for their kind, and how many there are is not known."""
    stated: Mapping[str, bool] = field(default_factory=dict)
    """What the user says of the job: `serving`, `training`, `production`, `build` …"""

    @cached_property
    def vendors(self) -> frozenset[str] | None:
        """Vendors of the GPUs; of the build of torch where no GPU is known."""
        found = {str(g.vendor) for g in self.machine.gpus or () if g.vendor in ("amd", "nvidia")}
        if found:
            return frozenset(found)
        built = {"rocm": "amd", "cuda": "nvidia"}.get(self.machine.torch.build or "")
        return frozenset({built}) if built else None

    @cached_property
    def archs(self) -> tuple[str, ...] | None:
        """`gfx942`, `sm_90`; without features. Integrated GPUs beside others are left out."""
        gpus = [g for g in self.machine.gpus or () if g.arch]
        chosen = [g for g in gpus if not g.integrated] or gpus
        return tuple(dict.fromkeys(str(g.arch).split(":")[0] for g in chosen)) or None

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        return tuple(dict.fromkeys(g.name for g in self.machine.gpus or () if g.name)) or None

    @property
    def count(self) -> int | None:
        return len(self.machine.gpus) if self.machine.gpus is not None and self.counted else None

    def version(self, component: str) -> str | None:
        """Of what is at hand; ROCm's is torch's own, else that of the installation."""
        machine = self.machine
        if component == "rocm":
            installed = (i.version for i in machine.rocm or () if i.version)
            return machine.torch.rocm or next(installed, None)
        if component == "torch" and machine.torch.version:
            return machine.torch.version
        if component == "driver":
            return machine.nvidia_driver.version
        if component in ("rccl", "rocblas", "hipblaslt"):
            return self._of_rocm(component)
        wanted = _COMPONENTS.get(component, (component,))
        return next((p.version for p in self._packages(wanted)), None)

    def _of_rocm(self, component: str) -> str | None:
        """Of the library that torch takes: its own copy, else that of the ROCm that it was built for."""
        brought = self.machine.torch.bundled
        if brought and component in brought:
            return brought[component]
        if brought is None and _BRINGS.search(self.machine.torch.version or ""):
            return None
        installs = [i for i in self.machine.rocm or () if i.version and component in (i.components or {})]
        wanted = release(self.version("rocm"))[:2]
        return next((str((i.components or {})[component]) for i in installs if release(i.version)[:2] == wanted), None)

    def has(self, component: str) -> bool | None:
        """Whether a Python package is installed; None where the packages are not known."""
        if component == "torch" and self.machine.torch.installed is not None:
            return self.machine.torch.installed
        if component == "torch" and self.machine.torch.version:
            return True
        if self.machine.packages is None:
            return None
        return any(True for _ in self._packages(_COMPONENTS.get(component, (component,))))

    def _packages(self, names: Iterable[str]) -> list[Package]:
        wanted = {n.replace("_", "-") for n in names}
        return [p for p in self.machine.packages or () if p.name.lower().replace("_", "-") in wanted]

    def context(self, word: str) -> bool | None:
        """Whether the job is of that kind: stated, or seen in facts and variables; None where it can't be known."""
        if word in self.stated:
            return self.stated[word]
        seen = _SEEN.get(word)
        return seen(self) if seen else None


def _container(s: Situation) -> bool | None:
    return s.machine.container.inside


def _number(s: Situation, *names: str) -> int | None:
    found = [s.env[n] for n in names if n in s.env]
    return int(found[0]) if found and re.fullmatch(r"\d{1,6}", found[0]) else None


def _multi_node(s: Situation) -> bool | None:
    nodes = _number(s, "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "NNODES", "PET_NNODES")
    if nodes is not None:
        return nodes > 1
    world, local = _number(s, "WORLD_SIZE"), _number(s, "LOCAL_WORLD_SIZE")
    return world > local if world and local else None


def _torchrun(s: Situation) -> bool | None:
    return True if any(n.startswith("TORCHELASTIC_") for n in s.env) else None if s.partial else False


def _ray(s: Situation) -> bool | None:
    return True if any(n in s.env for n in ("RAY_ADDRESS", "RAY_JOB_ID", "RAY_RAYLET_PID")) else None


def _ranks(s: Situation) -> bool | None:
    world = _number(s, "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
    return world > 1 if world is not None else None


def _apptainer(s: Situation) -> bool | None:
    named = any(n in s.env for n in ("APPTAINER_NAME", "APPTAINER_CONTAINER", "SINGULARITY_NAME"))
    return True if named else None


def _rccl(s: Situation) -> bool | None:
    """Collectives between AMD's GPUs: several of them in one job."""
    if s.vendors is None or "amd" not in s.vendors:
        return None if s.vendors is None else False
    ranks = _ranks(s)
    return True if ranks else s.stated.get("training") if (s.count or 0) > 1 else None


_SEEN: dict[str, Callable[[Situation], bool | None]] = {
    "container": _container,
    "apptainer": _apptainer,
    "wsl": lambda s: s.machine.host.wsl,
    "multi_node": _multi_node,
    "torchrun": _torchrun,
    "ray": _ray,
    "ranks": _ranks,
    "rccl": _rccl,
    "windows": lambda s: s.machine.os.id == "windows" if s.machine.os.id else None,
}


def release(text: str | None) -> tuple[int, ...]:
    """Numbers of a version for comparing; () where it is unknown."""
    return Dotted(text).numbers if text else ()
