"""Texts of the Python stack that count by what else a text says: each is found, and what is near is not."""

# ruff: noqa: E501  (lines as their programs print them)
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.diagnosis import registry
from doctor.facts import Snapshot
from doctor.knowledge import symptoms
from doctor.knowledge.symptoms import Symptoms
from tests.knowledge.test_symptoms_python import HEALTHY
from tests.knowledge.texts import raised

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Symptoms()
ROWS = tomllib.loads(Path(symptoms.DATA, "stack.toml").read_text("utf-8"))["symptom"]
IDS = tuple(row["id"] for row in ROWS)
CAUSES = tuple(row["id"] for row in ROWS if row.get("points_to"))
RULES = {check.rule.id for check in registry.checks()}
FOUND = (
    ("engine-with-own-kernels", "SageAttention on V100 fails"),
    ("amd-gpu-told", "using AMD on linux, it worked minutes ago"),
    ("nvidia-driver-asked-for-on-told-amd", "RuntimeError: Found no NVIDIA driver on your system."),
    (
        "nccl-interface-of-no-family",
        "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    ),
    (
        "rocshmem-without-libnuma",
        "E-001h rocSHMEM Could not open libnuma. Returning NUMAWrapper@src/gda/numa_wrapper.cpp:48",
    ),
    ("amd-smi-named", "run amd-smi:"),
    ("python-module-of-tool-missing", "ModuleNotFoundError: No module named 'yaml'"),
    ("include-path-cut-at-space", "gcc -pthread -I/home/me/my project/csrc -c extension.cpp"),
    ("no-such-include-part", "gcc: error: project/csrc: No such file or directory"),
    (
        "input-path-cut",
        "nvcc fatal   : A single input file is required for a non-link phase when an outputfile is specified",
    ),
    ("vllm-named", "vllm serve x"),
    ("abi3-extension-undefined-symbol", "ImportError: _C.abi3.so: undefined symbol: _ZN3c1013MessageLoggerC1EPKciib"),
    (
        "torch-install-has-no-kernels-for-gpu",
        "Your installed torch==2.13.0+cu126 does not include kernels for this GPU.",
    ),
    (
        "ray-visible-devices-too-few",
        'File "ray/_private/worker.py", line 1120, in get_accelerator_ids_for_accelerator_resource',
    ),
    ("aiter-attention-refuses", "RuntimeError: invalid argument for fmha_v3_varlen_fwd"),
    ("hangs-only-when-launches-block", "NCCL hangs with CUDA_LAUNCH_BLOCKING=1"),
    ("tunableop-file-empty", "tunableop_results0.csv does not exist"),
    ("variable-named-beside-service", "I set HSA_OVERRIDE_GFX_VERSION=11.0.0 in my shell"),
    (
        "collective-cannot-reach-peer",
        "NCCL WARN socketStartConnect: Connect to 10.0.0.2<44321> failed : Connection refused",
    ),
    ("torch-preload-library-not-found", "ValueError: libcublas.so.*[0-9] not found in the system path ['/x']"),
    ("triton-does-not-know-cuda", "Triton only support CUDA 10.0 or higher, but got CUDA version: 12.8"),
    ("nvcc-stops-in-system-headers", "/usr/include/c++/14.1.1/type_traits(1610): error: type name is not allowed"),
    ("hipblaslt-no-paths-matched", "rocblaslt warning: No paths matched torch/lib/hipblaslt/library/*gfx1100*co"),
    ("jax-finds-outdated-library", "RuntimeError: Outdated cuBLAS installation found."),
    ("cudnn-release-that-helps", "cuDNN 7.0; with cuDNN 7.3.1 it works"),
    ("tensorflow-named", "import tensorflow as tf"),
    ("extension-breaks-with-newer-torch", "flash_attn and kornia break after the upgrade to the nightly torch"),
    ("libraries-of-framework-told-missing", "cudnn and cublas 11 .so libraries cannot be found"),
    (
        "libraries-looked-for-elsewhere",
        "looks for the ROCm libraries in /usr/local/lib/ollama/rocm, they are in /usr/lib",
    ),
    (
        "compile-in-path-with-space-fails",
        "Command ['/usr/bin/gcc', '-I/data/AI Tools/venv/include'] returned non-zero exit status 1",
    ),
    ("path-shown-with-space", "E:\\AI tools\\ComfyUI\\venv\\Scripts\\python.exe"),
)
NEAR = (
    ("engine-with-own-kernels", "Sage Attn / SageAttention is not installed!"),
    ("amd-gpu-told", "CPU: AMD EPYC 7742, with AMD Ryzen 9 9950X beside it"),
    ("amd-gpu-told", "/opt/rocm -> /opt/rocm-7.1.0"),
    ("amd-gpu-told", "ROCM used to build PyTorch: N/A"),
    ("amd-gpu-told", "ROCM Version                 : Could not collect"),
    ("amdgpu-driver-named", "CUDA Archs: 8.0 9.0; ROCm: Disabled; XPU: Disabled"),
    ("include-path-cut-at-space", "gcc -I/usr/include -I/usr/local/cuda/include -c x.c"),
    ("no-such-include-part", "gcc: error: unrecognized command-line option"),
    ("nvcc-stops-in-system-headers", "/home/x/my.cu(12): error: identifier undefined"),
    ("nvcc-stops-in-system-headers", "/usr/include/c++/14/type_traits:1610:5: error: expected"),
    ("compile-in-path-with-space-fails", "Command ['gcc', '-I/data/venv/include', '-lcuda'] returned non-zero exit status 1"),
    ("extension-breaks-with-newer-torch", "flash_attn works with the nightly torch"),
    ("cudnn-release-that-helps", "cuDNN 9.1.0 is loaded"),
    ("hangs-only-when-launches-block", "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"),
    ("hangs-only-when-launches-block", "it hangs; with CUDA_LAUNCH_BLOCKING=1 there is no other error"),
    ("tunableop-file-empty", "reading tuning results from tunableop_results0.csv"),
)  # fmt: skip


def _found(line: str) -> set[str]:
    return {hit.key for hit in CATALOGUE.find([(1, line)])}


@pytest.mark.parametrize(("key", "line"), FOUND)
def test_each_is_found(key: str, line: str) -> None:
    assert key in _found(line)


def test_each_has_an_example() -> None:
    assert {key for key, _ in FOUND} == set(IDS)


@pytest.mark.parametrize(("key", "line"), NEAR)
def test_what_is_near_is_not_taken_for_it(key: str, line: str) -> None:
    assert key not in _found(line)


@pytest.mark.parametrize("line", HEALTHY)
def test_healthy_lines_point_nowhere(line: str) -> None:
    assert _found(line) & set(CAUSES) == set()


@pytest.mark.parametrize("key", IDS)
def test_each_cause_is_a_rule_and_asks_for_what_there_is(key: str) -> None:
    for cause in CATALOGUE.signatures[key].points_to:
        assert cause.rule in RULES
        assert set(cause.with_symptom + cause.without_symptom) <= set(CATALOGUE.signatures)
        cause.holds(Snapshot())


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("RX5090 is no GPU; use on RTX5090\nthe version of torch is 2.0.1\nit crashes\n", "torch-missing-gpu-arch"),
        ("using AMD on linux\nRuntimeError: Found no NVIDIA driver on your system.\n", "torch-built-for-other-vendor"),
        ("ollama on V100\nCUDA error: no kernel image is available for execution on the device\n", "library-missing-gpu-arch"),
        ("run amd-smi:\nModuleNotFoundError: No module named 'yaml'\n", "system-library-missing"),
        ("vllm 0.18\nImportError: _C.abi3.so: undefined symbol: _ZN3c1013MessageLoggerC1EPKciib\n", "vllm-build-mismatch"),
        ("wrong results of matmul on RTX 5090\nlibcublas 13.5.1.27\n", "known-bad-library-version"),
        ("Arm box\n>>> torch.__version__, torch.cuda.is_available()\n('2.6.0', False)\nnvidia-smi shows NVIDIA GH200 480GB\n", "torch-cpu-only-build"),
        ("PYTORCH_ALLOC_CONF=expandable_segments:True\ntorch 2.9.1+cu128, it stays off\n", "allocator-flag-unsupported"),
        ("ImportError was /lib64/libstdc++.so.6: version GLIBCXX_3.4.20 not found (required by /x/amp_C.so), fused kernels unavailable\n", "gpu-libs-conflict"),
        ("wrong colours, garbage\nRadeon 890M\nROCm Version: rocm7.11.0a20251202\n", "known-bad-library-version"),
        ("gcc -I/a/my dir/csrc -c x.c\ngcc: error: dir/csrc: No such file or directory\n", "install-path-has-space"),
    ],
)  # fmt: skip
def test_the_text_as_a_whole_names_the_cause(text: str, cause: str) -> None:
    assert cause in raised(text)[:2]


@pytest.mark.parametrize(
    "text",
    [
        "use on RTX 4090\nthe version of torch is 2.0.1\nit runs\n",
        "CUDA out of memory. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n",
        "torch 2.6.0+cu126, RTX 4090, driver 565.57.01\nloss is nan after 300 steps with lr 1e-2\n",
        "ModuleNotFoundError: No module named 'yaml'\n",
        "NCCL 2.17 on an A100, training hangs\n",
        "torch 2.13.0+cu130 on a Jetson AGX Thor\n",
        "PYTORCH_ALLOC_CONF=expandable_segments:True\ntorch 2.12.0+cu130, RTX 4090\n",
        ">>> torch.__version__, torch.cuda.is_available()\n('2.12.0', True)\nnvidia-smi shows NVIDIA GH200 480GB\n",
    ],
)
def test_what_is_near_accuses_none_of_these(text: str) -> None:
    assert set(raised(text)) <= {"gpu-memory-exhausted"}
