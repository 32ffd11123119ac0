"""Situations written as a line: `HIP_VISIBLE_DEVICES=0 gpu=2xMI300X rocm=7.2 torch=2.13 ctx:training container`."""

from __future__ import annotations

import shlex
from typing import Any

from doctor.facts.gpu import Gpu
from doctor.facts.host import RdmaDevice
from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.flags.situation import Situation
from doctor.knowledge.names import NamedGpu, gpu_by_name

_SUPERCHIPS = {"GB200": "sm_100", "GB300": "sm_103", "R100": "sm_107"}


def of(line: str, *, partial: bool = False) -> Situation:
    env: dict[str, str] = {}
    stated: dict[str, bool] = {}
    facts: dict[str, Any] = {
        "libraries": {},
        "kfd": [],
        "driver": {},
        "gpus": [],
        "packages": [],
        "rdma": [],
        "torch": {},
        "host": {},
        "container": {},
        "os": {},
    }
    for word in shlex.split(line):
        name, sign, value = word.partition("=")
        if name.startswith("ctx:"):
            stated[name[4:].lstrip("!")] = "!" not in name
        elif name[:1].isupper() and sign:
            env[name] = value
        else:
            _fact(facts, name, value)
    return Situation(env, _machine(facts), partial=partial, stated=stated)


def _fact(facts: dict[str, Any], name: str, value: str) -> None:
    kind, _, rest = name.partition(":")
    if name == "gpu":
        count, _, model = value.partition("x") if value[:1].isdigit() else ("1", "", value)
        facts["gpus"] += [model] * int(count)
    elif name == "gpus":
        facts["none"] = True
    elif name in ("torch", "rocm"):
        facts["torch"]["version" if name == "torch" else "rocm"] = value
    elif kind == "pkg":
        facts["packages"].append((rest, value, None))
    elif kind == "user":
        facts["packages"].append((rest, value, "/home/u/.local/lib/python3.12/site-packages"))
    elif name == "driver":
        facts["driver"] = {"version": value}
    elif name == "cores":
        facts["kfd"].append({"key": f"c{len(facts['kfd'])}", "cpu_cores": int(value)})
    elif name == "link":
        peers = (1,) if value == "xgmi" else ()
        facts["kfd"] += [{"key": f"g{n}", "simd_count": 304, "xgmi_peers": peers} for n in range(2)]
    elif kind == "lib":
        facts["libraries"][rest] = value
    elif kind == "results":
        facts["torch"]["tunableop_validators"] = {rest: value}
    elif kind == "run":
        facts["container"] |= {
            "inside": True,
            "run_args": (name.removeprefix("run:") + ("=" + value if value else ""),),
        }
    elif name == "container":
        facts["container"].setdefault("inside", True)
    elif name == "rdma":
        facts["rdma"].append(value)
    elif name == "net":
        facts["host"]["interfaces"] = (value,)
    elif name in ("wsl", "cloud"):
        facts["host"][name] = value or True
    elif name == "os":
        facts["os"]["id"] = value
    else:
        raise ValueError(name)


def _machine(facts: dict[str, Any]) -> Snapshot:
    gpus = tuple(_gpu(number, model) for number, model in enumerate(facts["gpus"]))
    rocm = {"key": "/opt/rocm", "path": "/opt/rocm", "version": facts["torch"].get("rocm", "7.2.0")}
    return Snapshot.model_validate(
        {
            "nvidia_driver": facts["driver"],
            "kfd": {"nodes": facts["kfd"] or None},
            "rocm": [{**rocm, "components": facts["libraries"]}] if facts["libraries"] else None,
            "gpus": gpus if gpus or facts.get("none") else None,
            "packages": tuple(Package(name=n, version=v, location=w) for n, v, w in facts["packages"]) or None,
            "rdma": tuple(RdmaDevice(key=k) for k in facts["rdma"]) or None,
            "torch": facts["torch"],
            "host": facts["host"],
            "container": facts["container"],
            "os": facts["os"],
        }
    )


def _gpu(number: int, model: str) -> Gpu:
    known = gpu_by_name(model) or NamedGpu("nvidia", _SUPERCHIPS[model])
    return Gpu(key=f"#{number}", vendor=known.vendor, name=model, arch=known.arch)
