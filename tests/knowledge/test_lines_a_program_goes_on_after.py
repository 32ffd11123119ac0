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

NOT_AVAILABLE = "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names."
CPU_TORCH = "GPU:\nGPU 0: AMD Radeon RX 6800\n\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.3.1+cpu\n\n"
APPLIED = "Applied providers: ['{}', 'CPUExecutionProvider'], with options: {{}}\n"
SMI_MISSING = "-bash: nvidia-smi: command not found\n"
NVCC_MISSING = "-bash: nvcc: command not found\n"
HIERARCHY = 'These module(s) or extension(s) exist but cannot be loaded as requested: "cuda/12.4"\n'
INERT = "Warning: TORCH_FOO_BAR is the default now, this environment variable is thus deprecated.\n"
LOADS = "libfoo.so.0: cannot open shared object file: No such file or directory\n"
LIBCUDA = "libcuda.so: cannot open shared object file: No such file or directory\n"
AMD_OPENCL = "GPU 0: AMD Radeon RX 6600 (gfx1032)\n"
ROCM = "ROCm version: 5.7.1\nAgent 2\n  Name:                    gfx1032\n  Vendor Name:             AMD\n"
OPENCL_ROW = "OpenCL Device 0: Platform:0 Device:0 Bus:43 Slot:0 Compute:2.0 Driver:3590.0\n"
NIX_AMD = (
    "OS: NixOS 25.05\n$ lspci\n03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31\n"
)
EFA = "$ env\nFI_PROVIDER=efa\n\n"
PLUGIN = "NCCL INFO NET/Plugin : dlerror=libnccl-net.so{0}: cannot open shared object file: No such file or directory "

test_fault_is_named = names(
    (
        (
            SMI + NOT_AVAILABLE + "Available providers: 'AzureExecutionProvider, CPUExecutionProvider'",
            "onnxruntime-gpu-mismatch",
        ),
        (CPU_TORCH + APPLIED.format("CPUExecutionProvider"), "torch-cpu-only-build"),
        (
            CPU_TORCH + APPLIED.format("DmlExecutionProvider") + "AssertionError: Torch not compiled with CUDA enabled",
            "torch-cpu-only-build",
        ),
        ("the workstation\n" + SMI_MISSING, "nvidia-driver-not-loaded"),
        (SMI + "error: command failed\n" + SMI_MISSING.replace("nvidia-smi", "nvcc"), "toolkit-torch-mismatch"),
        (INERT, "env-flag-unknown-or-renamed"),
        ("ImportError: " + LOADS, "system-library-missing"),
        ("OS: NixOS 25.05\n" + SMI + "Cannot load libcuda.so.1\n", "gpu-libs-not-found"),
        (
            EFA + PLUGIN.format("") + "No plugin found (libnccl-net.so), using internal implementation",
            "gpu-libs-not-found",
        ),
        (AMD_OPENCL + "ImportError: " + LIBCUDA, "torch-built-for-other-vendor"),
        (ROCM + "the program does not start: error\n", "amd-gpu-unsupported-by-rocm"),
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
        (
            SMI + NOT_AVAILABLE + "Available providers: 'DmlExecutionProvider, CPUExecutionProvider'",
            "onnxruntime-gpu-mismatch",
        ),
        (CPU_TORCH + APPLIED.format("DmlExecutionProvider"), "torch-cpu-only-build"),
        ("OS: AlmaLinux 9.4, login node narval3\n" + SMI_MISSING, "nvidia-driver-not-loaded"),
        (HIERARCHY + SMI + NVCC_MISSING + "command failed\n", "toolkit-torch-mismatch"),
        ("$ pip list\nPackage    Version\n---------- -------\nvllm 0.8.5\n\n" + INERT, "env-flag-unknown-or-renamed"),
        (
            f"(gst-plugin-scanner:61): GStreamer-WARNING **: Failed to load plugin '/x/y.so': {LOADS}",
            "system-library-missing",
        ),
        (f"[MANGOHUD] [error] [nvctrl.cpp:46] Failed to open {LOADS}", "system-library-missing"),
        (NIX_AMD + "Cannot load libcuda.so.1\n", "gpu-libs-not-found"),
        (
            EFA
            + PLUGIN.format(".0")
            + "No plugin found (libnccl-net.so.0), using internal implementation? trying libnccl-net.so",
            "gpu-libs-not-found",
        ),
        (EFA + "NET/Plugin: Could not find: librccl-net.so. Using internal net plugin.", "gpu-libs-not-found"),
        (
            AMD_OPENCL + f"CUDA: Not detected: Failed to open dynamic library 'libcuda.so': {LIBCUDA}",
            "torch-built-for-other-vendor",
        ),
        (ROCM + "the program does not start: error\n" + OPENCL_ROW, "amd-gpu-unsupported-by-rocm"),
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


PLATFORMS = (
    "DEBUG [__init__.py:88] Exception happens when checking CUDA platform: NVML Shared Library Not Found\n"
    "DEBUG [__init__.py:120] ROCm platform is not available because: No module named 'amdsmi'\n"
)
WITH_ROCM = "Error output:\n```\n" + PLATFORMS + "```\n\nSystem:\n```\nROCm version: 6.4.2\n```\n"


def test_a_machine_of_rocm_misses_no_library_of_nvidia() -> None:
    """vLLM asks for every platform in turn, and says of each what it lacks."""
    assert raised(WITH_ROCM)[0] == "amdsmi-mismatch"
    assert "nvidia-driver-not-loaded" not in raised(WITH_ROCM)
    assert "nvidia-driver-not-loaded" in raised(PLATFORMS)


def test_a_script_that_keeps_the_variable_under_sudo_loses_none() -> None:
    kept = "The sudo command resets the non-essential environment variables, we keep the LD_LIBRARY_PATH variable."
    assert "sudo-resets-told" not in keys(kept)
    assert "sudo-resets-told" in keys("the sudo command resets LD_LIBRARY_PATH, and torch finds another cuDNN")


NOT_LOADED = "$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n"


def test_a_driver_that_is_part_of_the_kernel_is_loaded() -> None:
    """rocminfo before ROCm 6.3 looked for the module alone."""
    for there in (
        "$ ls -l /dev/kfd\ncrw-rw---- 1 root render 242, 0 Jun 29 10:12 /dev/kfd\n",
        "amdgpu is built into the kernel\n",
        "CONFIG_DRM_AMDGPU=y\n",
        "kfd kfd: amdgpu: added device 1002:744c\n",
    ):
        assert "amdgpu-driver-not-loaded" not in raised(f"{NOT_LOADED}\n{there}"), there
    for absent in (
        "$ ls -l /dev/kfd\nls: cannot access '/dev/kfd': No such file or directory\n",
        "CONFIG_DRM_AMDGPU=m\n",
    ):
        assert "amdgpu-driver-not-loaded" in raised(f"{NOT_LOADED}\n{absent}"), absent
