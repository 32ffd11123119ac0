"""The NVIDIA driver is older than the CUDA runtime in use needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.knowledge.catalogue import table
from doctor.redaction.lazy import Lazy
from doctor.rules import commands, presence, work_done
from doctor.rules.cuda_needs import CONDA_CUDA, NEWER_THAN_FLOOR, Need, needs, runs, served
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.entries import Floor
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-driver-too-old",
    severity=Severity.ERROR,
    title="The NVIDIA driver is older than the CUDA runtime in use needs.",
    needs=[
        {"nvidia_driver.version", "torch.cuda"},
        {"nvidia_driver.cuda_version", "torch.cuda"},
        {"nvidia_driver.version", "environment"},
        {"nvidia_driver.version", "gpus"},
        {"nvidia_driver.version", "packages"},
        {"nvidia_driver.version", "torch.version"},
        {"nvidia_driver.version", "container.image"},
        {"nvidia_driver.version", "symptom:cuda-build-asked-for-told"},
        {"nvidia_driver.cuda_version", "symptom:cuda-build-asked-for-told"},
        {"nvidia_driver.version", "symptom:cuda-of-program-told"},
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

Also a driver of a branch before the GPU itself, or below the one that NVIDIA documents for it.

In a pasted text also the CUDA that a program, an image or a wheel is said to be of, where it goes without the GPU. Of a
driver that is named by its branch alone (`535`) any release may be there.

Where only torch's release is known and torch reports no GPU: what PyPI's wheel of that release is built for
(CUDA 13 from 2.11 on). That is a warning, since the wheel may be from elsewhere.

## Why it matters
"The NVIDIA driver on your system is too old", `CUDA_ERROR_INSUFFICIENT_DRIVER` (35), no GPU in torch.

## Not raised when
- The driver is at or above the floor of the major: minor-version compatibility serves the program,
  though PTX of a newer
  toolkit can't be compiled by an older driver.
- Forward-compatibility libraries (cuda-compat, for data-centre GPUs) are on the loader's path: they
  raise what the driver
  serves, and nvidia-smi shows it.
- An image brings them (NV_CUDA_COMPAT_PACKAGE, VLLM_ENABLE_CUDA_COMPATIBILITY) and lists the driver's branch in
  NVIDIA_REQUIRE_CUDA, the GPUs are of the data centre, and nothing says that the GPU is not seen.
- torch says that it has its GPU, and nothing asks for a CUDA of a newer major than torch's.
- Either version is unknown.

## How to confirm
`nvidia-smi` shows the driver and the newest CUDA it serves; `python -c "import torch; print(torch.version.cuda)"`.

## Fix
Update the driver on the host, or take a torch built for a CUDA major that the driver serves. On a data-centre GPU the
cuda-compat package of the newer CUDA works too.

## Fix safety
A driver update stops the GPU jobs of the node and wants a reboot. Another torch build touches this environment only.

## References
https://docs.nvidia.com/deploy/cuda-compatibility/ ; https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
""",
)
FIXES = (Fix(text="Update NVIDIA's driver on the host, or install a torch built for an older CUDA.", reboot=True),)


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Whether facts that are known, and no floor that they meet, end the matter."""
    return machine.symptom(*NEWER_THAN_FLOOR) is None and bool(machine.torch.cuda)


def excludes(machine: Snapshot) -> bool:
    """Where a cluster's engine gives no driver library: CUDA's runtime says of that what it says of an old driver."""
    said = machine.symptom("cuda-driver-insufficient")
    if said is None or machine.torch.cuda or "too old" in said.text.lower():
        return False
    return machine.symptom(*_NO_LIBRARY_GIVEN) is not None


_NO_LIBRARY_GIVEN = ("device-plugin-no-nvml", "default-runtime-not-nvidia-told", "runtime-class-lacking-said")


def unheard(machine: Snapshot) -> bool:
    """Where kernels ran: a driver that is too old for the runtime starts none. Where there is no driver at all. Where a
    program says that the driver is older than one that by its own numbers it is newer than. Where torch warns of the
    GPU's capability: it asks for that when CUDA is up, which it is not with a driver that is too old. Where a GPU is at
    work and nothing tells of trouble."""
    if machine.symptom("cuda-driver-version-zero", "torch-warns-of-capability-told"):
        return True
    busy = any((gpu.sensors.utilisation_percent or 0) >= _BUSY for gpu in machine.of_vendor("nvidia"))
    if busy and work_done.nothing_fails(machine, "nvidia_driver.version"):
        return True
    return work_done.ran(machine) or any(_contradicts(s.text) for s in machine.symptoms if s.key == _NAMED)


_BUSY = 90
"""Percent of the time in which a kernel runs."""


def _contradicts(line: str) -> bool:
    """Whether what a line asks for is no newer than what it says is there."""
    asked = _ASKED.search(line)
    if asked is None:
        return False
    there = [(m[1] or m[2], m.start(1) if m[1] else m.start(2)) for m in _THERE.made.finditer(line)]
    others = [release for release, at in there if at != asked.start(1)]
    return bool(others) and all(Dotted(release) >= Dotted(asked[1]) for release in others)


_NAMED = "driver-release-compared-told"
_RELEASE = r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)"
_ASKED = Lazy(rf"(?i)\b(?:older than|minimum|at least|requires?|needs?|expects?)\b[^\n\d]{{0,40}}{_RELEASE}")
_THERE = Lazy(
    rf"(?i)\b(?:current(?:ly)?|installed|found|detected|have|got)\b[^\n\d]{{0,24}}{_RELEASE}"
    rf"|{_RELEASE}\)?,? (?:is |was )?(?:found|installed|detected|there)\b"
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for need in needs(machine):
        floor = kb.cuda_floor(need.cuda)
        if floor and not served(machine, need.cuda, floor) and not runs(machine, need):
            found = _finding(machine, kb, need, floor)
            held = need.who.startswith(CONDA_CUDA)  # what uses it is not told
            yield found.model_copy(update={"severity": Severity.WARNING}) if held else found
            return
    told = list(_too_old_for_gpu(machine, kb))
    yield from (
        told
        or list(_default_wheel(machine, kb))
        or list(_asked_for(machine, kb))
        or list(_of_program(machine, kb))
        or _of_image(machine, kb)
    )


_CUDA_IMAGE = Lazy(r"(?:nvcr\.io/|docker\.io/)?nvidia/cuda:(\d{1,2}\.\d)(?:\.\d{1,2})?(?=-|$)")


def _of_image(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """NVIDIA's own CUDA image that is started: it asks its runtime for a driver that serves its CUDA."""
    container = machine.container
    found = _CUDA_IMAGE.match(container.image or "")
    floor = kb.cuda_floor(found[1]) if found and container.run_args else None
    if found is None or floor is None or not machine.nvidia_driver.version or served(machine, found[1], floor):
        return
    said = f"The image is of CUDA {found[1]}, which needs driver {floor.driver}."
    about = _finding(machine, kb, Need("the image", found[1], "container.image"), floor)
    yield about.model_copy(update={"severity": Severity.WARNING, "summary": said})


def _asked_for(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """The CUDA that an installation command in the text names, where a program finds no GPU and no list of packages
    tells what came of the command."""
    asked = machine.symptom("cuda-build-asked-for-told")
    blind = machine.torch.available is False or machine.symptom(*_BLIND) is not None
    if asked is None or not blind or machine.torch.build or machine.torch.version:
        return
    found = _CUDA_ASKED.search(asked.text[:600])
    cuda = (found[1] or f"{found[2][:-1]}.{found[2][-1]}") if found else ""
    floor = kb.cuda_floor(cuda) if cuda else None
    if floor is None or served(machine, cuda, floor):
        return
    said = f"The installation command asks for CUDA {cuda}, which needs driver {floor.driver}."
    about = _finding(machine, kb, Need("the build", cuda, "torch.version"), floor)
    line = Evidence(text=asked.text[:200], source=asked.source)
    yield about.model_copy(
        update={"severity": Severity.WARNING, "basis": "both", "summary": said, "evidence": (*about.evidence, line)}
    )


def _of_program(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """The CUDA that somebody says a program, an image or a wheel is of, where that sees no GPU or goes without."""
    told = machine.symptom("cuda-of-program-told")
    blind = machine.torch.available is False or machine.symptom(*_BLIND, *_WITHOUT) is not None
    found = _CUDA_OF.search(told.text[:600]) if told and blind and not machine.torch.cuda else None
    if told is None or found is None:
        return
    cuda = found[1] or f"{found[2][:2]}.{found[2][2:] or 0}"
    floor = kb.cuda_floor(cuda)
    if floor is None or served(machine, cuda, floor):
        return
    said = f"What runs is of CUDA {cuda}, which needs driver {floor.driver}."
    about = _finding(machine, kb, Need("the program", cuda, "nvidia_driver.version"), floor)
    line = Evidence(text=told.text[:200], source=told.source)
    yield about.model_copy(
        update={"severity": Severity.WARNING, "basis": "both", "summary": said, "evidence": (*about.evidence, line)}
    )


_WITHOUT = ("cpu-in-place-of-gpu-told", "framework-falls-back-to-cpu")
_CUDA_OF = Lazy(r"(?i)\bCUDA (?:toolkit |runtime )?(1\d(?:\.\d{1,2})?)\b|\bcu(1\d{1,2})\b")
_BLIND = ("torch-reports-no-gpu", "gpu-not-seen-said", "gpu-available-false-printed")
_CUDA_ASKED = Lazy(
    r"(?:cudatoolkit|pytorch-cuda|cuda-version|cuda-toolkit)[ =]{1,3}(\d{1,2}\.\d)"
    r"|(?:whl/(?:nightly/)?|\+)cu(\d{2,3})\b"
)


def _default_wheel(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """A release that somebody named without its build, in a torch that reports no GPU: PyPI's wheel of it."""
    from doctor.rules.torch_build_at_hand import on_arm

    blind = machine.torch.available is False or machine.symptom("torch-reports-no-gpu") is not None
    if not blind or machine.torch.build or machine.os.id in ("windows", "macos") or on_arm(machine):
        return
    row = kb.torch_build(machine.torch.version) if machine.torch.version else None
    if row is None or not row.default_cuda or not machine.of_vendor("nvidia") or "+" in (machine.torch.version or ""):
        return
    floor = kb.cuda_floor(row.default_cuda)
    if floor and not served(machine, row.default_cuda, floor):
        need = Need(f"torch {row.version}", row.default_cuda, "torch.version")
        found = _finding(machine, kb, need, floor)
        said = f"PyPI's torch {row.version} is built for CUDA {row.default_cuda}, which needs driver {floor.driver}."
        yield found.model_copy(update={"severity": Severity.WARNING, "summary": said})


def _too_old_for_gpu(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    from doctor.knowledge.windows import driver_knows_gpu

    version = machine.nvidia_driver.version or ""
    for gpu in machine.of_vendor("nvidia"):
        floor = _documented(gpu.name)
        answer = driver_knows_gpu(kb, version, gpu.arch)
        before = answer.no and "is the last branch" not in answer.reason
        if gpu.driver == "nvidia" or gpu.uuid:  # only a driver that knows the GPU binds it and tells its UUID
            continue
        if not before and not (floor and Dotted(version).numbers and not Dotted(version).reaches(floor)):
            continue
        if machine.torch.available or "nvgpu" in (machine.kernel.modules or ()):
            return
        said = answer.reason if before else f"it needs driver {floor} or newer; {version[:20]} is installed"
        yield Finding(
            severity=Severity.ERROR if before else Severity.WARNING,
            summary=f"The NVIDIA driver is too old for {presence.label(gpu)[:80]}: {said}.",
            subject=Subject(kind="driver", id="nvidia"),
            evidence=evidence(machine, ("nvidia_driver.version", f"gpus[{gpu.key}].name", f"gpus[{gpu.key}].arch")),
            fixes=commands.nvidia_driver(machine, "open", floor),
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
    has = f"{driver.version[:20]} is loaded" if driver.version else f"the loaded one serves CUDA {driver.cuda_version}"
    serves = driver.cuda_version or kb.driver_serves_cuda(driver.version)
    other = f" It serves CUDA {serves} at most: take a build for CUDA {serves.split('.')[0]}." if serves else ""
    gpus = {kb.open_module(g.pci_id or g.arch) for g in presence.present(machine, "nvidia")}
    flavour = driver.flavour or "open"
    return Finding(
        severity=Severity.ERROR,
        summary=f"CUDA {need.cuda[:10]} needs NVIDIA driver {floor.driver} or newer; {has}.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(
            machine, ("nvidia_driver.version", "nvidia_driver.cuda_version", "torch.version", "torch.cuda")
        ),
        fixes=(
            *commands.nvidia_driver(machine, "proprietary" if "unsupported" in gpus else flavour, str(floor.driver)),
            _older_build(machine, need)
            or Fix(text=f"Or keep the driver and change {need.who}.{other}", where="environment"),
        ),
        verify=("nvidia-smi",),
        source=floor.source,
    )


def _older_build(machine: Snapshot, need: Need) -> Fix | None:
    """The newest torch that runs on the driver as it is, where torch is what asks for more."""
    from doctor.rules.torch_install import install, solved

    found = solved(machine, "nvidia") if need.fact == "torch.cuda" else None
    if found is None or found.build is None:
        return None
    fix = install(machine, "nvidia")
    return fix.model_copy(update={"text": f"Or keep the driver: {found.build.words} runs on it."})
