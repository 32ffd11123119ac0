"""Inside a container: the host's kernel drives GPUs, and their nodes were not passed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import run_line
from doctor.rules.hardware import has_no, in_container_unnamed, nodes_of

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-missing-gpu-passthrough",
    severity=Severity.ERROR,
    title="The container was started without the GPU's devices.",
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
render nodes, or without /dev/nvidia*. Where some GPUs were passed and others not, it says once, as information, which.
Of a pasted text: a run line, compose file or manifest that asks for none of the GPUs it is meant for.

## Why it matters
The driver is fine, and inside nothing can reach it: torch sees no GPU, `nvidia-smi` is missing or finds no device.

## Not raised when
The kernel's driver is not known to be loaded; GPUs of another vendor were passed and torch is not built for this one;
only integrated GPUs are there (then it is information); under WSL; NVIDIA's runtime is chosen and
NVIDIA_VISIBLE_DEVICES names GPUs; Apptainer binds the host's /dev and its image is ROCm's, or enroot's hook gives an
image NVIDIA's GPUs, and nobody says that none is seen. A run line where nobody says that no GPU is seen is information.
A page for a server of models, which computes nothing itself, needs no GPU. A compose file that extends another may ask
for the GPU there.

## How to confirm
`ls /dev/kfd /dev/dri /dev/nvidia*` in the container and on the host.

## Fix
AMD: `--device /dev/kfd --device /dev/dri --group-add GID`.
NVIDIA: `--gpus all`, or with CDI `--device nvidia.com/gpu=all`.

## Fix safety
The container must be started again. Nothing on the host changes.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
""",
)

_STAT = Fix(
    text="On the host, read the number of the group that owns the nodes.", command=("stat", "-c", "%g", "/dev/kfd")
)
_AMD_FLAGS = ("--device", "/dev/kfd", "--device", "/dev/dri")
_AMD = Fix(
    text="Start the container with --device /dev/kfd --device /dev/dri --group-add and that number (RENDER_GID).",
    command=("docker", "run", *_AMD_FLAGS, "--group-add", "RENDER_GID", "IMAGE"),
)
_NVIDIA = Fix(
    text="Start the container with --gpus all (needs the NVIDIA Container Toolkit on the host).",
    command=("docker", "run", "--gpus", "all", "IMAGE"),
)
_CDI = Fix(
    text="Or, where a CDI spec is present, with --device nvidia.com/gpu=all.",
    command=("docker", "run", "--device", "nvidia.com/gpu=all", "IMAGE"),
)
_APPTAINER = {
    "nvidia": Fix(text="Start the container with --nv.", command=("apptainer", "exec", "--nv", "IMAGE", "nvidia-smi")),
    "amd": Fix(text="Start the container with --rocm.", command=("apptainer", "exec", "--rocm", "IMAGE", "rocminfo")),
}
FIXES = (_NVIDIA, _STAT, _AMD)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a vendor, since both may be driven by the host's kernel."""
    if machine.host.wsl:
        return
    lines = list(_of_run_line(machine))
    seen = [*_amd(machine), *_nvidia(machine)] if machine.container.inside else []
    if seen and (machine.nodes is not None or not lines):  # what is there says more than what was asked for
        yield from seen
    else:
        yield from lines
    if machine.container.inside and not lines:
        yield from _left_out(machine)


def excludes(machine: Snapshot) -> bool:
    """Where NVIDIA's runtime is chosen and told which GPUs to give, or root has the GPU in the container: no error text
    says then that none was asked for."""
    chosen = "nvidia" in run_line.options(machine, "--runtime")
    given = (machine.environment or {}).get("NVIDIA_VISIBLE_DEVICES", "")
    video = machine.symptom("video-library-missing") is not None  # a capability of its own, which it may lack
    if machine.symptom("root-in-container-sees-gpu-told") is not None:
        return True  # it was given, and its account may not open it
    if in_container_unnamed(machine):
        return True  # its nodes are there
    if run_line.needs_no_gpu(machine):
        return True
    return machine.nodes is None and chosen and given not in ("", "none", "void") and not video


def unheard(machine: Snapshot) -> bool:
    """Where torch has its GPU, or the run line asks for GPUs and nobody says that none is seen; nor where nobody does
    and the work stands still one way and goes on another: without a GPU it would not have begun. What a line that
    asks for NVIDIA's GPUs starts was given them, whatever is said; not every release takes what a compose file asks.
    Where the image is told to lack a package that the GPU's runtime loads, that is why none is seen. A web page for a
    server of models needs none. Where compose does not know the service, or takes no such file, no container was
    started."""
    if machine.symptom("compose-knows-no-service-told", "compose-file-refused-told") and not run_line.sees_none(
        machine
    ):
        return True
    if machine.symptom("system-package-told-not-installed") is not None or run_line.needs_no_gpu(machine):
        return True
    args = machine.container.run_args or ()
    line = machine.container.image is not None and any(not word.startswith("-") for word in args)
    if line and run_line.passes_nvidia(machine) and not run_line.lacking(machine, "nvidia"):
        return True
    began = machine.symptom("stands-still-told") and machine.symptom("something-works-told")
    if began and not run_line.sees_none(machine):
        return True
    alone = not args or bool(run_line.options(machine, "--nv"))
    if alone and machine.symptom("nvidia-smi-in-container-told") is not None:
        return True  # a compose file may still leave CUDA's library out
    if machine.symptom(*_GIVEN) is not None and not run_line.sees_none(machine):
        return True
    if (
        machine.symptom("nvidia-smi-run-inside-told")
        and machine.of_vendor("nvidia")
        and not run_line.sees_none(machine)
    ):
        return True  # what it printed stands there, too
    given = run_line.passes_nvidia(machine) or (run_line.passes_amd(machine) and not run_line.lacking(machine, "amd"))
    seen = machine.torch.available is True or machine.symptom(*_IS_THERE) is not None
    # A codec that loads may be another GPU's: it counts where no GPU is missed.
    given = given or _given_by_plugin(machine) or machine.symptom("gpu-codec-opened-told") is not None
    return seen or (given and not run_line.sees_none(machine))


def _given_by_plugin(machine: Snapshot) -> bool:
    """NVIDIA's device plugin names the GPU that a pod is given by its UUID, and nvidia-smi lists that GPU."""
    named = (machine.environment or {}).get("NVIDIA_VISIBLE_DEVICES", "").strip()
    listed = {gpu.uuid for gpu in machine.of_vendor("nvidia") if gpu.uuid}
    return machine.container.engine == "kubernetes" and bool(named) and set(named.split(",")) <= listed


_IS_THERE = (
    *("gpu-is-detected-told", "gpu-works-in-container-told", "gpu-gone-in-long-run-told"),
    "gpu-lost-after-time-told",
    "ollama-serves-from-gpu-told",
)
_GIVEN = ("ggml-finds-gpus-told", "layers-on-gpu", "gpu-options-told")
"""What says that a GPU is used, or that the container is given one."""
_OF_UVM = ("nvidia-uvm-missing", "nvidia-uvm-stale-after-suspend", "nvidia-uvm-hmm-init-failure")
_WITHOUT_UVM = ("cuda-unknown-999", "unknown-error-999")


def _of_run_line(machine: Snapshot) -> Iterator[Finding]:
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
    if not lacking or (vendor == "any" and not sure and not run_line.complained_of(machine)):
        return
    yield Finding(
        summary=f"The container is not given {lacking}.",
        severity=(Severity.ERROR if machine.gpus else Severity.WARNING) if sure else Severity.INFO,
        suspect=0 if sure or machine.torch.available else 1 if vendor == "any" else 4,
        subject=Subject(kind="container", id=vendor),
        evidence=evidence(machine, ("container.run_args", "container.image", "torch.available")),
        fixes=_fixes_any(machine)
        if vendor == "any"
        else _amd_fixes(machine)
        if vendor == "amd"
        else _nvidia_fixes(machine),
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
    said = machine.symptom("cuda-driver-insufficient", "cuda-code-insufficient")
    if machine.torch.cuda or said is None:
        return False
    return "too old" not in said.text and _FOUND.search(said.text) is None


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
        else:  # inside, the toolkit hides which number an NVIDIA GPU has; how many there are can still be told
            missing = [""] * (len(gpus) - given)
        if not missing:
            continue
        which = f": {', '.join(missing)}" if all(missing) else "; which, its nodes do not tell"
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
    """Tells /dev/kfd without render nodes, and the reverse, from neither."""
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
        summary=f"The kernel drives AMD GPUs and this container lacks {missing}.",
        severity=Severity.INFO if mild else Severity.ERROR,
        subject=Subject(kind="container", id="amd"),
        evidence=evidence(machine, ("container.engine", *facts, "nodes")),
        fixes=_amd_fixes(machine),
        verify=("ls", "-l", "/dev/kfd", "/dev/dri"),
    )


def _fixes_any(machine: Snapshot) -> tuple[Fix, ...]:
    return tuple(_APPTAINER.values()) if machine.container.engine == "apptainer" else FIXES


def _amd_fixes(machine: Snapshot) -> tuple[Fix, ...]:
    if machine.container.engine == "apptainer":
        return (_APPTAINER["amd"],)
    if machine.container.engine == "kubernetes":
        return (
            Fix(text="Ask for the GPU in the pod: resources.limits with amd.com/gpu: 1 (needs AMD's device plugin)."),
        )
    if machine.container.engine == "podman":
        command = ("podman", "run", *_AMD_FLAGS, "--group-add", "keep-groups", "IMAGE")
        return (Fix(text="Start the container with the GPU's nodes and your groups.", command=command),)
    gid = next((n.gid for n in nodes_of(machine, "kfd", "render") if n.gid), None)
    if gid is None:
        return (_STAT, _AMD)
    command = ("docker", "run", *_AMD_FLAGS, "--group-add", str(gid), "IMAGE")
    return (Fix(text="Start the container with both.", command=command),)


def _nvidia(machine: Snapshot) -> Iterator[Finding]:
    facts = [name for name in ("nvidia_driver.loaded", "nvidia_driver.version") if machine.get(name)]
    bound = [g for g in machine.of_vendor("nvidia") if g.driver == "nvidia"]
    if not (facts or bound) or not has_no(machine, "nvidia", "nvidiactl"):
        return
    if _meant_for_other(machine, "cuda", "amd"):
        return
    yield Finding(
        summary="The kernel drives NVIDIA GPUs and this container has none of their nodes (/dev/nvidia*).",
        subject=Subject(kind="container", id="nvidia"),
        evidence=evidence(machine, ("container.engine", *facts, "nodes")),
        fixes=_nvidia_fixes(machine),
        verify=("nvidia-smi", "-L"),
    )


def _nvidia_fixes(machine: Snapshot) -> tuple[Fix, ...]:
    if machine.container.engine == "apptainer":
        return (_APPTAINER["nvidia"],)
    if machine.container.engine == "kubernetes":
        return (
            Fix(text="Ask for the GPU in the pod: resources.limits with nvidia.com/gpu: 1 (needs the device plugin)."),
        )
    if machine.container.engine == "podman":
        command = ("podman", "run", "--device", "nvidia.com/gpu=all", "IMAGE")
        return (Fix(text="Start the container with --device nvidia.com/gpu=all (CDI).", command=command),)
    return (_NVIDIA, _CDI)


def _meant_for_other(machine: Snapshot, build: str, other: str) -> bool:
    """Whether this container is plainly for the other vendor's GPUs."""
    if machine.torch.build == build:
        return False
    passed = nodes_of(machine, "nvidia") if other == "nvidia" else nodes_of(machine, "kfd")
    return bool(passed) or (machine.torch.build in ("cuda", "rocm") and bool(machine.of_vendor(other)))
