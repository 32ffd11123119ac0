"""A kernel that has a fix backported is not asked for that fix."""

from __future__ import annotations

from doctor.rules.driver import amdgpu_kernel_or_os_unsupported as rule
from tests.rules import machines
from tests.rules.driver.asked import found


def _strix_halo(kernel: str) -> list[str]:
    edits = {f"gpus[{machines.RX7900}].arch": "gfx1151", "kernel.release": kernel}
    return [f.summary for f in found(rule, machines.rx7900_desktop(edits)) if "Strix Halo" in f.summary]


def test_ubuntus_oem_kernel_has_the_fix_from_build_1018_on() -> None:
    assert _strix_halo("6.14.0-1017-oem")
    assert _strix_halo("6.14.0-1018-oem") == []
    assert _strix_halo("6.17.0-8-generic")
