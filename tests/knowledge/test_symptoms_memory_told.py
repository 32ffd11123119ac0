"""GPU memory that is gone by other names, and frameworks that ask for another CUDA."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not

_MEMORY = "gpu-memory-exhausted"

test_named = names(
    [
        # Memory.
        ("NvMapMemAllocInternalTagged: 1075072515 error 12", _MEMORY),
        ("NvMapMemHandleAlloc: error 0", _MEMORY),
        ('msg=offload library=cuda layers.requested=-1 layers.model=33 layers.offload=0 layers.split=""', _MEMORY),
        ("ValueError: gpu_memory_utilization too high for this GPU", _MEMORY),
        ("gpu memory utilization error at start", _MEMORY),
        ("memory stays in use on the GPUs after the model is unloaded", _MEMORY),
        ("models remain resident in VRAM after deletion", _MEMORY),
        ("CuDNN fails to initialize\nworks with XLA_PYTHON_CLIENT_MEM_FRACTION=0.5", _MEMORY),
        # Frameworks of another CUDA, and vLLM's early modules.
        ("ONNX Runtime cannot find CUDA 11", "onnxruntime-gpu-mismatch"),
        ("TensorFlow is unable to find CUDA 12.3", "tensorflow-gpu-mismatch"),
        (
            "vllm==0.2.2\nImportError: /opt/venv/lib/python3.9/site-packages/"
            "cache_ops.cpython-39-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
            "vllm-build-mismatch",
        ),
    ]
)

test_not_named = names_not(
    [
        # Some layers are placed; or the GPU was not found at all.
        ("msg=offload library=cuda layers.requested=-1 layers.model=33 layers.offload=20", _MEMORY),
        ("msg=offload library=cpu layers.requested=-1 layers.model=33 layers.offload=0", _MEMORY),
        ("msg=offload library=cuda layers.requested=0 layers.model=33 layers.offload=0", _MEMORY),
        ("TypeError: unexpected argument gpu_memory_utilization error", _MEMORY),
        ("the memory is in use while the model is loaded", _MEMORY),
        ("models stay loaded in VRAM until unloaded", _MEMORY),
        ("gpu_memory_utilization errors are explained in the docs", _MEMORY),
        ("CuDNN fails to initialize", _MEMORY),
        ("ONNX Runtime does not find the model", "onnxruntime-gpu-mismatch"),
        ("TensorFlow does not find the model of 2023", "tensorflow-gpu-mismatch"),
        (
            "ImportError: cache_ops.cpython-39-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
            "vllm-build-mismatch",
        ),
        ("CUBLAS_STATUS_NOT_INITIALIZED\nset_memory_growth(gpu, True) fixed it", "gpu-libs-conflict"),
        # ONNX Runtime's own provider is no extension of torch's.
        (
            "Failed to load library libonnxruntime_providers_rocm.so with error: undefined symbol: miopenFind",
            "extension-abi-mismatch",
        ),
    ]
)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("failed to initialize cuDNN", "cudnn-does-not-initialize"),
        ("works with memory growth enabled", "helped-by-memory-left-free"),
    ],
)
def test_context(line: str, key: str) -> None:
    assert key in keys(line)
