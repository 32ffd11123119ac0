"""Rules of what was measured or seen to run: each fires, has a near miss, and is silent on the unknown."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.engine.judge import judge
from doctor.errors import DataFileError
from doctor.facts import Snapshot
from doctor.facts.gemm import GemmProof, Measurement, Spread, Tuned
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.profiles import load
from doctor.rules.bench.bench_below_baseline import baseline_of
from tests.each import each
from tests.rules.machines import h100_host, mi300x_host

KB = Knowledge()


def found(machine: Snapshot, rule: str, profile: str | None = None, **facts: Any) -> list[Finding]:
    report = judge(machine.model_copy(update=facts), KB, load(profile) if profile else None, only=(rule,))
    return list(report.findings)


def proof(entry: str, library: str | None, dtype: str = "bfloat16", **more: Any) -> GemmProof:
    return GemmProof(
        **{"key": f"{entry}/{dtype}", "entry": entry, "dtype": dtype, "outcome": "ran", "library": library, **more}
    )


def number(what: str, p50: float, low: float, high: float, **more: Any) -> Measurement:
    told = {"dtype": "bfloat16", "shape": "4864x4096x8192", "device": "cuda:0", "unit": "TFLOP/s", **more}
    key = f"{what}/{told['dtype']}/{told['shape']}@{told['device']}"
    return Measurement(
        key=key, what=what, value=Spread(p50=p50, low=low, high=high, repeats=100, coverage=0.96), **told
    )


def ratio(p50: float, low: float, high: float) -> Spread:
    return Spread(p50=p50, low=low, high=high, repeats=100, coverage=0.96)


@each("rule", ["gemm-paths-diverge", "bench-wrong-values", "bench-case-failed", "gemm-library-unexpected",
                                  "attention-backward-slow", "bench-below-baseline", "tunableop-entry-slow"])  # fmt: skip
@each("machine", [mi300x_host, h100_host])
def test_a_check_that_measured_nothing_says_nothing(rule: str, machine: Callable[[], Snapshot]) -> None:
    report = judge(machine(), KB, None, only=(rule,))
    assert (report.findings, report.unchecked, report.clear) == ((), (), ())


def test_linear_on_another_library_than_matmul() -> None:
    apart = (proof("mm", "rocblas"), proof("linear", "rocblas"), proof("linear-bias", "hipblaslt"))
    (finding,) = found(mi300x_host(), "gemm-paths-diverge", gemm_proofs=apart)
    assert finding.summary == "bfloat16: F.linear with a bias ran on hipblaslt, torch.mm on rocblas."
    assert finding.severity.value == "warning"


@pytest.mark.parametrize(
    "proofs",
    [
        (proof("mm", "hipblaslt"), proof("linear-bias", "hipblaslt")),
        (proof("mm", "rocblas"), proof("linear-bias", None)),  # not known
        (proof("mm", "rocblas"), proof("linear-bias", "hipblaslt", outcome="refused")),
        (proof("mm", "rocblas"), proof("linear-bias", "hipblaslt", dtype="float16")),
        (proof("mm", "mkl"), proof("linear-bias", "onednn")),  # of a CPU
    ],
)
def test_no_parting_of_ways(proofs: tuple[GemmProof, ...]) -> None:
    assert not found(mi300x_host(), "gemm-paths-diverge", gemm_proofs=proofs)


def test_cublas_beside_cublaslt_is_by_design() -> None:
    assert not found(
        h100_host(), "gemm-paths-diverge", gemm_proofs=(proof("mm", "cublas"), proof("linear-bias", "cublaslt"))
    )


@pytest.mark.parametrize(
    ("low", "high", "p50", "said"),
    [
        (1.95, 2.05, 2.0, "F.linear takes 2.00 times as long as torch.matmul (bfloat16 4864x4096x8192)."),
        (0.4, 0.6, 0.5, "torch.matmul takes 2.00 times as long as F.linear (bfloat16 4864x4096x8192)."),
        (1.09, 1.4, 1.2, None),  # the interval reaches into what is tolerated
        (0.85, 0.91, 0.88, None),
        (0.99, 1.01, 1.0, None),
    ],
)
def test_linear_slower_than_matmul(low: float, high: float, p50: float, said: str | None) -> None:
    measured = number("gemm linear", 300, 290, 310, ratio=ratio(p50, low, high), against="gemm matmul")
    summaries = [f.summary for f in found(mi300x_host(), "gemm-paths-diverge", bench=(measured,))]
    assert summaries == ([said] if said else [])


@each("p50, fires", [(1.5, True), (0.5, False)])
def test_a_fused_bias_is_reported_when_it_is_slower(p50: float, fires: bool) -> None:
    """Faster is what fusing is for."""
    bias = number("gemm linear-bias", 300, 290, 310, ratio=ratio(p50, p50 - 0.1, p50 + 0.1), against="gemm matmul-bias")
    summaries = [f.summary for f in found(mi300x_host(), "gemm-paths-diverge", bench=(bias,))]
    assert (
        summaries
        == ["F.linear with a bias takes 1.50 times as long as torch.matmul plus the bias (bfloat16 4864x4096x8192)."]
        * fires
    )


def test_an_interval_that_covers_too_little_decides_nothing() -> None:
    weak = Spread(p50=9.0, low=9.0, high=9.0, repeats=100, coverage=0.6, autocorrelation=0.95)
    slow = (
        number("gemm linear", 300, 290, 310, ratio=weak, against="gemm matmul"),
        number("attention backward", 9, 8, 10, unit="ms", ratio=weak, variant="backend MATH"),
    )
    for rule in ("gemm-paths-diverge", "attention-backward-slow"):
        assert not found(mi300x_host(), rule, bench=slow)
    tuned = (Tuned(key="matmul/a", file="r.csv", solution="matmul", ratio=weak),)
    assert not found(mi300x_host(), "tunableop-entry-slow", tuned=tuned)


def test_wrong_values_of_a_proof_and_of_a_measurement() -> None:
    wrong = proof("bmm", "rocblas", outcome="wrong", detail="relative error 0.5; 0.015 is allowed")
    bad = number("gemm matmul", 1, 1, 1, outcome="wrong", detail="matmul: relative error 0.3")
    findings = found(mi300x_host(), "bench-wrong-values", gemm_proofs=(wrong, proof("mm", "rocblas")), bench=(bad,))
    assert {f.summary for f in findings} == {
        "Wrong values: bmm bfloat16 on rocblas.",
        "Wrong values: gemm matmul bfloat16 4864x4096x8192 on cuda:0.",
    }
    assert {f.severity.value for f in findings} == {"error"}
    assert len({f.fingerprint for f in findings}) == 2
    assert not found(mi300x_host(), "bench-wrong-values", gemm_proofs=(proof("mm", "rocblas"),))


@each(
    "entry, outcome, severity",
    [
        ("mm", "crashed", "error"),
        ("mm", "hung", "error"),
        ("mm", "out-of-memory", "error"),
        ("mm", "refused", "error"),
        ("scaled_mm", "refused", "info"),  # only some GPUs have FP8
        ("scaled_mm", "crashed", "error"),
        ("mm", "not-run", None),
        ("mm", "ran", None),
    ],
)
def test_a_case_that_failed(entry: str, outcome: str, severity: str | None) -> None:
    findings = found(mi300x_host(), "bench-case-failed", gemm_proofs=(proof(entry, None, outcome=outcome, detail="x"),))
    assert [f.severity.value for f in findings] == ([severity] if severity else [])


def test_a_flag_that_did_not_win() -> None:
    machine = mi300x_host({"environment": {"TORCH_BLAS_PREFER_HIPBLASLT": "1"}})
    proofs = (proof("mm", "rocblas", predicted="hipblaslt", told_by="kernel name", kernels=("Cijk_x",)),)
    (finding,) = found(machine, "gemm-library-unexpected", gemm_proofs=proofs)
    assert finding.summary == "TORCH_BLAS_PREFER_HIPBLASLT=1 had no effect: mm bfloat16 ran on rocblas."
    won = (proof("mm", "hipblaslt", predicted="hipblaslt"),)
    assert not found(machine, "gemm-library-unexpected", gemm_proofs=won)


def test_a_prediction_that_did_not_come_true_is_information() -> None:
    (finding,) = found(
        mi300x_host(), "gemm-library-unexpected", gemm_proofs=(proof("mm", "rocblas", predicted="hipblaslt"),)
    )
    assert (finding.severity.value, finding.subject.kind) == ("info", "prediction")
    passed_on = (
        proof("mm", "hipblaslt", predicted="rocblas", through="rocblas"),
        proof("bmm", None, predicted="rocblas"),
    )
    assert not found(mi300x_host(), "gemm-library-unexpected", gemm_proofs=passed_on)


def test_a_fallback_is_a_finding() -> None:
    line = "Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas"
    (finding,) = found(
        mi300x_host(),
        "gemm-library-unexpected",
        gemm_proofs=(proof("mm", "rocblas", predicted="rocblas", warnings=(line,)),),
    )
    assert finding.subject.id == "hipblaslt-fallback"
    assert finding.evidence[0].text == line


@pytest.mark.parametrize(
    ("low", "device", "variant", "fires"),
    [
        (8.0, "cuda:0", "backend FLASH_ATTENTION", True),
        (4.9, "cuda:0", "backend FLASH_ATTENTION", False),
        (8.0, "cuda:0", None, False),  # perhaps other kernels
        (8.0, "cpu", "backend FLASH_ATTENTION", False),
    ],
)
def test_attention_backward(low: float, device: str, variant: str | None, fires: bool) -> None:
    times = ratio(low + 1, low, low + 2)
    measured = number("attention backward", 9, 8, 10, unit="ms", device=device, ratio=times, variant=variant)
    assert bool(found(mi300x_host(), "attention-backward-slow", bench=(measured,))) is fires


@pytest.mark.parametrize(
    ("what", "high", "fires"),
    [
        ("gemm matmul", 560.0, True),  # the floor is 581 TFLOP/s
        ("gemm matmul", 590.0, False),
        ("gemm linear", 560.0, False),  # the baseline is one of a plain product
        ("copy memory", 560.0, False),
    ],
)
def test_below_the_floor_of_a_profile(what: str, high: float, fires: bool, profile_file: str) -> None:
    measured = number(what, high - 10, high - 20, high)
    assert bool(found(mi300x_host(), "bench-below-baseline", profile_file, bench=(measured,))) is fires


def test_no_baseline_for_another_shape_unit_or_without_a_profile(profile_file: str) -> None:
    profile = load(profile_file)
    assert baseline_of(profile, number("gemm matmul", 1, 1, 1)) is not None
    assert baseline_of(profile, number("gemm matmul", 1, 1, 1, shape="8192x8192x8192")) is None
    assert baseline_of(profile, number("gemm matmul", 1, 1, 1, unit="GFLOP/s")) is None
    assert baseline_of(None, number("gemm matmul", 1, 1, 1)) is None


@pytest.fixture
def profile_file(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(
        """schema = 1
name = "mine"
about = "One number"
status = "community"
[hardware]
vendor = "amd"
arch = ["gfx942"]
[[baseline]]
what = "gemm bf16 4864x4096x8192"
value = { floor = 581.0, unit = "TFLOP/s" }
method = "a pass mark"
dtype = "bf16"
shape = "4864x4096x8192"
library = "rocBLAS"
software = { suite = "1" }
source = { url = "https://example.org/x", as_of = 2026-08-20, status = "vendor-matrix" }
"""
    )
    return str(path)


def test_a_tuned_entry_that_is_slower() -> None:
    slow = Tuned(key="matmul/a", file="r.csv", solution="matmul", ratio=ratio(1.2, 1.1, 1.3))
    near = Tuned(key="matmul/b", file="r.csv", solution="matmul", ratio=ratio(1.1, 1.02, 1.3))
    wrong = Tuned(key="matmul/c", file="r.csv", solution="matmul", detail="matmul: relative error 0.4")
    findings = found(mi300x_host(), "tunableop-entry-slow", tuned=(slow, near, wrong))
    assert {(f.subject.id, f.severity.value) for f in findings} == {("matmul/a", "warning"), ("matmul/c", "error")}


@pytest.mark.parametrize(("low", "fires"), [(6.0, True), (5.1, False)])
def test_of_times_more_is_worse(low: float, fires: bool, tmp_path: Path, profile_file: str) -> None:
    text = Path(profile_file).read_text().replace("gemm bf16 4864x4096x8192", "attention forward")
    text = text.replace('floor = 581.0, unit = "TFLOP/s"', 'p50 = 5.0, min = 4.9, max = 5.3, unit = "ms"')
    alone = tmp_path / "alone.toml"
    alone.write_text(text)
    with pytest.raises(DataFileError, match="a measured p50 needs min and max beside it, machine and clocks"):
        load(str(alone))
    text = text.replace('library = "rocBLAS"', 'machine = "MI300X"\nclocks = "2100 MHz"\nlibrary = "rocBLAS"')
    path = tmp_path / "times.toml"
    path.write_text(text.replace('name = "mine"', 'name = "times"'))
    measured = number("attention forward", low + 1, low, low + 2, unit="ms")
    assert bool(found(mi300x_host(), "bench-below-baseline", str(path), bench=(measured,))) is fires
