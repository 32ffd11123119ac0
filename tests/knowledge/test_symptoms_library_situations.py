"""What is said of libraries in a line: each text is found as people write it, and not its near miss."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "jax-told": "the JAX wheel of conda-forge",
    "library-release-fails-told": "NCCL 2.21.5+cuda12.4: hangs in the third step",
    "library-release-passes-told": "cuDNN 9.5.1 (from pip): works",
    "nccl-without-ibverbs": "host:71:90 [0] NCCL INFO Failed to open libibverbs.so[.1]",
    "loader-cache-lacks-system-library": "ldconfig -p | grep rdmacm -> nothing",
    "loader-cache-lacks-gpu-library": "ldconfig -p | grep libcudnn: no output",
    "windows-gpu-dll-listed-as-missing": "cusparse64_12.dll => not found",
    "gpu-library-taken-from-toolkit-told": "libcublasLt.so.12 comes from /usr/local/cuda-12.2/lib64",
}
NEAR = {
    "jax-told": "an ajax request of the web page",
    "library-release-fails-told": "NCCL version 2.21.5+cuda12.4",
    "library-release-passes-told": "cuDNN 9.5.1: hangs",
    "nccl-without-ibverbs": "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE",
    "loader-cache-lacks-system-library": "ldconfig -p | grep rdmacm: librdmacm.so.1 (libc6,x86-64)",
    "loader-cache-lacks-gpu-library": "ldconfig -p | grep libcudnn: libcudnn.so.9",
    "windows-gpu-dll-listed-as-missing": "cusparse64_12.dll => C:\\\\cuda\\\\bin\\\\cusparse64_12.dll",
    "gpu-library-taken-from-toolkit-told": "libcublasLt.so.12 comes from the wheel",
}


def keys(line: str) -> set[str]:
    return {hit.key for hit in SYMPTOMS.find([(7, line)])}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", NEAR)
def test_the_near_miss_does_not(key: str) -> None:
    assert key not in keys(NEAR[key])


def causes(text: str) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge())
    loud = [f for f in report.findings if f.severity is not Severity.INFO and not f.explained_by]
    return [f.rule for f in loud if not f.summary.startswith("Suspected from the words")]


def test_of_two_releases_the_one_that_fails_is_known_to_be_bad() -> None:
    both = "NCCL 2.21.5+cuda12.4: hangs\nNCCL 2.23.4+cuda12.4: passes"
    assert "known-bad-library-version" in causes(both)
    assert "known-bad-library-version" not in causes(both.splitlines()[1])


def test_a_cudnn_that_is_older_than_what_xla_was_built_with_is_the_framework_s_that_is_told() -> None:
    line = "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0."
    assert causes(f"the JAX program stops:\n{line}") == ["jax-plugin-mismatch"]
    assert causes(line) == ["tensorflow-gpu-mismatch"]


def test_nccl_without_verbs_blames_the_library_and_not_the_device_s_name() -> None:
    log = "NCCL INFO Failed to open libibverbs.so[.1]\nNCCL INFO NET/IB : No device found.\nexport NCCL_IB_HCA=mlx5_2"
    assert causes(log) == ["system-library-missing"]


def test_an_index_is_no_reason_for_a_device_that_is_not_found() -> None:
    report = judge(read_text([b"NCCL INFO NET/IB : No device found.\nexport NCCL_IB_GID_INDEX=3"]), Knowledge())
    assert not any("NCCL_IB_GID_INDEX" in finding.summary for finding in report.findings)


def test_a_compiler_of_another_cuda_may_be_told_as_the_host_s() -> None:
    text = "ninja: build stopped: subcommand failed.\ntorch 2.8.0+cu129\nhost nvcc: CUDA 13.0"
    assert "toolkit-torch-mismatch" in causes(text)
