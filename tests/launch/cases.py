"""Every vendor by every way, planned: what the tests of the formats walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.engine import Spec as SpecFile
from doctor.launch.plan import plan
from doctor.launch.spec import Part, Spec
from doctor.parsers.container.cdi_spec import CdiSpec, Edits
from doctor.versions import Dotted
from tests.launch.machines import cpx, h100, mi300x, mig, wsl

DOCKER = Engine("docker", Dotted("26.1.5"), base=("docker",), cdi=True, program="/usr/bin/docker")
PODMAN = Engine("podman", Dotted("5.4.0"), base=("podman",), cdi=True, program="/usr/bin/podman", oci_runtime="crun")
IMAGE = "registry.example.org:5000/team/pytorch:2.10"
WORKLOAD = (
    Part("shm", str(8 << 30), "data loaders share memory (a profile)"),
    Part("ulimit", "memlock=-1", "RDMA (a profile)"),
    Part("cap", "SYS_PTRACE", "attach (a profile)"),
    Part("device", "/dev/infiniband/uverbs0", "verbs (a profile)"),
    Part("env", "HSA_NO_SCRATCH_RECLAIM=1", "speed (a profile)"),
)
"""What a profile with all kinds of needs asks for."""


def cdi(kind: str, *devices: tuple[str, Sequence[str]], version: str = "0.6.0") -> SpecFile:
    """A spec file with those devices and their nodes."""
    edits = {name: Edits(nodes=tuple(nodes)) for name, nodes in devices}
    return SpecFile(f"/etc/cdi/{kind.partition('.')[0]}.yaml", CdiSpec(version, kind, edits, Edits()))


AMD_CDI = cdi(
    "amd.com/gpu",
    *((str(n), ["/dev/kfd", f"/dev/dri/renderD{128 + n}"]) for n in range(3)),
    ("all", ["/dev/kfd", *(f"/dev/dri/renderD{128 + n}" for n in range(3))]),
)
NVIDIA_CDI = cdi(
    "nvidia.com/gpu", ("0", ["/dev/nvidia0"]), ("1", ["/dev/nvidia1"]), ("all", ["/dev/nvidia0", "/dev/nvidia1"])
)


def planned(extra: Sequence[Part] = (), **asked: object) -> dict[str, Spec]:
    """By a name that tells vendor, way and engine."""
    request = replace(Request(IMAGE, ("python3", "train.py")), **asked)  # type: ignore[arg-type]
    docker, podman = replace(DOCKER, specs=(AMD_CDI, NVIDIA_CDI)), replace(PODMAN, specs=(AMD_CDI, NVIDIA_CDI))
    bare = replace(DOCKER, toolkit=True, cdi=False)
    rows = {
        "amd cdi": (mi300x(), docker, "all", "auto"),
        "amd cdi podman": (mi300x(), podman, "2", "auto"),
        "amd nodes": (mi300x(), DOCKER, "0,2", "nodes"),
        "amd nodes rootless": (mi300x(), replace(PODMAN, rootless=True), "1", "auto"),
        "amd runtime": (mi300x(), replace(bare, runtimes=frozenset({"amd"})), "1", "runtime"),
        "amd partition": (cpx(), DOCKER, "0:3,0:5", "auto"),
        "amd elsewhere": (mi300x(), None, "all", "auto"),
        "nvidia cdi": (h100(), docker, "all", "auto"),
        "nvidia cdi podman": (h100(), podman, "1", "auto"),
        "nvidia nodes": (h100(), DOCKER, "1", "nodes"),
        "nvidia runtime": (h100(), replace(bare, runtimes=frozenset({"nvidia"})), "0,1", "auto"),
        "nvidia gpus": (h100(), bare, "1", "auto"),
        "nvidia mig": (mig(), None, "0:1", "auto"),
        "nvidia elsewhere": (h100(), None, "all", "auto"),
        "none": (h100(), docker, "none", "auto"),
    }
    found = {
        name: plan(machine, engine, choose(machine, gpus), replace(request, way=way), extra)
        for name, (machine, engine, gpus, way) in rows.items()
    }
    for vendor in ("amd", "nvidia"):
        choice = choose(wsl(), "all", vendor)
        found[f"{vendor} wsl"] = plan(wsl(), DOCKER, choice, request, extra)
    return found
