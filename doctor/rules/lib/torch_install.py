"""Which command puts a torch for this machine's GPUs into the user's environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Expect, Remedy, Scope, Step
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.pip import INDEX, index, pip, python_after, refuses_pip, undo
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.resolve import Solution

_CUDA = (
    ("13.0", "cu130"),
    ("12.8", "cu128"),
    ("12.6", "cu126"),
    ("12.4", "cu124"),
    ("12.1", "cu121"),
    ("11.8", "cu118"),
)
_ROCM = ("7.2", "7.1", "7.0", "6.4", "6.3", "6.2", "6.1", "6.0")
"""Builds on that index, newest first (PyTorch releases 2.2 to 2.14, 2026-11-20)."""
_BLACKWELL = 100
_THOR = 110
"""Its own code alone runs on it, which builds for CUDA 13 have (pytorch/pytorch .ci/manywheel/build_cuda.sh)."""
_TURING = 75
_TEGRA = ("sm_53", "sm_62", "sm_72", "sm_87")
"""Of Jetson modules alone. No build on that index has code for one: the lists for aarch64 up to torch 2.15."""
_OF_JETSON = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
_ON_WINDOWS = "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/compatibility/compatibilityrad/windows/windows_compatibility.html"
_FAMILY = ("torch", "torchvision", "torchaudio")


def install_torch(machine: Snapshot, tag: str, *wanted: str) -> tuple[Step, ...]:
    """torch from one of PyTorch's indexes: in the environment that has it, or in a new one."""
    here = "" if machine.interpreter.path else " Activate its environment first."
    return pip(machine, f"Replace torch.{here}", "--force-reinstall", *index(tag), *wanted)


def cuda_tag(machine: Snapshot) -> str:
    """`cu128`: the newest build that the driver serves and that has code for the GPUs."""
    served = Dotted(machine.nvidia_driver.cuda_version or "12.8")
    tag = next((tag for floor, tag in _CUDA if served >= floor), "cu118")
    archs = [int(g.arch[3:].rstrip("af")) for g in machine.of_vendor("nvidia") if g.arch and g.arch[3:5].isdigit()]
    if archs and min(archs) < _TURING and tag in ("cu130", "cu128"):
        return "cu126"
    if _THOR in archs:
        return "cu130"
    if archs and max(archs) >= _BLACKWELL and tag != "cu130":
        return "cu128"
    return tag


def rocm_tag(machine: Snapshot) -> str:
    """`rocm6.4`: the build of the ROCm that is installed, else the newest one."""
    series = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    return f"rocm{next((v for v in _ROCM if v in series), _ROCM[0])}"


def solved(machine: Snapshot, vendor: str) -> Solution | None:
    """A stack of torch and the companions that are installed that fits every GPU of the vendor, the driver, the Python
    and the system: of the release that is installed where there is one, else the newest. None where too little is
    known, or nothing fits."""
    same = release_of(machine)
    return (_solved(machine, vendor, f"=={same}") if same else None) or _solved(machine, vendor, "")


def release_of(machine: Snapshot) -> str | None:
    """`2.13.0` of `2.13.0+cpu`; None for nightlies and builds from source."""
    plain = (machine.torch.version or "").partition("+")[0]
    return plain if plain and len(plain) < _LONGEST_VERSION and all(p.isdecimal() for p in plain.split(".")) else None


_LONGEST_VERSION = 20


def _solved(machine: Snapshot, vendor: str, pin: str) -> Solution | None:
    from dataclasses import replace

    from doctor.knowledge import Knowledge
    from doctor.resolve import from_snapshot, solve

    kb = Knowledge()
    known = [g for g in machine.of_vendor(vendor) if g.arch]
    archs = sorted({g.arch or "" for g in known if not g.integrated} or {g.arch or "" for g in known})
    if not archs:
        return None
    target = replace(from_snapshot(kb, machine), vendor="nvidia" if vendor == "nvidia" else "amd", arch=archs[0])
    if vendor == "nvidia" and not target.driver:
        return None
    found = solve(kb, target, [f"{name}{pin if name == 'torch' else ''}" for name in wanted(machine)])
    for arch in archs[1:]:
        pinned = [f"torch=={found.build.version}+{found.build.tag}"] if found.build else []
        if solve(kb, replace(target, arch=arch), pinned).status != "solved":
            return None
    return found if found.status == "solved" and found.build else None


def wanted(machine: Snapshot) -> list[str]:
    """torch, and the packages of its family that are installed."""
    held = {p.name for p in machine.packages or ()}
    return [name for name in _FAMILY if name == "torch" or name in held]


def on_jetson(machine: Snapshot) -> bool:
    """Whether its GPU is one that only NVIDIA's own builds for a JetPack support."""
    named = f"{machine.container.image} {machine.kernel.release}"
    return any(gpu.arch in _TEGRA for gpu in machine.of_vendor("nvidia")) or _OF_TEGRA.search(named) is not None


_OF_TEGRA = Lazy(r"\bdustynv/|[/:-]l4t-|\bjetson|-tegra\b")


def install(machine: Snapshot, vendor: Literal["amd", "nvidia"], found: Solution | None = None) -> Remedy:
    """Replace torch, with those companions that are installed, by a build for that vendor's GPUs: of the same release
    where there is one. `found` is what `solved` answered."""
    if vendor == "nvidia" and on_jetson(machine):
        title = "Install NVIDIA's build of torch for this JetPack and this Python, in a new environment."
        return by_hand(title, Scope.ENVIRONMENT, f"Follow NVIDIA's guide: {_OF_JETSON}", undo=_DELETE, vendor=vendor)
    if vendor == "amd" and machine.os.id == "windows" and not machine.host.wsl:
        title = "Use a build of torch for Windows with code for this GPU; PyTorch's own builds for ROCm need Linux."
        return by_hand(title, Scope.ENVIRONMENT, f"Check AMD's list of GPUs first: {_ON_WINDOWS}", vendor=vendor)
    found, same, names = found or solved(machine, vendor), release_of(machine), wanted(machine)
    kept = None
    if found and found.build:
        tag, kept = found.build.tag, found.build.version
        names = [f"torch=={kept}", *(pick.requirement for pick in found.picks)]
    else:
        tag = cuda_tag(machine) if vendor == "nvidia" else rocm_tag(machine)
        if same and (of_same := _tag_of(same, vendor, tag)):
            tag, kept, names = of_same, same, [f"torch=={same}", *names[1:]]
    what = f"torch {kept}" if kept else "torch"
    where = "a new" if refuses_pip(machine) else "this"
    title = f"Install {what} for {'CUDA' if vendor == 'nvidia' else 'ROCm'} ({tag}) in {where} environment."
    if same and kept != same:
        title = f"{title[:-1]}; no build of {same} is known to match."
    risk = None if refuses_pip(machine) else REPLACES
    if machine.container.image and machine.container.inside is None:  # of a text with a run line
        title = f"In the container: {title[:1].lower()}{title[1:-1]}, or use a tag of the image for this GPU."
        risk = "is lost when the container is recreated; a rebuilt image keeps it"
    return Remedy(
        title=title,
        scope=Scope.ENVIRONMENT,
        steps=install_torch(machine, tag, *names),
        risk=risk,
        keeps=(f"torch {same}",) if same and kept == same else (),
        effect=(Expect(fact="torch.version", equals=f"{kept}+{tag}"),) if kept else (),
        undo=undo_torch(machine),
        vendor=vendor,
    )


_DELETE = "Delete the new environment."
REPLACES = "replaces torch and the packages that it pins in this environment"


def undo_torch(machine: Snapshot) -> tuple[Step, ...]:
    held = [p for p in machine.packages or () if p.name in _FAMILY]
    alone = [Package(name="torch", version=machine.torch.version)] if machine.torch.version else []
    return undo(machine, held or alone)


def _tag_of(release: str, vendor: str, newest: str) -> str | None:
    """The newest label of that release that is not above `newest`; None where the table does not have one."""
    from doctor.knowledge import Knowledge

    row = Knowledge().torch_build(release)
    if row is None:
        return None
    tags = row.cuda_variants if vendor == "nvidia" else tuple(f"rocm{v}" for v in row.rocm_variants)
    fit = [tag for tag in tags if _number(tag) <= _number(newest)]
    return max(fit, key=_number, default=None)


def _number(tag: str) -> tuple[int, ...]:
    """`(12, 8)` of `cu128`, `(6, 4)` of `rocm6.4`."""
    digits = tag.lstrip("curom")
    return Dotted(digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}").numbers


def torch_again(machine: Snapshot) -> tuple[str, ...]:
    """Arguments of `pip install` that install the same torch again, with what it pins. PyPI's own builds are for CUDA:
    where the build is not known, nor is the index."""
    same, label = release_of(machine), (machine.torch.version or "").partition("+")[2]
    if same and (index(label) or (not label and machine.torch.build == "cuda")):
        return ("--force-reinstall", *index(label), f"torch=={same}")
    return ("--force-reinstall", "--index-url", f"{INDEX}/LABEL", "torch==RELEASE")


def run_kernel(machine: Snapshot) -> tuple[str, ...]:
    """The argv that proves torch has code for the GPU."""
    return (python_after(machine), "-c", TEST)


TEST = 'import torch; print(torch.ones(3, device="cuda").sum().item())'


def see_gpu(machine: Snapshot) -> tuple[str, ...]:
    return (python_after(machine), "-c", "import torch; print(torch.__version__, torch.cuda.is_available())")
