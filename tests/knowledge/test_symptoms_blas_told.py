"""What people say of the libraries of products: which one torch takes, what it measures, and what it lacks."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not

_MI300 = "MI300X, gfx942, ROCm 7.0.2\n"
_STRIX = "Radeon 8060S, gfx1151, ROCm 7.1\n"
_LT = "hipblaslt-not-selected"
_TUNABLE = "tunableop-misconfigured"

test_named = names(
    [
        # hipBLASLt.
        (_MI300 + "torch.backends.cuda.preferred_blas_library() returns cublas, training is slow", _LT),
        (_MI300 + "blasPreferredBackend() returns cublas\nfused GEMM fails", _LT),
        (_MI300 + "matmuls are slow with rocBLAS", _LT),
        (_STRIX + "rocBLAS is really slow", _LT),
        (_MI300 + "rocBLAS gives far lower TFLOPS than hipBLASLt", _LT),
        (_MI300 + "hipBLASLt is 2x faster than rocBLAS for this shape, yet not taken", _LT),
        (_STRIX + "hipBLASLt is not enabled by default, prefill is slow", _LT),
        (_STRIX + "these cards do not get hipBLASLt, performance is lower", _LT),
        # TunableOp.
        (_MI300 + "PYTORCH_TUNABLEOP_ENABLED=1\nthe first image takes 12 minutes", _TUNABLE),
        (_MI300 + "tunable op: memory leak until OOM", _TUNABLE),
        # BLAS without kernels.
        ("RX 6700 XT, gfx1031\nno Tensile kernels for gfx1031", "blas-kernels-missing"),
        ("RX 6700 XT, gfx1031\nrocBLAS ships no kernels for gfx1031", "blas-kernels-missing"),
    ]
)

test_not_named = names_not(
    [
        # hipBLASLt has nothing for these, or is the slow one.
        ("RX 580, gfx803, ROCm 5.7\nrocBLAS is really slow", _LT),
        (_MI300 + "hipBLASLt is slower than rocBLAS", _LT),
        (_MI300 + "hipBLASLt is not used", _LT),
        (_MI300 + "without hipBLASLt the performance is the same", _LT),
        (_MI300 + "training with rocBLAS gives low loss", _LT),
        ("RTX 4090\nhipBLASLt is not enabled, it is slow", _LT),
        # Tuning that was switched off or that nobody switched on.
        (_MI300 + "the first image takes 12 minutes", _TUNABLE),
        (
            _MI300 + "PYTORCH_TUNABLEOP_ENABLED=1\nPYTORCH_TUNABLEOP_TUNING=0\nthe first image takes 12 minutes",
            _TUNABLE,
        ),
        (_MI300 + "PYTORCH_TUNABLEOP_ENABLED=1\nthe download takes 12 minutes for the first image", _TUNABLE),
        (_MI300 + "tunableop_results0.csv remains empty", "env-not-seen-by-service"),
        ("rocBLAS has kernels for gfx1031", "blas-kernels-missing"),
        # An error is no slowness.
        (
            "ROCm 7.1.0\nRX 6800M\nHIPBLAS_STATUS_INTERNAL_ERROR when calling hipblasSgemm( handle",
            "known-bad-library-version",
        ),
    ]
)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("fused GEMM fails", "fused-gemm-fails-told"),
        ("addmm with bias is not supported", "fused-gemm-fails-told"),
        ("torch._C: blasPreferredBackend() returns cublas", "preferred-blas-said"),
    ],
)
def test_context(line: str, key: str) -> None:
    assert key in keys(line)
