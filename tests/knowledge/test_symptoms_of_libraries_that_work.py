"""Lines that libraries print where all works point to nothing on a machine with an NVIDIA GPU."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge

GPU = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090\n\n{}\n"
SAID = (
    "WARNING [cuda.py:435] Detected different devices in the system: NVIDIA RTX A6000, NVIDIA RTX A5000. Please make "
    "sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID` to avoid unexpected behavior.",
    "Please make sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID` to avoid unexpected behavior.",
    "Ignore import error when loading acme.models.vit. FlashAttention only supports Ampere GPUs or newer",
    "UserWarning: TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for compilation.",
    "[FAIL] CUDA version mismatch: driver (12.8) != toolkit (12.4) != torch (12.6). Refusing to start.",
    "[c10d] The client socket has failed to connect to [job-master-0]:23456 (errno: 104 - Connection reset by peer).",
    "checking for nvidia-docker2 ... not found",
    "nvidia-container-toolkit 1.17.9\nE: package nvidia-docker2 is not installed. Aborting.",
    "A matching Triton is not available, some optimizations will not be enabled.",
    "No ROCm runtime is found, using ROCM_HOME='/usr'",
    "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'rocm': module 'jaxlib' has no attribute 'Config'",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': libtpu.so: cannot open shared object file",
)
FAILS = (
    ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "library-missing-gpu-arch"),
    ("build fails: TORCH_CUDA_ARCH_LIST is not set", "library-missing-gpu-arch"),
    ("RuntimeError: CUDA version mismatch: nvcc is of 12.4, torch was built with 12.6", "toolkit-torch-mismatch"),
    (
        "NCCL_SOCKET_IFNAME=eth9\n[c10d] The client socket has timed out after 60s trying to connect to (n0, 2345).",
        "collective-flag-misconfigured",
    ),
    ("nvidia-docker2 is deprecated and breaks the start of containers", "container-toolkit-too-old"),
    ("nvidia-docker2 is not installed\nRuntimeError: No CUDA GPUs are available", "container-runtime-not-configured"),
    ("ModuleNotFoundError: No module named 'triton'", "triton-mismatch"),
    ("ImportError: libnvinfer.so.7: cannot open shared object file: No such file or directory", "gpu-libs-not-found"),
    ("RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION", "jax-plugin-mismatch"),
    ("nvidia-smi and torch number the GPUs not in the same order: CUDA_DEVICE_ORDER", "visible-devices-conflict"),
)


def told(line: str) -> set[str]:
    """Rules that an error text raises; what mere words suspect is not counted."""
    report = judge(read_text([GPU.format(line).encode()]), Knowledge())
    loud = [f for f in report.findings if f.severity is not Severity.INFO]
    return {f.rule for f in loud if not f.summary.startswith("Suspected from the words")}


@pytest.mark.parametrize("line", SAID)
def test_what_is_said_where_all_works_raises_nothing(line: str) -> None:
    assert told(line) == set()


@pytest.mark.parametrize(("line", "rule"), FAILS)
def test_what_stops_a_program_is_raised(line: str, rule: str) -> None:
    assert rule in told(line)


@pytest.mark.parametrize(("beside", "raised"), [("all-reduce gives right sums", False), ("all-reduce is slow", True)])
def test_no_adapter_for_nccl_is_told_where_work_suffers(beside: str, raised: bool) -> None:
    assert ("collective-flag-misconfigured" in told(f"NCCL INFO NET/IB : No device found.\n{beside}")) is raised


def test_persistence_that_is_off_steps_back_behind_another_cause_unless_something_takes_long() -> None:
    memory = "torch.cuda.OutOfMemoryError: CUDA out of memory"
    assert told(f"Persistence-M: Off\n{memory}") == {"gpu-memory-exhausted"}
    assert "persistence-mode-off" in told("Persistence-M: Off\nnvidia-smi is slow")
