"""What is said of libraries in a line: each text is found as people write it, and not its near miss."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from tests.knowledge.texts import keys, told

EXAMPLES = {
    "jax-told": "the JAX wheel of conda-forge",
    "library-release-fails-told": "NCCL 2.21.5+cuda12.4: hangs in the third step",
    "library-release-passes-told": "cuDNN 9.5.1 (from pip): works",
    "nccl-goes-on-with-sockets": "host:71:90 [0] NCCL INFO NET/Socket : Using [0]eth0:172.18.0.2<0>",
    "verbs-adapter-told": "4x ConnectX-6 in the node",
    "nccl-without-ibverbs": "host:71:90 [0] NCCL INFO Failed to open libibverbs.so[.1]",
    "loader-cache-lacks-system-library": "ldconfig -p | grep rdmacm -> nothing",
    "loader-cache-lacks-gpu-library": "ldconfig -p | grep libcudnn: no output",
    "windows-gpu-dll-listed-as-missing": "cusparse64_12.dll => not found",
    "gpu-library-taken-from-toolkit-told": "libcublasLt.so.12 comes from /usr/local/cuda-12.2/lib64",
    "program-with-own-cuda-code": "the search with FAISS on the GPU fails",
    "release-leaves-out-gpu-generation": "the prebuilt wheel omits sm_70",
    "cuda-13-build-told": "llama-b7001-bin-ubuntu-cuda-13.1-x64.tar.gz",
    "cmake-cuda-architectures-told": "TORCH_CUDA_ARCH_LIST does not include 12.0",
    "tinycudann-without-cuda-torch": "or install PyTorch with the CUDA backend to detect it automatically.",
    "torch-without-cuda-told-in-build": "RuntimeError: PyTorch was not compiled with CUDA, the ops are skipped",
    "symbol-missing-in-libcuda-told": "libcuda.so.1: undefined symbol",
    "paddle-built-with-cudnn-8-or-newer": "paddle.version.show(): cuda: 11.7, cudnn: 8.4.1",
    "paddle-loads-an-old-cudnn": "W gpu_resources.cc:164] device: 0, cuDNN Version: 7.6.",
    "nix-told": "the flake.nix of the project",
    "libcuda-not-found-told": "ffmpeg cannot load libcuda.so.1",
    "nvenc-api-newer-than-driver": "the NVENC API 13.0 is newer than what the driver offers; 12.2 is required",
    "warp-entry-point-fails": "Warp CUDA error: Failed to get driver entry point 'cuCtxGetDevice' (CUDA error 1)",
    "library-takes-gpu-for-another": "sm_121 is dispatched to the sm100 kernels",
    "hopper-kernels-fail": "FlashMLA: CUDA error in the sparse decode kernel",
    "toolkit-release-required-by-build": "RuntimeError: CUDA 12.4 or higher is required for compute capability 8.9.",
    "build-file-knows-other-capabilities": "SUPPORTED_ARCHS of it only lists 8.0 and 9.0",
    "nvcc-default-architecture-told": "plain nvcc defaults to sm_52",
    "gpu-library-named-missing-dependency": "Missing dependency: libcusparse.so.12",
    "kernel-image-missing-in-own-source": "render.cu:71 no kernel image is available for execution on the device",
    "nvrtc-part-of-another-cuda": "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.",
    "companion-lacks-symbol-told": "undefined symbol when importing torchvision",
    "torch-replaced-told": "torch was upgraded to 2.9 in between",
    "jit-extension-absent": "torch_extensions/py310_cu121/fused/fused.so: cannot open shared object file",
    "torch-replaced-by-one-without-gpu": "the installer overwrites torch 2.8.0+cu129 with the CPU build",
    "part-of-another-release-loaded-told": "libcudnn of 9.1 finds libcudnn_ops of 9.5",
    "no-libcudart-of-the-major-sought": "RuntimeError: Unable to load any libcudart.so.* library",
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
    "program-with-own-cuda-code": "xgboost 2.1.4",
    "release-leaves-out-gpu-generation": "the wheel is built for sm_70 and sm_80",
    "cuda-13-build-told": "Driver Version: 580.95.05   CUDA Version: 13.0",
    "cmake-cuda-architectures-told": "-DCMAKE_CUDA_ARCHITECTURES=86",
    "tinycudann-without-cuda-torch": "Building PyTorch extension for tiny-cuda-nn version 2.0",
    "torch-without-cuda-told-in-build": "PyTorch was compiled with CUDA 12.6",
    "symbol-missing-in-libcuda-told": "libcuda.so.1 => /usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "paddle-built-with-cudnn-8-or-newer": "paddle.version.show(): cuda: 10.1, cudnn: 7.6.5",
    "paddle-loads-an-old-cudnn": "W gpu_resources.cc:164] device: 0, cuDNN Version: 9.1.",
    "nix-told": "a unix socket",
    "libcuda-not-found-told": "libcuda.so.1 => /lib64/libcuda.so.1",
    "nvenc-api-newer-than-driver": "hevc_nvenc runs at 300 fps",
    "warp-entry-point-fails": "Warp CUDA error: Failed to get driver entry point 'cuInit' (CUDA error 34)",
    "library-takes-gpu-for-another": "sm_121 is the capability of a GB10",
    "hopper-kernels-fail": "DeepGEMM warmup: 100%",
    "toolkit-release-required-by-build": "CUDA 12.4 or newer drivers are on all nodes",
    "build-file-knows-other-capabilities": "setup.py is of version 2.1",
    "nvcc-default-architecture-told": "nvcc -arch=sm_89 builds it",
    "gpu-library-named-missing-dependency": "Missing dependency: libsndfile.so.1",
    "kernel-image-missing-in-own-source": "aten/src/ATen/native/cuda/Copy.cu:300: no kernel image is available",
    "nvrtc-part-of-another-cuda": "nvrtc: error: failed to open libnvrtc-builtins.so.12.8.",
    "companion-lacks-symbol-told": "torchvision 0.20.1 is imported, and no symbol is undefined",
    "torch-replaced-told": "torch was built with CUDA 12.8",
    "jit-extension-absent": "Using /root/.cache/torch_extensions/py310_cu121 as PyTorch extensions root...",
    "torch-replaced-by-one-without-gpu": "torch 2.8.0 was replaced by torch 2.9.1+cu130",
    "part-of-another-release-loaded-told": "libcudnn of 9.1 is in the wheel",
    "no-libcudart-of-the-major-sought": "libcudart.so.13 is loaded",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", NEAR)
def test_the_near_miss_does_not(key: str) -> None:
    assert key not in keys(NEAR[key])


def test_of_two_releases_the_one_that_fails_is_known_to_be_bad() -> None:
    both = "NCCL 2.21.5+cuda12.4: hangs\nNCCL 2.23.4+cuda12.4: passes"
    assert "known-bad-library-version" in told(both)
    assert "known-bad-library-version" not in told(both.splitlines()[1])


def test_a_cudnn_that_is_older_than_what_xla_was_built_with_is_the_framework_s_that_is_told() -> None:
    line = "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0."
    assert told(f"the JAX program stops:\n{line}") == ["jax-plugin-mismatch"]
    assert told(line) == ["tensorflow-gpu-mismatch"]


def test_nccl_without_verbs_blames_the_library_and_not_the_device_s_name() -> None:
    log = "NCCL INFO Failed to open libibverbs.so[.1]\nNCCL INFO NET/IB : No device found.\nexport NCCL_IB_HCA=mlx5_2"
    assert told(log) == ["system-library-missing"]


def test_an_index_is_no_reason_for_a_device_that_is_not_found() -> None:
    report = judge(read_text([b"NCCL INFO NET/IB : No device found.\nexport NCCL_IB_GID_INDEX=3"]), Knowledge())
    assert not any("NCCL_IB_GID_INDEX" in finding.summary for finding in report.findings)


def test_a_compiler_of_another_cuda_may_be_told_as_the_host_s() -> None:
    text = "ninja: build stopped: subcommand failed.\ntorch 2.8.0+cu129\nhost nvcc: CUDA 13.0"
    assert "toolkit-torch-mismatch" in told(text)


NO_KERNEL = "no kernel image is available for execution on the device"


@pytest.mark.parametrize("line", ["hashcat:", "Faiss assertion failed in runL2Norm:", "Open3D:"])
def test_a_program_with_cuda_code_of_its_own_lacks_it_not_torch(line: str) -> None:
    assert told(f"{line} {NO_KERNEL}") == ["library-missing-gpu-arch"]


def test_a_library_in_the_list_of_packages_does_not_take_the_blame_from_torch() -> None:
    packages = "torch 2.4.0+cu121\nxgboost 2.1.4"
    assert told(f"{NO_KERNEL}\n$ pip list\nPackage    Version\n---------- -------\n{packages}") == [
        "torch-missing-gpu-arch"
    ]


@pytest.mark.parametrize(("arch", "named"), [("sm_61", True), ("sm_86", False)])
def test_a_build_with_cuda_13_has_no_code_for_what_is_older_than_turing(arch: str, named: bool) -> None:
    text = f"it runs on the CPU: llama-b7001-bin-win-cuda-13.1-x64.zip\ncompute capability: {arch}\nGPU: NVIDIA"
    assert ("library-missing-gpu-arch" in told(text)) is named


def test_a_generation_that_a_release_leaves_out_is_of_torch_where_torch_is_known() -> None:
    line = "Segmentation fault (core dumped)\nthe cu130 wheel drops Volta"
    assert "torch-missing-gpu-arch" in told(f"torch 2.9.1+cu130\n{line}")
    assert "library-missing-gpu-arch" in told(line)


def test_paddle_with_an_older_cudnn_than_its_own_finds_another_copy() -> None:
    both = "paddle.version.show(): cuda: 11.7, cudnn: 8.4.1\nW gpu_resources.cc:164] device: 0, cuDNN Version: 7.6."
    assert "gpu-libs-conflict" in told(both)
    assert "gpu-libs-conflict" not in told(both.splitlines()[1])


@pytest.mark.parametrize(("arch", "cause"), [("sm_89", "library-missing-gpu-arch"), ("sm_75", "gpu-libs-conflict")])
def test_a_toolkit_that_numba_finds_no_capability_in_may_be_older_than_the_gpu(arch: str, cause: str) -> None:
    text = f"NvvmSupportError: No supported GPU compute capabilities found.\nGPU: NVIDIA\ncompute capability: {arch}"
    assert cause in told(text)


@pytest.mark.parametrize("system", ["OS: NixOS", "in a nix-shell", "/nix/store/abc-python3"])
def test_nix_programs_that_miss_libcuda_lack_the_path_to_it(system: str) -> None:
    assert "gpu-libs-not-found" in told(f"{system}\ntorch does not find libcuda.so.1")


def test_a_driver_too_old_for_an_encoder_is_told_by_the_encoder() -> None:
    line = "[hevc_nvenc] Driver does not support the required nvenc API version. Required: 13.0 Found: 12.2"
    assert told(line) == ["nvidia-driver-too-old"]


def test_warp_that_asks_the_driver_wrongly_is_at_fault_itself() -> None:
    call = "Warp CUDA error 36: API call is not supported in the installed CUDA driver"
    assert told(call)[0] == "nvidia-driver-too-old"
    assert told(f"{EXAMPLES['warp-entry-point-fails']}\n{call}") == ["known-bad-library-version"]


def test_a_toolkit_that_a_build_asks_for_is_a_mismatch_before_all() -> None:
    assert told(EXAMPLES["toolkit-release-required-by-build"])[0] == "toolkit-torch-mismatch"


@pytest.mark.parametrize(("arch", "named"), [("sm_120", True), ("sm_90", False)])
def test_kernels_for_hopper_fail_on_other_gpus_for_want_of_code(arch: str, named: bool) -> None:
    text = f"DeepGEMM: CUDA error: illegal instruction\ncompute capability: {arch}\nGPU: NVIDIA"
    assert ("library-missing-gpu-arch" in told(text)) is named


@pytest.mark.parametrize("line", ["src/tracer.cu:135:", "what(): parallel_for failed:"])
def test_a_source_file_that_is_not_torch_s_lacks_kernels_itself(line: str) -> None:
    assert told(f"{line} {NO_KERNEL}") == ["library-missing-gpu-arch"]
    assert "torch-missing-gpu-arch" in told(f"torch 2.4.0+cu121\n{line} {NO_KERNEL}")


def test_a_part_of_nvrtc_from_another_cuda_than_torch_s_is_a_conflict() -> None:
    line = "nvrtc: failed to open libnvrtc-builtins.so.13.0"
    assert "gpu-libs-conflict" in told(f"torch 2.9.1+cu128\n{line}")
    assert "gpu-libs-conflict" not in told(f"torch 2.9.1+cu130\n{line}")


def test_a_symbol_that_a_companion_of_torch_lacks_is_told_without_its_name() -> None:
    mangled = "ImportError: _torch_sox.cpython-36m-x86_64-linux-gnu.so: undefined symbol: _ZN2at10is_enabledEv"
    assert told(mangled) == ["torch-companion-mismatch"]
    assert told("undefined symbol at import torchvision") == ["torch-companion-mismatch"]


def test_an_extension_built_on_the_fly_is_of_another_torch_where_torch_was_replaced() -> None:
    both = f"{EXAMPLES['jit-extension-absent']}\n{EXAMPLES['torch-replaced-told']}"
    assert told(both) == ["extension-abi-mismatch"]


def test_a_torch_that_was_replaced_is_not_the_one_that_is_there() -> None:
    line = "torch 2.10.0+cu130 is replaced by torch 2.9.1 without CUDA"
    assert read_text([line.encode()]).torch.build is None
    assert told(f"GPU: NVIDIA GeForce RTX 3050\n{line}") == ["torch-cpu-only-build"]
    assert read_text([b"torch 2.10.0+cu130 is there"]).torch.build == "cuda"


@pytest.mark.parametrize(
    ("release", "cause"), [("1.19.0", "known-bad-library-version"), ("1.18.0", "gpu-libs-not-found")]
)
def test_a_cudnn_frontend_that_seeks_only_cuda_13_is_at_fault(release: str, cause: str) -> None:
    assert cause in told(f"nvidia-cudnn-frontend=={release}\n{EXAMPLES['no-libcudart-of-the-major-sought']}")


def test_xformers_without_cuda_code_says_nothing_of_hopper() -> None:
    line = "requires device with capability > (9, 0) but your GPU has capability (8, 6) (too old)"
    assert told(line) == ["library-missing-gpu-arch"]
    assert told(f"xFormers wasn't build with CUDA support\n{line}") == ["extension-abi-mismatch"]
