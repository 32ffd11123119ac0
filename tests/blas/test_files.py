"""The file side of a prediction: what the loader takes, and which visible GPUs the kernel files leave out."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.parsers.blas.rocm_library_files import target
from doctor.report.blas import files
from tests.rules.machines import mi300x_host

DEBIAN = (
    "Kernels.so-000-gfx1100.hsaco",
    "Kernels.so-000-gfx90a-xnack+.hsaco",
    "TensileLibrary_B8B8_B8B8_HA_Bias_SAB_SCD_SAV_UA_Type_B8B8_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx1200.co",
    "TensileLibrary_HH_SH_HA_Bias_GG_SAV_UA_Type_HS_HPA_Contraction_l_Alik_Bljk_Cijk_Dijk_gfx90a.dat",
    "TensileLibrary_Type_BB_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_CU104_gfx90a.co",
    "TensileLibrary_Type_BB_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx90a-xnack-.hsaco",
    "TensileLibrary_lazy_gfx90a.dat",
)
"""Names of kernel files in Debian's libhipblaslt1 7.1.1 and librocblas4 6.4.4."""


def machine(*gfx: str) -> Snapshot:
    return mi300x_host(
        {
            "libraries[libhipblaslt.so.1].path": "/opt/rocm/lib/libhipblaslt.so.1",
            "libraries[libhipblaslt.so.1].by": "RPATH of libtorch_hip.so",
            "binaries[/opt/rocm/lib/hipblaslt/library].package": "hipblaslt",
            "binaries[/opt/rocm/lib/hipblaslt/library].gfx": gfx,
            "torch.bundled": {"hipblaslt": "1.1.0"},
        }
    )


def test_debians_kernel_files_name_their_targets() -> None:
    assert {target(name) for name in DEBIAN} == {"gfx1100", "gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "gfx1200"}


def test_a_visible_gpu_without_kernel_files_is_named() -> None:
    """As Debian's hipBLASLt has none for an MI300X."""
    targets = sorted({t for name in DEBIAN if (t := target(name))})
    assert list(files(machine(*targets), "hipblaslt")) == [
        "/opt/rocm/lib/libhipblaslt.so.1 (RPATH of libtorch_hip.so)",
        "/opt/rocm/lib/hipblaslt/library: no kernel files for gfx942",
        "came with torch: hipblaslt 1.1.0",
    ]


def test_files_of_the_chosen_library_alone_are_told() -> None:
    assert "kernel files for 2 targets" in " ".join(files(machine("gfx942", "gfx90a"), "hipblaslt"))
    assert list(files(machine("gfx942"), "rocblas")) == []
    assert list(files(machine("gfx942"), None)) == []
