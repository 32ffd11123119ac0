"""Lines as the libraries print them; each names the public place that it was seen in, or the library that printed it."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from doctor.parsers.blas.gemm_log import read
from tests.each import each

LINES = [
    # hipBLASLt's own how-to on offline tuning
    ("hipblaslt", "hipblaslt-bench --api_method c -m 1024 -n 512 -k 1024 --lda 1024 --ldb 1024 --ldc 1024 --ldd 1024  --stride_a 0 --stride_b 0 --stride_c 0 --stride_d 0  --alpha 1.000000 --beta 1.000000 --transA N --transB N --batch_count 1  --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --scale_type f32_r --bias_type f32_r --compute_type f32_r --algo_method index --solution_index 22841"),
    # ROCm/TheRock issue 5314, torch on gfx1151, 2026-05
    ("hipblaslt", "hipblaslt-bench --api_method c -m 4096 -n 4096 -k 4096 --lda 4096 --ldb 4096 --ldc 4096 --ldd 4096  --stride_a 0 --stride_b 0 --stride_c 0 --stride_d 0  --alpha 1.000000 --alphai 0.000000 --beta 0.000000 --betai 0.000000 --transA T --transB T --batch_count 1 --scaleA 0 --scaleB 0  --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --scale_type f32_r --bias_type f32_r   --compute_type f32_r --algo_method index --solution_index 2010 --activation_type none --any_stride --rotating 0 --cold_iters 0 --iters 0 "),
    # ROCm/hipBLASLt pull request 485, where the line came in
    ("hipblaslt", "hipblaslt-bench -m 1024 -n 512 -k 1024 --lda 1024 --ldb 1024 --ldc 1024 --ldd 1024 --lde 1024 --stride_a 0 --transA N --transB N"),
    # MIOpen's issue of a failing rocBLAS product
    ("rocblas", "rocblas_gemm_ex,N,N,1024,16,27,1,0x7be683213a00,f32_r,1024,0x7be683203000,f32_r,27,0,0x7be683203a00,f32_r,1024,0x7be683203a00,f32_r,1024,f32_r,0,0,none,atomics_allowed"),
    ("rocblas", "./rocblas-bench -f gemm_ex --transposeA N --transposeB N -m 1024 -n 16 -k 27 --alpha 1 --a_type f32_r --lda 1024"),
    ("rocblas", "rocblas_gemm_strided_batched_ex,N,N,512,256,384,1,0x7f,f16_r,512,196608,0x7f,f16_r,384,98304,0"),
    ("rocblas", "rocblas_hgemm,N,T,128,128,128,1,0x7f2e00000000,128,0x7f2e00010000,128,0,0x7f2e00020000,128"),
    # rocBLAS's own test of its log, clients/include/testing_logging.hpp, and log_trace, log_bench of library/src/include/logging.hpp
    ("rocblas", "rocblas_gemm_ex,N,T,1024,512,256,1,0x7f2e00000000,f16_r,1024,0x7f2e00010000,f16_r,512,0,0x7f2e00020000,f16_r,1024,0x7f2e00020000,f16_r,1024,f32_r,0,0,none,atomics_not_allowed"),
    ("rocblas", "rocblas_sgemm_strided_batched,N,N,512,256,384,1,0x7f2e00000000,512,196608,0x7f2e00010000,384,98304,0,0x7f2e00020000,512,131072,4,atomics_not_allowed"),
    ("rocblas", "rocblas_gemm_batched_ex_64,N,N,512,256,384,1,0x7f2e00000000,f16_r,512,0x7f2e00010000,f16_r,384,0,0x7f2e00020000,f16_r,512,0x7f2e00020000,f16_r,512,4,f32_r,0,0,none,atomics_not_allowed"),
    ("rocblas", "./rocblas-bench -f gemm_strided_batched_ex --transposeA N --transposeB T -m 512 -n 256 -k 384 --alpha 1 --a_type bf16_r --lda 512 --stride_a 196608 --b_type bf16_r --ldb 256 --stride_b 98304 --beta 0 --c_type bf16_r --ldc 512 --stride_c 131072 --d_type bf16_r --ldd 512 --stride_d 131072 --batch_count 4 --compute_type f32_r --algo 0 --solution_index 0 --flags 0 --atomics_not_allowed"),
    # hipBLASLt: logBenchFromTensileDataGemm of tensile_host.cpp, and prefix() of utility.cpp with the function of rocblaslt_mat.cpp
    ("hipblaslt", "hipblaslt-bench --api_method cpp -m 512 -n 256 -k 384 --lda 384 --ldb 384 --ldc 512 --ldd 512 --stride_a 196608 --stride_b 98304 --stride_c 131072 --stride_d 131072 --alpha 1.000000 --beta 0.000000 --transA T --transB N --batch_count 1 --bias_vector --bias_source d --a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --scale_type f32_r --bias_type bf16_r --compute_type f32_r"),
    ("hipblaslt", "hipblaslt-bench --api_method cpp --grouped_gemm  -m 512 -n 256 -k 384 --lda 384 --ldb 384 --ldc 512 --ldd 512 --stride_a 196608 --stride_b 98304 -m 64 -n 64 -k 64 --alpha 1.000000"),
    ("hipblaslt", "[2026-11-21 10:00:00][HIPBLASLT][4711][Trace][rocblaslt_matmul] A 0x7f2e00000000 Adesc [type=R_16BF rows=384 cols=512 ld=384] B 0x7f2e00010000"),
    ("hipblaslt", "[2026-11-21 10:00:00][HIPBLASLT][4711][Api][rocblaslt_run_cpp] handle 0x55d0c0 gemmType 1"),
    # torch of CUDA with CUBLASLT_LOG_LEVEL=5
    ("cublaslt", "[2025-09-10 17:32:51][cublasLt][133267][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16BF rows=128 cols=1088 ld=128]"),
    ("cublaslt", "[cublasLt][3794797][Trace][cublasLtSSSMatmul] A=0X400380DD0A00 Adesc=[type=R_32F rows=1000 cols=1000 ld=1000]"),
    # CUDA.jl's documentation
    ("cublas", "I! cuBLAS (v10.2) function cublasStatus_t cublasSgemm_v2(cublasContext*, cublasOperation_t, cublasOperation_t, int, int, int, const float*) called"),
    ("cublas", "I! cuBLAS (v11.0) function cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t) called:"),
    ("cublas", "I! cuBLAS (v12.4) function cublasStatus_t cublasGemmStridedBatchedEx(cublasContext*, cublasOperation_t) called:"),
    # printed by torch 2.13 for CPU
    ("mkl", "MKL_VERBOSE SGEMM(N,N,512,256,384,0x7ffe76aceb80,0x555933083540,512,0x5559330234c0,384,0x7ffe76aceba0,0x5559331435c0,512) 8.50ms CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2"),
    ("mkl", "MKL_VERBOSE SGEMM_BATCH(N,N,0x7ffe76aceb28,0x7ffe76aceb24) 1.50ms CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2"),
    ("onednn", "onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:jit:bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ab::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,256x384:384x512,18.3909"),
    # oneDNN 2.6.3, printed by Debian's torch 1.13.1
    ("onednn", "onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_bf16::blocked:ab:f0 wei_bf16::blocked:ba:f0 dst_bf16::blocked:ab:f0,attr-scratchpad:user attr-post-ops:sum ,,256x384:384x512:256x512,13.4939"),
    # oneDNN before 3.1, of a profile of LLaMA
    ("onednn", "onednn_verbose,primitive,exec,cpu,matmul,brg:avx512_core_amx,undef,src_bf16::blocked:ab::f0 wei_bf16::blocked:ba::f0,attr-scratchpad:user ,,256x11008:11008x4096,1.21704"),
]  # fmt: skip


@each("library, line", LINES)
def test_a_product_and_whose_it_is(library: str, line: str) -> None:
    assert [call.library for call in read(line).calls] == [library]


@each(
    "line",
    [
        "rocblas_create_handle,atomics_allowed",
        "rocblas_internal,rocblas_gemm_tensile_backend,N,N,512,256,384,1,0x7f,512,0x7f,384,0,0x7f,512,0x7f,512,atomics_not_allowed",
        "[2026-11-21 10:00:00][HIPBLASLT][4711][Api][rocblaslt_matmul_desc_create] matmulDesc 0x55d0c0",
        "[2026-11-21 10:00:00][HIPBLASLT][4711][Info][getBestSolutions] Found hardware solutions: 4",
        "rocblas_set_stream,0x55,0x0,atomics_allowed",
        "I! cuBLAS (v13.4.1) function cublasStatus_t cublasCreate_v2(cublasContext**) called:",
        "[2025-09-10 17:32:51][cublasLt][133267][Api][cublasLtMatmulAlgoGetHeuristic] Adesc=[type=R_8F_E4M3 rows=128]",
        "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture",
        "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2",
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,256x384,0.01",
        "doing hipblaslt things",
        "",
    ],
)
def test_other_lines_are_no_products(line: str) -> None:
    assert read(line).calls == ()


def test_a_solution_and_an_implementation_are_kept() -> None:
    assert read(LINES[0][1]).calls[0].kernel == "solution 22841"
    assert [c.kernel for name, line in LINES if name == "onednn" for c in read(line).calls] == [
        "gemm:jit:bf16", "gemm:jit", "brg:avx512_core_amx",
    ]  # fmt: skip


@each(
    "line",
    [
        "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas (Triggered internally at ../aten/src/ATen/Context.cpp:296.)",
        "rocblaslt warning: No paths matched /opt/rocm/lib/hipblaslt/library/*gfx1030*co. Make sure that HIPBLASLT_TENSILE_LIBPATH is set correctly.",
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1035",
        "rocblaslt error: Could not initialize Tensile host: No devices found",
        "rocblaslt warning: No paths matched /opt/rocm/lib/hipblaslt/library/*gfx1030*dat",
        "[2026-11-21 10:00:00][HIPBLASLT][4711][Error][rocblaslt_matmul] invalid handle pointer",
        "rocBLAS error: No Tensile solution found for XF32, fall back to FP32",
        "hipBlasLT failed, falling back to tensile.",
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul",
    ],
)
def test_warnings(line: str) -> None:
    log = read(line)
    assert len(log.warnings) == 1
    assert log.calls == ()


@pytest.mark.parametrize("backend", ["hipblaslt", "tensile", "source"])
def test_what_rocblas_handed_a_product_on_to(backend: str) -> None:
    """Layer 8, as rocBLAS's own test of it (clients/include/testing_logging.hpp) has the line."""
    line = f"rocblas_internal,rocblas_gemm_{backend}_backend,N,T,512,256,384,1,0x7f2e,512,0x7f2f,384,0,0x7f30,512,0x7f30,512,atomics_not_allowed"
    assert read(line).backends == (backend,)
    assert read("the rocblas backend is hipBLASLt").backends == ()


def test_who_speaks_at_all_is_told() -> None:
    assert read("rocblas_create_handle,atomics_allowed\nMKL_VERBOSE oneMKL 2024").speaking == {"rocblas", "mkl"}
    assert read("[2026-11-21 10:00:00][HIPBLASLT][4711][Api][rocblaslt_create] handle[out] 0x1").speaking == {
        "hipblaslt"
    }


def test_a_long_and_hostile_line_is_cut() -> None:
    log = read("MKL_VERBOSE SGEMM(\x1b[31m" + "x" * 100_000)
    assert len(log.calls[0].line) <= 300
    assert log.calls[0].line.isprintable()
