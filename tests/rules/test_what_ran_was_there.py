"""What a text shows at work is neither missing nor refused: a GPU that captures, XLA on it, an instance."""

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.access import container_device_cgroup_denied, container_security_profile
from doctor.rules.host import mig_misconfigured, pcie_p2p_unusable
from doctor.rules.python import (
    jax_plugin_mismatch,
    python_version_unsupported,
    torch_cpu_only_build,
    torch_missing_gpu_arch,
    triton_mismatch,
    vllm_build_mismatch,
)
from tests.knowledge.texts import raised, told


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


LIST = "$ pip list\nPackage    Version\n---------- -------\n"
CAPTURES = "RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
REFUSED = "docker: Error response from daemon: open /dev/nvidia0: operation not permitted\n"


@pytest.mark.parametrize("rule", [container_device_cgroup_denied, container_security_profile])
def test_a_call_that_cuda_does_not_permit_is_refused_by_no_kernel(rule: ModuleType) -> None:
    assert rule.unheard(of(CAPTURES))
    assert not rule.unheard(of(REFUSED))
    assert not {"container-device-cgroup-denied", "container-security-profile"} & set(
        raised(f"What is wrong?\n{CAPTURES}dev = torch.device('cuda:1')\n")
    )


JAX = "$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-40GB\n\n" + LIST + "jax 0.5.0\njaxlib 0.5.0\nnumpy 2.2.1\n\n"


@pytest.mark.parametrize(
    "error",
    [
        "XlaRuntimeError: NOT_FOUND: GetKeyValue() timed out with key: cuda:gemm_fusion_autotuning_results_1",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Allocator (GPU_0_bfc) ran out of memory",
        "XlaRuntimeError: INTERNAL: ptxas exited with non-zero error code 65280",
    ],
)
def test_where_xla_is_at_work_on_a_gpu_its_plugin_is_there(error: str) -> None:
    assert "jax-plugin-mismatch" not in raised(f"jaxlib.xla_extension.{error}\n{JAX}")
    assert jax_plugin_mismatch.unheard(of(f"jaxlib.xla_extension.{error}\n"))
    assert "jax-plugin-mismatch" in raised(f"XlaRuntimeError: INVALID_ARGUMENT: it stops\n{JAX}")


CUT_UP = """PyTorch version: 2.4.0+cu121
Is CUDA available: {}
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-80GB
{}
Nvidia driver version: 550.90.07

the model is slow on MIG
"""


def test_an_instance_that_collect_env_lists_is_there() -> None:
    assert mig_misconfigured.unheard(of(CUT_UP.format("True", "  MIG 1g.10gb     Device  0:\n")))
    assert not mig_misconfigured.unheard(of(CUT_UP.format("True", "")))
    assert not mig_misconfigured.unheard(of(CUT_UP.format("False", "  MIG 1g.10gb     Device  0:\n")))


HANGS = "ZeRO-3 hangs on 4 GPUs, a single GPU works\n"


@pytest.mark.parametrize("works", ["ZeRO-2 works", "stage: ZeRO 1 is fine", "ZeRO2 and a single GPU work"])
def test_copies_between_gpus_go_through_where_another_stage_of_zero_works(works: str) -> None:
    assert "pcie-p2p-unusable" in raised(HANGS)
    assert "pcie-p2p-unusable" not in raised(f"{HANGS}{works}\n")
    assert pcie_p2p_unusable.unheard(of(f"{HANGS}{works}\n"))
    assert not pcie_p2p_unusable.unheard(of(f"{HANGS}{works}\nNCCL_P2P_DISABLE=1 fixes it\n"))


@pytest.mark.parametrize("works", ["ZeRO-2 does not work either", "ZeRO-3 works", "ZeRO-2 hangs as well"])
def test_a_stage_of_zero_that_fails_as_well_shows_no_copies(works: str) -> None:
    assert "pcie-p2p-unusable" in raised(f"{HANGS}{works}\n")


def test_vllm_that_is_not_there_is_no_wrong_build_of_it() -> None:
    assert vllm_build_mismatch.unheard(of("ImportError: vllm is not installed, please install vllm\n"))
    assert not vllm_build_mismatch.unheard(of("ImportError: vllm/_C.abi3.so: undefined symbol: _ZN3c10\n"))


def test_an_interpreter_that_torch_ends_has_a_build_of_it() -> None:
    crash = "Fatal Python error: Segmentation fault\nPython 3.13\n"
    assert python_version_unsupported.unheard(of(crash + LIST + "torch 2.6.0\n"))
    assert not python_version_unsupported.unheard(of(crash))
    assert not python_version_unsupported.unheard(of("Segmentation fault\n" + LIST + "torch 2.6.0\n"))


OPERATORS = """NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:
`fa3F@0.0.0` is not supported because:
    requires device with capability > (9, 0) but your GPU has capability (8, 6) (too old)
    operator wasn't built - see `python -m xformers.info` for more info
{}
"""
STRIDE = "    attn_bias.stride(-2) % 8 != 0 (attn_bias.stride() = (400, 100, 10, 1))"


def test_an_operator_that_comes_with_torch_is_refused_for_its_inputs() -> None:
    assert raised(OPERATORS.format("`cutlassF-pt` is not supported because:\n" + STRIDE)) == []
    beside = OPERATORS.format("`cutlassF-pt` is not supported because:\n    dtype=torch.float64")
    assert "extension-abi-mismatch" not in told(beside)
    own = OPERATORS.format("`cutlassF` is not supported because:\n    xFormers wasn't build with CUDA support")
    assert "extension-abi-mismatch" in told(own)


ALLOC = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n"


def test_a_handle_that_fails_after_an_index_beyond_a_table_lacks_no_memory() -> None:
    assert told(ALLOC) == ["gpu-memory-exhausted"]
    assert raised(ALLOC + "on the CPU: IndexError: index out of range in self\n") == []
    assert raised("Indexing.cu:1146: Assertion `srcIndex < srcSelectDimSize` failed.\n" + ALLOC) == []


@pytest.mark.parametrize(
    "line",
    [
        "triton.code_gen.OutOfResources: out of resource: shared memoryRequired: 98304Hardware limit: 65536",
        "OutOfResources: out of resource: shared memory, Required: 98304, Hardware limitation: 65536",
    ],
)
def test_a_kernel_too_large_for_the_gpu_was_compiled_by_a_triton_that_fits(line: str) -> None:
    assert triton_mismatch.unheard(of(line))
    assert not triton_mismatch.unheard(of("triton.code_gen: ImportError: cannot import name 'x' from 'triton'"))


def test_a_torch_that_calls_cublas_is_no_cpu_build() -> None:
    line = "RuntimeError: cublas runtime error : resource allocation failed at aten/src/THC/THCGeneral.cpp:228\ntorch\n"
    assert torch_cpu_only_build.unheard(of(line))
    assert not torch_cpu_only_build.unheard(of("AssertionError: Torch not compiled with CUDA enabled\ntorch 2.3.0\n"))


def test_a_kernel_that_is_refused_for_its_grid_was_found() -> None:
    line = "RuntimeError: CUDA error: {}\nq = torch.randn(1, 99999, 3, 8).cuda()\n"
    assert torch_missing_gpu_arch.unheard(of(line.format("invalid configuration argument")))
    assert not torch_missing_gpu_arch.unheard(of(line.format("NVRTC_ERROR_COMPILATION")))
    other = line.format("invalid configuration argument") + line.format("invalid device function")
    assert not torch_missing_gpu_arch.unheard(of(other))
