"""What Kubernetes believes: `kubectl get nodes -o json`, and with it what the GPU operators say of themselves
(`kubectl get nodes,clusterpolicies,deviceconfigs -A -o json`).

Labels and fields are those of Kubernetes' device plugins, GPU feature discovery, NVIDIA's GPU operator (ClusterPolicy)
and AMD's (DeviceConfig).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.errors import InputError
from doctor.fleet.views import NodeView

_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
_DRIVER = "nvidia.com/cuda.driver-version.full"
_OLD_DRIVER = tuple(f"nvidia.com/cuda.driver.{part}" for part in ("major", "minor", "rev"))
_PRESENT = "nvidia.com/gpu.present"
_UPGRADES = ("nvidia.com/gpu-driver-upgrade-state", "operator.amd.com/gpu-driver-upgrade-state")
_SETTLED = ("", "upgrade-done", "Upgrade-Complete", "Upgrade-Not-Started")
_MIG_STATE = "nvidia.com/mig.config.state"
_DEPLOYED = "nvidia.com/gpu.deploy."
_OURS = ("GPUHardwareProblem", "GPUFirmwareProblem", "GPUDriverProblem", "GPUHostProblem", "GPUStackProblem")
"""Conditions of contrib/node-problem-detector; the last is the one that it had before."""
_PARTS = ("driver", "devicePlugin", "metricsExporter", "configManager", "remediationWorkflow")

Item = Mapping[str, Any]


def of_kubernetes(text: str) -> Iterator[NodeView]:
    """GPUs and driver of each node, and why it is kept from jobs or what is under way on it."""
    for item in _items(text):
        if item.get("kind", "Node") == "Node":
            yield _read(_node, item)
        elif item.get("kind") == "DeviceConfig":
            yield from _read(_modules, item)


def operators(text: str) -> list[str]:
    """What a GPU operator says of itself, as sentences, where it is not ready."""
    return [sentence for item in _items(text) for sentence in _read(_operator, item)]


def _items(text: str) -> list[Item]:
    if not text:
        return []
    try:
        items = json.loads(text)["items"]
        if isinstance(items, list) and all(isinstance(item, dict) for item in items):
            return items
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise InputError("--kube: not the output of `kubectl get nodes -o json`")


def _read(read: Any, item: Item) -> Any:
    try:
        found = read(item)
        return found if isinstance(found, NodeView) else list(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("--kube: not the output of `kubectl get nodes -o json`") from None


def _node(item: Item) -> NodeView:
    metadata, status = item["metadata"], item.get("status") or {}
    labels = {str(k): str(v) for k, v in (metadata.get("labels") or {}).items()}
    old = ".".join(labels[part] for part in _OLD_DRIVER if labels.get(part))
    driver = labels.get(_DRIVER) or old or None
    state = ", ".join(_away(item, labels)) or None
    return NodeView(str(metadata["name"]), "Kubernetes", _gpus(labels, status), driver, state)


def _counted(amounts: Mapping[str, Any] | None) -> int | None:
    counts = [int(str((amounts or {})[r])[:9]) for r in _RESOURCES if str((amounts or {}).get(r, "")).isdecimal()]
    return sum(counts) if counts else None


def _gpus(labels: Mapping[str, str], status: Item) -> int | None:
    """Whole GPUs. None where what is counted are parts of them: MIG instances, partitions."""
    if "-MIG-" in labels.get("nvidia.com/gpu.product", "") or labels.get("nvidia.com/mig.strategy") == "mixed":
        return None
    if not labels.get("amd.com/gpu.compute-memory-partition", "spx").lower().startswith("spx"):
        return None
    has = _counted(status.get("capacity"))
    has = _counted(status.get("allocatable")) if has is None else has
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    if has and replicas.isdecimal() and int(replicas) > 1:  # one GPU is listed several times, to share it
        return has // int(replicas[:6])
    # Without a device plugin there is no such resource; a label may say that there are GPUs all the same.
    return 0 if has is None and labels.get(_PRESENT) == "true" else has


def _away(item: Item, labels: Mapping[str, str]) -> Iterator[str]:
    status = item.get("status") or {}
    if (item.get("spec") or {}).get("unschedulable"):
        yield "cordoned"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            yield f"Ready is {condition.get('status')}"
        elif condition.get("type") in _OURS and condition.get("status") == "True":
            yield f"{condition['type']}: {str(condition.get('message'))[:80]}"
    has, may = _counted(status.get("capacity")), _counted(status.get("allocatable"))
    if has is not None and may is not None and may < has:
        yield f"{has - may} of {has} GPUs not allocatable"
    for upgrade in (labels.get(name, "") for name in _UPGRADES):
        if upgrade not in _SETTLED:
            yield f"driver upgrade: {upgrade}"
    if labels.get(_MIG_STATE, "success") != "success":
        yield f"MIG configuration: {labels[_MIG_STATE]}"
    paused = sorted(name.removeprefix(_DEPLOYED) for name, value in labels.items()
                    if name.startswith(_DEPLOYED) and value.startswith("paused-"))  # fmt: skip
    if paused:
        yield f"paused: {', '.join(paused)}"


def _operator(item: Item) -> Iterator[str]:
    status, kind = item.get("status") or {}, item.get("kind")
    name = str((item.get("metadata") or {}).get("name"))[:253]
    if kind == "ClusterPolicy" and status.get("state") not in ("ready", "ignored"):
        why = next((f": {str(c['message'])[:200]}" for c in status.get("conditions") or ()
                    if c.get("type") == "Error" and c.get("status") == "True" and c.get("message")), "")  # fmt: skip
        yield f"GPU operator: ClusterPolicy {name} is {status.get('state') or 'without a state'}{why}"
    if kind == "DeviceConfig":
        for part in _PARTS:
            part_status = status.get(part) or {}
            wanted, there = int(part_status.get("desiredNumber") or 0), int(part_status.get("availableNumber") or 0)
            if there < wanted:
                yield f"GPU operator: DeviceConfig {name}: {part} runs on {there} of {wanted} nodes"


def _modules(item: Item) -> Iterator[NodeView]:
    for node, module in ((item.get("status") or {}).get("nodeModuleStatus") or {}).items():
        if str(module.get("status", "")) not in _SETTLED:
            yield NodeView(str(node), "Kubernetes", state=f"driver module: {module['status']}")
