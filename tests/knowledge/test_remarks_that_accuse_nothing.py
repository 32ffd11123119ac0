"""Lines of machines that work, and of programs that only advise: near to what tells of a fault, and none."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import certain, keys, names, names_not

SMI = "| NVIDIA-SMI 550.76.01    Driver Version: 552.22    CUDA Version: 12.4 |\n"
DXG = "misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22\n"
LDCONFIG = "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link\n"
RAY = "Warning: The following resource request cannot be scheduled right now: {'GPU': 1.0, 'CPU': 8.0}.\n"
LISTED = "tf.config.list_physical_devices('GPU') returns []\n"
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
XFORMERS = "A matching Triton is not available, some optimizations will not be enabled\n"
NO_TRITON = "ModuleNotFoundError: No module named 'triton'\n"
ARCHS = "torch/utils/cpp_extension.py:2425] TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included"
ALIAS = "AttributeError: module 'numpy' has no attribute '{}'"
STOPS = "\nRuntimeError: CUDA error: operation failed\nSegmentation fault (core dumped)\n"
NOUVEAU = "ERROR: The Nouveau kernel driver is currently in use by your system.\n"

test_fault_is_named = names(
    (
        ("Could not load library cublasLt64_12.dll. It is missing.", "gpu-libs-not-found"),
        ("FileNotFoundError: Could not find module 'C:\\x\\cudart64_12.dll'", "gpu-libs-not-found"),
        ("nvidia-imex.service: failed", "nvidia-imex-not-running"),
        (DXG + "rocminfo: no GPU under WSL2", "wsl-gpu-misconfigured"),
        (LDCONFIG, "wsl-gpu-misconfigured"),
        (
            "Pod Allocate failed due to rpc error for nvidia.com/gpu: UnexpectedAdmissionError",
            "scheduler-no-gpu-allocated",
        ),
        (RAY + " 4.0/4.0 GPU", "scheduler-no-gpu-allocated"),
        (RAY + " 0.0/0.0 GPU", "scheduler-no-gpu-allocated"),
        (NOUVEAU, "nouveau-loaded"),
        ("torch 2.4.0+rocm6.1, gfx1151\nRuntimeError: HIP error: invalid device function", "torch-missing-gpu-arch"),
        ("/usr/lib/libcudart.so.12 and /opt/x/libcudart.so.11.0 are both mapped, crash", "gpu-libs-conflict"),
        ("all_reduce hangs with NCCL 2.20.5; NCCL 2.19.3 works", "known-bad-library-version"),
        (CUBLAS, "gpu-libs-conflict"),
        (NO_TRITON, "triton-mismatch"),
        (LISTED, "tensorflow-gpu-mismatch"),
        ("TORCH_CUDA_ARCH_LIST omits sm_120" + STOPS, "library-missing-gpu-arch"),
        (ALIAS.format("float_"), "numpy-abi-mismatch"),
        (ALIAS.format("product"), "numpy-abi-mismatch"),
    )
)

test_remark_accuses_nothing = names_not(
    (
        ("cannot access the file 'torch\\lib\\cublasLt64_12.dll': used by another process", "gpu-libs-not-found"),
        ("OSError: Could not install: [WinError 5] Access is denied: 'cudart64_12.dll'", "gpu-libs-not-found"),
        ("Access to the path 'C:\\x\\cublas64_12.dll' is denied; update failed", "gpu-libs-not-found"),
        ("failed to delete cudnn64_8.dll", "gpu-libs-not-found"),
        (
            "WARN[0000] Could not locate /usr/bin/nvidia-imex: pattern /usr/bin/nvidia-imex not found",
            "nvidia-imex-not-running",
        ),
        (DXG + SMI, "wsl-gpu-misconfigured"),
        (LDCONFIG + "torch.cuda.is_available() True", "wsl-gpu-misconfigured"),
        (LDCONFIG + "torch 2.1.0+cu121 True NVIDIA GeForce RTX 3060", "wsl-gpu-misconfigured"),
        (
            "UnexpectedAdmissionError: Allocate failed due to request for 'nvidia.com/gpu: 2' too large: "
            "maximum request size for shared resources is 1",
            "scheduler-no-gpu-allocated",
        ),
        (RAY + " 16.0/16.0 CPU\n 1.0/4.0 GPU", "scheduler-no-gpu-allocated"),
        (NOUVEAU + "disabled it.\n" + SMI, "nouveau-loaded"),
        (
            "If you get `CUDA error: invalid device function` errors, the above might be the cause",
            "torch-missing-gpu-arch",
        ),
        (
            "Found duplicate files: {'/a/lib/libcudart.so.11.0', '/a/b/libcudart.so'}.. We'll flip a coin and try one",
            "gpu-libs-conflict",
        ),
        ("torch 2.1.0+cu121 hangs on H100. On A100 the same script works", "known-bad-library-version"),
        ("training hangs; driver 535.129.03. nccl-tests all_reduce_perf works fine", "known-bad-library-version"),
        ("crash with torch 2.1.0; torch 2.1.0 works on CPU", "known-bad-library-version"),
        ("it fails with cuDNN 8.7. Works on CPU.", "gpu-libs-conflict"),
        ("Indexing.cu:1292: Assertion `srcIndex < srcSelectDimSize` failed.\n" + CUBLAS, "gpu-libs-conflict"),
        (XFORMERS + NO_TRITON, "triton-mismatch"),
        (ARCHS + STOPS, "library-missing-gpu-arch"),
        (ALIAS.format("bool"), "numpy-abi-mismatch"),
        (ALIAS.format("float"), "numpy-abi-mismatch"),
        (LISTED + "my own cell ran tf.config.set_visible_devices([], 'GPU')", "tensorflow-gpu-mismatch"),
    )
)


@pytest.mark.parametrize(
    ("line", "key", "shown"),
    [
        (" 1.0/4.0 GPU", "ray-gpus-free-told", True),
        (" 0.0/16.0 GPU", "ray-gpus-free-told", True),
        (" 4.0/4.0 GPU", "ray-gpus-free-told", False),
        ("cuDNN 8.9.7 works", "cudnn-release-that-helps", True),
        ("cuDNN 8.9.7. Works after a restart", "cudnn-release-that-helps", False),
        ("torch 2.1.0 works", "another-version-works-told", True),
        ("[TensorRT-LLM][WARNING] Device 0 peer access Device 1 is not available.", "gpu-not-seen-said", False),
        ("Device 0 is not available.", "gpu-not-seen-said", True),
        ("peer access works, GPU 1 is not detected", "gpu-not-seen-said", True),
        (
            "HIP kernel errors might be reported late, so the stacktrace below might be incorrect.",
            "values-wrong-said",
            False,
        ),
        ("the values below might be incorrect", "values-wrong-said", True),
        ("The command '/bin/sh -c make' returned a non-zero code: 2", "values-wrong-said", False),
        ("the command exits with zero, the outputs are zero", "values-wrong-said", True),
        ("[pip3] nvidia-nccl-cu12==2.20.5", "several-gpus-work-together-told", False),
        ("nvidia-nccl-cu12 2.26.2", "several-gpus-work-together-told", False),
        ("all_reduce with nvidia-nccl-cu12 2.26.2", "several-gpus-work-together-told", True),
        ("driver 535.129.03. Works", "another-version-works-told", False),
    ],
)
def test_line_shows_its_symptom(line: str, key: str, shown: bool) -> None:
    assert (key in keys(line)) is shown


@pytest.mark.parametrize(("beside", "rules"), [("", {"nouveau-loaded"}), (SMI, set())])
def test_nouveau_in_the_installers_way_is_certain_until_nvidias_driver_is_loaded(beside: str, rules: set[str]) -> None:
    assert certain(NOUVEAU + beside) == rules


@pytest.mark.parametrize(
    ("line", "symptom"),
    [
        ("WARNING: Turning off GPU-aware MPI since it is not detected", "gpu-not-seen-said"),
        ("load_backend: loaded CPU backend from /opt/llama/libggml-cpu-zen4.so", "gpu-idle-said"),
        (
            "AttributeError: module 'torch.distributed' has no attribute 'is_initialized'",
            "name-of-torch-not-importable",
        ),
    ],
)
def test_what_is_there_beside_a_gpu_says_nothing_of_it(line: str, symptom: str) -> None:
    assert symptom not in keys(line)


def test_a_gpu_that_is_not_seen_is_still_read() -> None:
    assert "gpu-not-seen-said" in keys("the GPU is not detected by MPI")
    assert "gpu-idle-said" in keys("it goes to the CPU backend")
    assert "name-of-torch-not-importable" in keys("module 'torch.distributed' has no attribute '_tensor'")
