"""TunableOp: on without results, tuning left on, results of another stack, rows that lose, memory at risk."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.flags import tunable
from doctor.flags.tunable import File
from tests.flags.situations import of

HERE = "gpu=MI300X torch=2.13.0 rocm=7.2 PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=0"
HEAD = "Validator,PT_VERSION,{}\nValidator,HIP_VERSION,{}\nValidator,GCN_ARCH_NAME,gfx942:sramecc+:xnack-\n"
GEMM = "GemmTunableOp_BFloat16_TN,tn_8192_16_4096_ld_4096_4096_8192,{},{}\n"
GOOD = HEAD.format("2.13.0", "702") + GEMM.format("Gemm_Hipblaslt_12", "0.0196")


def found(line: str, text: str | None, count: int = 1) -> list[Finding]:
    files = [File(f"t{n}.csv", text if n == 0 else None) for n in range(count)]
    return list(tunable.look(of(line), tuple(files)))


def test_results_of_this_stack_are_fine() -> None:
    assert found(HERE, GOOD) == []


def test_on_without_tuning_and_without_results() -> None:
    (finding,) = found(HERE, None)
    assert (finding.severity.value, "no results are at t0.csv" in finding.summary) == ("error", True)


def test_results_for_one_gpu_of_two() -> None:
    (finding,) = found(HERE, GOOD, count=2)
    assert finding.summary == "some GPUs have no results: t1.csv."


def test_results_of_another_stack_are_not_used() -> None:
    for text, said in (
        (HEAD.format("2.9.1", "702"), "PT_VERSION 2.9.1, torch is 2.13.0"),
        (HEAD.format("2.13.0", "603"), "HIP_VERSION 603, ROCm is 7.2"),
        (GOOD.replace("gfx942", "gfx950"), "GCN_ARCH_NAME gfx950, the GPU is gfx942"),
        ("Validator,ROCM_VERSION,6.1.0.0-82-5fabb4c\n", "ROCM_VERSION 6.1.0.0-82-5fabb4c, ROCm is 7.2"),
    ):
        (finding,) = found(HERE, text)
        assert said in finding.summary
    assert found("PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=0", HEAD.format("2.9.1", "603")) == []


def test_results_of_another_library_are_not_used() -> None:
    """Against the header of the installed library; a wheel's own is that of its ROCm, by the table of releases."""
    made = GOOD + "Validator,HIPBLASLT_VERSION,1.2.0-a1b2c3d\nValidator,ROCBLAS_VERSION,5.2.0-40ef\n"
    assert found(f"{HERE} lib:hipblaslt=1.2.0 lib:rocblas=5.2.0", made) == []
    assert found(f"{HERE} lib:hipblaslt=1.2.0 lib:rocblas=5.2.70200", made) == []
    (finding,) = found(f"{HERE} lib:hipblaslt=1.2.1 lib:rocblas=5.1.0", made)
    assert "HIPBLASLT_VERSION 1.2.0-a1b2c3d, hipblaslt is 1.2.1" in finding.summary
    assert "ROCBLAS_VERSION 5.2.0-40ef, rocblas is 5.1.0" in finding.summary
    wheel = HERE.replace("torch=2.13.0 rocm=7.2", "torch=2.9.1+rocm6.3 rocm=6.3") + " lib:rocblas=9.9.9"
    of_wheel = made.replace("2.13.0", "2.9.1").replace("702", "603")
    (finding,) = found(wheel, of_wheel)
    assert "ROCBLAS_VERSION 5.2.0-40ef, ROCm 6.3 has 4.3.0" in finding.summary
    assert "HIPBLASLT_VERSION 1.2.0-a1b2c3d, ROCm 6.3 has 0.10.0" in finding.summary
    untold = HERE.replace("torch=2.13.0 rocm=7.2", "torch=2.13.0+rocm7.12 rocm=7.12")
    assert found(untold, made.replace("702", "712")) == []


def test_a_row_that_loses_to_the_default_below_it() -> None:
    (finding,) = found(HERE, GOOD + GEMM.format("Default", "0.0101"))
    assert finding.summary.startswith("t0.csv:4 keeps Gemm_Hipblaslt_12 (0.0196 ms)")
    assert "Default of line 5" in finding.summary
    assert found(HERE, GOOD + GEMM.format("Default", "0.9")) == []


def test_only_defaults_gain_nothing() -> None:
    (finding,) = found(HERE, HEAD.format("2.13.0", "702") + GEMM.format("Default", "0.0101"))
    assert finding.severity.value == "info"


def test_tuning_left_on_with_the_memory_at_risk() -> None:
    line = "gpu=MI300X torch=2.5.1 PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_ROTATING_BUFFER_SIZE=512 ctx:serving"
    (finding,) = found(line, GOOD.replace("2.13.0", "2.5.1"))
    texts = [e.text for e in finding.evidence]
    assert finding.severity.value == "error"
    assert "memory at risk: 512 MiB of rotating buffer a GPU" in texts
    assert any(t.startswith("memory at risk: 64 MiB") for t in texts)
    assert any(t.startswith("tunableop-leak") for t in texts)


def test_off_says_nothing() -> None:
    assert found("PYTORCH_TUNABLEOP_ENABLED=0 gpu=MI300X", None) == []
