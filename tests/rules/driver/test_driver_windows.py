"""Rules that compare releases: each fires, nearly misses, and is silent on the unknown."""

# ruff: noqa: E501

from __future__ import annotations

from types import ModuleType
from typing import Any

from doctor.rules.driver import (
    amdgpu_driver_known_bad,
    amdgpu_firmware_bad,
    amdgpu_kernel_or_os_unsupported,
    amdgpu_rocm_version_skew,
    cuda_compat_conflict,
    nvidia_driver_not_loaded,
    nvidia_driver_too_old,
)
from tests.each import each
from tests.rules.driver.asked import found
from tests.rules.machines import build

MI300X = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx942", "gpus[#0].name": "AMD Instinct MI325X"}
HALO = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1151"}
RTX4070 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA GeForce RTX 4070", "gpus[#0].arch": "sm_89"}
RTX5080 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA GeForce RTX 5080", "gpus[#0].arch": "sm_120"}
H100 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA H100 80GB HBM3", "gpus[#0].arch": "sm_90"}
COMPAT = {"environment[LD_LIBRARY_PATH]": "/usr/local/cuda-12.9/compat:/usr/local/cuda/lib64"}
ROCM = "rocm[shown].version"
PATH = {"rocm[shown].path": ""}
Row = tuple[ModuleType, dict[str, Any], dict[str, Any], str]

ROWS: tuple[Row, ...] = (
    (amdgpu_driver_known_bad, MI300X | {"amdgpu_driver.release": "30.20.0"}, {"host.virtual_machine": False}, "amdgpu_driver.release"),
    (
        amdgpu_kernel_or_os_unsupported,
        {"amdgpu_driver.version": "6.14.14", "kernel.release": "6.17.0-5-generic"},
        {"amdgpu_driver.loaded": True},
        "kernel.release",
    ),
    (amdgpu_driver_known_bad, MI300X | {"amdgpu_driver.release": "30.20.0"}, {"amdgpu_driver.release": "30.20.1"}, "amdgpu_driver.release"),
    (amdgpu_firmware_bad, HALO | {"gpus[#0].firmware": {"mes": "0x83"}}, {"gpus[#0].firmware": {"mes": "0x82"}}, "gpus[#0].firmware"),
    (
        amdgpu_kernel_or_os_unsupported,
        {"amdgpu_driver.release": "30.20.0", "kernel.release": "6.17.0-5-generic"},
        {"kernel.release": "6.14.0-15-generic"},
        "kernel.release",
    ),
    (
        amdgpu_kernel_or_os_unsupported,
        {"amdgpu_driver.built_for": ["6.8.0-45-generic"], "kernel.release": "6.8.0-48-generic"},
        {"amdgpu_driver.built_for": ["6.8.0-48-generic"]},
        "amdgpu_driver.built_for",
    ),
    (
        amdgpu_kernel_or_os_unsupported,
        {"os.id": "ubuntu", "os.version": "24.10", "os.name": "Ubuntu 24.10", ROCM: "6.2.2"} | PATH,
        {"os.version": "24.04"},
        "os.version",
    ),
    (amdgpu_rocm_version_skew, {"amdgpu_driver.release": "6.0.2", ROCM: "7.0.1"} | PATH, {ROCM: "6.2.0"}, "amdgpu_driver.release"),
    (amdgpu_rocm_version_skew, {"amdgpu_driver.version": "6.7.0", ROCM: "7.2.1"} | PATH, {ROCM: "6.4.0"}, ROCM),
    (cuda_compat_conflict, RTX4070 | COMPAT, {"gpus[#0].name": "NVIDIA A100-SXM4-80GB"}, "environment"),
    (
        cuda_compat_conflict,
        H100 | COMPAT | {"nvidia_driver.version": "580.95.05"},
        {"nvidia_driver.version": "535.104.05"},
        "nvidia_driver.version",
    ),
    (nvidia_driver_too_old, RTX5080 | {"nvidia_driver.version": "525.85.12"}, {"nvidia_driver.version": "575.57.08"}, "nvidia_driver.version"),
    (
        nvidia_driver_too_old,
        {"nvidia_driver.version": "470.141.03", "packages": [{"name": "jax-cuda12-plugin", "version": "0.4.30"}]},
        {"nvidia_driver.version": "550.54.15"},
        "packages",
    ),
    (
        nvidia_driver_not_loaded,
        {"nvidia_driver.built_for": ["6.2.0-39-generic"], "kernel.release": "6.5.0-14-generic"},
        {"nvidia_driver.built_for": ["6.2.0-39-generic", "6.5.0-14-generic"]},
        "nvidia_driver.built_for",
    ),
)  # fmt: skip
IDS = [f"{row[0].RULE.id}-{n}" for n, row in enumerate(ROWS)]


@each("row", ROWS)
def test_it_fires(row: Row) -> None:
    assert found(row[0], build(row[1]))


@each("row", ROWS)
def test_it_nearly_misses(row: Row) -> None:
    assert found(row[0], build(row[1], row[2])) == []


@each("row", ROWS)
def test_it_is_silent_on_the_unknown(row: Row) -> None:
    assert found(row[0], build(row[1], {row[3]: None})) == []


def test_a_driver_that_binds_the_gpu_is_not_too_old_for_it() -> None:
    machine = build(RTX5080 | {"nvidia_driver.version": "525.85.12", "gpus[#0].driver": "nvidia"})
    assert found(nvidia_driver_too_old, machine) == []


def test_the_kernels_own_driver_has_no_release() -> None:
    machine = build({"amdgpu_driver.source": "in-tree", "amdgpu_driver.version": "6.7.0", ROCM: "7.2.1"} | PATH)
    assert found(amdgpu_rocm_version_skew, machine) == []


def test_a_possible_fault_of_the_kernel_is_a_warning_only_where_the_gpu_faults() -> None:
    card = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1100", "kernel.release": "7.0.2"}
    (quiet,) = found(amdgpu_driver_known_bad, build(card))
    (loud,) = found(amdgpu_driver_known_bad, build(card | {"symptoms": {"amdgpu-vm-fault": "[gfxhub] page fault"}}))
    assert (quiet.severity.value, loud.severity.value) == ("info", "warning")
