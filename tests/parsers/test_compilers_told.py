"""Compilers as CMake, lists of packages and hipcc tell them, and words that stand in place of a variable's value."""

from __future__ import annotations

from doctor.triage.read import read_text
from tests.knowledge.texts import told


def test_cmake_tells_both_compilers() -> None:
    text = (
        "-- The CXX compiler identification is GNU 14.2.1\n-- The CUDA compiler identification is NVIDIA 12.3.52\n"
        "ninja: build stopped: subcommand failed.\n"
    )
    assert told(text) == ["host-compiler-unsupported"]
    assert told(text.replace("14.2.1", "12.3.0")) == []


def test_words_in_place_of_a_value_are_no_value() -> None:
    lacks = read_text([b"export LD_LIBRARY_PATH=not exported in the service\nexport ROCM_PATH=unset in the image\n"])
    assert not {"LD_LIBRARY_PATH", "ROCM_PATH"} & set(lacks.environment or {})
    points = read_text([b"export CUDA_HOME=points to /usr/local/cuda-11.3, which is old\n"])
    assert (points.environment or {}).get("CUDA_HOME") == "/usr/local/cuda-11.3"
    plain = read_text([b"export PYTHONNOUSERSITE=missing-ok\n"])
    assert (plain.environment or {}).get("PYTHONNOUSERSITE") == "missing-ok"
