from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import container_advice, run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import has_no, nodes_of, vendors_there

RULE = Rule(
    id="container-missing-gpu-passthrough",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.CONTAINER,
    title="The container was started without the GPU.",
    needs=({"container.inside", "nodes"}, {"container.run_args"}),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-driver-not-loaded", "amdgpu-driver-not-loaded"),
        "torch-cpu-only-build",
    ),
    order=20,
    facts_decide=False,
    tags=("access", "container", "amd", "nvidia"),
    doc="""## What it finds
A container on a kernel that has the GPU driver loaded (its files in /sys and /proc show it) without /dev/kfd, without
render nodes, or without /dev/nvidia*. If only some GPUs were passed, it lists the others once, as information. In a
pasted text: a run line, compose file or manifest that does not request the GPUs it is meant for.

## Why it matters
The driver works on the host, but nothing in the container can reach the GPU.

## Not raised when
The kernel's driver is not known to be loaded; GPUs of another vendor were passed and torch is not built for this one;
only integrated GPUs are there (then it is information); under WSL; NVIDIA's runtime is chosen and
NVIDIA_VISIBLE_DEVICES names GPUs; Apptainer binds the host's /dev and its image is ROCm's, or enroot's hook gives an
image NVIDIA's GPUs, and the text does not say that none is seen. A run line is information unless the text says that
no GPU is seen. A web page in front of a model server needs no GPU. A compose file that extends another may ask for
the GPU there.

## How to confirm
`ls /dev/kfd /dev/dri /dev/nvidia*` in the container and on the host.

## Fix
Recreate the container with the GPU; a running container cannot get new devices.

- AMD, Docker: `docker run --device /dev/kfd --device /dev/dri --group-add GID IMAGE` (GID: `stat -c %g /dev/kfd` on the
  host). Podman: `--group-add keep-groups`.
- NVIDIA, Docker: `docker run --gpus all IMAGE` (needs NVIDIA's container toolkit). CDI, Podman too:
  `--device nvidia.com/gpu=all`. Jetson: `--runtime nvidia`.
- Kubernetes: `nvidia.com/gpu: 1` or `amd.com/gpu: 1` in resources.limits.
- Apptainer: `--nv` or `--rocm`.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Of the vendor that is there or meant; of both where nothing says which."""
    meant = run_line.vendors_meant(machine) or vendors_there(machine)
    if container_advice.is_jetson(machine) or meant == {"nvidia"}:
        return container_advice.with_nvidia(machine)
    if meant == {"amd"}:
        return container_advice.with_amd(machine)
    both = (("NVIDIA", container_advice.with_nvidia(machine)[:1]), ("AMD", container_advice.with_amd(machine)))
    return tuple(
        remedy.model_copy(update={"title": f"For an {vendor} GPU: {remedy.title[:1].lower()}{remedy.title[1:]}"})
        for vendor, remedies in both
        for remedy in remedies
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.host.wsl:
        return
    lines = list(_of_run_line(machine, kb))
    seen = [*_amd(machine), *_nvidia(machine)] if machine.container.inside else []
    if seen and (machine.nodes is not None or not lines):  # what is there says more than what was asked for
        yield from seen
    else:
        yield from lines
    if machine.container.inside and not lines:
        yield from _left_out(machine)


_OF_UVM = ("nvidia-uvm-missing", "nvidia-uvm-stale-after-suspend", "nvidia-uvm-hmm-init-failure")
_WITHOUT_UVM = ("cuda-unknown-999", "unknown-error-999")


def _of_run_line(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """What the options lack, where a text shows them and it is known whose GPUs are meant."""
    meant = run_line.vendors_meant(machine)
    if not run_line.shown(machine) or len(meant) > 1 or run_line.options(machine, "--privileged"):
        return
    if run_line.needs_no_gpu(machine):
        return
    vendor = next(iter(meant), "any")
    if run_line.given_unasked(machine, vendor) and not run_line.sees_none(machine):
        return
    lacking = run_line.lacking(machine, vendor)
    no_library = "uvm" not in lacking and _driver_said_insufficient(machine)
    sure = run_line.sees_none(machine) or ("uvm" in lacking and machine.symptom(*_WITHOUT_UVM) is not None)
    sure = sure or (no_library and vendor != "amd")
    if not lacking:
        return
    yield Finding(
        summary=f"The container was started without {lacking}.",
        severity=(Severity.ERROR if machine.gpus else Severity.WARNING) if sure else Severity.INFO,
        suspect=0 if sure or machine.torch.available else 1 if vendor == "any" else 4,
        subject=Subject(kind="container", id=vendor),
        evidence=evidence(machine, ("container.run_args", "container.image", "torch.available")),
        remedies=advice(machine, kb)
        if vendor == "any"
        else container_advice.with_amd(machine)
        if vendor == "amd"
        else container_advice.with_nvidia(machine),
        verify=("ls", "-l", "/dev/kfd", "/dev/dri") if vendor == "amd" else ("nvidia-smi", "-L"),
        explains=(
            *RULE.explains,
            *(_OF_UVM if "uvm" in lacking else ()),
            *(("nvidia-driver-too-old",) if no_library else ()),
        ),
    )


def _driver_said_insufficient(machine: Snapshot) -> bool:
    """What CUDA's runtime says where it finds no driver library, too; torch's own words for an old driver are none, nor
    is a line that names the CUDA of the driver it found."""
    old = machine.symptom("cuda-driver-insufficient", "cuda-code-insufficient")
    if machine.torch.cuda or old is None:
        return False
    return "too old" not in old.text and _FOUND.search(old.text) is None


_FOUND = Lazy(r"\bdriver [1-9]\d?\.\d{1,2} < image\b")
"""nvidia-docker 1 (github.com/NVIDIA/nvidia-docker, src/nvidia-docker/main.go)."""


def _left_out(machine: Snapshot) -> Iterator[Finding]:
    """Sysfs shows all GPUs of the host; which of them were given to this container, their nodes tell. Often meant."""
    for vendor, module, kind in (("amd", "amdgpu", "render"), ("nvidia", "nvidia", "nvidia")):
        gpus = [g for g in machine.of_vendor(vendor) if g.driver == module]
        given = len(nodes_of(machine, kind))
        here = {n.key.rpartition("/")[2] for n in nodes_of(machine, kind)}
        named_by = {g.key: g.render_node if vendor == "amd" else g.device_node for g in gpus}
        if not here or not all(g.driver for g in machine.of_vendor(vendor)):
            continue
        if all(named_by.values()):
            missing = [g.pci_address or g.key for g in gpus if named_by[g.key] not in here]
        else:  # inside, the toolkit hides which number an NVIDIA GPU has; how many there are is still known
            missing = [""] * (len(gpus) - given)
        if not missing:
            continue
        which = f": {', '.join(missing)}" if all(missing) else "; its nodes do not show which"
        some = f"{len(missing)} of the host's {len(gpus)} {vendor.upper()} GPUs"
        yield Finding(
            severity=Severity.INFO,
            summary=f"{some} were not passed to this container.",
            subject=Subject(kind="container", id=f"{vendor}-left-out"),
            evidence=(
                Evidence(text=f"not passed{which}"[:400], source=machine.source("nodes")),
                *evidence(machine, ("container.engine",)),
            ),
        )


def _amd(machine: Snapshot) -> Iterator[Finding]:
    """Distinguishes /dev/kfd without render nodes, and the reverse, from neither."""
    facts = [name for name in ("amdgpu_driver.loaded", "kfd.nodes") if machine.get(name)]
    bound = [g for g in machine.of_vendor("amd") if g.driver == "amdgpu"]
    if not (facts or bound) or (machine.gpus == () and not machine.kfd.nodes):
        return
    no_kfd, no_render = has_no(machine, "kfd"), has_no(machine, "render")
    if not (no_kfd or no_render) or _meant_for_other(machine, "rocm", "nvidia"):
        return
    missing = (
        "/dev/kfd and /dev/dri" if no_kfd and no_render else "/dev/kfd" if no_kfd else "the render nodes of /dev/dri"
    )
    integrated = bool(machine.of_vendor("amd")) and all(g.integrated for g in machine.of_vendor("amd"))
    mild = integrated and machine.torch.build != "rocm"
    yield Finding(
        summary=f"The host has AMD GPUs, but this container was started without {missing}.",
        severity=Severity.INFO if mild else Severity.ERROR,
        subject=Subject(kind="container", id="amd"),
        evidence=evidence(machine, ("container.engine", *facts, "nodes")),
        remedies=container_advice.with_amd(machine),
        verify=("ls", "-l", "/dev/kfd", "/dev/dri"),
    )


def _nvidia(machine: Snapshot) -> Iterator[Finding]:
    facts = [name for name in ("nvidia_driver.loaded", "nvidia_driver.version") if machine.get(name)]
    bound = [g for g in machine.of_vendor("nvidia") if g.driver == "nvidia"]
    if lacking := _lacking_of_nvidia(machine):
        yield Finding(
            summary=f"This container has NVIDIA device nodes, but not {lacking}.",
            subject=Subject(kind="container", id="nvidia"),
            evidence=evidence(machine, ("container.engine", *facts, "nodes", "nvidia_driver.libcuda_found")),
            remedies=container_advice.with_nvidia(machine),
            verify=("nvidia-smi", "-L"),
        )
    if not (facts or bound) or not has_no(machine, "nvidia", "nvidiactl"):
        return
    if _meant_for_other(machine, "cuda", "amd"):
        return
    yield Finding(
        summary="The host has NVIDIA GPUs, but this container has no /dev/nvidia* nodes.",
        subject=Subject(kind="container", id="nvidia"),
        evidence=evidence(machine, ("container.engine", *facts, "nodes")),
        remedies=container_advice.with_nvidia(machine),
        verify=("nvidia-smi", "-L"),
    )


def _lacking_of_nvidia(machine: Snapshot) -> str | None:
    """What CUDA needs beside a GPU's node: the control node, the driver's library."""
    if not nodes_of(machine, "nvidia") or run_line.from_text(machine, "nodes"):
        return None
    if has_no(machine, "nvidiactl"):
        return "/dev/nvidiactl"
    if machine.nvidia_driver.libcuda_found is False:
        return "the driver's library libcuda.so.1"
    return None


def _meant_for_other(machine: Snapshot, build: str, other: str) -> bool:
    """Whether this container is plainly for the other vendor's GPUs."""
    if machine.torch.build == build:
        return False
    passed = nodes_of(machine, "nvidia") if other == "nvidia" else nodes_of(machine, "kfd")
    return bool(passed) or (machine.torch.build in ("cuda", "rocm") and bool(machine.of_vendor(other)))
