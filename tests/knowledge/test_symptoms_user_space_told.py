"""What threads about NVIDIA's user space show and tell (user_space_told.toml)."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised, told

CRASH = "Segmentation fault (core dumped)\n"
NVIDIA = "\nGPU 0: NVIDIA GeForce RTX 3060"
NO_CUDNN = "libcudnn.so.9: cannot open shared object file: No such file or directory\n"
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
BNB_CPU = "/opt/env/lib/python3.11/site-packages/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: "
BNB_NONE = "CUDA SETUP: Required library version not found: libbitsandbytes_cuda123.so. Maybe you need to compile it?\n"
HIDDEN = "link library [libnccl.so] in /opt/nccl/lib may be hidden by files in: /opt/conda/lib\n"
CPU_SESSION = "onnxruntime-gpu==1.22.0\nsession.get_providers() is ['CPUExecutionProvider']\n"
HANDLE = "could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
NO_GPU = "RuntimeError: No CUDA GPUs are available\n"
CPU_INDEX = "$ pip install torch --index-url https://download.pytorch.org/whl/cpu\n"

NCCL_TEST = "Test NCCL failure common.cu:777 'unhandled cuda error'\n"
TOOLKIT = "CUDA toolkit version: {}\n"
WEB = "Nextcloud: Successfully loaded libtensorflow in Node.js, but couldn't load GPU.\n"
CUDNN_FAILS = "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\n"
NO_HOME = (
    "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\nnvcc was not found\n"
)
PADDLE = (
    "Please NOTE: device: 0, GPU Compute Capability: {}, Driver API Version: {}, Runtime API Version: {}\n"
    "Segmentation fault (core dumped)\npaddle.utils.run_check() fails\n"
)
CASES = [
    (CRASH + 'with export LD_LIBRARY_PATH="" the script works', "gpu-libs-conflict"),
    (CRASH + "LD_LIBRARY_PATH= python train.py works", "gpu-libs-conflict"),
    (CRASH + "works after LD_LIBRARY_PATH=''", "gpu-libs-conflict"),
    (CRASH + "setting LD_LIBRARY_PATH to an empty string fixed it", "gpu-libs-conflict"),
    (CRASH + "import tensorflow before import torch: segfault", "gpu-libs-conflict"),
    (CRASH + "importing jax after importing torch crashes", "gpu-libs-conflict"),
    (CRASH + "it crashes when I import paddle before torch", "gpu-libs-conflict"),
    (NO_CUDNN + "works when torch is imported first", "gpu-libs-not-found"),
    (NO_CUDNN + "loads only after import torch", "gpu-libs-not-found"),
    (NO_CUDNN + "import torch first fixes it", "gpu-libs-not-found"),
    (BNB_CPU + "cget_col_row_stats" + NVIDIA, "gpu-libs-not-found"),
    (BNB_CPU + "cadam32bit_grad_fp32" + NVIDIA, "gpu-libs-not-found"),
    (BNB_CPU + "cquantize_blockwise_fp16_nf4" + NVIDIA, "gpu-libs-not-found"),
    (BNB_NONE + BNB_CPU + "cget_col_row_stats" + NVIDIA, "extension-abi-mismatch"),
    ("LINK : fatal error LNK1181: cannot open input file 'Files/NVIDIA.obj'", "install-path-has-space"),
    ("LINK : fatal error LNK1104: cannot open file 'Computing\\Toolkit.obj'", "install-path-has-space"),
    ("'C:\\Program' is not recognized as an internal or external command,", "install-path-has-space"),
    ("gcc: error: Files/NVIDIA: No such file or directory", "install-path-has-space"),
    ("g++: error: Toolkit/CUDA/v12.4/include: No such file or directory", "install-path-has-space"),
    ("/bin/sh: 1: /mnt/c/Program: not found", "install-path-has-space"),
    ("Spaces detected in the short path returned by your system!\naborting early!", "install-path-has-space"),
    ("ninja: build stopped\nError: the path must not contain spaces", "install-path-has-space"),
    ("ERROR: install directory cannot have spaces, aborting", "install-path-has-space"),
    (CPU_INDEX + "ext.cu:3:10: fatal error: THC/THC.h: No such file or directory", "torch-cpu-only-build"),
    (CPU_INDEX + "fatal error: c10/cuda/CUDAStream.h: No such file or directory", "torch-cpu-only-build"),
    (CPU_INDEX + "the GPU is not detected" + NVIDIA, "torch-cpu-only-build"),
    (NO_KERNEL + "  causal_conv1d_cuda.causal_conv1d_fwd(x, w)" + NVIDIA, "library-missing-gpu-arch"),
    (NO_KERNEL + "  flash_attn_2_cuda.fwd(q, k, v)" + NVIDIA, "library-missing-gpu-arch"),
    (NO_KERNEL + "  spconv_cuda.conv(x)" + NVIDIA, "library-missing-gpu-arch"),
    (
        "onnxruntime-gpu==1.17.1\nDLL load failed while importing onnxruntime_pybind11_state: not found",
        "onnxruntime-gpu-mismatch",
    ),
    (NCCL_TEST + TOOLKIT.format("10.1") + "libnccl-2.9.9-1+cuda11.3.x86_64", "gpu-libs-conflict"),
    (NCCL_TEST + TOOLKIT.format("10.2") + "the NCCL installed is for CUDA 11.0", "gpu-libs-conflict"),
    (NVIDIA + "enqueue.cc:58 NCCL WARN Cuda failure 'named symbol not found'", "library-missing-gpu-arch"),
    (
        NVIDIA + "no CUDA-capable device is detected\nthe service starts before nvidia-uvm is ready",
        "nvidia-uvm-missing",
    ),
    (
        WEB + "export LD_LIBRARY_PATH=/usr/local/cuda/lib64 is in the .bashrc of my users only",
        "env-not-seen-by-service",
    ),
]
CASES += [
    (HANDLE + "works with allow_growth = True", "gpu-memory-exhausted"),
    (HANDLE + "fixed by TF_FORCE_GPU_ALLOW_GROWTH=true", "gpu-memory-exhausted"),
    (CRASH + "works with XLA_PYTHON_CLIENT_PREALLOCATE=false", "gpu-memory-exhausted"),
    (CRASH + "XLA_PYTHON_CLIENT_MEM_FRACTION=.7 fixes it", "gpu-memory-exhausted"),
    (CRASH + "works with --mem-fraction-static 0.7", "gpu-memory-exhausted"),
    ("XLA compiler error\nworks with XLA_PYTHON_CLIENT_ALLOCATOR=platform", "gpu-memory-exhausted"),
    ("(RuntimeError) Failed to determine best cudnn convolution algorithm", "gpu-memory-exhausted"),
    ("NotFoundError: No algorithm worked!", "gpu-memory-exhausted"),
    (NO_GPU + "ray.get_gpu_ids() returns []", "scheduler-no-gpu-allocated"),
    (NO_GPU + "@ray.remote\ndef f(i): ...", "scheduler-no-gpu-allocated"),
    ("ray::f() (pid=3) RuntimeError: No CUDA GPUs are available", "scheduler-no-gpu-allocated"),
]
CASES += [
    ("the loss becomes NaN\ngone after changing cuDNN from 8.2.1 to 8.5", "known-bad-library-version"),
    (CRASH + "no crash after upgrading NCCL to 2.21.5", "known-bad-library-version"),
    ("convolutions return NaN\nupgrading TensorRT to 8.6.1 fixed it", "known-bad-library-version"),
    ("the outputs of both engines differ\nfixed after upgrading CUDA to 11.6", "known-bad-library-version"),
    ("the output is NaN\nthe image 22.04 gives right values", "known-bad-library-version"),
    ("wrong output of conv3d\ntorch 2.3.1 returns the correct results", "known-bad-library-version"),
    ("half precision gives NaN\nTensorRT 8.4.3 produces correct outputs", "known-bad-library-version"),
    ("inference is slower with cu126 than with cu118", "known-bad-library-version"),
    ("2 times as long with CUDA 12.1 as with CUDA 11.8", "known-bad-library-version"),
    ("cu128 is 30 % slower than cu124", "known-bad-library-version"),
    ("the first x.cuda() takes 4 minutes" + NVIDIA, "torch-missing-gpu-arch"),
    ("initial .to('cuda') took several minutes" + NVIDIA, "torch-missing-gpu-arch"),
    ("the first CUDA operation needs about 3 min" + NVIDIA, "torch-missing-gpu-arch"),
    (HIDDEN + "undefined reference to `ncclSend'", "gpu-libs-conflict"),
    (HIDDEN.replace("nccl", "cudnn") + "undefined reference to `cudnnCreate'", "gpu-libs-conflict"),
    (CPU_SESSION + "cudnn64_9.dll is only in torch/lib", "gpu-libs-not-found"),
    (CPU_SESSION + "libcublas.so.12 lies in site-packages/nvidia", "gpu-libs-not-found"),
    (CPU_SESSION + "no error is shown", "onnxruntime-gpu-mismatch"),
    (CUDNN_FAILS + "torch==1.4.0" + NVIDIA, "torch-missing-gpu-arch"),
    (CUDNN_FAILS + "torch==0.4.1\nGPU 0: Tesla T4", "torch-missing-gpu-arch"),
    (NO_HOME + "torch==2.7.0+rocm6.3", "rocm-path-broken"),
    (NO_HOME + "torch==2.7.0+cu128", "toolkit-torch-mismatch"),
    (PADDLE.format("21", "9.0", "9.0"), "library-missing-gpu-arch"),
    (PADDLE.format("8.6", "11.4", "10.2"), "library-missing-gpu-arch"),
    (PADDLE.format("12.0", "12.8", "11.8"), "library-missing-gpu-arch"),
    ('  specification is incompatible with that of previous function "cospi"', "host-compiler-unsupported"),
    (
        "error: declaration of 'void sincospi(double, double*, double*)' has a different exception specifier",
        "host-compiler-unsupported",
    ),
]
NEARLY = [
    ("the loss becomes NaN\nupgrading cuDNN to 8.5 does not help", "known-bad-library-version"),
    (NO_CUDNN + "fixed by upgrading cuDNN to 9.1", "known-bad-library-version"),
    ("works fine after upgrading NCCL to 2.21.5", "known-bad-library-version"),
    ("the output is NaN on the GPU; the CPU gives right values", "known-bad-library-version"),
    ("torch 2.3.1 returns the correct results", "known-bad-library-version"),
    ("cu126 and cu118 are equally fast", "known-bad-library-version"),
    ("the first x.cuda() takes 4 seconds" + NVIDIA, "torch-missing-gpu-arch"),
    ("the first call after torch.compile takes 4 minutes" + NVIDIA, "torch-missing-gpu-arch"),
    (HIDDEN + "[100%] Built target c10d", "gpu-libs-conflict"),
    ("cudnn64_9.dll is in torch/lib", "gpu-libs-not-found"),
    ("session.get_providers() is ['CPUExecutionProvider']", "onnxruntime-gpu-mismatch"),
    (HANDLE + "works with allow_growth = True", "tensorflow-gpu-mismatch"),
    (HANDLE + "works with allow_growth = True", "gpu-libs-conflict"),
    ("allow_growth = True works well for us", "gpu-memory-exhausted"),
    ("tensorflow==2.4.0\nNotFoundError: No algorithm worked!", "gpu-memory-exhausted"),
    (NO_GPU + "@ray.remote(num_gpus=1)\ndef f(i): ...", "scheduler-no-gpu-allocated"),
    ("@ray.remote\ndef f(i): return i", "scheduler-no-gpu-allocated"),
    (NO_GPU + "OS: Ubuntu (WSL2)\nray.get_gpu_ids() is []", "wsl-gpu-misconfigured"),
    ("cudaMalloc failed: bytes=4096\nCUDA driver is a stub library", "gpu-memory-exhausted"),
    (CRASH + "LD_LIBRARY_PATH=/usr/local/cuda/lib64 python train.py works", "gpu-libs-conflict"),
    (CRASH + 'LD_LIBRARY_PATH="" does not help', "gpu-libs-conflict"),
    (CRASH + "it does not work with LD_LIBRARY_PATH=''", "gpu-libs-conflict"),
    (CRASH + 'LD_LIBRARY_PATH="/usr/lib/wsl/lib/" helps', "gpu-libs-conflict"),
    (HIDDEN + "undefined reference to `curl_easy_init'", "gpu-libs-conflict"),
    ("the output is NaN\ntorch 2.3.1 does not give the right values", "known-bad-library-version"),
    ('the image works, LD_LIBRARY_PATH="" there', "gpu-libs-conflict"),
    ("import torch before import numpy: fine", "gpu-libs-conflict"),
    (NO_CUDNN + "works when torch is imported before onnxruntime", "gpu-libs-conflict"),
    (BNB_NONE + BNB_CPU + "cget_col_row_stats" + NVIDIA, "gpu-libs-not-found"),
    (BNB_CPU + "cget_col_row_stats" + NVIDIA, "extension-abi-mismatch"),
    ("the CPU library libbitsandbytes_cpu.so is loaded on this laptop", "gpu-libs-not-found"),
    ("LINK : fatal error LNK1181: cannot open input file 'cudart.lib'", "install-path-has-space"),
    ("README: choose a folder, spaces are fine", "install-path-has-space"),
    (CRASH + "import torch first and then import my_ext works", "gpu-libs-conflict"),
    ('nvcc at "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4"', "install-path-has-space"),
    (CPU_INDEX + "all tests pass on the laptop", "torch-cpu-only-build"),
    ("pip: not https://download.pytorch.org/whl/cpu\nthe GPU is not detected", "torch-cpu-only-build"),
    ("fatal error: THC/THC.h: No such file or directory", "torch-cpu-only-build"),
    (NO_KERNEL + "  x = torch.zeros(3).cuda()" + NVIDIA, "library-missing-gpu-arch"),
    (NCCL_TEST + TOOLKIT.format("11.1") + "libnccl-2.9.9-1+cuda11.3.x86_64", "gpu-libs-conflict"),
    (NCCL_TEST + TOOLKIT.format("10.2") + "libnccl2=2.9.8-1+cuda11.0 works", "gpu-libs-conflict"),
    (NCCL_TEST + "libnccl-2.9.9-1+cuda11.3.x86_64", "gpu-libs-conflict"),
    (TOOLKIT.format("10.1") + "libnccl-2.9.9-1+cuda11.3.x86_64 is installed", "gpu-libs-conflict"),
    (NVIDIA + "error code named symbol not found", "library-missing-gpu-arch"),
    (NVIDIA + "the service starts after nvidia-uvm is loaded", "nvidia-uvm-missing"),
    ("LD_LIBRARY_PATH is in the .bashrc of my users only, it works", "env-not-seen-by-service"),
    (CUDNN_FAILS + "torch==1.7.1" + NVIDIA, "torch-missing-gpu-arch"),
    (CUDNN_FAILS + "torch==1.0.0\nGPU 0: Tesla T4", "torch-missing-gpu-arch"),
    (CUDNN_FAILS + "torch==1.4.0\nGPU 0: Tesla V100-PCIE-16GB", "torch-missing-gpu-arch"),
    (CUDNN_FAILS + "torch==1.6.0a0+9907a3e.nv20.7" + NVIDIA, "torch-missing-gpu-arch"),
    (NO_HOME + "torch==2.7.0+rocm6.3", "toolkit-torch-mismatch"),
    (NO_HOME + "torch==2.7.0+rocm6.3" + NVIDIA, "rocm-path-broken"),
    (PADDLE.format("7.5", "11.4", "11.3"), "library-missing-gpu-arch"),
    (PADDLE.format("8.6", "12.4", "11.8"), "library-missing-gpu-arch"),
    (PADDLE.format("12.0", "12.8", "12.6"), "library-missing-gpu-arch"),
    ("error: declaration of 'void f(double)' has a different exception specifier", "host-compiler-unsupported"),
    ("rsqrt of a tensor differs between the CPU and the GPU", "host-compiler-unsupported"),
]


test_the_text_names_its_cause = names(CASES)
test_what_nearly_reads_so_does_not = names_not(NEARLY)


def test_a_release_that_works_accuses_none_where_an_emptied_variable_cures() -> None:
    text = CRASH + "torch 2.1.2 works\nwith LD_LIBRARY_PATH='' it works too"
    assert "known-bad-library-version" not in told(text)


def test_a_module_that_does_not_load_needs_the_package_for_the_gpu() -> None:
    line = "ImportError: cannot import name 'get_device' from 'onnxruntime.capi._pybind_state'"
    assert "onnxruntime-module-does-not-load" in keys(line)
    assert "onnxruntime-gpu-mismatch" not in told(line)


@pytest.mark.parametrize("text", ["ray::Job.run() (pid=3) RuntimeError: No CUDA GPUs are available", "@ray.remote"])
def test_the_list_that_ray_empties_is_no_second_cause(text: str) -> None:
    error = f"{NO_GPU}CUDA_VISIBLE_DEVICES is empty in the worker\n{text}\nclass Job: ...\n"
    assert raised(error) == ["scheduler-no-gpu-allocated"]


def test_a_list_that_the_user_set_beside_ray_is_told_too() -> None:
    error = f"{NO_GPU}@ray.remote\n$ env\nCUDA_VISIBLE_DEVICES=-1\n"
    assert {"scheduler-no-gpu-allocated", "visible-devices-conflict"} <= set(raised(error))


LD = "/usr/bin/ld: {}: undefined reference to `{}'\ncollect2: error: ld returned 1 exit status\n"
HIP, VMEM = "/opt/rocm/lib/libamdhip64.so.6.4.43482", "hsa_amd_vmem_map@ROCR_1"
NEEDED = "/usr/bin/ld: warning: libhsa-runtime64.so.1, needed by /opt/rocm/lib/libamdhip64.so, not found\n"

test_a_library_that_lacks_what_another_calls = names(
    [
        (LD.format(HIP, VMEM), "gpu-libs-conflict"),
        (LD.format("/opt/conda/lib/libcusparse.so.12", "__nvJitLinkAddData_12_1"), "gpu-libs-conflict"),
        (LD.format("/venv/torch/lib/libtorch_cuda.so", "ncclCommSplit"), "gpu-libs-conflict"),
    ]
)
test_what_the_linker_misses_otherwise = names_not(
    [
        (LD.format("main.o", "hipMalloc"), "gpu-libs-conflict"),
        (LD.format("build/libengine.so", "engine_start"), "gpu-libs-conflict"),
        (NEEDED + LD.format(HIP, VMEM), "gpu-libs-conflict"),
    ]
)


def test_the_linker_names_a_library_that_it_does_not_find() -> None:
    assert "gpu-library-needed-not-found" in keys(NEEDED)
    assert "gpu-library-lacks-what-another-calls" in keys(LD.format(HIP, VMEM).splitlines()[0])
