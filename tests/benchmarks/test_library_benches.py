"""Outputs of nccl-tests, rccl-tests, hipblaslt-bench and rocblas-bench as they are published, beside ours."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.library_benches import blas_bench, nccl_tests, rows

# rccl-tests 2.17.9 on eight MI300X, and nccl-tests 2.13 on eight A100, of public repositories
RCCL = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
  1073741824     268435456     float     sum      -1  5829.09  184.20  322.36       0  5838.22  183.92  321.85       0
# Avg bus bandwidth    : 83.8755
"""
GATHER = """# nccl-tests version 2.17.0: /opt/nccl-tests/build/all_gather_perf -b 8 -e 8G
  8589934592     134217728     float    none      -1    21986  390.71  366.29      0    21499  399.55  374.57      0
"""
# ROCm/hipBLASLt pull requests 1544 and 395
LT = """transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,a_type,b_type,hipblaslt-Gflops,hipblaslt-GB/s,us
    N,N,0,1,4096,4864,32896,1,4096,f16_r,f16_r,555009,248.176,2361.71
[0]:transA,transB,m,n,k,a_type,hipblaslt-Gflops,us
"""
# rocBLAS, clients/include/testing_gemm_ex.hpp
ROC = """transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,batch_count,rocblas-Gflops,us
N,T,1024,512,256,1,1024,0,512,1024,1024,1,20132.7,13.33
"""


def test_rows_of_nccl_tests_and_rccl_tests() -> None:
    assert dict(nccl_tests(RCCL)) == {
        ("collective all_reduce out-of-place", "float32", 1 << 30): 322.36,
        ("collective all_reduce in-place", "float32", 1 << 30): 321.85,
    }
    assert dict(nccl_tests(GATHER))["collective all_gather in-place", "float32", 8 << 30] == 374.57
    assert not list(nccl_tests("  1073741824     268435456     float     sum      -1  5829.09"))


def test_tables_of_the_blas_tools() -> None:
    assert dict(blas_bench(LT)) == {("gemm", "float16", "4864x4096x32896"): pytest.approx(555.009)}
    assert dict(blas_bench(ROC)) == {("gemm", "", "512x1024x256"): pytest.approx(20.1327)}


def test_the_median_of_several_runs_is_held_against_ours() -> None:
    value: Any = {
        "what": "collective all_reduce in-place",
        "dtype": "float32",
        "size_bytes": 1 << 30,
        "value": {"p50": 330.0},
    }
    runs = [RCCL, RCCL.replace("321.85", "325.0"), RCCL.replace("321.85", "340.0")]
    assert list(rows({"measurements": [value]}, runs)) == [
        "| collective all_reduce in-place float32 1073741824 | 330 | 325 | 3 | 1.015 | yes |"
    ]
    assert list(rows({"measurements": [value]}, runs[:1])) == [
        "| collective all_reduce in-place float32 1073741824 | 330 | 321.9 | 1 | 1.025 | NO |"
    ]
    gemm = {"what": "gemm matmul", "dtype": "float16", "shape": "4864x4096x32896", "warm": {"p50": 560.0}}
    assert list(rows({"measurements": [gemm]}, [LT])) == [
        "| gemm float16 4864x4096x32896 | 560 | 555 | 1 | 1.009 | yes |"
    ]
