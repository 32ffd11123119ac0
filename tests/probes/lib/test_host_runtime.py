"""The C library, the compiler and huge pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.facts.origin import State
from doctor.probes.lib import host_runtime
from doctor.system.base import Output, Reading
from tests.probes.pretend import Pretend


class Answering(Pretend):
    """With what getconf prints."""

    def run(self, argv: Sequence[str], **_how: object) -> Reading[Output]:
        assert tuple(argv) == ("getconf", "GNU_LIBC_VERSION")
        return Reading(State.VALUE, "command:getconf", Output(0, "glibc 2.39\n", "", 0.0))


def look(root: Path, files: dict[str, str]) -> Snapshot:
    sheet = FactSheet()
    host_runtime.put(Answering(root, files), sheet)
    return assemble([sheet])


def test_what_a_debian_host_shows(tmp_path: Path) -> None:
    folder = "usr/lib/gcc/x86_64-linux-gnu"
    files = {f"{folder}/9/cc1": "", f"{folder}/13/cc1": "", f"{folder}/x/cc1": "", "usr/bin/x86_64-linux-gnu-gcc-9": ""}
    files |= {"proc/meminfo": "MemTotal: 10 kB\nHugetlb:         2097152 kB\n"}
    files |= {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/gcc").symlink_to("x86_64-linux-gnu-gcc-9")
    host = look(tmp_path, files).host
    assert (host.glibc, host.gcc, host.gcc_version) == ("2.39", "13", "9")
    assert (host.hugepages_bytes, host.transparent_hugepages) == (2 << 30, "madvise")


@pytest.mark.parametrize("files", [{}, {"usr/lib/x": ""}])
def test_no_compiler_and_no_huge_pages_are_no_value(files: dict[str, str], tmp_path: Path) -> None:
    host = look(tmp_path, files).host
    assert (host.gcc, host.gcc_version, host.hugepages_bytes, host.transparent_hugepages) == (None, None, None, None)
