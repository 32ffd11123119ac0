"""NVML's inventory: each call guarded by itself. Asked of a fake that answers by function name, and through a library
that is compiled here."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.facts.origin import State
from doctor.system.live import LiveSystem
from doctor.system.nvml_child import collect


class FakeNvmlError(Exception):
    def __init__(self, value: int) -> None:
        self.value = value


class Fabric(ctypes.Structure):
    _fields_ = (("state", ctypes.c_int), ("status", ctypes.c_int), ("cliqueId", ctypes.c_int))


class FakeNvml:
    """Answers by name: a value, or an int error wrapped in FakeNvmlError. All else is not supported."""

    NVMLError = FakeNvmlError
    NVML_ERROR_UNINITIALIZED, NVML_ERROR_NO_PERMISSION, NVML_ERROR_GPU_IS_LOST = 1, 4, 15
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
    NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_HOPPER = 14, 9
    nvmlClocksEventReasonGpuIdle, nvmlClocksThrottleReasonBoardLimit = 1, 0x200
    c_nvmlGpuFabricInfo_v2_t = Fabric

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            answer = self._answers.get(name, FakeNvmlError(3))
            if isinstance(answer, FakeNvmlError):
                raise answer
            return answer(*arguments) if callable(answer) else answer

        return call


H100 = {
    "nvmlInit": 0,
    "nvmlSystemGetDriverVersion": "575.57.08",
    "nvmlSystemGetNVMLVersion": b"12.575.57.08",
    "nvmlSystemGetCudaDriverVersion_v2": 12090,
    "nvmlDeviceGetCount": 1,
    "nvmlDeviceGetHandleByIndex": lambda index: f"gpu{index}",
    "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetUUID": "GPU-1",
    "nvmlDeviceGetPciInfo": SimpleNamespace(
        busId="00000000:C1:00.0", pciDeviceId=0x233010DE, pciSubSystemId=0x16C110DE
    ),
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=85520809984, used=4096),
    "nvmlDeviceGetCudaComputeCapability": (9, 0),
    "nvmlDeviceGetBrand": 14,
    "nvmlDeviceGetArchitecture": 9,
    "nvmlDeviceGetEccMode": [1, 0],
    "nvmlDeviceGetTotalEccErrors": lambda _, kind, period: kind * 10 + period,
    "nvmlDeviceGetRemappedRows": (0, 2, 1, 0),
    "nvmlDeviceGetCurrentClocksEventReasons": 0x201 | 1 << 40,
    "nvmlDeviceGetPowerUsage": 70500,
    "nvmlDeviceGetCurrPcieLinkWidth": 8,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetMigMode": [0, 1],
    "nvmlDeviceGetComputeRunningProcesses": [1, 2],
    "nvmlDeviceGetGpuFabricInfoV": lambda _handle, _fabric: 0,
    "nvmlDeviceGetNvLinkState": lambda _, link: 1 - link if link < 2 else FakeNvml().nvmlNothing(),
    "nvmlDeviceGetNvLinkRemotePciInfo": SimpleNamespace(busId="00000000:05:00.0"),
}


def test_a_whole_gpu() -> None:
    assert collect(FakeNvml(**H100)) == {
        "error": None,
        "driver_version": "575.57.08",
        "nvml_version": "12.575.57.08",
        "cuda_driver_version": "12.9",
        "count": 1,
        "gpus": [
            {
                "index": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-1",
                "brand": "nvidia",
                "architecture": "hopper",
                "compute_capability": "9.0",
                "pci_address": "0000:c1:00.0",
                "pci_id": "10de:2330",
                "subsystem_id": "10de:16c1",
                "memory_total": 85520809984,
                "memory_used": 4096,
                "ecc_current": True,
                "ecc_pending": False,
                "ecc_corrected_volatile": 0,
                "ecc_corrected_aggregate": 1,
                "ecc_uncorrected_volatile": 10,
                "ecc_uncorrected_aggregate": 11,
                "remapped_rows": {"correctable": 0, "uncorrectable": 2, "pending": True, "failure": False},
                "clock_event_reasons": ["GpuIdle", "BoardLimit", "0x10000000000"],
                "power_w": 70.5,
                "pcie": {"width": 8, "width_max": 16},
                "compute_mode": "default",
                "persistence_mode": True,
                "processes": 2,
                "mig_mode": False,
                "mig_mode_pending": True,
                "fabric": {"state": "not-supported", "status": "ok", "clique": 0},
                "nvlinks": [{"link": 0, "state": True, "remote_pci": "0000:05:00.0"}, {"link": 1, "state": False}],
                "lost": False,
                "unsupported": [
                    *("serial", "minor", "vbios", "bar1_total", "retired_pages", "retired_pages_pending"),
                    *("utilisation", "clocks.sm", "clocks.sm_max", "power_limit_w", "temperature_c"),
                    *("pcie.gen", "pcie.gen_max", "virtualization"),
                ],
            }
        ],
    }


def test_one_lost_gpu_does_not_hide_the_other() -> None:
    def name(handle: str) -> str:
        if handle == "gpu0":
            raise FakeNvmlError(15)
        return "NVIDIA H100"

    told = collect(FakeNvml(**{**H100, "nvmlDeviceGetCount": 2, "nvmlDeviceGetName": name}))
    assert [(gpu["lost"], gpu.get("name")) for gpu in told["gpus"]] == [(True, None), (False, "NVIDIA H100")]
    assert told["gpus"][0]["errors"] == {"name": "NVML_ERROR_GPU_IS_LOST"}


def test_a_gpu_without_a_handle_is_still_listed() -> None:
    told = collect(FakeNvml(**{**H100, "nvmlDeviceGetHandleByIndex": FakeNvmlError(4)}))
    assert told["gpus"] == [{"index": 0, "lost": False, "errors": {"handle": "NVML_ERROR_NO_PERMISSION"}}]


def test_a_failed_init_is_an_answer() -> None:
    told = collect(FakeNvml(nvmlInit=FakeNvmlError(18), nvmlSystemGetNVMLVersion="12.570.1"))
    error = {"code": 18, "name": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"}
    assert told == {"error": error, "gpus": [], "nvml_version": "12.570.1"}


STUB = """
#include <string.h>
int nvmlInitWithFlags(unsigned flags) { %s return 0; }
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "999.01", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 0; return 0; }
"""


def live_with(folder: Path, body: str, deadline_s: float = 10.0) -> LiveSystem:
    """A live machine whose NVML is a few lines of C."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no C compiler for a stub of NVML")
    (folder / "stub.c").write_text(STUB % body)
    name = "libnvidia-ml.so.1"
    command = [gcc, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(folder / name), str(folder / "stub.c")]
    subprocess.run(command, check=True, timeout=30)
    return LiveSystem(library_folders=[str(folder)], run_deadline_s=deadline_s)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a test belongs to nobody that root would trust."""
    monkeypatch.setattr("doctor.system.commands.distrust", lambda path: None)


@pytest.mark.usefixtures("trusted")
def test_a_real_library_is_asked_in_a_child(tmp_path: Path) -> None:
    reading = live_with(tmp_path, "").nvml()
    assert reading.value == {"error": None, "gpus": [], "driver_version": "999.01", "count": 0}


@pytest.mark.usefixtures("trusted")
def test_a_library_that_hangs_is_timed_out(tmp_path: Path) -> None:
    reading = live_with(tmp_path, "for (;;);", 0.3).nvml()
    assert reading.state is State.TIMED_OUT


@pytest.mark.usefixtures("trusted")
def test_a_library_that_crashes_has_failed(tmp_path: Path) -> None:
    assert live_with(tmp_path, "__builtin_trap();").nvml().state is State.FAILED


@pytest.mark.usefixtures("trusted")
def test_a_file_that_is_no_library_counts_as_absent(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no ELF")
    assert LiveSystem(library_folders=[str(tmp_path)], run_deadline_s=10).nvml().is_absent
