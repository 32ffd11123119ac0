"""What the host's security layers do to this container: reported before it starts, with the one command that helps.

AppArmor's docker-default and the engines' own seccomp profile leave a GPU's nodes and ioctls alone, so that they
are no part of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.facts.snapshot import Snapshot
from doctor.launch.engine import Engine
from doctor.launch.nodes import is_closed
from doctor.launch.spec import Part, Trouble, bound

GPU_KINDS = ("device", "cdi", "gpus", "runtime")
_HOST_USERS = "add --engine-arg=--userns=host (this container's root is then the host's)"


def remarks(machine: Snapshot, engine: Engine, parts: Sequence[Part], nodes: Sequence[str]) -> Iterator[Trouble]:
    """`nodes`: the device nodes of the chosen GPUs, however they are passed."""
    words = {part.value for part in parts if part.kind == "engine_arg"}
    if engine.userns_remap and "--userns=host" not in words:
        yield from _remapped(machine, parts, nodes)
    if engine.selinux and "--security-opt=label=disable" not in words:
        yield from _selinux(engine, parts)
    if any(part.kind in ("gpus", "runtime") for part in parts):
        yield from _no_cgroups(machine, engine, parts)
    if engine.seccomp and any(part.kind == "cap" and part.value == "SYS_NICE" for part in parts):
        text = f"docker's seccomp profile is {engine.seccomp}: whether --with numa's system calls are open is not known"
        yield Trouble(text, "allow mbind and set_mempolicy in this profile", fatal=False)


def _remapped(machine: Snapshot, parts: Sequence[Part], nodes: Sequence[str]) -> Iterator[Trouble]:
    """Users and groups of the container are others on the host. What Docker refuses then: moby,
    daemon/daemon_unix.go, verifyPlatformContainerSettings."""
    closed = [node.key for node in machine.nodes or () if node.key in nodes and is_closed(node)]
    if closed:
        text = f"docker remaps users (userns-remap): no user or group of the container may open {closed[0]}"
        yield Trouble(text, _HOST_USERS)
    refused = {"--privileged": ("privileged", "true"), "--network host": ("network", "host")}
    for option, (kind, value) in refused.items():
        if any(part.kind == kind and part.value == value for part in parts):
            yield Trouble(f"docker refuses {option} while it remaps users (userns-remap)", _HOST_USERS)


def _selinux(engine: Engine, parts: Sequence[Part]) -> Iterator[Trouble]:
    if engine.device_boolean is False and any(part.kind in GPU_KINDS for part in parts):
        yield Trouble(
            "SELinux is enforcing, and container_use_devices is off: it may refuse the GPU's nodes to the container",
            "sudo setsebool -P container_use_devices=1 (all containers of this host); or for this container alone "
            "--engine-arg=--security-opt=label=disable (SELinux then confines it no longer)",
            fatal=False,
        )
    for part in parts:
        if part.kind == "mount" and not {"z", "Z"} & set(bound(part).options):
            mount = bound(part)
            options = ",".join((*mount.options, "z"))
            yield Trouble(
                f"SELinux is enforcing: the container reads {mount.source} only if its label allows it",
                f"-v {mount.source}:{mount.inside}:{options} relabels the folder (never a home or a system folder)",
                fatal=False,
            )


def _no_cgroups(machine: Snapshot, engine: Engine, parts: Sequence[Part]) -> Iterator[Trouble]:
    """It counts for the toolkit's command line alone, which `--gpus` starts, and its runtime in legacy mode."""
    chosen = next((tool.no_cgroups for tool in machine.toolkits or () if tool.key == "nvidia"), None)
    if chosen is None or chosen is engine.rootless:
        return
    fatal = any(part.kind == "gpus" for part in parts)
    command = "sudo nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups"
    if chosen:
        text = "NVIDIA's toolkit is set to no-cgroups = true: the container sees the GPU's nodes and may not open them"
        yield Trouble(text, f"{command}=false; or use --by cdi", fatal)
    else:
        text = "NVIDIA's toolkit sets device cgroups, which a rootless engine may not"
        yield Trouble(text, f"{command}=true; or use --by cdi", fatal)
