"""What -v tells of the machine around its GPUs: installations and what selects them, who holds GPUs, what changed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.drivers import Install
from doctor.redaction.secrets import masked
from doctor.report.words import clean

_MOST = 12


def lines(machine: Snapshot) -> Iterator[tuple[str, str]]:
    """(text, style) rows; nothing where nothing of it is known."""
    for title, rows in (
        ("Installed", list(_installed(machine))),
        ("The loader takes", list(_loaded(machine))),
        ("Holding a GPU", list(_holding(machine))),
        ("Changed in the last 30 days", list(_changed(machine))),
    ):
        if rows:
            yield "", ""
            yield title, "bold"
            for row in rows[:_MOST]:
                yield f"  {masked(clean(row))}", ""
            if len(rows) > _MOST:
                yield f"  … and {len(rows) - _MOST} more", ""


def _installed(machine: Snapshot) -> Iterator[str]:
    for stack, installs in (("ROCm", machine.rocm), ("CUDA", machine.cuda)):
        for install in installs or ():
            yield f"{stack} {install.version or '?'} in {install.path or '?'}{_ways(install)}"
            if install.components:
                yield "  " + ", ".join(f"{name} {version}" for name, version in sorted(install.components.items()))


def _ways(install: Install) -> str:
    kind = f" ({install.package or install.kind})" if install.kind else ""
    if install.selected_by is None:
        return kind
    return (
        f"{kind}, selected by {', '.join(install.selected_by)}"
        if install.selected_by
        else f"{kind}, selected by nothing"
    )


def _loaded(machine: Snapshot) -> Iterator[str]:
    for choice in machine.loader or ():
        yield f"{choice.key} from {choice.path} by {choice.by}"


def _holding(machine: Snapshot) -> Iterator[str]:
    for holder in machine.holders or ():
        where = " in a container" if holder.in_container else ""
        nodes = f": {', '.join(n.removeprefix('/dev/') for n in holder.nodes)}" if holder.nodes else ""
        state = ", a zombie" if holder.state == "Z" else ", waiting in the kernel" if holder.state == "D" else ""
        yield f"{holder.name} (pid {holder.pid}, {holder.kind or 'program'}{where}{state}){nodes}"
    if machine.holders is not None and machine.host.processes_seen in ("own", "namespace"):
        seen = "this account's" if machine.host.processes_seen == "own" else "this PID namespace's"
        yield f"only {seen} processes could be looked at"


def _changed(machine: Snapshot) -> Iterator[str]:
    for change in machine.changes or ():
        versions = " -> ".join(v for v in (change.old, change.new) if v)
        by = f" by {change.by}" if change.by else ""
        yield f"{change.when} {change.action} {change.package} {versions}{by}"
    for package in machine.host.pending_reboot or ():
        yield f"a reboot is due for {package}"
