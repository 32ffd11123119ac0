"""Lines after which a program goes on are no errors of a machine, and some of them tell nothing at all."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import Symptoms
from tests.knowledge.texts import certain


def _loud(text: str) -> list[tuple[str, Severity]]:
    report = judge(read_text([text.encode()]), Knowledge())
    return [(f.rule, f.severity) for f in report.findings if f.severity is not Severity.INFO and not f.explained_by]


WARNED = {
    "UserWarning: expandable_segments not supported on this platform": "allocator-flag-unsupported",
    "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas": (
        "hipblaslt-unsupported-arch"
    ),
    'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!': (
        "iommu-not-passthrough"
    ),
    "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.3 as it may crash.": "numpy-abi-mismatch",
    "results validator check failed": "tunableop-misconfigured",
    "RuntimeError: MXFP4 quantization is not supported on gfx942\nexport VLLM_ROCM_USE_AITER=1": (
        "env-flag-wrong-for-gpu"
    ),
}


@pytest.mark.parametrize("line", WARNED)
def test_what_a_program_goes_on_after_is_a_warning(line: str) -> None:
    assert (WARNED[line], Severity.WARNING) in _loud(line)


TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n"
ITS_VERSIONS = "PyTorch version: 2.6.0+cu124\nCUDA used to build PyTorch: 12.4\nNvidia driver version: 470.82.01\n"


def test_what_stops_a_program_is_an_error_where_facts_agree_and_a_warning_alone() -> None:
    """An error text may be quoted, or old."""
    assert _loud(TOO_OLD) == [("nvidia-driver-too-old", Severity.WARNING)]
    assert _loud(TOO_OLD + ITS_VERSIONS) == [("nvidia-driver-too-old", Severity.ERROR)]


def test_a_text_sure_of_itself_stands_before_one_that_is_not() -> None:
    likely = "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.3 as it may crash.\n"
    sure = "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!\n"
    rules = ["hipblaslt-unsupported-arch", "numpy-abi-mismatch"]
    assert _loud(likely + sure) == [(rule, Severity.WARNING) for rule in rules]


def test_of_what_rccl_advises_at_its_start_one_is_told() -> None:
    text = (
        'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!\n'
        "NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance!\n"
        'NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment which can lead to low RCCL performance\n'
        "ValueError: expected sequence of length 512 at dim 1 (got 498)\n"
    )
    assert [rule for rule, _ in _loud(text)] == ["iommu-not-passthrough"]


@pytest.mark.parametrize("chip", ["164e", "13c0"])
def test_graphics_of_a_desktop_processor_lack_no_slot(chip: str) -> None:
    line = f"[    4.2] kfd kfd: amdgpu: skipped device 1002:{chip}, PCI rejects atomics 730<0\n"
    assert _loud(line + "[    4.3] kfd kfd: amdgpu: added device 1002:744c\n") == []


def test_graphics_of_a_laptops_processor_lack_no_slot_beside_a_card() -> None:
    line = "[    4.2] kfd kfd: amdgpu: skipped device 1002:1638, PCI rejects atomics 730<0\n"
    assert _loud(line + "[    4.3] kfd kfd: amdgpu: added device 1002:73df\n") == []
    assert ("pcie-atomics-missing", Severity.WARNING) in _loud(line)
    card = line.replace("1638", "67df") + "[    4.3] kfd kfd: amdgpu: added device 1002:73df\n"
    assert ("pcie-atomics-missing", Severity.WARNING) in _loud(card)


def test_a_card_without_atomics_is_an_error_with_two_witnesses() -> None:
    line = "[    4.2] kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0\n"
    assert ("pcie-atomics-missing", Severity.WARNING) in _loud(line)
    bridge = "[    4.1] amdgpu 0000:03:00.0: amdgpu: PCIE atomic ops is not supported\n"
    assert ("pcie-atomics-missing", Severity.ERROR) in _loud(bridge + line)


CUDA_ALONE = "AttributeError: '_OpNamespace' '_C' object has no attribute 'silu_and_mul_nvfp4_quant'"


def test_an_operator_of_cuda_alone_that_vllm_names_on_rocm_is_a_fault_of_its_own() -> None:
    assert all(rule != "vllm-build-mismatch" for rule, _ in _loud(f"torch 2.8.0+rocm6.4\n{CUDA_ALONE}"))
    assert ("vllm-build-mismatch", Severity.WARNING) in _loud(f"torch 2.8.0+cu128\n{CUDA_ALONE}")


@pytest.mark.parametrize(
    "line",
    [
        "`fork` method is not supported by ROCm. VLLM_WORKER_MULTIPROC_METHOD is overridden to `spawn` instead.",
        "awq_marlin quantization is not supported by ROCm",
    ],
)
def test_a_feature_that_rocm_lacks_is_no_gpu_that_it_lacks(line: str) -> None:
    assert "amd-gpu-unsupported-by-rocm" not in {rule for rule, _ in _loud(line)}


def test_a_jax_that_falls_back_to_the_gpu_has_its_plugin() -> None:
    said = "a CUDA-enabled jaxlib is not installed. Falling back to {}."
    found = {where: {hit.key for hit in Symptoms().find([(1, said.format(where))])} for where in ("cpu", "gpu")}
    assert {where for where, keys in found.items() if "jax-cuda-jaxlib-not-installed" in keys} == {"cpu"}


BESIDE = "$ pip list\nPackage Version\n------- -------\ntorch 2.8.0+rocm6.4\ntriton 3.4.0\n"


def test_a_triton_of_pypi_beside_rocm_is_a_cause_where_triton_fails() -> None:
    other = _loud(BESIDE + "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!")
    fails = _loud(
        BESIDE + "ImportError: cannot import name 'get_hip_version' from 'triton'\nNo module named 'triton.ops'"
    )
    assert [rule for rule, _ in other] == ["torch-missing-gpu-arch"]
    assert ("triton-mismatch", Severity.WARNING) in fails


def test_a_parameter_of_amdgpu_that_still_counts_is_no_error() -> None:
    line = "amdgpu 0000:c1:00.0: amdgpu: [drm] Configuring gttsize via module parameter is deprecated\n"
    assert certain(line + "works, 42 tokens/s") == set()


STOCK = (
    "[W ProcessGroupNCCL.cpp:4115] using GPU 0 to perform barrier as devices used by this process are unknown. "
    "This can potentially cause a hang if this rank to GPU mapping is incorrect. Specify device_ids in barrier()"
)


def test_a_hang_of_which_torch_only_warns_is_none() -> None:
    def hangs(line: str) -> set[str]:
        return {hit.key for hit in Symptoms().find([(1, line)]) if "hang" in hit.key or "still" in hit.key}

    assert hangs(STOCK) == set()
    assert hangs("all_reduce hangs at the second step") != set()


def test_no_throttling_and_a_checkpoint_that_is_refused_name_no_gpu_and_no_numpy() -> None:
    assert "gpu-throttled" not in {rule for rule, _ in _loud("THROTTLE_STATUS: UNTHROTTLED")}
    assert ("gpu-throttled", Severity.WARNING) in _loud("the GPU is thermal throttling, its clock stays at 600 MHz")
    refused = "UnpicklingError: Weights only load failed. Unsupported global: GLOBAL numpy.core.multiarray._reconstruct"
    assert "numpy-abi-mismatch" not in {rule for rule, _ in _loud(refused)}
