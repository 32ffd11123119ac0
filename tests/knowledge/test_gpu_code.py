"""Which GPU runs which code, by torch's own table, generic targets and PTX."""

from __future__ import annotations

from doctor.knowledge import Knowledge
from doctor.knowledge.gpu_code import way
from tests.each import each

KB = Knowledge()


@each(
    "arch, built, kind",
    [
        ("sm_90", ("sm_80", "sm_90"), "own"),
        ("sm_89", ("sm_80", "sm_90"), "same-major"),
        ("sm_121", ("sm_120",), "same-major"),
        ("sm_80", ("sm_86",), "none"),
        ("sm_90", ("sm_80", "sm_100"), "none"),
        ("sm_87", ("sm_80",), "none"),
        ("sm_110", ("sm_101",), "same-major"),
        ("sm_90", ("sm_90a",), "own"),
        ("sm_103", ("sm_100a",), "none"),
        ("sm_103", ("sm_100f",), "same-major"),
        ("sm_103", ("sm_103f",), "own"),
        ("sm_120", ("sm_103f",), "none"),
        ("sm_120", ("sm_90", "compute_90"), "ptx"),
        ("sm_120", ("compute_90a",), "none"),
        ("sm_75", ("compute_80",), "none"),
        ("gfx942", ("gfx90a", "gfx942:sramecc+:xnack-"), "own"),
        ("gfx1103", ("gfx1100", "gfx11-generic"), "generic"),
        ("gfx942", ("gfx9-4-generic",), "generic"),
        ("gfx1103", ("gfx1100", "gfx1101"), "none"),
        ("gfx1036", ("gfx1030",), "none"),
        ("a word", ("sm_80",), "unknown"),
    ],
)
def test_the_way(arch: str, built: tuple[str, ...], kind: str) -> None:
    assert way(KB, arch, built).kind == kind


def test_ptx_needs_a_driver_of_its_toolkit() -> None:
    def kind(driver: str | None) -> str:
        return way(KB, "sm_120", ("sm_90", "compute_90"), cuda="12.8", driver_cuda=driver).kind

    assert (kind("12.8"), kind("13.0"), kind("12.4"), kind(None)) == ("ptx", "ptx", "ptx-unserved", "ptx")


def test_what_torch_excludes_up_to_a_toolkit() -> None:
    """Jetson Orin ran sm_87 code alone up to CUDA 13.1."""
    assert way(KB, "sm_87", ("sm_80",), cuda="13.0").kind == "none"
    assert way(KB, "sm_87", ("sm_80",), cuda="13.2").kind == "same-major"


def test_a_target_for_the_other_xnack_does_not_serve() -> None:
    built = ("gfx90a:xnack-",)
    assert way(KB, "gfx90a", built).kind == "own"
    assert way(KB, "gfx90a", built, xnack=True).kind == "none"
    assert way(KB, "gfx90a:xnack-", built).kind == "own"
    assert way(KB, "gfx90a:xnack+", built).kind == "none"
