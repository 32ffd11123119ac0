"""Pairs of machines with a planted cause, written down before `doctor why` was asked, among a hundred and more harmless
differences. `cause` are the differences that a person would name; each of `first_three` is right, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from doctor.facts import Snapshot

_NVIDIA = {"vendor": "nvidia", "arch": "sm_90", "driver": "nvidia", "name": "NVIDIA H100", "memory_bytes": 80 << 30}
_AMD = {"vendor": "amd", "arch": "gfx942", "driver": "amdgpu", "name": "AMD Instinct MI300X", "memory_bytes": 192 << 30}
_NODES = [{"key": f"/dev/{name}", "kind": name, "openable": True} for name in ("nvidiactl", "nvidia-uvm")]


@dataclass(frozen=True)
class Pair:
    """`good` and `bad` are what they have in place of the common facts; `variables` and `packages` are added."""

    name: str
    cause: frozenset[str]
    good: dict[str, Any] = field(default_factory=dict)
    bad: dict[str, Any] = field(default_factory=dict)
    vendor: str = "nvidia"
    suspects: tuple[str, ...] = ()

    def sides(self) -> tuple[Snapshot, Snapshot]:
        return _machine(self.vendor, 1, self.good), _machine(self.vendor, 2, self.bad)


def _machine(vendor: str, number: int, given: dict[str, Any]) -> Snapshot:
    gpu = _NVIDIA if vendor == "nvidia" else _AMD
    address = f"0000:{number}1:00.0"
    build = {"build": "cuda", "cuda": "13.0"} if vendor == "nvidia" else {"build": "rocm", "hip": "7.0"}
    version = "2.9.1+cu130" if vendor == "nvidia" else "2.9.1+rocm7.0"
    packages = {"torch": version, **{f"helper-{n}": f"{number}.{n}" for n in range(60)}, **given.get("packages", {})}
    facts: dict[str, Any] = {
        "gpus": [{**gpu, "key": address, "pci_address": address, "uuid": f"GPU-{number}"}],
        "torch": {"installed": True, "version": version, **build},
        "os": {"id": "ubuntu", "version": "24.04"},
        "kernel": {"release": f"6.8.0-{60 + number}-generic"},
        "host": {
            "memory_bytes": (1 << 38) + number,
            "uptime_s": 1000 * number,
            "shm_bytes": 1 << 36,
            "nofile": 1 << 20,
        },
        "account": {"uid": 1000 * number, "groups": {"video": 44, "render": 990 + number}, "member_of": ["video"]},
        **{key: value for key, value in given.items() if key not in ("variables", "packages", "host")},
    }
    if vendor == "nvidia":
        driver = ("580.95.05", "580.105.08")[number - 1]
        facts.setdefault("nvidia_driver", {"loaded": True, "version": driver, "cuda_version": "13.0"})
    else:
        facts.setdefault("amdgpu_driver", {"loaded": True, "version": "6.14.14", "source": "dkms"})
        facts.setdefault("rocm", [{"version": "7.0.2", "path": "/opt/rocm", "key": "/opt/rocm"}])
    facts["host"] |= given.get("host", {})
    noise = {f"APP_SETTING_{n}": f"{number}{n}" for n in range(60)}
    place = {"HOSTNAME": f"node{number}", "PWD": f"/home/u{number}", "TERM": f"xterm-{number}", "SHLVL": str(number)}
    facts["environment"] = {**noise, **place, "PATH": f"/home/u{number}/bin:/usr/bin", **given.get("variables", {})}
    facts["packages"] = [{"name": name, "version": held} for name, held in packages.items() if held]
    return Snapshot.model_validate(facts)


def _variable(name: str, bad: str | None, good: str | None = None, **more: Any) -> Pair:
    there, here = ({"variables": {} if value is None else {name: value}} for value in (good, bad))
    return Pair(name.lower(), frozenset({f"environment[{name}]"}), there, here, **more)


def _package(name: str, good: str, bad: str | None) -> Pair:
    return Pair(name, frozenset({f"packages[{name}]"}), {"packages": {name: good}}, {"packages": {name: bad}})


def _fact(name: str, good: Any, bad: Any, cause: str = "", **more: Any) -> Pair:
    return Pair(cause or name, frozenset({cause or name}), {name: good}, {name: bad}, **more)


_COPY = {"by": "LD_LIBRARY_PATH", "key": "libcuda.so.1"}
_OLD = {"loaded": True, "version": "535.183.01", "cuda_version": "12.2"}
_BOTH = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE")

PAIRS = (
    _fact("nvidia_driver", {"loaded": True, "version": "580.95.05", "cuda_version": "13.0"}, _OLD),
    _variable("CUDA_VISIBLE_DEVICES", "7"),
    _variable("CUDA_VISIBLE_DEVICES", "", "0"),
    _variable("LD_LIBRARY_PATH", "/usr/local/cuda-11.8/lib64"),
    _variable("LD_PRELOAD", "/opt/trace/libtrace.so"),
    _variable("PYTHONPATH", "/opt/old/lib/python3.9/site-packages"),
    _variable("NCCL_SOCKET_IFNAME", "eth9", "eth0"),
    _variable("HSA_OVERRIDE_GFX_VERSION", "10.3.0", vendor="amd"),
    _variable("HIP_VISIBLE_DEVICES", "3", vendor="amd"),
    _variable("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1"),
    _package("numpy", "1.26.4", "2.3.0"),
    _package("nvidia-cublas", "13.1.0.3", "13.0.0.19"),
    _package("triton", "3.5.1", None),
    _fact(
        "loader",
        [{**_COPY, "path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}],
        [{**_COPY, "path": "/usr/local/cuda/compat/libcuda.so.1"}],
    ),
    _fact("nodes", _NODES, [_NODES[0], {**_NODES[1], "openable": False, "open_error": "EPERM"}]),
    _fact(
        "host", {"shm_bytes": 1 << 36}, {"shm_bytes": 64 << 20}, "host.shm_bytes", suspects=("container-shm-too-small",)
    ),
    _fact("host", {"nofile": 1 << 20}, {"nofile": 256}, "host.nofile"),
    _fact(
        "rocm",
        [{"version": "7.0.2", "path": "/opt/rocm", "key": "/opt/rocm"}],
        [{"version": "6.1.0", "path": "/opt/rocm", "key": "/opt/rocm"}],
        vendor="amd",
    ),
    _fact("container", {"inside": True, "engine": "docker"}, {"inside": True, "engine": "podman"}),
    Pair(
        "two flags of one rule",
        frozenset(f"environment[{name}]" for name in _BOTH),
        {},
        {"variables": dict.fromkeys(_BOTH, "1")},
    ),
    Pair(
        "a flag that both sides have, and another that one has",
        frozenset({"environment[NCCL_SHM_DISABLE]"}),
        {"variables": {"NCCL_P2P_DISABLE": "1"}},
        {"variables": dict.fromkeys(_BOTH, "1")},
    ),
    Pair(
        "torch and not the driver, which is old enough to suspect",
        frozenset({"packages[torch]"}),
        {
            "packages": {"torch": "2.7.1+cu126"},
            "torch": {"installed": True, "version": "2.7.1+cu126", "build": "cuda", "cuda": "12.6"},
            "nvidia_driver": {"loaded": True, "version": "560.35.03", "cuda_version": "12.6"},
        },
        {"nvidia_driver": {"loaded": True, "version": "570.86.15", "cuda_version": "12.8"}},
    ),
)
