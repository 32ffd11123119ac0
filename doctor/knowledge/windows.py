"""Support windows: does this go with that, by which range, and who says so.

Each question is a pure function of the catalogue and of what is asked about. It answers `yes`, `no` or `unknown`, with
the reason in words (the range, and what was asked about), its source and date. `unknown` is not `no`: it says that this
version of the catalogue does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from doctor.knowledge.gpu_code import way
from doctor.knowledge.names import amd_board
from doctor.knowledge.store import kept
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.amd import AmdgpuDriver
    from doctor.knowledge.catalogue import Knowledge
    from doctor.knowledge.entries import Entry

Verdict = Literal["yes", "no", "unknown"]
UNKNOWN_HERE = "not in the knowledge base"


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    reason: str
    source: str = ""
    as_of: str = ""

    @property
    def no(self) -> bool:
        return self.verdict == "no"


def _said(verdict: Verdict, reason: str, entry: Entry | None = None) -> Answer:
    return Answer(verdict, reason, entry.source if entry else "", entry.as_of if entry else "")


def sm_number(arch: str | None) -> int | None:
    """90 of `sm_90`, `sm_90a` and `9.0`."""
    found = re.fullmatch(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?", (arch or "").strip())
    return int(found[1]) * 10 + int(found[2]) if found else None


def driver_serves_cuda(kb: Knowledge, driver: str | None, cuda: str | None, arch: str | None = None) -> Answer:
    """Whether an NVIDIA driver serves programs built with a CUDA version (minor-version compatibility). Of a Jetson
    the branch counts: the driver of JetPack 7 calls itself 580.00 and serves CUDA 13."""
    floor = kb.cuda_floor(cuda)
    if not floor:
        return Answer("unknown", f"the lowest driver for CUDA {cuda} is {UNKNOWN_HERE}")
    need = f"CUDA {cuda} needs driver >= {floor.driver}"
    if not Dotted(driver or "").numbers:
        return Answer("unknown", f"{need}; the driver is not known", floor.source)
    lowest = str(Dotted(floor.driver).major) if arch in ("sm_87", "sm_110") else floor.driver
    verdict: Verdict = "yes" if Dotted(driver or "").reaches(lowest) else "no"
    return Answer(verdict, f"{need}; {driver} is loaded", floor.source)


def driver_knows_gpu(kb: Knowledge, driver: str | None, arch: str | None) -> Answer:
    """Whether an NVIDIA driver drives a GPU: branches before its architecture and after its end do not."""
    capability, branch = kb.compute_capability(_cc(arch)), kb.driver_branch(driver)
    if not capability:
        return Answer("unknown", f"GPU {arch} is {UNKNOWN_HERE}")
    last = capability.last_driver_branch
    if last and is_past_branch(Dotted(driver or "").major or 0, int(last)):
        return _said("no", f"the last driver branch that supports {arch} is {last}; {driver} is loaded", capability)
    if not branch or not branch.cuda or not capability.first_cuda:
        return Answer("unknown", f"driver {driver or ''} is {UNKNOWN_HERE}".replace("  ", " "))
    if capability.cc in _LATER_THAN_CUDA:
        return _said("unknown", f"the first driver for {arch} is {UNKNOWN_HERE}", capability)
    if Dotted(branch.cuda) < capability.first_cuda:
        first, _ = driver_branches_of(kb, arch)
        floor = f"driver branch >= {first}" if first else f"a driver that supports CUDA {capability.first_cuda}"
        return _said("no", f"{arch} needs {floor} (CUDA {capability.first_cuda}); {driver} is loaded", capability)
    return _said("yes", f"driver branch {branch.branch} supports {arch}", capability)


def cuda_has_gpu(kb: Knowledge, cuda: str | None, arch: str | None) -> Answer:
    """`no` where a CUDA toolkit came after the last one for a GPU's architecture, or is of a major before the first one
    for an integrated GPU: its driver compiles no older code."""
    capability = kb.compute_capability(_cc(arch))
    last, first = (capability.last_cuda, capability.first_cuda) if capability else (None, None)
    is_older = bool(first and cuda) and Dotted(cuda or "").numbers[:1] < Dotted(first or "").numbers[:1]
    if capability and capability.cc in _LATER_THAN_CUDA and is_older:
        text = f"it is built for CUDA {cuda}; the first CUDA that supports {arch} is {first}"
        return _said("no", text, capability)
    if not last or not cuda:
        return Answer("unknown", f"the last CUDA for {arch} is {UNKNOWN_HERE}")
    verdict: Verdict = "no" if Dotted(cuda) > last else "yes"
    return _said(verdict, f"it is built for CUDA {cuda}; the last CUDA that supports {arch} is {last}", capability)


def is_past_branch(major: int, last: int) -> bool:
    """Whether a driver is of a branch after this one. On Windows a branch's releases have numbers of their own.

    >>> is_past_branch(581, 580), is_past_branch(590, 580), is_past_branch(475, 470), is_past_branch(495, 470)
    (False, True, False, True)
    """
    return major >= _NEXT_BRANCH.get(last, last + 1)


_NEXT_BRANCH = {390: 396, 470: 495, 580: 590}
"""The branch after each that was the last for some GPUs: 391 is of 390, 471 to 475 are of 470, 581 and 582 of 580.
Source: docs.nvidia.com/datacenter/tesla: release notes of R470 and R580, versions on Windows."""


def driver_branches_of(kb: Knowledge, arch: str | None) -> tuple[str | None, str | None]:
    """First and last driver branch for a GPU; None where it is not known, or has not come."""
    capability = kb.compute_capability(_cc(arch))
    if not capability or capability.cc in _LATER_THAN_CUDA or not capability.first_cuda:
        return None, capability.last_driver_branch if capability else None
    serving = (b.branch for b in kb.driver_branches() if b.cuda and Dotted(b.cuda) >= str(capability.first_cuda))
    return next(serving, None), capability.last_driver_branch


_LATER_THAN_CUDA = ("8.7", "8.8", "10.1", "11.0", "12.1")
"""Integrated GPUs, whose drivers come with their own systems."""


def code_runs(kb: Knowledge, arch: str | None, built: Sequence[str], cuda: str | None = None) -> Answer:
    """Whether code for the architectures `built`, made by a CUDA toolkit, runs on a GPU."""
    found, rule = way(kb, arch or "", built, cuda=cuda), kb.code_to_device(80)
    listed, mine = ", ".join(built) or "nothing", (arch or "").partition(":")[0]
    if found.kind == "unknown":
        return Answer("unknown", f"GPU {arch} is {UNKNOWN_HERE}")
    if mine.startswith("gfx"):
        return Answer("yes" if found.runs else "no", f"it is built for {listed}; the GPU is {mine}")
    if not found.runs:
        return _said("no", f"it is built for {listed}; none of it runs on {mine}", rule)
    text = (
        f"it has PTX that the driver compiles for {mine}"
        if found.kind == "ptx"
        else f"code for {found.code} runs on {mine}"
    )
    return _said("yes", f"it has code for {mine}" if found.kind == "own" else text, rule)


def rocm_lists_gpu(kb: Knowledge, rocm: str | None, gfx: str | None) -> Answer:
    """Whether AMD's support matrix of a ROCm release lists a target."""
    known, window = kb.rocm_supports(rocm, gfx), kb.rocm_range(gfx)
    entry = kb.rocm_release(rocm) or next((r for r in kb.rocm_releases() if r.version.startswith(f"{rocm}.")), None)
    spans = f"AMD lists it in ROCm {' to '.join(dict.fromkeys(window))}" if window else f"its range is {UNKNOWN_HERE}"
    if known is None:
        return Answer("unknown", f"whether ROCm {rocm} supports {gfx} is {UNKNOWN_HERE}; {spans}")
    return _said("yes" if known else "no", f"ROCm {rocm} {'lists' if known else 'does not list'} {gfx}; {spans}", entry)


def driver_of_rocm(kb: Knowledge, rocm: str | None) -> str | None:
    """The newest amdgpu driver that ships with a ROCm release or series: `30.30.3` of 7.2, `6.4.1` of 6.4.1."""
    wanted = Dotted(rocm or "")
    if not wanted.numbers:
        return None
    shipped = [d.version for d in kb.amdgpu_drivers() if d.ships_with_rocm and _same(wanted, d.ships_with_rocm)]
    if shipped:
        return max(shipped, key=lambda v: Dotted(v).numbers)
    return str(rocm) if wanted.major is not None and wanted.major < 7 else None


_INSTINCT = ("gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1250")


def kmd_serves_rocm(kb: Knowledge, driver: str | None, rocm: str | None, gfx: str | None = None) -> Answer:
    """Whether AMD lists an amdgpu driver (`6.4.1`, `30.10`) with a user-space ROCm, on Instinct or Radeon."""
    version, wanted = Dotted(driver or ""), Dotted(rocm or "")
    if not version.numbers or not wanted.numbers:
        return Answer("unknown", "the amdgpu driver's release is not known")
    forward = kb.kmd_window(driver)
    if forward and _listed(wanted, forward.user_space):
        return _said("yes", f"AMD lists amdgpu {driver} for ROCm {ranged(forward.user_space)}", forward)
    back = kb.user_window(rocm)
    named = f"ROCm {back.rocm if back else rocm}" + (
        f" (of {rocm}'s series)" if back and back.rocm.count(".") == 2 and not _same(wanted, back.rocm) else ""
    )
    is_instinct = (gfx or "").partition(":")[0] in _INSTINCT
    if back and back.radeon and _listed(version, back.kmd) and not _listed(version, back.radeon) and not is_instinct:
        lists = f"for amdgpu {ranged(back.kmd)} on Instinct, {ranged(back.radeon)} on Radeon"
        if gfx:
            return _said("no", f"AMD lists {named} {lists}; {driver} is loaded", back)
        return _said("unknown", f"AMD lists {named} {lists}; whether {driver} supports it depends on the GPU", back)
    if back and _listed(version, back.kmd):
        return _said("yes", f"AMD lists {named} for amdgpu {ranged(back.kmd)}", back)
    release = kb.rocm_release(rocm)
    if release and release.kmd_versions and _listed(version, release.kmd_versions):
        return _said("yes", f"AMD lists ROCm {rocm} for amdgpu {ranged(release.kmd_versions)}", release)
    latest = max((Dotted(v.removesuffix(".x")) for v in back.kmd), default=None) if back else None
    if back and latest is not None and version.compare(latest) <= 0:
        return _said("no", f"AMD lists {named} for amdgpu {ranged(back.kmd)}, not {driver}", back)
    newest = max((Dotted(v.removesuffix(".x")) for v in forward.user_space), default=None) if forward else None
    if forward and newest is not None and wanted.compare(newest) <= 0:
        return _said("no", f"AMD lists amdgpu {driver} for ROCm {ranged(forward.user_space)}, not {rocm}", forward)
    # A matrix does not speak of a ROCm, nor of a driver, that is newer than it.
    return Answer("unknown", f"whether amdgpu {driver} supports ROCm {rocm} is {UNKNOWN_HERE}")


@kept
def amdgpu_drives_gpu(kb: Knowledge, driver: str | None, gfx: str | None, name: str | None = None) -> Answer:
    """Whether a release of the amdgpu driver drives a GPU: `no` before the release whose notes add it; unknown before
    the ROCm that first lists the board of that name, or a GPU of its generation."""
    mine, version, board = (gfx or "").partition(":")[0], Dotted(driver or ""), amd_board(name)
    first = amdgpu_that_adds(kb, gfx)
    if first and version.numbers and not version.reaches(Dotted(first.version)):
        return _said("no", f"{mine} needs amdgpu >= {first.version}; {driver} is loaded", first)
    listed = board.get("rocm_first", "") if board.get("rocm_support_scope") == "gpu" else ""
    own = re.findall(r"\d+\.\d+\.\d+", listed)
    # Of gfx9 (Vega, CDNA 1 to 3) each is a generation; of later ones gfx110x, gfx115x.
    alike = mine if mine.startswith("gfx9") else mine[:-1]
    listing = [r for r in kb.rocm_releases() if any(g.startswith(alike) for g in r.gfx_targets or ())]
    since = kb.rocm_release(own[-1]) if own else listing[0] if listing and not first else None
    window = kb.user_window(since.version) if since else None
    oldest = driver_of_rocm(kb, since.version if since else None) or (window.kmd[-1] if window else None)
    if since and oldest and version.numbers and not version.reaches(Dotted(oldest)):
        what = board["names"][0] if own else f"{mine} or its like"
        text = f"AMD lists {what} from ROCm {since.version} (amdgpu {oldest}) on; whether {driver} drives it is "
        return _said("unknown", text + UNKNOWN_HERE, since)
    if first and version.numbers:
        return _said("yes", f"amdgpu {first.version} added {mine}; {driver} is loaded", first)
    return Answer("unknown", f"the first amdgpu release for {mine} is {UNKNOWN_HERE}")


def amdgpu_that_adds(kb: Knowledge, gfx: str | None) -> AmdgpuDriver | None:
    """The first release of amdgpu for a target, where its notes say so."""
    return next((d for d in kb.amdgpu_drivers() if (gfx or "").partition(":")[0] in d.adds), None)


def _listed(version: Dotted, listed: Iterable[str]) -> bool:
    """Whether a version or series is in a list of versions and series (`6.4.x`)."""
    return any(_same(version, item) for item in listed)


def _same(version: Dotted, item: str) -> bool:
    mine, theirs = version.numbers, Dotted(item.removesuffix(".x")).numbers
    if item.endswith(".x") or len(mine) < 3:
        width = min(len(mine), len(theirs))
        return mine[:width] == theirs[:width]
    return mine[:3] == (*theirs, 0, 0)[:3]


def ranged(listed: Sequence[str]) -> str:
    """`6.0.x to 6.4.x` of a list of versions."""
    ordered = sorted(listed, key=lambda v: Dotted(v.removesuffix(".x")).numbers)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}" if ordered else "none"


_OS_NAMES = {"ubuntu": "Ubuntu", "rhel": "RHEL", "redhat": "RHEL", "sles": "SLES", "rocky": "Rocky Linux",
             "ol": "Oracle Linux", "debian": "Debian", "azurelinux": "Azure Linux", "centos": "CentOS"}  # fmt: skip


def os_serves_rocm(kb: Knowledge, rocm: str | None, os_id: str | None, os_version: str | None) -> Answer:
    """Whether a ROCm release's support matrix lists a system; `24.04` is asked of 24.04.2 and 24.04.3 alike."""
    name = _OS_NAMES.get((os_id or "").lower())
    release = kb.rocm_release(rocm) or kb.newest_rocm(rocm)
    if not release or not release.supported_os or not name or not os_version:
        return Answer("unknown", f"whether ROCm {rocm} supports {os_id} {os_version} is {UNKNOWN_HERE}")
    there = [o for o in release.supported_os if o.os == name]
    if any(os_release_matches(o.version, os_version) for o in there):
        return _said("yes", f"ROCm {release.version} lists {name} {os_version}", release)
    versions = ", ".join(o.version for o in there) or "no release"
    return _said("no", f"ROCm {release.version} lists {name} {versions}, not {os_version}", release)


def os_name(os_id: str) -> str | None:
    """`Ubuntu` of os-release's `ubuntu`, as AMD's matrices write it."""
    return _OS_NAMES.get(os_id.lower())


def os_release_matches(listed: str, asked: str) -> bool:
    a, b = Dotted(listed.replace(" SP", ".")).numbers, Dotted(asked.replace(" SP", ".")).numbers
    width = min(len(a), len(b))
    return bool(width) and a[:width] == b[:width]


def glibc_serves(
    platforms: Sequence[str], machine: str, glibc: str | None, source: str = "", libc: str | None = None
) -> Answer:
    """Whether one of a wheel's platform tags fits machine and glibc; `any` fits all. `libc` is `glibc` or `musl`."""
    if not platforms:
        return Answer("unknown", f"the platforms of its wheels are {UNKNOWN_HERE}")
    floors = []
    for tag in ".".join(platforms).split("."):
        if tag == "any":
            return Answer("yes", "its wheel fits any platform", source)
        floor = re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", tag)
        legacy = re.fullmatch(r"manylinux(2014|2010|1)_(\w+)", tag)
        if floor and floor[3] == machine:
            floors.append(f"{floor[1]}.{floor[2]}")
        elif legacy and legacy[2] == machine:
            floors.append({"2014": "2.17", "2010": "2.12", "1": "2.5"}[legacy[1]])
    if not floors:
        return Answer("no", f"it has no wheel for Linux on {machine}", source)
    if libc == "musl":
        return Answer("no", "its wheels need glibc; this system uses musl", source)
    lowest = min(floors, key=lambda f: Dotted(f).numbers)
    if not glibc:
        return Answer("yes", f"its wheel needs glibc >= {lowest}", source)
    verdict: Verdict = "yes" if Dotted(glibc) >= lowest else "no"
    return Answer(verdict, f"its wheel needs glibc >= {lowest}; this system has {glibc}", source)


def forward_compat(kb: Knowledge, cuda: str | None, driver: str | None) -> Answer:
    """Whether the cuda-compat package of a CUDA minor works on a driver's branch (data-centre GPUs only)."""
    series, branch = Dotted(cuda or "").series(), str(Dotted(driver or "").major or "")
    package = kb.compat_package(series)
    if not package or branch not in package.by_driver_branch:
        return Answer("unknown", f"whether cuda-compat of {series} works on driver {driver} is {UNKNOWN_HERE}")
    word = package.by_driver_branch[branch]
    verdict: Verdict = "yes" if word == "supported" else "no"
    relation = {
        "supported": "works on",
        "not_needed": "is not needed on",
        "not_supported": "is not supported on",
    }[word]
    return _said(verdict, f"{package.package} {relation} driver branch {branch}", package)


def _cc(arch: str | None) -> str | None:
    number = sm_number(arch)
    return f"{number // 10}.{number % 10}" if number else arch
