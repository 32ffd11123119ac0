"""What a running process has mapped decides, whatever lies on disk."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.facts.sheet import FactSheet, assemble
from doctor.findings import Finding
from doctor.knowledge import Knowledge


def found(libraries: list[str], module: str | None = "575.57.08") -> dict[str, Finding]:
    sheet = FactSheet()
    sheet.put("process.pid", 4711, "file:/proc/4711")
    sheet.put("process.libraries", libraries, "file:/proc/4711/maps")
    if module:
        sheet.put("nvidia_driver.version", module, "file:/proc/driver/nvidia/version")
    return {f.rule: f for f in judge(assemble([sheet]), Knowledge(), None).findings}


TORCHS = "/venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12"


def test_two_copies_of_one_library_are_a_conflict_with_both_named() -> None:
    finding = found([TORCHS, "/usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8"])["gpu-libs-conflict"]
    assert finding.subject.id == "libcublas.so.12"
    assert [e.text for e in finding.evidence] == [
        f"mapped: {TORCHS}",
        "mapped: /usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8",
    ]


def test_one_copy_and_libraries_of_two_majors_are_none() -> None:
    assert "gpu-libs-conflict" not in found([TORCHS, "/usr/lib/libcublasLt.so.12", "/usr/lib/libcublas.so.11"])


def test_a_library_that_an_update_replaced_is_said() -> None:
    assert "replaced on disk" in found([f"{TORCHS} (deleted)"])["gpu-libs-conflict"].summary


def test_a_mapped_driver_library_of_another_version_is_the_mismatch() -> None:
    finding = found(["/usr/lib/x86_64-linux-gnu/libcuda.so.570.124.06"])["nvidia-driver-library-mismatch"]
    assert "575.57.08 is loaded, but the driver libraries are 570.124.06" in finding.summary


def test_the_same_version_a_compat_copy_or_an_unknown_module_are_none() -> None:
    assert "nvidia-driver-library-mismatch" not in found(["/usr/lib/libcuda.so.575.57.08"])
    assert "nvidia-driver-library-mismatch" not in found(["/usr/local/cuda/compat/libcuda.so.580.65.06"])
    assert "nvidia-driver-library-mismatch" not in found(["/usr/lib/libcuda.so.570.124.06"], module=None)
