"""Strix Halo on a kernel that tells the sizes of the wave state, with a ROCm from before they were mended."""

from __future__ import annotations

from typing import Any

from doctor.rules.driver import amdgpu_rocm_version_skew as rule
from tests.each import each
from tests.rules.driver.asked import found, told
from tests.rules.machines import build

CRASH = {"symptoms": {"program-crashed": "Segmentation fault (core dumped)"}}
HALO: dict[str, Any] = {
    "gpus[#0].vendor": "amd",
    "gpus[#0].arch": "gfx1151",
    "kernel.release": "6.18.6-200.fc43.x86_64",
    "torch.rocm": "7.1",
    **CRASH,
}


def test_a_rocm_before_the_change_crashes() -> None:
    ((severity, subject, summary),) = told(rule, build(HALO))
    assert (severity, subject) == ("warning", "amdgpu")
    assert "ROCm 7.1 is too old for kernel 6.18.6" in summary


@each(
    "edit",
    [
        {"torch.rocm": "7.2"},
        {"torch.rocm": "7.11.0"},
        {"kernel.release": "6.18.3-arch1-1"},
        {"kernel.release": "6.17.7-ba29.fc43"},
        {"gpus[#0].arch": "gfx1100"},
        {"symptoms": {}},
        {"kernel.release": None},
        {"torch.rocm": None},
    ],
)
def test_others_are_not_accused(edit: dict[str, Any]) -> None:
    assert found(rule, build(HALO, edit)) == []


def test_a_release_that_was_cut_before_the_change() -> None:
    assert found(rule, build(HALO, {"torch.rocm": "7.10.0"}))
