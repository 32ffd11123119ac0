"""Libraries that frameworks open by name at run time and that the loader does not find: which rule speaks of them."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import PluginLibrary
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Scope, Severity, Subject
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_loading import is_gpu
from doctor.rules.lib.python_packages import below, package, pip_install
from doctor.versions import Dotted

_OWNERS = ("onnxruntime-", "jax-", "tensorflow-")
"""Packages with a rule of their own, which speaks where another major is at hand."""
_PRELOADS_FROM = "1.21"
"""From this release ONNX Runtime has preload_dlls() (its release notes)."""
_CUDA_WHEELS = ("libcu", "libnv")


def mismatched(machine: Snapshot, beginning: str) -> Iterator[Finding]:
    """A plugin of such a package that needs another major of a library than what is at hand."""
    for name, lacking in _by_package(machine).items():
        first = next((row for row in lacking if row.other_majors and not row.in_package), None)
        if first is None or not name.startswith(beginning):
            continue
        yield Finding(
            summary=f"{_label(machine, name)} needs {first.name}, but {first.other_majors[-1]} is here.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id=name),
            evidence=_evidence(machine, lacking),
            remedies=(
                by_hand(
                    f"Install the release of {name} that is made for the installed CUDA or ROCm.",
                    Scope.ENVIRONMENT,
                    f"`pip index versions {name}` lists the releases; each one's notes name its CUDA.",
                    undo="Install the old release again.",
                ),
            ),
        )


def not_found(machine: Snapshot) -> Iterator[Finding]:
    """Nowhere at all, or in packages where nothing finds them before the program preloads them."""
    for name, lacking in _by_package(machine).items():
        gone = [row for row in lacking if not row.in_package]
        if any(row.other_majors for row in gone) and name.startswith(_OWNERS):
            continue
        if gone:
            yield _gone(machine, name, gone)
        elif not _torch_brings(machine, lacking):
            yield _not_preloaded(machine, name, lacking)


def system_libraries(machine: Snapshot) -> Iterator[tuple[PluginLibrary, Evidence]]:
    """Libraries of the system that a plugin needs and that are nowhere."""
    for row in machine.plugin_libraries or ():
        if not is_gpu(row.name):
            yield row, _evidence(machine, [row])[0]


def _by_package(machine: Snapshot) -> dict[str, list[PluginLibrary]]:
    found: dict[str, list[PluginLibrary]] = {}
    for row in (r for r in machine.plugin_libraries or () if is_gpu(r.name)):
        found.setdefault(row.package, []).append(row)
    return found


def _gone(machine: Snapshot, name: str, lacking: list[PluginLibrary]) -> Finding:
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    fix = by_hand(
        f"Install the package that contains {lacking[0].name}, or another release of {name}.",
        Scope.ENVIRONMENT,
        undo="Install the old release again.",
    )
    if name == "onnxruntime-gpu":
        held = package(machine, name)
        fix = pip_install(
            machine, "Install ONNX Runtime with the libraries it was built for.",
            f"onnxruntime-gpu[cuda,cudnn]=={held.version}" if held else "onnxruntime-gpu[cuda,cudnn]",
        )  # fmt: skip
    return Finding(
        summary=f"The loader cannot find {lacking[0].name}{more}, which {_label(machine, name)} needs.",
        severity=Severity.WARNING,
        subject=Subject(kind="library", id=lacking[0].name),
        evidence=_evidence(machine, lacking),
        remedies=(fix,),
        verify=(python_after(machine), "-c", "import onnxruntime") if name.startswith("onnx") else (),
    )


def _not_preloaded(machine: Snapshot, name: str, lacking: list[PluginLibrary]) -> Finding:
    held = package(machine, name)
    old = held is None or below(held.version, _PRELOADS_FROM)
    way = "put their folders into LD_LIBRARY_PATH" if old else "call onnxruntime.preload_dlls() before the session"
    return Finding(
        summary=f"{_label(machine, name)} finds {lacking[0].name} only after preloading it.",
        severity=Severity.INFO,
        subject=Subject(kind="library", id=lacking[0].name),
        evidence=_evidence(machine, lacking),
        remedies=(
            by_hand(
                f"{way[:1].upper()}{way[1:]}, or import torch before it.", Scope.JOB, undo="Remove the line again."
            ),
        ),
    )


def _torch_brings(machine: Snapshot, lacking: list[PluginLibrary]) -> bool:
    """torch of the same CUDA: programs that import it first have its libraries loaded."""
    ours = Dotted(machine.torch.cuda or "").major
    return ours is not None and all(row.in_package and row.name.startswith(_CUDA_WHEELS) for row in lacking)


def _label(machine: Snapshot, name: str) -> str:
    held = package(machine, name)
    return f"{name} {held.version[:20]}" if held else name


def _evidence(machine: Snapshot, lacking: list[PluginLibrary]) -> tuple[Evidence, ...]:
    source = machine.source("plugin_libraries")
    return tuple(
        Evidence(
            text=f"{row.name}, asked for by {row.wanted_by}, "
            + (f"is in {row.in_package}, where the loader does not look" if row.in_package else "is nowhere")
            + (f"; installed: {', '.join(row.other_majors)}" if row.other_majors else ""),
            source=source,
        )
        for row in lacking[:6]
    )
