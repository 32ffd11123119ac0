"""Name of a GPU kernel -> the library that brings it, where the name tells.

Every GEMM kernel of hipBLASLt (TensileLite) has `_UserArgs` in its name, none of rocBLAS's Tensile has: counted in
Debian's kernel files for gfx90a and gfx1201, of hipBLASLt 7.1.1 (68580 names) and 7.2.4 (88145) and of rocBLAS 6.4.4
(55036) and 7.2.4 (28550). What both ship in Kernels.so (beta alone, the sum after a split of K) has the same names in
both, and tells nothing.

>>> library("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x128_MI16x16x1_SN_LDSB1_AFC0")
'hipblaslt'
>>> library("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0")
'rocblas'
>>> library("Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU4_VW1"), library("Cijk_B_GA")
(None, None)
>>> library("_ZN5aiter42fp8gemm_bf16_blockscale_BpreShuffle_32x128E"), library("void ck::kernel_gemm_xdl<1>")
('aiter', 'ck')
>>> library("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"), library("vectorized_elementwise_kernel")
('nvidia', None)
"""

from __future__ import annotations

import re
from typing import Literal

Maker = Literal["hipblaslt", "rocblas", "ck", "aiter", "nvidia", "cutlass", "triton"]
"""`nvidia`: of cuBLAS or cuBLASLt, which share their kernels: the log tells which of them was called."""

_LONGEST = 1000
_FAMILIES: tuple[tuple[re.Pattern[str], Maker | None], ...] = (
    (re.compile(r"(?:Custom_)?Cijk_.{0,900}_UserArgs(?:_|$)"), "hipblaslt"),
    (re.compile(r"Cijk_(?!A[a-z]{3}C?_B[a-z]{3}C?_)"), None),
    (re.compile(r"(?:Custom_)?Cijk_"), "rocblas"),
    (re.compile(r"(?:void )?rocblas_(?:gemm|gemv|dot|internal)|_ZN?\w{0,3}\d{0,3}rocblas_"), "rocblas"),
    (
        re.compile(
            r"(?:void )?ck::|_ZN2ck\d|(?:void )?ck_tile::.{0,400}(?:Gemm|Flatmm)|_ZN7ck_tile.{0,400}(?:Gemm|Flatmm)"
        ),
        "ck",
    ),
    (re.compile(r"(?:void )?aiter::\w{0,80}gemm|_ZN5aiter\d{1,3}\w{0,80}gemm"), "aiter"),
    (re.compile(r"nvjet_|(?:sm\d{2,3}|volta|turing|ampere|maxwell|cublas)_\w{0,80}(?:gemm|gemv)"), "nvidia"),
    (re.compile(r"(?:void )?(?:cublas|gemv|gemmk1|gemmSN|gemv2|dot_kernel|splitKreduce)\w{0,60}"), "nvidia"),
    (re.compile(r"(?:void )?cutlass_\d{2,3}_\w{0,80}gemm|(?:void )?cutlass(?:__|::).{0,80}"), "nvidia"),
    (re.compile(r"triton_|_?matmul_kernel"), "triton"),
)
_AFTERWARDS = re.compile(r"(?:void )?(?:cublas\w{0,4}::)?splitK|(?:\w{1,12}_)?PostGSU")


def library(name: str) -> Maker | None:
    """None for a kernel of something else, or one that does not tell. A `.kd` at its end (a descriptor) is no part."""
    bare = name[:_LONGEST].strip().removesuffix(".kd")
    return next((maker for pattern, maker in _FAMILIES if pattern.match(bare)), None)


def is_product(name: str) -> bool:
    """Whether it multiplies matrices; a split-K reduction beside it does not tell of another library."""
    return library(name) is not None and not _AFTERWARDS.match(name)
