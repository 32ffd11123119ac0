"""Compilers as CMake, lists of packages and hipcc tell them, and words that stand in place of a variable's value."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from tests.knowledge.texts import told

PIP = "\n\n$ pip list\nPackage    Version\n---------- -------\n"


def test_cmake_tells_both_compilers() -> None:
    text = (
        "-- The CXX compiler identification is GNU 14.2.1\n-- The CUDA compiler identification is NVIDIA 12.3.52\n"
        "ninja: build stopped: subcommand failed.\n"
    )
    assert told(text) == ["host-compiler-unsupported"]
    assert told(text.replace("14.2.1", "12.3.0")) == []


@pytest.mark.parametrize(("gcc", "causes"), [("15.1.1", ["host-compiler-unsupported"]), ("13.2.0", [])])
def test_a_list_of_packages_tells_both_compilers(gcc: str, causes: list[str]) -> None:
    text = f"the build of the CUDA backend fails{PIP}gcc {gcc}\ncuda 12.8\n"
    assert told(text) == causes
    assert told(text.replace("fails", "is done")) == []


def test_hipcc_of_another_rocm_is_read_behind_its_command() -> None:
    text = (
        "clang (LLVM option parsing): Unknown command line argument '-amdgpu-some=1'\nPyTorch version: 2.5.1+rocm6.2\n"
    )
    hipcc = "hipcc --version: HIP version: {}.31921-1949b1621\n"
    assert "toolkit-torch-mismatch" in told(text + hipcc.format("5.7"))
    assert "toolkit-torch-mismatch" not in told(text + hipcc.format("6.2"))


def test_words_in_place_of_a_value_are_no_value() -> None:
    lacks = read_text([b"export LD_LIBRARY_PATH=not exported in the service\nexport ROCM_PATH=unset in the image\n"])
    assert not {"LD_LIBRARY_PATH", "ROCM_PATH"} & set(lacks.environment or {})
    points = read_text([b"export CUDA_HOME=points to /usr/local/cuda-11.3, which is old\n"])
    assert (points.environment or {}).get("CUDA_HOME") == "/usr/local/cuda-11.3"
    plain = read_text([b"export PYTHONNOUSERSITE=missing-ok\n"])
    assert (plain.environment or {}).get("PYTHONNOUSERSITE") == "missing-ok"
