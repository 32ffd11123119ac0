"""Ranges with reasons: what the answer says, and that what is not known is never called unsupported."""

from __future__ import annotations

from doctor.knowledge import Knowledge, windows
from tests.each import each

KB = Knowledge()


def test_a_reason_names_the_range_and_what_was_asked() -> None:
    answer = windows.driver_serves_cuda(KB, "570.124", "13.0")
    assert (answer.verdict, answer.reason) == ("no", "CUDA 13.0 needs driver >= 580.65.06; 570.124 is loaded")
    assert "docs.nvidia.com" in answer.source


@each(
    "answer, words",
    [
        (windows.driver_serves_cuda(KB, "570.124", "19.0"), "CUDA 19.0"),
        (windows.driver_serves_cuda(KB, None, "13.0"), "the driver is not known"),
        (windows.driver_knows_gpu(KB, "570.1", "sm_999"), "GPU sm_999"),
        (windows.driver_knows_gpu(KB, "9999.1", "sm_90"), "driver 9999.1"),
        (windows.code_runs(KB, "potato", ("sm_90",)), "GPU potato"),
        (windows.rocm_lists_gpu(KB, "99.0", "gfx942"), "ROCm 99.0"),
        (windows.kmd_serves_rocm(KB, "77.1", "99.0"), "amdgpu 77.1"),
        (windows.os_serves_rocm(KB, "6.4.0", "templeos", "5"), "templeos"),
        (windows.forward_compat(KB, "99.0", "535.1"), "99.0"),
    ],
)
def test_what_is_not_known_is_said_so_and_never_unsupported(answer: windows.Answer, words: str) -> None:
    assert answer.verdict == "unknown"
    assert words in answer.reason
    assert "unsupported" not in answer.reason
    assert "not supported" not in answer.reason


def test_a_matrix_does_not_speak_of_a_rocm_that_is_newer_than_it() -> None:
    assert windows.kmd_serves_rocm(KB, "6.2.0", "10.3.0").verdict == "unknown"


def test_a_matrix_does_not_speak_of_a_driver_that_is_newer_than_it() -> None:
    assert windows.kmd_serves_rocm(KB, "30.20.1", "7.1.1").verdict == "unknown"  # which shipped together
    assert windows.kmd_serves_rocm(KB, "5.4.0", "7.1.0").verdict == "no"


@each(
    "arch, built, cuda, verdict",
    [
        ("sm_89", ("sm_80", "sm_86"), None, "yes"),
        ("sm_90", ("sm_80", "sm_86"), None, "no"),
        ("sm_87", ("sm_80",), "12.8", "no"),  # integrated GPUs are apart
        ("sm_87", ("sm_80",), "13.2", "yes"),  # until CUDA 13.2
        ("sm_110", ("sm_101",), None, "yes"),  # one GPU, renamed
        ("sm_37", ("sm_37", "sm_50"), None, "yes"),
        ("sm_90", ("sm_37", "sm_50"), None, "no"),
        ("gfx1103", ("gfx11-generic",), None, "yes"),
        ("gfx942:sramecc+:xnack-", ("gfx942",), None, "yes"),
        ("gfx1031", ("gfx1030",), None, "no"),
    ],
)
def test_whose_code_runs_where(arch: str, built: tuple[str, ...], cuda: str | None, verdict: str) -> None:
    assert windows.code_runs(KB, arch, built, cuda).verdict == verdict


def test_a_wheel_s_platform_tags_say_which_glibc_it_needs() -> None:
    tags = ("manylinux_2_27_x86_64.manylinux_2_28_x86_64", "manylinux_2_28_aarch64")
    assert windows.glibc_serves(tags, "x86_64", "2.27").verdict == "yes"
    assert windows.glibc_serves(tags, "aarch64", "2.27").verdict == "no"
    assert windows.glibc_serves(tags, "ppc64le", "2.40").no
    assert windows.glibc_serves(("any",), "riscv64", None).verdict == "yes"


def test_the_driver_that_ships_with_a_rocm() -> None:
    assert windows.driver_of_rocm(KB, "7.0.2") == "30.10.2"
    assert windows.driver_of_rocm(KB, "6.2.4") == "6.2.4"  # numbered as ROCm was, until 7.0
    assert windows.driver_of_rocm(KB, None) is None


@each(
    "driver, gfx, board, verdict, words",
    [
        ("6.1.3", "gfx942", "AMD Instinct MI325X", "unknown", "AMD lists AMD Instinct MI325X from ROCm 6.3.1"),
        ("6.3.1", "gfx942", "MI325X", "unknown", "the first amdgpu release for gfx942"),
        ("6.1.3", "gfx942", "MI300X", "unknown", "the first amdgpu release for gfx942"),
        ("30.10", "gfx950", "MI355X", "yes", "amdgpu 30.10.0 added gfx950"),
        ("6.4.3", "gfx950", "MI355X", "no", "gfx950 needs amdgpu >= 30.10.0"),
        ("30.10", "gfx950", "MI350P", "unknown", "AMD lists AMD Instinct MI350P from ROCm 7.14.0 (amdgpu 31.40.1)"),
        ("6.4.3", "gfx1150", None, "unknown", "AMD lists gfx1150 or its like from ROCm 7.11.0 (amdgpu 30.10.0) on"),
        ("30.20", "gfx1151", "Radeon 8060S", "unknown", "the first amdgpu release for gfx1151"),
    ],
)
def test_the_first_amdgpu_for_a_board(driver: str, gfx: str, board: str | None, verdict: str, words: str) -> None:
    found = windows.amdgpu_drives_gpu(KB, driver, gfx, board)
    assert (found.verdict, found.reason.startswith(words)) == (verdict, True)


def test_a_driver_that_is_on_the_list_of_instinct_alone_is_not_said_to_serve() -> None:
    found = windows.kmd_serves_rocm(KB, "31.40.1", "10.1.0")
    assert found.verdict == "unknown"
    assert found.reason.endswith(
        "on Instinct, 31.50.0 to 31.60.0 on Radeon; whether 31.40.1 supports it depends on the GPU"
    )
