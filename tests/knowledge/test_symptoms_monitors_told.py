"""What the vendors' monitors report, and counters, lists and numbers that nearly say it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, told

LABELS = '{gpu="3",UUID="GPU-5f1c",modelName="NVIDIA H200"}'
CASES = [
    (f"jobs on this node return garbage\nDCGM_FI_DEV_ROW_REMAP_FAILURE{LABELS} 1", "gpu-ecc-errors"),
    ("DCGM_FI_DEV_ROW_REMAP_PENDING 1", "gpu-ecc-errors"),
    ("| DCGM_FI_DEV_RETIRED_PENDING | 1 |", "gpu-ecc-errors"),
    (f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{LABELS} 4", "gpu-ecc-errors"),
    (f"DCGM_FI_DEV_XID_ERRORS{LABELS} 95", "gpu-ecc-errors"),
    (f"DCGM_FI_DEV_XID_ERRORS{LABELS} 79", "nvidia-xid-fatal"),
    ("DCGM_FI_DEV_XID_ERRORS: 119", "nvidia-xid-fatal"),
    ("GPU 6 had uncorrectable memory errors and row remapping failed. Run a field diagnostic.", "gpu-ecc-errors"),
    ("GPU 2 had memory errors and row remappings are pending", "gpu-ecc-errors"),
    ("A pending retired page has been detected in GPU 1.", "gpu-ecc-errors"),
    ("Detected 2 volatile double-bit ECC error(s) in GPU 0.", "gpu-ecc-errors"),
    ("Found 17 faulty memory elements on GPU 4", "gpu-ecc-errors"),
    ("Detected more than 8 PCIe replays per minute for GPU 5 : 31", "pcie-link-degraded"),
    ("GPU 1 was unsuccessfully written to by GPU 0 in a peer-to-peer test: differs", "pcie-p2p-unusable"),
    ("Found driver on the denylist: nouveau", "nouveau-loaded"),
    ("NvidiaDeviceCountMismatch", "nvidia-xid-fatal"),
    ("DCGM detected 7 GPUs but 8 nvidia device files were detected at /dev", "nvidia-xid-fatal"),
    ("expected 8 GPUs for this instance type but only 7 were detected", "nvidia-xid-fatal"),
    ("job stops\nDCGM finds fewer GPUs than expected", "nvidia-xid-fatal"),
    ("condition AcceleratedHardwareReady, reason NvidiaDoubleBitError", "gpu-ecc-errors"),
    ('gpu_ecc_uncorrect_total{gpu_id="2",card_model="MI300X"} 4', "gpu-ecc-errors"),
    ("CPER_SEVERITY_FATAL on GPU 3", "gpu-ecc-errors"),
    ("Found CUDA performance-limiting environment variable 'CUDA_LAUNCH_BLOCKING'.", "debug-flag-left-on"),
]
NEARLY = [
    f"DCGM_FI_DEV_ROW_REMAP_FAILURE{LABELS} 0",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE,           gauge,   Whether remapping of rows has failed",
    "#define DCGM_FI_DEV_ECC_DBE_VOL_TOTAL 311",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL = 311",
    "DCGM_FI_DEV_ROW_REMAP_FAILED (395) is watched",
    f"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{LABELS} 12",
    f"DCGM_FI_DEV_XID_ERRORS{LABELS} 0",
    f"DCGM_FI_DEV_XID_ERRORS{LABELS} 43",
    "NvidiaDeviceCountMismatch: False",
    "DCGM detected 8 GPUs but 0 nvidia device files were detected at /dev",
    "the scheduler has fewer GPUs than requested",
    'gpu_ecc_uncorrect_total{gpu_id="2"} 0',
    "# HELP gpu_ecc_uncorrect_total 4 bytes",
    "amdgpuhealth query inband-ras-errors -s CPER_SEVERITY_FATAL --afid 30",
    "CPER_SEVERITY_FATAL 0",
    "Detected 0 volatile double-bit ECC error(s) in GPU 0.",
    "Found driver on the denylist: ",
]


test_it_is_told = names(CASES)


@pytest.mark.parametrize("text", NEARLY)
def test_what_nearly_says_it(text: str) -> None:
    assert not {key for key in keys(text) if key.startswith(("dcgm-", "eks-", "amd-exporter-", "amd-fatal-"))}


def test_memory_errors_of_the_chip_are_no_lack_of_memory() -> None:
    assert told("GPU 2 had memory errors and row remappings are pending") == ["gpu-ecc-errors"]
    assert "gpu-memory-exhausted" in told("the GPU stops with a memory error when the batch size is raised")
