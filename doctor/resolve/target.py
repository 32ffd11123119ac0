"""The machine that packages are for: as a person describes it, or as facts show it."""

from __future__ import annotations

import re
from typing import Literal

from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.knowledge.names import gpu_by_name
from doctor.knowledge.windows import os_name, os_release_matches, sm_number
from doctor.parsers.lib.printable import clean
from doctor.resolve.model import IN_TREE, Target
from doctor.versions import Dotted

_PYTHON = re.compile(r"3\.\d{1,2}t?")


def described(
    kb: Knowledge,
    gpu: str | None = None,
    driver: str | None = None,
    rocm: str | None = None,
    python: str | None = None,
    os: str | None = None,
    machine: str | None = None,
    glibc: str | None = None,
) -> Target:
    """Of options: `gpu` is `gfx942`, `sm_90`, `9.0`, a PCI id or a name; `os` is `ubuntu-24.04`;
    `machine` is x86_64 or aarch64, by default what the GPU comes with. Without a GPU, the driver or ROCm tells whose
    it is. Raises InputError, also where two options are of two vendors."""
    vendor, arch = _gpu(kb, gpu) if gpu else (None, None)
    for option, value, such in (
        ("--driver", driver, "570.124.06"),
        ("--rocm", rocm, "7.2"),
        ("--glibc", glibc, "2.35"),
    ):
        if value and value != IN_TREE and not Dotted(value).numbers:
            raise InputError(f"{option} {value}: expected a version such as {such}")
    python = python_series(python) if python else None
    name, _, version = (os or "").lower().replace(":", "-").rpartition("-")
    if os and not (name and version):
        raise InputError(f"--os {os}: expected a system and its release, such as ubuntu-24.04")
    if name.startswith(_NOT_LINUX):
        raise InputError(f"--os {os}: only wheels for Linux are known")
    own = "aarch64" if comes_with_arm(arch, gpu) else "x86_64"
    vendor = _vendor(gpu, vendor, driver, rocm)
    return Target(
        vendor=vendor,  # type: ignore[arg-type]
        arch=arch,
        driver=(amdgpu_release(kb, driver) if vendor == "amd" else None) or driver,
        rocm=rocm,
        python=python,
        os=name or None,
        os_version=version or None,
        glibc=glibc or glibc_of(kb, name, version),
        libc=libc_of(kb, name, glibc),
        machine={"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine) if machine else own,
        gpu=gpu,
    )


WHOSE = {"amd": "AMD's", "nvidia": "NVIDIA's"}
_FIRST_NVIDIA = 100
"""NVIDIA's drivers are numbered from 173 up, amdgpu's releases at 31 and less (5.7, 6.4.1, 22.40, 30.10)."""


def _vendor(gpu: str | None, vendor: str | None, driver: str | None, rocm: str | None) -> str | None:
    """Whose stack is described. Raises InputError for two vendors at once."""
    vendors = {f"--gpu {gpu}": vendor, f"--rocm {rocm}": "amd" if rocm else None}
    if driver:
        own = driver != IN_TREE and Dotted(driver).numbers[0] >= _FIRST_NVIDIA
        vendors[f"--driver {driver}"] = "nvidia" if own else "amd"
    named = [(option, whose) for option, whose in vendors.items() if whose]
    for option, whose in named[1:]:
        if whose != named[0][1]:
            raise InputError(
                f"{named[0][0]} is {WHOSE[named[0][1]]} and {option} {WHOSE[whose]}: one machine has one of them; "
                "leave one out"
            )
    return named[0][1] if named else None


def other_here(target: Target, machine: Snapshot) -> str | None:
    """What to say where the GPUs that are here are of another vendor than what was described."""
    here = [gpu for gpu in machine.gpus or () if gpu.vendor in WHOSE]
    if not here or target.vendor is None or target.vendor in {gpu.vendor for gpu in here}:
        return None
    name = clean(here[0].name or "the GPU")
    return (
        f"what is described is for GPUs of {WHOSE[target.vendor][:-2]}, and {name} of this machine is "
        f"{WHOSE[here[0].vendor or '']}; --gpu names the one that is meant"
    )


def python_series(text: str) -> str:
    """`3.12` of `3.12.4`. Raises InputError for what is no version of Python 3."""
    series = ".".join(text.split(".")[:2])
    if not _PYTHON.fullmatch(series):
        raise InputError(f"--python {text[:100]}: expected a version such as 3.12")
    return series


_NOT_LINUX = ("windows", "macos", "darwin")
_ARM = ("sm_53", "sm_62", "sm_72", "sm_87", "sm_101", "sm_110", "sm_121")
"""GPUs that come with an Arm processor only: Jetson, Thor, GB10 (NVIDIA's list of compute capabilities, 2026-08)."""


def comes_with_arm(arch: str | None, gpu: str | None) -> bool:
    """A GH200, GB200 or GB300 has Grace, NVIDIA's Arm processor."""
    return arch in _ARM or bool(re.search(r"\bG[HB][23]00", gpu or "", re.I))


def _gpu(kb: Knowledge, text: str) -> tuple[str, str]:
    """Vendor and architecture. A gfx or sm that is not known is kept: that it is not known is the answer then."""
    asked = text.strip()
    if re.fullmatch(r"gfx[0-9a-f]{3,4}(:.*)?", asked.lower()):
        return "amd", asked.lower()
    number = sm_number(asked.lower().replace("compute_", "sm_"))
    if number is not None:
        return "nvidia", f"sm_{number}"
    if re.fullmatch(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{4}", asked):
        arch, known = kb.amd_arch(asked.lower()), kb.nvidia_gpu(asked)
        if arch or known:
            return ("amd", arch) if arch else ("nvidia", known.arch if known else "")
    # A bare model number is of the one series that has it: 7900xtx, 4090.
    series = ("RX ", "RTX ", "GTX ") if asked[:4].isdigit() else ()
    named = [gpu for word in ("", *series) if (gpu := gpu_by_name(f"{word}{asked}"))]
    if len(set(named)) == 1:
        return named[0]
    raise InputError(f"--gpu {asked}: not in the knowledge base; pass gfx942, sm_90, a PCI id or another name")


_OS_IDS = {"amazonlinux": "amzn", "rockylinux": "rocky", "oraclelinux": "ol", "redhat": "rhel", "alma": "almalinux",
           "opensuse": "opensuse-leap"}  # fmt: skip
"""Names of container images, and os-release's ID."""


def glibc_of(kb: Knowledge, os: str | None, version: str | None) -> str | None:
    """The glibc of a system, where a source gives it. A release that is newer than those, and that another table knows,
    has no older one."""
    if not os or not version:
        return None
    known = [d for d in kb.c_libraries(_OS_IDS.get(os, os)) if d.glibc]
    found = next((d.glibc for d in known if os_release_matches(d.version, version)), None)
    rows = (row.version for row in kb.os_kernels() if row.os == os_name(os))
    if found or not known or not any(os_release_matches(release, version) for release in rows):
        return found
    newest = max(known, key=lambda d: Dotted(d.version).numbers)
    return newest.glibc if Dotted(version) > newest.version else None


def libc_of(kb: Knowledge, os: str | None, glibc: str | None) -> Literal["glibc", "musl"] | None:
    if glibc:
        return "glibc"
    return next((d.libc for d in kb.c_libraries(_OS_IDS.get(os or "", os or ""))), None)


def from_snapshot(kb: Knowledge, machine: Snapshot, cpu: str = "x86_64") -> Target:
    """The machine that was probed: its first GPU that computes; GPUs of another architecture beside it are not looked
    at. `cpu` is x86_64 or aarch64."""
    gpus = [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia") and g.arch and not g.integrated]
    gpus = gpus or [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia") and g.arch]
    gpu = gpus[0] if gpus else None
    vendor = gpu.vendor if gpu else None
    rocm = next((i.version for i in machine.rocm or () if i.version), None)
    glibc = machine.host.glibc or glibc_of(kb, machine.os.id, machine.os.version)
    python = ".".join((machine.interpreter.version or "").split(".")[:2]) or None
    return Target(
        vendor=vendor,  # type: ignore[arg-type]
        arch=gpu.arch if gpu else None,
        driver=_nvidia(kb, machine) if vendor == "nvidia" else amdgpu_release(kb, machine.amdgpu_driver.version),
        rocm=rocm if vendor == "amd" else None,
        python=python,
        os=machine.os.id,
        os_version=machine.os.version,
        glibc=glibc,
        libc=libc_of(kb, machine.os.id, glibc),
        machine=cpu,
        gpu=gpu.name if gpu else None,
        interpreter=machine.interpreter.path,
        installed=tuple((p.name, p.version) for p in machine.packages or () if p.version),
    )


def _nvidia(kb: Knowledge, machine: Snapshot) -> str | None:
    """NVIDIA's driver; where only the CUDA that it serves is known, the newest one of that branch."""
    known, serves = machine.nvidia_driver.version, machine.nvidia_driver.cuda_version
    if known or not serves:
        return known
    return next((b.latest for b in kb.driver_branches() if b.cuda == Dotted(serves).series()), None)


def amdgpu_release(kb: Knowledge, module: str | None) -> str | None:
    """`30.30.0` of the module number `6.16.13` that /sys/module/amdgpu/version prints; None where it is not known.
    What may be the number of a release (`6.3`) is taken whole."""
    if not module or not Dotted(module).numbers:
        return None
    parts = 3 if kb.kmd_window(module) else min(len(Dotted(module).numbers), 3)
    wanted = Dotted(module).series(parts)
    found = [d for d in kb.amdgpu_drivers() if d.module_version and Dotted(d.module_version).series(parts) == wanted]
    return found[0].version if found else None
