"""The C library, the compiler, huge pages. Six small files and folders, and `getconf`; no root."""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "command:getconf GNU_LIBC_VERSION public",
    "dir:usr/lib/gcc public",
    "dir:usr/lib/gcc/* public",
    "stat:usr/lib/gcc/*/*/crtbegin.o public",
    "dir:usr/include/c++ public",
    "real:usr/bin/gcc public",
    "file:proc/meminfo public",
    "file:sys/kernel/mm/transparent_hugepage/enabled public",
)
_GLIBC = re.compile(r"glibc (\d{1,2}\.\d{1,3})", re.ASCII)
_GCC = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,2}", re.ASCII)
_HUGE = re.compile(r"^Hugetlb:\s{1,20}(\d{1,15}) kB", re.MULTILINE | re.ASCII)


def put(system: System, sheet: FactSheet) -> None:
    output = system.run(("getconf", "GNU_LIBC_VERSION"))
    glibc = _GLIBC.match(output.value.stdout) if output.value else None
    if glibc:
        sheet.put("host.glibc", glibc[1], output.source)
    else:
        sheet.miss(
            "host.glibc",
            State.FAILED if output.known or output.is_absent else output.state,
            output.source,
            output.detail,
        )
    _gcc(system, sheet)
    meminfo = system.read_text("proc/meminfo")
    if huge := _HUGE.search(meminfo.value or ""):
        sheet.put("host.hugepages_bytes", int(huge[1]) * 1024, meminfo.source)
    thp = system.read_text("sys/kernel/mm/transparent_hugepage/enabled")
    if chosen := re.search(r"\[(\w{1,20})\]", thp.value or ""):
        sheet.put("host.transparent_hugepages", chosen[1], thp.source)
    else:
        thp.then(lambda text: clean(text, 0) or None).into(sheet, "host.transparent_hugepages")


def _gcc(system: System, sheet: FactSheet) -> None:
    """The newest by its folder; distributions name it by the major or the whole version."""
    top = system.list_dir("usr/lib/gcc")
    places = [
        (f"usr/lib/gcc/{target}", name)
        for target in (top.value or ())[:20]
        if target.endswith(("linux-gnu", "linux"))
        for name in system.list_dir(f"usr/lib/gcc/{target}").value or ()
        if _GCC.fullmatch(name)
    ]
    found = [name for _, name in places]
    if found:
        runtimes = [name for folder, name in places[:20] if system.stat(f"{folder}/{name}/crtbegin.o").known]
        sheet.put("host.gcc_runtimes", sorted(set(runtimes)), top.source)
        headers = system.list_dir("usr/include/c++")
        if headers.known or headers.is_absent:
            names = [n for n in headers.value or () if _GCC.fullmatch(n)]
            sheet.put("host.libstdcxx_headers", sorted(names), headers.source)
    # usr/bin/gcc leads to x86_64-linux-gnu-gcc-12 on Debian and Ubuntu; elsewhere it is the one that is installed.
    named = system.real("usr/bin/gcc")
    answers = re.search(r"gcc-(\d{1,2}(?:\.\d{1,2}){0,2})$", named.value or "", re.ASCII)
    if answers or (named.known and len(found) == 1):
        sheet.put("host.gcc_version", answers[1] if answers else found[0], named.source)
    if found:
        sheet.put("host.gcc", max(found, key=lambda v: [int(n) for n in v.split(".")]), top.source)
    else:
        sheet.absent("host.gcc", top.source) if top.known or top.is_absent else top.then(str).into(sheet, "host.gcc")
