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
    "A matching Triton is not available, some optimizations will not be enabled.",
    "No ROCm runtime is found, using ROCM_HOME='/usr'",
    "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'rocm': module 'jaxlib' has no attribute 'Config'",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': libtpu.so: cannot open shared object file",
)
FAILS = (
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
