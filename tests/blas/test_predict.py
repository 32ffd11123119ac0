"""Which library a matrix product takes, by torch's version, the GPUs, the flags: the published behaviour."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from doctor.blas.predict import Prediction, predict
from doctor.facts import Snapshot
from doctor.facts.sheet import FactSheet, assemble
from tests.each import each

PREFER = "TORCH_BLAS_PREFER_HIPBLASLT"


def of(torch: str, archs: Sequence[str], rocm: str = "7.0", **env: str) -> Snapshot:
    sheet = FactSheet()
    sheet.put("torch.version", torch, "file:torch/version.py")
    sheet.put("torch.build", "rocm", "file:torch/version.py")
    sheet.put("torch.rocm", rocm, "file:torch/version.py")
    for number, arch in enumerate(archs):
        address = f"0000:{number + 1:02x}:00.0"
        sheet.put(f"gpus[{address}].vendor", "amd", "file:/sys")
        sheet.put(f"gpus[{address}].arch", arch, "file:/sys")
    sheet.put("environment", dict(env), "environment")
    return assemble([sheet])


def predicted(torch: str, archs: Sequence[str], rocm: str = "7.0", **env: str) -> dict[str, Prediction]:
    """By entry point, for bfloat16 (float8 of the scaled one)."""
    return {p.entry: p for p in predict(of(torch, archs, rocm, **env)) if p.dtype in ("bfloat16", "float8")}


def libraries(torch: str, archs: Sequence[str], rocm: str = "7.0", **env: str) -> tuple[str | None, str | None]:
    """Of mm, and of F.linear with a bias."""
    found = predicted(torch, archs, rocm, **env)
    return found["mm"].library, found["linear-bias"].library


@each(
    "torch, archs, rocm, env, mm, biased",
    [
        # the default: rocBLAS up to 2.4, hipBLASLt in 2.5 and 2.6, by the list of preferred GPUs from 2.7
        ("2.3.1+rocm6.0", ["gfx942"], "6.0", {}, "rocblas", "rocblas"),
        ("2.4.1+rocm6.1", ["gfx942"], "6.1", {}, "rocblas", "hipblaslt"),
        ("2.4.1+rocm6.1", ["gfx942"], "6.1", {PREFER: "1"}, "hipblaslt", "hipblaslt"),
        ("2.5.1+rocm6.2", ["gfx90a"], "6.2", {}, "hipblaslt", "hipblaslt"),
        ("2.6.0+rocm6.2.4", ["gfx942"], "6.2.4", {PREFER: "0"}, "rocblas", "hipblaslt"),
        ("2.6.0+rocm6.2.4", ["gfx1030"], "6.2.4", {}, "rocblas", "rocblas"),
        ("2.7.1+rocm6.3", ["gfx942"], "6.3", {}, "hipblaslt", "hipblaslt"),
        ("2.7.1+rocm6.3", ["gfx1100"], "6.3", {}, "rocblas", "hipblaslt"),
        # =0 is ignored from 2.7 to 2.11, and counts again from 2.12
        ("2.9.1+rocm6.4", ["gfx942"], "6.4", {PREFER: "0"}, "hipblaslt", "hipblaslt"),
        ("2.12.1+rocm7.1", ["gfx942"], "7.1", {PREFER: "0"}, "rocblas", "rocblas"),
        # the guard of the build: gfx950 needs one with ROCm 7
        ("2.8.0+rocm6.4", ["gfx950"], "6.4", {}, "rocblas", "rocblas"),
        ("2.9.1+rocm7.0", ["gfx950"], "7.0", {}, "hipblaslt", "hipblaslt"),
        ("2.8.0+rocm6.4", ["gfx1201"], "6.4", {}, "hipblaslt", "hipblaslt"),
        # the fused bias is switched off by the name with CUDA
        ("2.7.1+rocm6.3", ["gfx1100"], "6.3", {"DISABLE_ADDMM_CUDA_LT": "1"}, "rocblas", "rocblas"),
        ("2.7.1+rocm6.3", ["gfx1100"], "6.3", {"DISABLE_ADDMM_HIP_LT": "1"}, "rocblas", "hipblaslt"),
        # AMD's own wheels have a wider list under the same version
        ("2.9.1+rocm7.2.0.git7e1940d4", ["gfx1100"], "7.2", {}, "hipblaslt", "hipblaslt"),
        ("2.9.1+rocm7.2", ["gfx1100"], "7.2", {}, "rocblas", "hipblaslt"),
    ],
)
def test_on_rocm(torch: str, archs: list[str], rocm: str, env: dict[str, str], mm: str, biased: str) -> None:
    assert libraries(torch, archs, rocm, **env) == (mm, biased)


def test_one_integrated_gpu_flips_the_whole_process() -> None:
    found = predicted("2.9.1+rocm7.0", ["gfx942", "gfx1036"])["mm"]
    assert found.library == "rocblas"
    assert found.reasons[-1].text == "gfx1036 is not preferred, and one such GPU decides for the whole process"


def test_the_ignored_zero_is_said() -> None:
    reasons = [r.text for r in predicted("2.9.1+rocm7.0", ["gfx942"], **{PREFER: "0"})["mm"].reasons]
    assert f"{PREFER}=0 is ignored by torch 2.7 to 2.11: it counts as the default" in reasons


def test_scaled_products_take_hipblaslt_and_tunableop_takes_what_it_tuned() -> None:
    assert predicted("2.7.1+rocm6.3", ["gfx942"])["scaled_mm"].library == "hipblaslt"
    tuned = predicted("2.7.1+rocm6.3", ["gfx942"], PYTORCH_TUNABLEOP_ENABLED="1")["mm"]
    assert tuned.library is None
    assert "TunableOp is on" in tuned.reasons[0].text


@pytest.mark.parametrize("torch", ["3", "2", "main", "9999999999", ""])
def test_a_version_without_a_series_is_no_rule(torch: str) -> None:
    assert {p.library for p in predicted(torch, ["gfx942"]).values() if p.entry == "mm"} <= {None}


def test_what_no_source_tells_is_none() -> None:
    assert predicted("2.9.1+rocm7.0", [])["mm"].library is None
    assert predicted("2.9.1+rocm7.0", ["gfx942"])["grouped_mm"].library is None


@pytest.mark.parametrize(
    ("torch", "env", "mm", "biased"),
    [
        ("2.9.1+cu128", {}, "cublas", "cublaslt"),
        ("2.9.1+cu128", {"TORCH_BLAS_PREFER_CUBLASLT": "1"}, "cublaslt", "cublaslt"),
        ("2.9.1+cu128", {"DISABLE_ADDMM_CUDA_LT": "1"}, "cublas", "cublas"),
        ("2.3.1+cu121", {"TORCH_BLAS_PREFER_CUBLASLT": "1"}, "cublas", "cublaslt"),
    ],
)
def test_on_cuda(torch: str, env: dict[str, str], mm: str, biased: str) -> None:
    sheet = FactSheet()
    sheet.put("torch.version", torch, "file:torch/version.py")
    sheet.put("torch.build", "cuda", "file:torch/version.py")
    sheet.put("environment", env, "environment")
    found = {p.entry: p.library for p in predict(assemble([sheet])) if p.dtype == "bfloat16"}
    assert (found["mm"], found["linear-bias"]) == (mm, biased)
