"""Kernel names of real runs and of shipped code objects."""

from __future__ import annotations

from doctor.parsers.blas.gemm_kernel import is_product, library
from tests.each import each


@each(
    "name, maker",
    [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x128_MI16x16x1_SN_LDSB1_AFC0_AFEM1", "hipblaslt"),
        ("Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1_AFC1.kd", "hipblaslt"),
        ("Custom_Cijk_Alik_Bljk_HHS_BH_UserArgs_MT16x16x32_MI16x16x1_SN_DTVA1_K1_gfx942", "hipblaslt"),
        ("Custom_Cijk_Ailk_Bljk_BBS_BH_MT256x256x64_MI16x16x1_UserArgs_shortname0_gfx950", "hipblaslt"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_APM1_ABV0_ACED0", "rocblas"),
        ("Cijk_Alik_Bljk_SB_MT64x64x16_SE_K1", "rocblas"),
        # of Debian's librocblas4 6.4.4 and librocblas5 7.2.4: conjugated operands, preloaded arguments
        ("Cijk_AlikC_Bjlk_ZB_GB_MT32x32x8_SE_1LDSB0_APM1_ABV0_ACED0", "rocblas"),
        ("Cijk_Ailk_BjlkC_CB_GB_MT128x64x8_MI16x16x4x1_SN_1LDSB1_WGM8_preloaded", "rocblas"),
        # of Kernels.so of libhipblaslt1 7.1.1 and librocblas5 7.2.4 alike: beta alone, and a sum after a split of K
        ("Cijk_B_GA", None),
        ("Cijk_H_GB", None),
        ("Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU4_VW1", None),
        ("Cijk_SH_GG_DBiasH_BiasSrcD_GradH_HAS_ScaleAlphaVec_PostGSU2_VW2", None),
        ("Cijk_B_PostGSU4", None),
        ("void rocblas_gemv_kernel<...>", "rocblas"),
        ("_ZN2ck16kernel_gemm_xdl_cshuffle_v3E", "ck"),
        ("void ck::kernel_gemm_multi_d<...>", "ck"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "nvidia"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", "nvidia"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "nvidia"),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>", "nvidia"),
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16>", "nvidia"),
        ("triton_tem_fused_mm_0", "triton"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>", None),
        ("Memset (Device)", None),
        ("", None),
    ],
)
def test_a_name_tells_the_library(name: str, maker: str | None) -> None:
    assert library(name) == maker


def test_a_reduction_beside_a_product_is_none_itself() -> None:
    assert not is_product("void splitKreduce_kernel<32, 16, int, float>")
    assert not is_product("void cublasLt::splitKreduce_kernel<32, 16, int>")
    assert is_product("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT")
