"""Lines after which a program goes on, or that say what it was given: near to errors of the stack, and none."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not, raised

SMI = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090\n\n"
RX6800 = "Agent 2\n  Name:                    gfx1030\n  Marketing Name:          AMD Radeon RX 6800\n\n"
SEARCH = "CUDA_SETUP: WARNING! libcudart.so not found in any environmental path. Searching in backup paths...\n"
FOUND = "CUDA SETUP: CUDA runtime path found: /usr/local/cuda/lib64/libcudart.so.11.0\n"
PTXAS = (
    "W nvptx_compiler.cc:765] The NVIDIA driver's CUDA version is 12.2 which is older than the ptxas CUDA version "
    "(12.5.40). Because the driver is older than the ptxas version, XLA is disabling parallel compilation\n"
)
SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x4 and 3x8)\n"
NOT_SET_UP = "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorInitializationError: initialization error\n"
OWN_SITE = "/home/ann/.local/lib/python3.10/site-packages/"
NO_OPERATOR = "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n"
ON_CPU = "`cutlassF` is not supported because:\n    device=cpu (supported: {'cuda'})\n"
HIPBLASLT = "Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas\n"
FP8 = 'ValueError("type fp8e4nv not supported in this architecture. The supported fp8 dtypes are (@)")'

test_fault_is_named = names(
    (
        ("Error: wrong values since the regression in cuDNN 9.1.0\nSegmentation fault", "known-bad-library-version"),
        (SMI + "RuntimeError: CUDA error: invalid device ordinal", "visible-devices-conflict"),
        (SMI + SEARCH, "gpu-libs-not-found"),
        (SMI + PTXAS + "training crashes", "nvidia-driver-too-old"),
        (SMI + NOT_SET_UP, "nvidia-uvm-hmm-init-failure"),
        (
            f'Traceback (most recent call last):\n  File "{OWN_SITE}torch/__init__.py", line 9\n',
            "python-user-site-leak",
        ),
        (SMI + NO_OPERATOR, "extension-abi-mismatch"),
        (FP8.replace("@", "'fp8e4b15', 'fp8e5'"), "library-missing-gpu-arch"),
        (RX6800 + HIPBLASLT, "hipblaslt-unsupported-arch"),
        ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 9,000,000 bytes", "gpu-memory-exhausted"),
    )
)

test_what_goes_on_accuses_nothing = names_not(
    (
        (
            SMI + "abc._ffi.base.AbcError: invalid output, causing a silent performance regression of the model.",
            "known-bad-library-version",
        ),
        (
            SMI + "Error invalid device ordinal at line 359 in file /src/bitsandbytes/csrc/pythonInterface.c",
            "visible-devices-conflict",
        ),
        (SMI + SEARCH + FOUND, "gpu-libs-not-found"),
        (SMI + PTXAS + "[cuda(id=0)]\n", "nvidia-driver-too-old"),
        (SMI + PTXAS + SHAPES, "nvidia-driver-too-old"),
        (
            SMI + "UserWarning: [W114] Using multiprocessing with GPU models\n" + NOT_SET_UP,
            "nvidia-uvm-hmm-init-failure",
        ),
        (SMI + "Process ForkPoolWorker-3:\n" + NOT_SET_UP, "nvidia-uvm-hmm-init-failure"),
        (
            SMI + "Caught CUDARuntimeError in DataLoader worker process 0.\n" + NOT_SET_UP,
            "nvidia-uvm-hmm-init-failure",
        ),
        (f"{OWN_SITE}abc/run.py:126: UserWarning: FP16 is not supported on CPU\n", "python-user-site-leak"),
        (SMI + NO_OPERATOR + ON_CPU, "extension-abi-mismatch"),
        (RX6800 + NO_OPERATOR + ON_CPU, "library-missing-gpu-arch"),
        (FP8.replace("@", "'fp8e4b8', 'fp8e5'"), "library-missing-gpu-arch"),
        (RX6800 + HIPBLASLT + SHAPES, "hipblaslt-unsupported-arch"),
    )
)


def test_a_label_out_of_range_is_the_programs_own() -> None:
    line = "Received a label value of 10 which is outside the valid range of [0, 10).  Label values: 3 7 10"
    assert "user-error-index" in keys(line)
    assert "user-error-index" not in keys("the clock is outside the valid range of [300, 2100]")


def test_an_assertion_is_not_about_speed() -> None:
    packages = "$ pip list\nPackage    Version\n---------- -------\ntorch 2.3.0+rocm6.0\n\n"
    machine = f"Agent 2\n  Name:                    gfx90a\n  Marketing Name:          AMD Instinct MI210\n\n{packages}"
    assert "hipblaslt-not-selected" in raised(f"{machine}Is that all that the card can do?\n")
    asserted = "    assert size in (64, 128)\nAssertionError\n"
    assert "hipblaslt-not-selected" not in raised(f"{machine}Is that all that the card can do?\n{asserted}")
