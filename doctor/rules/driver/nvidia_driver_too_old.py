from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.knowledge.catalogue import table
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, module_flavour, presence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.cuda_needs import CONDA_CUDA, NEWER_THAN_FLOOR, Need, needs, runs, served
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.entries import Floor

RULE = Rule(
    id="nvidia-driver-too-old",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.INFORM,
    layer=Layer.DRIVER,
    title="The NVIDIA driver is too old for the CUDA runtime in use.",
    needs=[
        {"nvidia_driver.version", "torch.cuda"},
        {"nvidia_driver.cuda_version", "torch.cuda"},
        {"nvidia_driver.version", "environment"},
        {"nvidia_driver.version", "gpus"},
        {"nvidia_driver.version", "packages"},
        {"nvidia_driver.version", "container.image"},
    ],
    proven="synthetic",
    order=12,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A torch built for a CUDA version (or a container that asks for one in NVIDIA_REQUIRE_CUDA) whose driver
floor is above the
loaded driver. The floor is that of the CUDA major: 450.80.02 for 11, 525.60.13 for 12, 580.65.06 for 13.

Also a driver branch older than the GPU, or older than the one that NVIDIA documents for it.

In a pasted text also the CUDA version of a program, image or wheel that does not get the GPU. If the text names only
a driver branch (`535`), it may be any release of it.

## Why it matters
CUDA does not start: "The NVIDIA driver on your system is too old", `CUDA_ERROR_INSUFFICIENT_DRIVER` (35).

## Not raised when
- The driver is at or above the floor of the major: minor-version compatibility serves the program, though PTX of a
  newer toolkit can't be compiled by an older driver.
- Forward-compatibility libraries (cuda-compat, for data-centre GPUs) are on the library path: they raise the CUDA
  that the driver supports, and nvidia-smi shows it.
- An image brings them (NV_CUDA_COMPAT_PACKAGE, VLLM_ENABLE_CUDA_COMPATIBILITY) and lists the driver's branch in
  NVIDIA_REQUIRE_CUDA, the GPUs are data-centre GPUs, and nothing reports that the GPU is not seen.
- torch reports its GPU, and nothing needs a newer CUDA major than torch's.
- Either version is unknown.

## How to confirm
`nvidia-smi` shows the driver and the newest CUDA it supports; `python -c "import torch; print(torch.version.cuda)"`.

## Fix
Upgrade the driver on the host:

- Ubuntu: `apt-get install nvidia-driver-580-open` (`-580-server-open` on a data-centre GPU).
- Debian: NVIDIA's repository, then `apt-get install nvidia-driver-pinning-580` and `nvidia-open`. Debian's own
  `nvidia-driver` is 535 (Debian 12) or 550 (Debian 13).
- RHEL 8 and 9 and its rebuilds: NVIDIA's repository, then `dnf module enable nvidia-driver:580-open` and `dnf install
  nvidia-open`. RHEL 10 and Fedora: `dnf versionlock` for the branch.
- Arch: `pacman -Syu nvidia-open-dkms`, which is the newest driver.

Maxwell, Pascal and Volta need the proprietary modules and branch 580 at most.

Or keep the driver and install the same torch for a CUDA that it supports (`pip install torch==RELEASE --index-url
https://download.pytorch.org/whl/cu126`). On a data-centre GPU the cuda-compat package of the newer CUDA works too.

## Fix safety
The driver: host, root, reboot; every GPU job on the node stops. Undo: install the old branch the same way.
The other torch build: this environment only, no root. Undo: reinstall the old version.

## References
https://docs.nvidia.com/deploy/cuda-compatibility/ ; https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error message says it: which driver is there and what it must serve is not known."""
    if machine.of_vendor("amd") and not machine.of_vendor("nvidia"):
        return ()
    older = "Keep the driver and install a build of the program for an older CUDA (`nvidia-smi` shows the newest one)."
    return (
        *commands.nvidia_driver(machine, _flavour(machine, kb)),
        ways.way(older, Scope.ENVIRONMENT, keeps=("the driver",)),
    )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Whether facts that are known, and no floor that they meet, end the matter."""
    return machine.symptom(*NEWER_THAN_FLOOR) is None and bool(machine.torch.cuda)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for need in needs(machine):
        floor = kb.cuda_floor(need.cuda)
        if floor and not served(machine, need.cuda, floor) and not runs(machine, need):
            found = _finding(machine, kb, need, floor)
            held = need.who.startswith(CONDA_CUDA)  # which program uses it is not known
            yield found.model_copy(update={"severity": Severity.WARNING}) if held else found
            return
    yield from list(_too_old_for_gpu(machine, kb)) or _of_image(machine, kb)


_CUDA_IMAGE = Lazy(r"(?:nvcr\.io/|docker\.io/)?nvidia/cuda:(\d{1,2}\.\d)(?:\.\d{1,2})?(?=-|$)")


def _of_image(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """NVIDIA's own CUDA image that is started: it asks its runtime for a driver that serves its CUDA."""
    container = machine.container
    found = _CUDA_IMAGE.match(container.image or "")
    floor = kb.cuda_floor(found[1]) if found and container.run_args else None
    if found is None or floor is None or not machine.nvidia_driver.version or served(machine, found[1], floor):
        return
    summary = f"The image is for CUDA {found[1]}, which needs driver {floor.driver}."
    about = _finding(machine, kb, Need("the image", found[1], "container.image"), floor)
    yield about.model_copy(update={"severity": Severity.WARNING, "summary": summary})


def _too_old_for_gpu(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    from doctor.knowledge.windows import driver_branches_of, driver_knows_gpu, is_past_branch

    version = machine.nvidia_driver.version or ""
    for gpu in machine.of_vendor("nvidia"):
        floor = _documented(gpu.name)
        answer = driver_knows_gpu(kb, version, gpu.arch)
        last = driver_branches_of(kb, gpu.arch)[1] if gpu.arch else None
        before = answer.no and not (last and is_past_branch(Dotted(version).major or 0, int(last)))
        if gpu.driver == "nvidia" or gpu.uuid:  # only a driver that knows the GPU binds it and reports its UUID
            continue
        if not before and not (floor and Dotted(version).numbers and not Dotted(version).reaches(floor)):
            continue
        if machine.torch.available or "nvgpu" in (machine.kernel.modules or ()):
            return
        summary = answer.reason if before else f"it needs driver {floor} or newer; {version[:20]} is installed"
        yield Finding(
            severity=Severity.ERROR if before else Severity.WARNING,
            summary=f"The NVIDIA driver is too old for {presence.label(gpu)[:80]}: {summary}.",
            subject=Subject(kind="driver", id="nvidia"),
            evidence=evidence(machine, ("nvidia_driver.version", f"gpus[{gpu.key}].name", f"gpus[{gpu.key}].arch")),
            remedies=commands.nvidia_driver(machine, _flavour(machine, kb), floor),
            verify=("nvidia-smi",),
            source=answer.source or "https://docs.nvidia.com/datacenter/tesla/drivers",
        )
        return


def _documented(name: str | None) -> str | None:
    """The lowest driver that NVIDIA documents for a product, where it names one."""
    for row in table("nvidia_products").values():
        if row.get("min_driver_documented") and name in (row.get("nvml_names") or ()):
            return str(row["min_driver_documented"])
    return None


def _finding(machine: Snapshot, kb: Knowledge, need: Need, floor: Floor) -> Finding:
    driver = machine.nvidia_driver
    has = driver.version[:20] if driver.version else f"CUDA {driver.cuda_version} at most"
    serves = driver.cuda_version or kb.driver_serves_cuda(driver.version)
    other = f" The driver supports CUDA {serves} at most." if serves else ""
    return Finding(
        severity=Severity.ERROR,
        summary=f"The NVIDIA driver ({has}) is too old for CUDA {need.cuda[:10]}, which needs {floor.driver} or newer.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(
            machine, ("nvidia_driver.version", "nvidia_driver.cuda_version", "torch.version", "torch.cuda")
        ),
        remedies=(
            *commands.nvidia_driver(machine, _flavour(machine, kb), str(floor.driver)),
            _older_build(machine, need)
            or ways.way(f"Keep the driver and change {need.who}.{other}", Scope.ENVIRONMENT, keeps=("the driver",)),
        ),
        verify=("nvidia-smi",),
        source=floor.source,
    )


def _flavour(machine: Snapshot, kb: Knowledge) -> module_flavour.Flavour:
    """That of the driver that is there, unless a GPU takes only the proprietary modules."""
    refused = module_flavour.wanted(machine, kb) == "proprietary"
    return "proprietary" if refused else machine.nvidia_driver.flavour or "open"


def _older_build(machine: Snapshot, need: Need) -> Remedy | None:
    """The newest torch that runs on the driver as it is, where torch is what asks for more."""
    from doctor.rules.lib.torch_install import install, solved

    found = solved(machine, "nvidia") if need.fact == "torch.cuda" else None
    if found is None or found.build is None:
        return None
    remedy = install(machine, "nvidia", found)
    title = f"Keep the driver and install {found.build.words}, which runs on it."
    return remedy.model_copy(update={"title": title, "keeps": ("the driver", *remedy.keeps)})
