from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files
from doctor.rules.lib.pip import index, python_after
from doctor.rules.lib.python_packages import pip_install, shown
from doctor.rules.lib.torch_install import torch_again
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Companions, Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-companion-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="torchvision or torchaudio does not match torch.",
    needs=({"packages", "torch.version"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A torchvision or torchaudio whose release is for another torch than the installed one, or that is another build (+cpu
beside +cu121).

## Why it matters
Its import fails or crashes: "operator torchvision::nms does not exist", undefined symbols.

## Not raised when
Patch releases of one series (torchvision 0.15.2 beside torch 2.0.0) are a warning: they share an ABI. Both are AMD's
own wheels of one series: repo.radeon.com pairs torch 2.9.1 with torchvision 0.24.0. Releases are of one series. For
nightlies and source builds, whose companions get their numbers later, neighbouring series count as one. Releases that
pin no torch match any. Where both are built from source at a commit, the numbers mean nothing: the companion was
compiled for its torch.

## How to confirm
`python -m pip check`

## Fix
`doctor solve torch==RELEASE torchvision torchaudio` prints the set that fits. Then install it from the index of the
same build: `pip install torchvision==VERSION --index-url https://download.pytorch.org/whl/cu126`.

## References
Requirement lines in the published metadata of torchvision and torchaudio (2026-11-20)
""",
)

_RELEASE = Lazy(r"^(\d+\.\d+\.\d+)(?:\+([\w.]+))?$")
_BUILD = Lazy(r"\+(cpu|cu\d{3}|rocm\d+\.\d+)")
_ROCM = Lazy(r"rocm(\d+)\.")
_NIGHTLY = Lazy(r"\.dev(20\d{6})")
_COMMIT = Lazy(r"^\d[\d.]*(?:a0)?\+(?:git)?[0-9a-f]{7,40}$")
"""A build from source: 2.5.0a0+git2694f6c, 0.18.0a0+bf01bab."""
_A_MONTH = 100
"""Between dates written as one number, 20250930 and 20251002."""
_FAMILY = ("torchvision", "torchaudio")
_AUDIO_ENDS = (2, 11)
"""From this torch on, torchaudio has no separate release numbers (PyPI, 2026-11-20)."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    title = "Install torch again together with its companions (here torchvision), from one index."
    return (pip_install(machine, title, *torch_again(machine), "torchvision"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The releases where the table knows them, else their series; then whether all are of one build."""
    named = set()
    for finding in (
        *python_files.companions(machine),
        *_by_table(machine, kb),
        *_other_series(machine, kb),
        *_other_builds(machine),
    ):
        if finding.subject.id not in named:
            named.add(finding.subject.id)
            yield finding


def _has_family(machine: Snapshot) -> bool:
    return any(package.name in _FAMILY for package in machine.packages or ())


def _by_table(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Both releases must be plain ones that the table knows."""
    torch = _RELEASE.match(machine.torch.version or "") if _has_family(machine) else None
    row = kb.companions(torch[1]) if torch else None
    if torch is None or row is None:
        return
    patched = False
    for package in machine.packages or ():
        held = _RELEASE.match(package.version)
        wanted = row.made_for(package.name)
        if not held or not wanted or held[1] in wanted or not kb.is_companion(package.name, held[1]):
            continue
        if _of_amd(torch[1], torch[2]) and _of_amd(torch[1], held[2]) and _same_series(held[1], wanted[0]):
            continue
        since = row.serves_from(package.name)
        if since and Dotted(held[1]) >= since:
            continue
        found = _finding(machine, package, torch[1], torch[2], wanted[0], row)
        if not _same_series(held[1], wanted[0]):
            yield found
        elif not patched:  # one for all: patch releases of torch keep their ABI, though pip complains
            patched = True
            yield found.model_copy(update={"severity": Severity.WARNING, "suspect": 1})


def _of_amd(torch: str, tag: str | None) -> bool:
    """Whether the tag is of AMD's own wheels, which repo.radeon.com pairs within a series: torch 2.9.1+rocm7.2.0.git…
    with torchvision 0.24.0 and torchaudio 2.9.0. PyTorch's index has no build for ROCm 7 before torch 2.10."""
    rocm = _ROCM.match(tag or "")
    return rocm is not None and (".git" in str(tag) or (int(rocm[1]) >= 7 and Dotted(torch) < "2.10"))


def _same_series(held: str, wanted: str) -> bool:
    return Dotted(held).numbers[:2] == Dotted(wanted).numbers[:2]


def _other_builds(machine: Snapshot) -> Iterator[Finding]:
    """torchvision +cpu beside torch +cu121: its operators are not there for the GPU."""
    ours = _BUILD.search(machine.torch.version or "")
    for package in machine.packages or ():
        theirs = _BUILD.search(package.version) if package.name in _FAMILY else None
        if ours and theirs and ours[1][:5] != theirs[1][:5]:
            yield _plain(machine, package, f"{package.name} {package.version} does not match torch's build {ours[1]}.")


def _other_series(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Releases before the table, nightlies and builds from source: torch 1.9 goes with torchvision 0.10, 2.4 with 0.19,
    and torchaudio has torch's own numbers (0.N beside 1.N)."""
    numbers = Dotted(machine.torch.version or "").numbers
    if len(numbers) < 2 or not _has_family(machine) or kb.companions((machine.torch.version or "").partition("+")[0]):
        return
    major, minor = numbers[:2]
    wanted = {
        "torchvision": (0, minor + 1) if major == 1 else (0, minor + 15),
        "torchaudio": (0, minor) if major == 1 else (major, minor),
    }
    if major not in (1, 2) or (major, minor) >= _AUDIO_ENDS:
        return
    slack = 0 if _RELEASE.match(machine.torch.version or "") else 1  # what is built from source is numbered when cut
    for package in machine.packages or ():
        held = Dotted(package.version).numbers[:2]
        if _of_one_nightly(machine.torch.version or "", package.version):
            continue
        if _COMMIT.match(machine.torch.version or "") and _COMMIT.match(package.version):
            continue
        if package.name == "torchvision" and held[:1] != (0,):
            continue  # torch's number, written for both: torchvision has none of its own
        if package.name in wanted and len(held) == 2 and abs(held[1] - wanted[package.name][1]) > slack:
            series = ".".join(map(str, wanted[package.name]))
            text = f"{package.name} {package.version[:40]} does not match torch {major}.{minor}; {series} does."
            yield _plain(machine, package, text)


def _of_one_nightly(torch: str, companion: str) -> bool:
    """Whether both are nightlies of the same weeks: torchaudio's stayed at 2.8.0 beside those of torch 2.10."""
    days = [found[1] for version in (torch, companion) if (found := _NIGHTLY.search(version))]
    return len(days) == 2 and abs(int(days[0]) - int(days[1])) <= _A_MONTH


def _plain(machine: Snapshot, package: Package, summary: str) -> Finding:
    title = "Install torch again together with this package, from one index."
    return _found(machine, package, summary, pip_install(machine, title, *torch_again(machine), package.name))


def _finding(machine: Snapshot, package: Package, torch: str, tag: str | None, wanted: str, row: Companions) -> Finding:
    words = (*index(tag or ""), f"{package.name}=={wanted}", f"torch=={torch}")
    fix = pip_install(machine, f"Install {package.name} {wanted}, which matches torch {torch}.", *words)
    summary = f"{package.name} {package.version} does not match torch {torch}, which needs {wanted}."
    return _found(machine, package, summary, fix, f"{row.source} ({row.as_of})")


def _found(machine: Snapshot, package: Package, summary: str, fix: Remedy, source: str | None = None) -> Finding:
    return Finding(
        summary=summary,
        subject=Subject(kind="package", id=package.name),
        evidence=(*evidence(machine, ("torch.version",)), *shown(machine, package)),
        remedies=(fix,),
        verify=(python_after(machine), "-m", "pip", "check"),
        source=source,
    )
