"""What a running process has mapped, judged: ground truth, where files on disk only tell what would be loaded."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Scope, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import by_hand, unset
from doctor.versions import Dotted

_SONAME = Lazy(r"/(lib[\w+-]{1,60}?)(?:-[0-9a-f]{8})?\.so(?:\.(\d{1,4}))?[.\d]*$")
_DELETED = " (deleted)"
_DRIVER = Lazy(r"/(?P<folder>[\w/.+-]*)/?lib(?:cuda|nvidia-ml)\.so\.(?P<version>\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)$")
_OF_TORCH_ITSELF = ("libtorch", "libc10", "libtriton", "libopenblas")


def twice(machine: Snapshot) -> Iterator[Finding]:
    """One library of one major version from two files: which one a symbol comes from is the loader's order."""
    copies: dict[str, list[str]] = {}
    for path in machine.process.libraries or ():
        match = _SONAME.search(path.removesuffix(_DELETED))
        if match and not match[1].startswith(_OF_TORCH_ITSELF):
            copies.setdefault(f"{match[1]}.so.{match[2] or ''}".rstrip("."), []).append(path)
    for name, paths in sorted(copies.items()):
        if len(set(paths)) > 1:
            yield Finding(
                summary=f"The process has {len(set(paths))} copies of {name} mapped.",
                severity=Severity.WARNING,
                subject=Subject(kind="library", id=name),
                evidence=_shown(machine, paths),
                remedies=(
                    by_hand(
                        f"Keep only one copy of {name} for the program to find.",
                        Scope.ENVIRONMENT,
                        "Remove the other copy's folder from LD_LIBRARY_PATH, or uninstall its package.",
                        "Start the program again.",
                        undo="Restore the folder or the package.",
                    ),
                ),
                verify=("grep", name, f"/proc/{machine.process.pid}/maps"),
            )


def replaced(machine: Snapshot) -> Iterator[Finding]:
    """Files that an update deleted under the process: it runs on with the old ones, and a child of it will not."""
    gone = [p for p in machine.process.libraries or () if p.endswith(_DELETED)]
    if gone:
        yield Finding(
            summary=f"{len(gone)} GPU libraries of the process were replaced on disk after it started.",
            severity=Severity.WARNING,
            subject=Subject(kind="process", id=machine.process.name or "-"),
            evidence=_shown(machine, gone),
            remedies=(by_hand("Restart the program to load the libraries now on disk.", Scope.JOB),),
        )


def displaced(machine: Snapshot) -> Iterator[Finding]:
    """A copy from a variable's folder, where the program's own path leads to another build."""
    for held in machine.process.displaced or ():
        if held.same_build:
            continue
        folder = (held.path or "").rpartition("/")[0]
        texts = (f"mapped: {held.path}, by {held.by}", f"its own: {held.intended}, asked for by {held.wanted_by}")
        yield Finding(
            summary=f"The process loaded {held.key[:40]} from {held.by}, not its own copy.",
            severity=Severity.WARNING,
            subject=Subject(kind="library", id=held.key),
            evidence=tuple(Evidence(text=t[:380], source=machine.source("process.displaced")) for t in texts),
            remedies=(
                unset(machine, held.by, because=f": the program has its own {held.key[:40]}")
                if held.by and held.by.isidentifier()
                else by_hand(
                    f"Take {folder} off the loader's path: the program has its own {held.key[:40]}.",
                    Scope.ENVIRONMENT,
                    f"Remove {folder} from {held.by}, then run ldconfig if that is /etc/ld.so.conf.d.",
                    undo="Restore the folder.",
                ),
            ),
            verify=("grep", held.key, f"/proc/{machine.process.pid}/maps"),
        )


def driver_of_another_version(machine: Snapshot) -> tuple[str, Evidence] | None:
    """The version of libcuda or libnvidia-ml that is mapped, where the loaded module is of another."""
    module = machine.nvidia_driver.version
    for path in machine.process.libraries or ():
        match = _DRIVER.search(path.removesuffix(_DELETED))
        if module and match and "compat" not in match["folder"]:
            if Dotted(match["version"]).numbers != Dotted(module).numbers:
                return match["version"], Evidence(
                    text=f"mapped: {path}"[:380], source=machine.source("process.libraries")
                )
            return None
    return None


def _shown(machine: Snapshot, paths: list[str]) -> tuple[Evidence, ...]:
    source = machine.source("process.libraries")
    return tuple(Evidence(text=f"mapped: {path}"[:380], source=source) for path in dict.fromkeys(paths[:12]))
