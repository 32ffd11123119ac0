"""Which way GPUs are handed to a container: a CDI spec, device nodes, the vendor's own runtime, or WSL's one node."""

from __future__ import annotations

from dataclasses import replace

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch.by_cdi import KINDS, MAKE, by_cdi
from doctor.launch.choose import Choice, in_kfd
from doctor.launch.engine import GPUS_SINCE, Engine
from doctor.launch.nodes import Access, amd_by_nodes, not_there, nvidia_by_nodes
from doctor.launch.spec import Part, Trouble


def access(machine: Snapshot, engine: Engine | None, choice: Choice, way: str) -> Access:
    """`auto`: CDI where engine and a spec allow it; then nodes for AMD, NVIDIA's runtime for NVIDIA."""
    if choice.vendor is None:
        return Access()
    if machine.host.wsl:
        return _under_wsl(machine, engine, choice, way)
    if engine is not None and engine.rootless and choice.vendor == "amd":
        every = in_kfd(machine)
        if _nodes_of(every) - _nodes_of(choice):
            return _selected_by_rocm(engine, choice, every, _by(machine, engine, every, way))
    return _by(machine, engine, choice, way)


def _by(machine: Snapshot, engine: Engine | None, choice: Choice, way: str) -> Access:
    if way == "runtime":
        return _by_runtime(engine, choice)
    if way == "nodes":
        return _by_nodes(machine, engine, choice)
    cdi = by_cdi(machine, engine, choice) if engine is not None else Access()
    if way == "cdi" and engine is None:
        raise InputError("--by cdi: the engine that would read the spec is not known here")
    if cdi.usable or way == "cdi":
        return cdi
    by_nodes = choice.vendor == "amd" or (engine is not None and engine.name == "podman")
    return _after(
        cdi, engine, (_by_nodes(machine, engine, choice) if by_nodes else _by_runtime(engine, choice)), choice
    )


def _after(cdi: Access, engine: Engine | None, second: Access, choice: Choice) -> Access:
    """The second way is as good, so that a missing spec is no remark; one that can't be used is."""
    there = engine is not None and any(spec.read.kind == KINDS[choice.vendor or ""] for spec in engine.specs)
    return second.after(cdi) if there else second


def _nodes_of(choice: Choice) -> set[str]:
    return {node for chosen in choice.gpus for node in chosen.render_nodes}


def _selected_by_rocm(engine: Engine, choice: Choice, every: Choice, passed: Access) -> Access:
    """ROCm opens the render node of each GPU that the KFD lists, and hsa_init fails (0x1008) where one is not there.
    The KFD leaves out what a container's device cgroup closes, and a rootless engine may set none: with all render
    nodes it works, with one it fails (github.com/ROCm/legacy-rocm-build/issues/3144, reproduced by AMD; why:
    github.com/podman-container-tools/podman/issues/21454)."""
    names = ", ".join(chosen.name for chosen in choice.gpus)
    cause = (
        f"rootless {engine.name} can't hide a GPU from ROCm, whose start fails (HSA status 1008) with a part of them"
    )
    if not choice.selectors:
        fix = f"use the rootful engine, or --gpus all ({len(every.gpus)} GPUs)"
        text = f"{cause}; ROCm's number of GPU {names} is not known, so that it can't be chosen in another way"
        return replace(passed, troubles=(*passed.troubles, Trouble(text, fix)))
    reason = f"ROCm uses GPU {names} alone, though the nodes of all {len(every.gpus)} are passed"
    limit = Part("env", f"ROCR_VISIBLE_DEVICES={','.join(choice.selectors)}", reason)
    text = f"{cause}: all {len(every.gpus)} are passed, and ROCR_VISIBLE_DEVICES limits programs to GPU {names}"
    note = Trouble(text, "where programs must not reach the others, use the rootful engine", fatal=False)
    return Access((*passed.parts, limit), (*passed.troubles, note))


def _by_nodes(machine: Snapshot, engine: Engine | None, choice: Choice) -> Access:
    if choice.vendor == "amd":
        return amd_by_nodes(machine, engine, choice)
    return nvidia_by_nodes(machine, choice, MAKE["nvidia"])


def _by_runtime(engine: Engine | None, choice: Choice) -> Access:
    """AMD's container toolkit (github.com/ROCm/container-toolkit) is for docker alone."""
    if choice.vendor != "amd":
        return _nvidia_runtime(engine, choice)
    wanted = "all" if choice.every else ",".join(chosen.name for chosen in choice.gpus)
    parts = (
        Part("runtime", "amd", "AMD's container toolkit puts the devices in"),
        Part("env", f"AMD_VISIBLE_DEVICES={wanted}", "which GPUs AMD's runtime passes"),
    )
    if any(chosen.partition is not None for chosen in choice.gpus) and not choice.every:
        raise InputError("--by runtime: how AMD's runtime counts partitions is not known; use --by nodes or cdi")
    if engine is None or "amd" in engine.runtimes:
        return Access(parts)
    fix = "install amd-container-toolkit, then: sudo amd-ctk runtime configure && sudo systemctl restart docker"
    return Access(parts, (Trouble(f"{engine.name} has no amd runtime", f"{fix}; or go without --by runtime"),))


def _nvidia_runtime(engine: Engine | None, choice: Choice) -> Access:
    """NVIDIA's container toolkit. With an engine that is not here, docker's own word for it."""
    listed = ",".join(chosen.name for chosen in choice.gpus)
    wanted = "all" if choice.every else listed
    reason = f"{'all GPUs' if choice.every else f'GPU {listed}'} of NVIDIA, with the driver's libraries of this host"
    if engine is not None and "nvidia" in engine.runtimes:
        return Access(
            (
                Part("runtime", "nvidia", "the NVIDIA container toolkit puts devices and driver libraries in"),
                Part("env", f"NVIDIA_VISIBLE_DEVICES={wanted}", reason),
                Part("env", "NVIDIA_DRIVER_CAPABILITIES=compute,utility", "CUDA and nvidia-smi, and no graphics"),
            )
        )
    # Docker Desktop brings what `--gpus` needs.
    takes = engine is None or (engine.has_gpus_flag and (engine.toolkit or engine.desktop))
    return Access((Part("gpus", wanted, reason),), () if engine is None or takes else (_no_toolkit(engine),))


def _no_toolkit(engine: Engine) -> Trouble:
    if engine.toolkit:
        since = ".".join(map(str, GPUS_SINCE[engine.name]))
        fix = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
        return Trouble(f"{engine.name} {engine.version} has no --gpus ({since} has) and no nvidia runtime", fix)
    return Trouble(
        f"{engine.name} has no nvidia runtime and there is no CDI spec: the NVIDIA container toolkit is not installed "
        "or not configured",
        "install nvidia-container-toolkit, then: sudo nvidia-ctk runtime configure --runtime=docker && "
        "sudo systemctl restart docker",
    )


def _under_wsl(machine: Snapshot, engine: Engine | None, choice: Choice, way: str) -> Access:
    """NVIDIA's toolkit knows WSL: its spec and its runtime have one device, `all`. Otherwise the node, and the
    libraries that Windows brings (docs.nvidia.com/cuda/wsl-user-guide, github.com/ROCm/librocdxg)."""
    if choice.vendor == "nvidia" and engine is not None and way != "nodes":
        every = Choice("nvidia", (), True)
        first = by_cdi(machine, engine, every) if way != "runtime" else _nvidia_runtime(engine, every)
        if first.usable or way in ("cdi", "runtime"):
            return first
        second = _nvidia_runtime(engine, every)
        if second.usable:
            return _after(first, engine, second, choice)
    parts = [
        Part("device", "/dev/dxg", "WSL's one node for all GPUs"),
        Part("mount", "/usr/lib/wsl:/usr/lib/wsl:ro", "the driver's libraries, which Windows puts there"),
        Part("env", "LD_LIBRARY_PATH=/usr/lib/wsl/lib", "so that the loader finds them; the image's own value goes"),
    ]
    troubles = list(not_there(machine, ["/dev/dxg"]))
    if choice.vendor == "amd":
        parts.append(Part("env", "HSA_ENABLE_DXG_DETECTION=1", "ROCm before 7.13 looks for /dev/dxg only with it"))
        fix = "take an image with ROCm for WSL, or mount the host's librocdxg.so with -v"
        troubles.append(Trouble("ROCm reaches /dev/dxg through librocdxg, which most images lack", fix, fatal=False))
    return Access(tuple(parts), tuple(troubles))
