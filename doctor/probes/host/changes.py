"""What changed: packages of the GPU stack in the last 30 days, modules that DKMS built or could not build, a kernel or
module on disk that is newer than the one in use, and what the distribution says a reboot is due for.

Cost: the package manager's current log (its last MiB), a few small folders, and one modinfo for each loaded GPU driver;
no root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import package_log
from doctor.parsers.lib import log_time
from doctor.parsers.lib.printable import clean
from doctor.probes.lib import clock
from doctor.system.base import Reading, System
from doctor.versions import Dotted

READS: tuple[str, ...] = (
    "file:var/log/dpkg.log public",
    "file:var/log/apt/history.log name",
    "file:var/log/dnf.rpm.log public",
    "derived:dnf5-history public",
    "file:var/log/zypp/history name",
    "file:var/log/pacman.log name",
    "dir:var/lib/dkms public",
    "file:var/lib/dkms/*/*/build/make.log name",
    "file:sys/module/{nvidia,amdgpu}/srcversion public",
    "command:modinfo -F srcversion nvidia public",
    "command:modinfo -F srcversion amdgpu public",
    "stat:run/reboot-required public",
    "file:run/reboot-required.pkgs public",
    "dir:lib/modules public",
    "dir:boot public",
    *clock.READS,
)
_DNF5 = "usr/lib/sysimage/libdnf5/transaction_history.sqlite"
LOGS = ("var/log/dpkg.log", "var/log/dnf.rpm.log", "var/log/zypp/history", "var/log/pacman.log")
_DAYS_S = 30 * 86400
_TAIL = 1 << 20
_DKMS = ("nvidia", "nvidia-open", "amdgpu", "nvidia-fs", "mlnx-ofed-kernel")
_RELEASE = re.compile(r"\d[\w.+~-]{1,100}", re.ASCII)
_SOURCE_VERSION = re.compile(r"[0-9A-F]{8,40}", re.ASCII)


def probe(system: System, sheet: FactSheet) -> None:
    now = clock.read(system)
    if now.uptime_s is not None:
        sheet.put("host.uptime_s", int(now.uptime_s), "file:/proc/uptime")
    _packages(system, sheet, now)
    release = clean(system.read_text("proc/sys/kernel/osrelease").value or "", 100)
    _dkms(system, sheet)
    _stale(system, sheet, "nvidia", "nvidia_driver.module_stale")
    _stale(system, sheet, "amdgpu", "amdgpu_driver.module_stale")
    _reboot(system, sheet, release)


def _packages(system: System, sheet: FactSheet, now: clock.Now) -> None:
    readings = [_tail(system, path) for path in LOGS]
    held = [r for r in readings if r.known]
    modern = _dnf5(system, now)
    if not held and not modern.known:
        worst = next((r for r in readings if not r.is_absent), readings[0])
        sheet.miss("changes", worst.state, worst.source, worst.detail or "no log of a package manager")
        return
    automatic = package_log.unattended(_tail(system, "var/log/apt/history.log").value or "")
    changed = [change for reading in held for change in package_log.read(reading.value or "")]
    changed += [package_log.Changed(**row) for row in modern.value or ()]
    rows = {}
    for change in changed:
        age = log_time.seconds_ago(change.when, None, now.epoch_s)
        if age is None or age > _DAYS_S:
            continue
        row = {"key": f"{change.when} {change.package}", "age_s": age, **change._asdict()}
        if (change.package, change.new) in automatic:
            row["by"] = "unattended-upgrades"
        rows[row["key"]] = {k: v for k, v in row.items() if v is not None}
    newest = sorted(rows.values(), key=lambda row: (row["age_s"], row["package"]))[:100]
    sheet.put("changes", newest, held[0].source if held else modern.source)


def _dnf5(system: System, now: clock.Now) -> Reading[list[dict[str, Any]]]:
    """Its database is worked out here and not recorded: it tells what else was installed, and who asked."""
    size = system.stat(_DNF5)
    if size.value is None:
        return Reading(size.state, size.source, None, size.detail)
    start = (now.epoch_s or 0) - _DAYS_S

    def work() -> list[dict[str, Any]]:
        from doctor.parsers.kernel import dnf5_history

        raw = system.read_bytes(_DNF5, offset=0, length=dnf5_history.MAX_BYTES)
        if raw.value is None:
            raise ParserError(raw.detail or raw.state.value)
        return [change._asdict() for change in dnf5_history.changes(raw.value, start)]

    return system.derived("dnf5-history", _DNF5, work)


def _tail(system: System, path: str) -> Reading[str]:
    """The last MiB of a log; its first line may be cut."""
    size = system.stat(path)
    if size.value is None:
        return Reading(size.state, f"file:/{path}", None, size.detail)
    raw = system.read_bytes(path, offset=max(0, size.value.size - _TAIL), length=_TAIL)
    return raw.then(lambda data: data.decode("utf-8", "replace"))


def _dkms(system: System, sheet: FactSheet) -> None:
    listing = system.list_dir("var/lib/dkms")
    if not listing.known:
        listing.then(list).into(sheet, "kernel.dkms", absent=[])
        return
    names = [n for n in listing.value or () if n in _DKMS]
    rows = [row for name in names for row in _sources(system, name)]
    sheet.put("kernel.dkms", rows, listing.source)
    for driver, modules in (("nvidia_driver", ("nvidia", "nvidia-open")), ("amdgpu_driver", ("amdgpu",))):
        mine = [row for row in rows if str(row["key"]).partition("/")[0] in modules]
        if mine:
            built = dict.fromkeys(kernel for row in mine for kernel in row["built_for"])
            sheet.put(f"{driver}.built_for", sorted(built), listing.source)


def _sources(system: System, name: str) -> Iterator[dict[str, Any]]:
    for version in (system.list_dir(f"var/lib/dkms/{name}").value or ())[:50]:
        folder = f"var/lib/dkms/{name}/{version}"
        entries = system.list_dir(folder)
        if version.startswith("kernel-") or not entries.known:
            continue
        built = [e for e in entries.value or () if _RELEASE.fullmatch(e) and system.list_dir(f"{folder}/{e}").value]
        row: dict[str, Any] = {"key": f"{name}/{clean(version, 60)}", "built_for": built}
        log = system.read_text(f"{folder}/build/make.log", limit=8 << 20)
        failed = re.search(r"for kernel (\d[\w.+~-]{1,100})", (log.value or "")[:2000]) if log.value else None
        if failed and re.search(r"(?i)\b(?:error|failed)\b", (log.value or "")[-20_000:]) and failed[1] not in built:
            row["failed_for"] = failed[1]
        yield row


def _stale(system: System, sheet: FactSheet, module: str, fact: str) -> None:
    """By srcversion, a hash over the module's sources: a version may stay the same over a rebuild."""
    loaded = system.read_text(f"sys/module/{module}/srcversion")
    if not loaded.known:
        return
    output = system.run(("modinfo", "-F", "srcversion", module))
    ours = (loaded.value or "").strip()
    theirs = output.value.stdout.strip() if output.value and output.value.code == 0 else ""
    if _SOURCE_VERSION.fullmatch(ours) and _SOURCE_VERSION.fullmatch(theirs):
        sheet.put(fact, ours != theirs, output.source, f"loaded {ours}, on disk {theirs}")
    else:
        state = State.FAILED if output.known else output.state
        sheet.miss(fact, state, output.source, "no module file for the running kernel is seen here")


def _reboot(system: System, sheet: FactSheet, release: str) -> None:
    flag = system.stat("run/reboot-required")
    due: list[str] = []
    if flag.known:
        packages = system.read_text("run/reboot-required.pkgs").value or ""
        due = list(dict.fromkeys(clean(line, 100) for line in packages.splitlines()[:50] if line.strip())) or ["system"]
    newer = _newer_kernel(system, release)
    if newer:
        due.append(f"kernel {newer}")
    boot = system.list_dir("boot")
    if due or (flag.is_absent and boot.value):
        sheet.put("host.pending_reboot", due, flag.source if flag.known else boot.source)
    else:
        state = State.NOT_RECORDED if flag.state is State.NOT_RECORDED else State.FAILED
        sheet.miss("host.pending_reboot", state, flag.source, "neither a mark nor the kernels are seen")


def _newer_kernel(system: System, release: str) -> str | None:
    """The newest bootable kernel of the running one's flavour, where it is newer."""
    if not _RELEASE.fullmatch(release):
        return None
    flavour = re.sub(r"[\d.+~_-]+", "", release)
    images = [n.partition("-")[2] for n in system.list_dir("boot").value or () if n.startswith(("vmlinuz-", "Image-"))]
    same = [n for n in images if _RELEASE.fullmatch(n) and re.sub(r"[\d.+~_-]+", "", n) == flavour]
    modules = set(system.list_dir("lib/modules").value or ())
    newest = max((n for n in same if n in modules), key=_order, default=None)
    return newest if newest and _order(newest) > _order(release) else None


def _order(release: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """6.8.0-51 before 6.8.0-52: the number behind the dash counts too."""
    head, _, tail = release.partition("-")
    return Dotted(head).numbers, tuple(int(n) for n in re.findall(r"\d{1,9}", tail)[:6])
