"""What changed on the machine, and what waits for a reboot."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.facts.origin import State
from doctor.parsers.kernel import package_log
from doctor.probes.host import changes
from doctor.system.base import Output, Reading
from doctor.system.tree import TreeSystem
from tests.probes.pretend import Pretend

NOW = 1_795_000_000  # 2026-11-18
CLOCK = {"proc/uptime": "86400.00 1.00\n", "proc/stat": f"cpu 1\nbtime {NOW - 86400}\n"}
DPKG = """2026-11-17 06:12:01 startup packages configure
2026-11-17 06:12:01 upgrade nvidia-utils-570:amd64 570.124.06-0ubuntu1 570.133.20-0ubuntu1
2026-11-17 06:12:02 status half-configured nvidia-utils-570:amd64 570.124.06-0ubuntu1
2026-11-17 06:12:03 upgrade vim:amd64 1 2
2026-01-01 06:12:03 install amdgpu-dkms:all <none> 1:6.10.5.60301-2084798.22.04
"""
HISTORY = """Start-Date: 2026-11-17  06:12:00
Commandline: /usr/bin/unattended-upgrade
Upgrade: nvidia-utils-570:amd64 (570.124.06-0ubuntu1, 570.133.20-0ubuntu1), vim:amd64 (1, 2)
End-Date: 2026-11-17  06:12:10

"""


class Answering(Pretend):
    """With what modinfo prints."""

    answer = ""

    def derived(self, name: str, path: str, work: Any) -> Reading[Any]:
        return TreeSystem.derived(self, name, path, work)

    def run(self, argv: object, **_how: object) -> Reading[Output]:
        return Reading(State.VALUE, "command:modinfo", Output(0, self.answer, "", 0.0))


def look(root: Path, files: dict[str, str], modinfo: str = "") -> Snapshot:
    sheet = FactSheet()
    system = Answering(root, CLOCK | files)
    system.answer = modinfo
    changes.probe(system, sheet)
    return assemble([sheet])


def test_changes_of_the_gpu_stack_are_told_with_who_made_them(tmp_path: Path) -> None:
    machine = look(tmp_path, {"var/log/dpkg.log": DPKG, "var/log/apt/history.log": HISTORY})
    (change,) = machine.changes or ()
    assert (change.package, change.old, change.new) == (
        "nvidia-utils-570",
        "570.124.06-0ubuntu1",
        "570.133.20-0ubuntu1",
    )
    assert (change.action, change.by) == ("upgrade", "unattended-upgrades")
    assert (change.age_s or 99 * 86400) < 3 * 86400


def test_a_machine_without_a_log_does_not_claim_that_nothing_changed(tmp_path: Path) -> None:
    assert look(tmp_path, {"var/log/wtmp": ""}).changes is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "2026-11-17T10:11:12+0000 SUBDEBUG Upgrade: kmod-nvidia-open-dkms-3:570.133.20-1.el9.x86_64",
            ("kmod-nvidia-open-dkms", "upgrade", None, "3:570.133.20-1.el9"),
        ),
        (
            "2026-11-17 10:11:12|install|nvidia-open|570.133.20-1|x86_64||repo|0|",
            ("nvidia-open", "install", None, "570.133.20-1"),
        ),
        (
            "[2026-11-17T10:11:12+0100] [ALPM] upgraded linux (6.17.1-1 -> 6.17.8-1)",
            ("linux", "upgrade", "6.17.1-1", "6.17.8-1"),
        ),
        ("2026-11-17 06:12:03 remove rocblas:amd64 4.2.0-1 <none>", ("rocblas", "remove", "4.2.0-1", None)),
    ],
)
def test_logs_of_every_package_manager(line: str, expected: tuple[str, ...]) -> None:
    (found,) = package_log.read(line)
    assert found[1:] == expected


@pytest.mark.parametrize("line", ["", "2026-11-17 upgrade", "2026-11-17 06:12:03 upgrade vim:amd64 1 2", "x" * 5000])
def test_other_lines_are_no_change(line: str) -> None:
    assert package_log.read(line) == []


def test_a_module_on_disk_of_another_build_than_the_loaded_one(tmp_path: Path) -> None:
    files = {"sys/module/nvidia/srcversion": "AAAA0000AAAA0000\n"}
    assert look(tmp_path, files, "BBBB0000BBBB0000\n").nvidia_driver.module_stale is True
    assert look(tmp_path, files, "AAAA0000AAAA0000\n").nvidia_driver.module_stale is False
    assert look(tmp_path, files, "").nvidia_driver.module_stale is None


def test_a_newer_kernel_of_the_same_flavour_waits_for_a_reboot(tmp_path: Path) -> None:
    files = {
        "proc/sys/kernel/osrelease": "6.8.0-51-generic\n",
        "boot/vmlinuz-6.8.0-51-generic": "", "boot/vmlinuz-6.8.0-60-generic": "", "boot/vmlinuz-6.11.0-9-lowlatency": "",
        "lib/modules/6.8.0-60-generic/modules.dep": "", "lib/modules/6.8.0-51-generic/modules.dep": "",
        "lib/modules/6.11.0-9-lowlatency/modules.dep": "", "run/lock": "",
    }  # fmt: skip
    assert look(tmp_path, files).host.pending_reboot == ("kernel 6.8.0-60-generic",)
    mark = {"run/reboot-required": "", "run/reboot-required.pkgs": "linux-base\nnvidia-driver-570\nlinux-base\n"}
    wanted = ("linux-base", "nvidia-driver-570", "kernel 6.8.0-60-generic")
    assert look(tmp_path, files | mark).host.pending_reboot == wanted


def test_a_container_s_files_do_not_say_that_no_reboot_is_due(tmp_path: Path) -> None:
    assert look(tmp_path, {"run/lock": ""}).host.pending_reboot is None


def test_a_dkms_build_that_failed_names_its_kernel(tmp_path: Path) -> None:
    folder = "var/lib/dkms/amdgpu/6.10.5"
    log = "DKMS make.log for amdgpu-6.10.5 for kernel 6.14.0-15-generic (x86_64)\nmake[1]: *** Error 2\n"
    files = {f"{folder}/build/make.log": log, f"{folder}/6.8.0-51-generic/x86_64/module/amdgpu.ko": ""}
    (module,) = look(tmp_path, files).kernel.dkms or ()
    assert (module.key, module.built_for) == ("amdgpu/6.10.5", ("6.8.0-51-generic",))
    assert module.failed_for == "6.14.0-15-generic"


def test_the_history_that_dnf5_keeps_in_a_database(tmp_path: Path) -> None:
    from tests.parsers.kernel.test_dnf5_history import ROWS, database

    place = tmp_path / "usr/lib/sysimage/libdnf5/transaction_history.sqlite"
    place.parent.mkdir(parents=True)
    database(place, ROWS)
    told = look(tmp_path, {}).changes or ()
    assert [(c.package, c.old, c.new) for c in told] == [
        ("rocm-hip", "6.3.1-4.fc42", None),
        ("akmod-nvidia", "3:570.124.06-1.fc42", "3:570.133.20-1.fc42"),
        ("kernel-core", None, "6.14.9-300.fc42"),
    ]
