"""What CUDA a machine's programs are built for, and whether its driver serves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts import Snapshot
from doctor.redaction.lazy import Lazy
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.entries import Floor

_REQUIRED = Lazy(r"\bcuda>=(\d{1,2}\.\d{1,2})\b")


class Need(NamedTuple):
    """Who was built for which CUDA (`12.4`), and the fact that says so."""

    who: str
    cuda: str
    fact: str


NEWER_THAN_FLOOR = (
    "cuda-ptx-toolchain",
    "container-unsatisfied-cuda",
    "driver-symbol-missing",
    "cuda-driver-insufficient",
    "image-refused-by-old-driver",
)
"""Error texts that the floor of a CUDA major does not answer: PTX and images want the toolkit's own driver."""


def needs(machine: Snapshot) -> Iterator[Need]:
    """Of torch, of packages by their names, and of the image by what it asks its engine for."""
    if machine.torch.cuda:
        yield Need(f"torch {machine.torch.version or ''}".strip(), machine.torch.cuda, "torch.cuda")
    yield from _packages(machine)
    asked = _REQUIRED.search((machine.environment or {}).get("NVIDIA_REQUIRE_CUDA", ""))
    if asked and (machine.environment or {}).get("NVIDIA_DISABLE_REQUIRE") not in ("1", "true"):
        yield Need("this image", asked[1], "environment")


_MAJOR_PACKAGE = Lazy(
    r"(?:nvidia-cuda-runtime|jax-cuda|torch-tensorrt)-?cu(?:da)?(1[1-9])|jax-cuda(1[1-9])-(?:plugin|pjrt)$"
)
CONDA_CUDA = ("cudatoolkit", "pytorch-cuda")
"""Conda's packages of the CUDA runtime, numbered as it is. `cuda-version` names a bound, not what is there."""
_CONDA_CUDA_RELEASE = Lazy(r"\d{1,2}\.\d{1,2}")
_LOCAL = Lazy(r"\+cu(?:da)?(1[1-9])(\d)?(?!\d)")


def _packages(machine: Snapshot) -> Iterator[Need]:
    """Packages whose name or version says the CUDA that they are built for."""
    if machine.torch.build not in (None, "cuda"):
        return
    for package in (machine.packages or ())[:2000]:
        if package.name.startswith("nvidia-cuda-runtime") and machine.torch.available:
            continue  # a loose library, which nothing loads: torch has its GPU with its own
        if found := _MAJOR_PACKAGE.match(package.name):
            yield Need(package.name, f"{found[1] or found[2]}.0", "packages")
        elif package.name in CONDA_CUDA and (found := _CONDA_CUDA_RELEASE.match(package.version)):
            yield Need(f"{package.name} {found[0]}", found[0], "packages")
        elif found := _LOCAL.search(package.version):
            yield Need(f"{package.name} {package.version}"[:60], f"{found[1]}.{found[2] or 0}", "packages")


_COMPATIBLE = 11
"""From CUDA 11 on a driver of the same major serves each minor release (CUDA compatibility guide, minor versions)."""


def served(machine: Snapshot, cuda: str, floor: Floor) -> bool:
    """Whether the driver serves the CUDA version, also where forward-compatibility libraries may do so."""
    driver = machine.nvidia_driver
    serves, wanted = Dotted(driver.cuda_version or ""), Dotted(cuda)
    major = wanted.major or 0
    if driver.cuda_version and ((serves.major or 0) >= major if major >= _COMPATIBLE else serves >= wanted):
        return True
    if "compat" in (machine.environment or {}).get("LD_LIBRARY_PATH", ""):
        return True
    if _forward_compatible(machine):
        return True
    return Dotted(driver.version).reaches(floor.driver) if driver.version else not driver.cuda_version


_DATA_CENTRE = Lazy(
    r"\b(?:Tesla|A(?:2|10|16|30|40|100|800)|L(?:4|20|40S?)|[BH][1238]00|H20|G[BH]\d{3}|[TP]4|[PV]100S?)(?![\w.])"
)


def _forward_compatible(machine: Snapshot) -> bool:
    """Whether an image brings the forward-compatibility libraries, lists the driver's branch among those that they work
    on, and the GPUs are of the data centre; and nothing tells that they don't."""
    shown, branch = machine.environment or {}, Dotted(machine.nvidia_driver.version or "").major
    brought = "NV_CUDA_COMPAT_PACKAGE" in shown or shown.get("VLLM_ENABLE_CUDA_COMPATIBILITY") in ("1", "true", "True")
    listed = f"brand=tesla,driver>={branch},driver<" in shown.get("NVIDIA_REQUIRE_CUDA", "")
    gpus = machine.of_vendor("nvidia")
    if not brought or not listed or not gpus or not all(_DATA_CENTRE.search(gpu.name or "") for gpu in gpus):
        return False
    failed = machine.symptom(
        *NEWER_THAN_FLOOR, "torch-reports-no-gpu", "torch-reports-no-hip-gpu", "cuda-no-device", "cuda-no-device-code"
    )
    return failed is None and machine.torch.available is not False


def runs(machine: Snapshot, need: Need) -> bool:
    """Whether torch says that it has its GPU: then something serves its CUDA, as forward-compatibility libraries do,
    and what asks for no newer major runs on them too."""
    if not machine.torch.available or not machine.torch.cuda or machine.symptom(*NEWER_THAN_FLOOR):
        return False
    return (Dotted(need.cuda).major or 0) <= (Dotted(machine.torch.cuda).major or 0)
