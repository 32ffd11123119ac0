"""A machine that notes which unknown facts a check looks at.

A check that found nothing clears the machine only if it looked at no unknown fact: then it would look at the same facts
and find the same, whatever the others are. So no rule has to list what it needs to be clear, and none can forget it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from doctor.facts.model import WATCH, Model
from doctor.facts.origin import State
from doctor.facts.snapshot import Snapshot

M = TypeVar("M", bound=Model)
_APART = frozenset(("origins", "symptoms"))
TEXT_ONLY = frozenset(
    {
        "amdgpu_driver.release", "container.cdi_driver", "container.cgroup_driver", "container.default_runtime",
        "container.engine_text", "container.engine_version", "container.image", "container.no_cgroups",
        "container.rootless", "container.run_args", "container.runtimes", "container.toolkit_installed",
        "container.toolkit_version", "host.job_asks_gpus", "service_environment", "torch.available",
        "torch.tunableop_validators",
    }
)  # fmt: skip
"""Facts that only a text or an engine's answer tells. Like an error text that was not seen, they never keep a rule from
being clear."""

_OF_VENDOR = {
    "amd": frozenset(
        {
            "visible_memory_bytes", "gtt_bytes", "integrated", "compute_partition", "memory_partition",
            "performance_level", "firmware_bundle", "index.hip", "index.kfd", "errors.bad_pages",
        }
    ),
    "nvidia": frozenset(
        {
            "mig_mode", "mig_pending", "fabric_state", "fabric_status", "compute_mode", "persistence_mode", "vgpu",
            "index.cuda",
            "errors.remap_pending", "errors.remap_failed", "errors.retired_pending", "errors.uncorrected_lifetime",
            "errors.remapped_correctable", "errors.remapped_uncorrectable", "device_node",
        }
    ),
}  # fmt: skip
"""Facts of a GPU that another vendor's GPU does not have."""


def watched(machine: Snapshot, seen: dict[str, None]) -> Snapshot:
    """A copy that adds the name of each unknown fact that is asked for to `seen`, in the words of the origins
    (`gpus[0000:c1:00.0].arch`). A fact that is known not to be there is not unknown."""
    absent = frozenset(name for name, origin in machine.origins.items() if origin.state is State.ABSENT)
    return _watch(machine, "", seen, absent | TEXT_ONLY | _never_built(machine))


def _never_built(machine: Snapshot) -> frozenset[str]:
    """The kernels that DKMS built a driver for, where DKMS is known not to have that driver."""
    if machine.kernel.dkms is None:
        return frozenset()
    names = {module.key.partition("/")[0] for module in machine.kernel.dkms}
    return frozenset(f"{driver}_driver.built_for" for driver in ("nvidia", "amdgpu") if driver not in names)


def pattern_of(name: str) -> str:
    """`gpus[].arch` for `gpus[0000:c1:00.0].arch`."""
    return _MEMBER.sub("[]", name)


_MEMBER = re.compile(r"\[[^\]]*\]")


def _watch(
    model: M, prefix: str, seen: dict[str, None], absent: frozenset[str], lacks: frozenset[str] = frozenset()
) -> M:
    """`lacks`: fields, as seen from `model`, that it can't have. Its parts are copied when they are asked for."""
    lacks = lacks | _lacking(model)
    values = model.__dict__

    def asked(held: dict[str, Any], name: str) -> Any:
        if name not in values:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}")
        value = values[name]
        if value is None:
            seen[prefix + name] = None
            return None
        if isinstance(value, Model):
            inner = frozenset(n[len(name) + 1 :] for n in lacks if n.startswith(f"{name}."))
            held[name] = _watch(value, f"{prefix}{name}.", seen, absent, inner)
        else:
            keys = [getattr(one, "key", place) for place, one in enumerate(value)]
            parts = zip(keys, value, strict=True)
            held[name] = tuple(_watch(one, f"{prefix}{name}[{key}].", seen, absent) for key, one in parts)
        return held[name]

    held = {
        name: value
        for name, value in values.items()
        if (not _has_parts(name, value) if value is not None else name in lacks or prefix + name in absent)
    }
    held[WATCH] = asked
    made = type(model).__new__(type(model))
    for slot, content in (("dict__", held), ("pydantic_fields_set__", model.model_fields_set)):
        object.__setattr__(made, f"__{slot}", content)
    for slot in ("extra", "private"):
        object.__setattr__(made, f"__pydantic_{slot}__", None)
    return made


def _has_parts(name: str, value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], Model) and name not in _APART
    return isinstance(value, Model)


def _lacking(model: Model) -> frozenset[str]:
    """Fields of it whose None is knowledge: its other fields say that there is nothing to tell."""
    values = model.__dict__
    kind = type(model).__name__
    if kind == "Gpu":
        return _gpu(values)
    rule = _LACKING.get(kind)
    return frozenset(rule(values)) if rule else frozenset()


def _gpu(values: Mapping[str, Any]) -> frozenset[str]:
    if not values["vendor"]:
        return frozenset()
    others = (names for vendor, names in _OF_VENDOR.items() if vendor != values["vendor"])
    whole = values["compute_partition"] == "SPX" or values["mig_mode"] == "disabled"
    return frozenset({"partitions"} if whole else ()).union(*others)


def _nvidia_driver(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Where NVML answers there is no error of it, nor of nvidia-smi, which asks it; a module that is not loaded has no
    version."""
    without = ("version", "flavour") if values["loaded"] is False else ()
    return (*without, "nvml_error", "smi_error") if values["nvml_gpus"] is not None else without


def _torch(values: Mapping[str, Any]) -> Any:
    if values["installed"] is False:
        return values
    if values["build"] is None:
        return ()
    return {"cuda": ("hip", "rocm"), "rocm": ("cuda", "ptx")}.get(values["build"], ("cuda", "hip", "rocm", "ptx"))


_OF_GPU_NODES = ("gfx", "unique_id", "hive_id", "pci_address", "xgmi_peers", "render_minor")
_LACKING: dict[str, Any] = {
    "Torch": _torch,
    "Container": lambda values: values if values["inside"] is False else (),
    "DeviceNode": lambda values: ("open_error",) if values["openable"] else (),
    "Kfd": lambda values: ("nodes",) if values["present"] is False else (),
    "KfdNode": lambda values: _OF_GPU_NODES if values["simd_count"] == 0 else (),
    "NvidiaDriver": _nvidia_driver,
    "AmdgpuDriver": lambda values: ("smi_error",) if values["smi_seconds"] is not None else (),
    "ContainerEngine": lambda values: ("config_error",) if values["runtimes"] is not None else (),
    "Toolkit": lambda values: ("config_error",) if values["no_cgroups"] is not None else (),
    "LoadedLibrary": lambda _: ("intended", "missing_versions", "missing_symbols", "release", "same_build"),
    "GpuBinary": lambda values: ("missing_symbols", "cxx11_abi") if values["package"] == "torch" else (),
    "Package": lambda values: ("requires_python",) if values["requires"] is not None else (),
    "PciDevice": lambda values: ("acs_redirect",) if values["kind"] not in (None, "other") else (),
    "Process": lambda values: values if values["pid"] is None else (),
}
