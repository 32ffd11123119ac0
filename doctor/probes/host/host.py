"""The machine around the GPUs: distribution, kernel, processor, memory, limits.

Cost: some twenty small files, no command, no root (files that only root may read are denied).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import mountinfo, os_release, proc_modules
from doctor.parsers.lib.printable import clean
from doctor.probes.lib import host_runtime
from doctor.system.asked import LIMIT_FACTS
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "file:etc/os-release public",
    "file:usr/lib/os-release public",
    "file:proc/sys/kernel/osrelease public",
    "file:proc/sys/kernel/arch public",
    "file:proc/sys/kernel/numa_balancing public",
    "file:proc/version name",
    "file:proc/cmdline secret-bearing",
    "file:proc/modules public",
    "dir:*/modprobe.d public",
    "file:*/modprobe.d/*.conf public",
    "file:proc/cpuinfo public",
    "file:proc/meminfo public",
    "file:proc/self/mountinfo name",
    "file:proc/mounts name",
    "file:sys/devices/system/cpu/cpu0/cpufreq/scaling_governor public",
    "dir:lib public",
    "dir:lib64 public",
    "stat:dev/dxg public",
    "limits public",
    *host_runtime.READS,
)

_LOADERS = {
    "ld-linux-x86-64.so.2": "x86_64",
    "ld-linux-aarch64.so.1": "aarch64",
    "ld64.so.2": "ppc64le",
    "ld-linux-riscv64-lp64d.so.1": "riscv64",
}
_CPU = re.compile(r"^(?:model name|cpu|Model|Hardware)\s{0,20}:\s{0,20}(\S.{0,200})$", re.MULTILINE)
_IMPLEMENTER = re.compile(
    r"^CPU implementer\s{0,20}:\s{0,20}(0x[0-9a-f]{2})[\s\S]{0,200}?CPU part\s{0,20}:\s{0,20}(0x[0-9a-f]{3})",
    re.MULTILINE,
)
_SHM = "/dev/shm"  # noqa: S108 - looked up, never written
_MEM = re.compile(r"^MemTotal:\s{1,20}(\d{1,15}) kB", re.MULTILINE)
_FLAGS = re.compile(r"^flags\s{0,20}:(.{0,8000})$", re.MULTILINE)


def probe(system: System, sheet: FactSheet) -> None:
    _distribution(system, sheet)
    _kernel(system, sheet)
    cpuinfo = system.read_text("proc/cpuinfo", limit=8 << 20)
    _processor(system, sheet, cpuinfo)
    _memory(system, sheet)
    _tuning(system, sheet)
    host_runtime.put(system, sheet)
    limits = system.limits()
    for fact in LIMIT_FACTS:
        key = fact.removesuffix("_bytes")
        held = limits.value.get(key) if limits.known and limits.value is not None else None
        if held is None:
            state = State.NOT_RECORDED if limits.known else limits.state
            sheet.miss(f"host.{fact}", state, limits.source, limits.detail)
        else:
            sheet.put(f"host.{fact}", held, limits.source)


def _distribution(system: System, sheet: FactSheet) -> None:
    reading = system.read_text("etc/os-release")
    if reading.is_absent or reading.state is State.NOT_RECORDED or reading.state is State.UNREADABLE:
        second = system.read_text("usr/lib/os-release")
        reading = second if second.known else reading
    fields = reading.then(os_release.read)
    for name, fact in os_release.FACTS.items():
        if fields.value is None:
            sheet.miss(fact, State.FAILED if fields.is_absent else fields.state, fields.source, fields.detail)
        elif name in fields.value:
            sheet.put(fact, fields.value[name], fields.source)
        else:
            sheet.absent(fact, fields.source)


def _kernel(system: System, sheet: FactSheet) -> None:
    release = system.read_text("proc/sys/kernel/osrelease").then(_one_line)
    version = system.read_text("proc/version").then(_one_line)
    if not release.known and version.value and version.value.startswith("Linux version "):
        release = Reading(State.VALUE, version.source, version.value.split()[2])
    release.into(sheet, "kernel.release")
    version.into(sheet, "kernel.version")
    cmdline = system.read_text("proc/cmdline").then(lambda text: clean(text.replace("\n", " "), 4096))
    cmdline.into(sheet, "kernel.cmdline")
    modules = system.read_text("proc/modules").then(lambda text: list(proc_modules.read(text)))
    modules.into(sheet, "kernel.modules", absent=[])  # a kernel without module support has no such file
    sheet.put("kernel.kept_out", list(_kept_out(system)), "dir:/etc/modprobe.d")
    dxg = system.stat("dev/dxg")
    if release.value is not None:
        microsoft = "microsoft" in release.value.lower()
        sheet.put("host.wsl", microsoft or dxg.known, release.source)


def _kept_out(system: System) -> Iterator[str]:
    for folder in _MODPROBE:
        for name in [n for n in system.list_dir(folder).value or () if n.endswith(".conf")][:200]:
            text = system.read_text(f"{folder}/{name}", limit=1 << 16).value or ""
            yield from (f"/{folder}/{name}: {clean(line[0], 200)}" for line in _KEEPS_OUT.finditer(text))


_MODPROBE = ("etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d")
_KEEPS_OUT = re.compile(
    r"^[ \t]{0,8}(?:blacklist[ \t]{1,8}(?:nvidia|amdgpu)|alias[ \t]{1,8}(?:nvidia|amdgpu)[ \t]{1,8}off"
    r"|install[ \t]{1,8}(?:nvidia|amdgpu)[ \t]{1,8}/(?:usr/)?bin/(?:true|false))[ \t]{0,8}$",
    re.M,
)


def _processor(system: System, sheet: FactSheet, cpuinfo: Reading[str]) -> None:
    text = cpuinfo.value
    if text is not None:
        match = _CPU.search(text)
        part = _IMPLEMENTER.search(text[:4000])
        name = clean(match[1]) if match else f"ARM implementer {part[1]} part {part[2]}" if part else None
        if name:
            sheet.put("host.cpu", name, cpuinfo.source)
    if sheet.get("host.cpu") is None:
        sheet.miss("host.cpu", State.UNREADABLE if cpuinfo.known else cpuinfo.state, cpuinfo.source, cpuinfo.detail)
    arch = system.read_text("proc/sys/kernel/arch").then(_one_line)
    if arch.known:
        arch.into(sheet, "host.machine")
        return
    for folder in ("lib64", "lib", "usr/lib64", "usr/lib"):
        listing = system.list_dir(folder)
        for name in listing.value or ():
            if name in _LOADERS:
                sheet.put("host.machine", _LOADERS[name], listing.source, f"its loader is {name}")
                return
    if text is not None and (machine := machine_of(text)):
        sheet.put("host.machine", machine, cpuinfo.source)
        return
    sheet.miss("host.machine", State.FAILED if arch.is_absent else arch.state, arch.source, arch.detail)


def machine_of(cpuinfo: str) -> str | None:
    """The architecture that a proc/cpuinfo is of, by the words that only one architecture writes.

    >>> machine_of("flags\\t\\t: fpu lm"), machine_of("CPU implementer : 0x41\\nCPU architecture: 8")
    ('x86_64', 'aarch64')
    """
    flags = _FLAGS.search(cpuinfo)
    if flags and "lm" in flags[1].split():
        return "x86_64"
    if re.search(r"^CPU architecture\s{0,9}: 8", cpuinfo, re.MULTILINE):
        return "aarch64"
    return None


def _memory(system: System, sheet: FactSheet) -> None:
    reading = system.read_text("proc/meminfo")
    match = _MEM.search(reading.value or "")
    if match:
        sheet.put("host.memory_bytes", int(match[1]) * 1024, reading.source)
    else:
        sheet.miss("host.memory_bytes", State.UNREADABLE if reading.known else reading.state, reading.source)
    _shm(system, sheet, int(match[1]) * 1024 if match else None)


def _shm(system: System, sheet: FactSheet, memory: int | None) -> None:
    mounts = system.read_text("proc/self/mountinfo", limit=4 << 20)
    if not mounts.known:
        mounts = system.read_text("proc/mounts", limit=4 << 20)
    read = mounts.then(mountinfo.read)
    shm = mountinfo.at(read.value, _SHM) if read.value else None
    if shm is None:
        sheet.miss("host.shm_bytes", State.FAILED if read.known else read.state, read.source, "no mount at /dev/shm")
    elif (size := mountinfo.size_bytes(shm)) is not None:
        sheet.put("host.shm_bytes", size, read.source)
    elif memory is not None and shm.fstype == "tmpfs":
        sheet.put("host.shm_bytes", memory // 2, read.source, "no size= option: half of the memory (tmpfs(5))")
    else:
        sheet.miss("host.shm_bytes", State.FAILED, read.source, f"{shm.fstype} without a size")


def _tuning(system: System, sheet: FactSheet) -> None:
    balancing = system.read_text("proc/sys/kernel/numa_balancing")
    word = (balancing.value or "").strip()
    if word.isdigit() and len(word) < 6:
        sheet.put("host.numa_balancing", int(word), balancing.source)
    else:
        state = State.UNREADABLE if balancing.known else balancing.state
        if state is State.ABSENT:  # a kernel built without it can't migrate pages
            sheet.absent("host.numa_balancing", balancing.source, 0, "the kernel has no NUMA balancing")
        else:
            sheet.miss("host.numa_balancing", state, balancing.source, balancing.detail)
    governor = system.read_text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").then(_one_line)
    governor.into(sheet, "host.cpu_governor")


def _one_line(text: str) -> str:
    return clean(text.split("\n", 1)[0], 400)
