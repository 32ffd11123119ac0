"""Programs of users on AMD's GPUs, and what stands near to their texts."""

# ruff: noqa: E501

from __future__ import annotations

from doctor.intake import read_text
from tests.knowledge.texts import keys, names, names_not

CARD = "GPU: AMD Radeon RX 6700 XT\n"
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
PACK = "$ docker run -it {} --ipc=host -p 8188:8188 me/comfyui\n"
AMD_NODES = "--device=/dev/kfd --device=/dev/dri"
OLD = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    gfx803\n  Marketing Name:          Radeon RX 570\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
NEW = OLD.replace("gfx803", "gfx1100").replace("RX 570", "RX 7900 XT")
NO_KERNEL = "Error output:\nRuntimeError: {} error: no kernel image is available for execution on the device\n"
SPACED = "/mnt/My Disk/sd/venv/lib/python3.11/site-packages/torch/nn/functional.py\n"

test_named = names(
    [
        (
            f"clinfo: Number of platforms 0, no OpenCL devices\nsudo clinfo lists the card\n{CARD}",
            "device-node-permission",
        ),
        (f"[opencl_init] no opencl platform available\nas root it works\n{CARD}", "device-node-permission"),
        (f"ocl.getPlatformIDs returned error=-1001\nonly works with sudo\n{CARD}", "device-node-permission"),
        (f"ATTENTION! No OpenCL, Metal, HIP or CUDA installation found.\n{CARD}", "gpu-libs-not-found"),
        (
            f"Failed to initialize the AMD main driver HIP runtime library. Please install the AMD HIP SDK.\nclGetPlatformIDs(): CL_PLATFORM_NOT_FOUND_KHR\n{CARD}",
            "gpu-libs-not-found",
        ),
        ("* Device #1: Unusable HIP include-path! (spaces detected)\n", "install-path-has-space"),
        (f"Error output:\nROCk module is NOT live, possibly no GPU devices\n{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"Cannot find CO in the bundle /venv/torch/lib/libtorch_hip.so for ISA: amdgcn-amd-amdhsa--gfx1100\n{NEW}",
            "torch-missing-gpu-arch",
        ),
        (
            f"Cannot find CO in the bundle /opt/app/libggml-hip.so for ISA: amdgcn-amd-amdhsa--gfx1100\n{NEW}",
            "library-missing-gpu-arch",
        ),
        (f"Missing CO for these ISAs - \n./app: aborted\n{NEW}", "library-missing-gpu-arch"),
        (f"Agent creation failed.\nThe GPU node has an unrecognized id.\n{CARD}", "amd-gpu-unsupported-by-rocm"),
        (f"device ID 0x7550 is not supported in libhsakmt\n{CARD}", "amd-gpu-unsupported-by-rocm"),
        (f"ollama as a service uses the CPU; started by root it uses the GPU\n{CARD}", "device-node-permission"),
        (f"KFD is not installed\n{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"Container:\nrunning inside a container: yes\ncontainer engine: apptainer\nOther output:\ntorch sees no GPU\n/dev/kfd is owned by gid 105, my groups are 1000\n{CARD}",
            "container-render-group-mismatch",
        ),
        (f"/dev/kfd belongs to group 993, which I am not in\ntorch sees no GPU\n{CARD}", "device-node-permission"),
        (
            f"rocBLAS error: Could not load /opt/rocm-6.0.0/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat\nPackages:\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.2.0+rocm5.7\n{CARD}",
            "gpu-libs-conflict",
        ),
        (f"Error output:\nhipInit(): 101\n{OLD}", "amd-gpu-unsupported-by-rocm"),
        (f"Error output:\nhipInit(): no ROCm-capable device is detected\n{OLD}", "amd-gpu-unsupported-by-rocm"),
        (f"Error output:\nRuntimeError: No HIP GPUs are available\n{OLD}", "amd-gpu-unsupported-by-rocm"),
        ("Error output:\nhipErrorNoDevice\nthe card is a Radeon R9 Nano\n", "amd-gpu-unsupported-by-rocm"),
        ("Error output:\nhipErrorNoDevice\nGPU: Radeon RX Vega M GH\n", "amd-gpu-unsupported-by-rocm"),
        (
            f"Error output:\nROCR: unsupported GPU\nOS: Ubuntu 22.04 (WSL2)\n{CARD}",
            "amd-gpu-unsupported-by-rocm",
        ),
        (f"{NO_DRIVER}{PACK.format(AMD_NODES)}", "torch-built-for-other-vendor"),
        (
            "ImportError: roctx not supported for Python version 3.14 (sys.executable='/usr/bin/python3').\n",
            "python-version-unsupported",
        ),
        ("ImportError: migraphx is not available for Python 3.13\n", "python-version-unsupported"),
        ("RuntimeError: Python 3.14 is not supported by this build of the SDK\n", "python-version-unsupported"),
        ("2x Radeon VII\nthe p2p test of rocm-bandwidth-test crashes\n", "pcie-p2p-unusable"),
        ("4x AMD Instinct MI25\nsimpleP2P sample fails\n", "pcie-p2p-unusable"),
        (
            "./build.sh: line 12: cd: /home/me/My: No such file or directory\n$ pwd\n/home/me/My Projects/llama.cpp/build\n",
            "install-path-has-space",
        ),
        (
            "hip: line 3: cd: /home/me/git/Set: No such file or directory\n~/git/Set One/code $ make\n",
            "install-path-has-space",
        ),
        ("clang++: error: no such file or directory: 'Files/AMD/ROCm/6.2''\n", "install-path-has-space"),
        (f"{NO_KERNEL.format('HIP')}{CARD}{SPACED}", "install-path-has-space"),
        (
            f"HIP hipInit: Invalid device\non the latest kernel the card is detected\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
        (
            f"torch.cuda.is_available() -> False\nwith a newer kernel it finds the card\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
    ]
)

test_not_named = names_not(
    [
        (
            f"Cannot find CO in the bundle /venv/torch/lib/libtorch_hip.so for ISA: amdgcn-amd-amdhsa--gfx1100\n{NEW}",
            "library-missing-gpu-arch",
        ),
        (f"/dev/kfd belongs to group 993, and torch has its GPU\n{CARD}", "device-node-permission"),
        (f"the service is started by root and finds both cards\n{CARD}", "device-node-permission"),
        (f"KFD is not installed\nContainer:\nrunning inside a container: yes\n{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"rocBLAS error: Could not load /opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat\nPackages:\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.7.1+rocm7.0.0.git698b58a9\n{CARD}",
            "gpu-libs-conflict",
        ),
        # a mention, and a remedy of another place
        (
            f"Failed to initialize the AMD main driver HIP runtime library.\n* Device #1: AMD Radeon RX 6700 XT, 12272 MB, 20MCU\nStatus: Running\n{CARD}",
            "gpu-libs-not-found",
        ),
        (f"clGetPlatformIDs(): CL_PLATFORM_NOT_FOUND_KHR\nsudo hashcat finds the card\n{CARD}", "gpu-libs-not-found"),
        (f"no opencl platform available\n{CARD}", "device-node-permission"),
        (
            f"Error output:\nhipInit(): 101\nUnable to open /dev/kfd read-write: Permission denied\n{NEW}",
            "amd-gpu-unsupported-by-rocm",
        ),
        (f"Error output:\nhipInit(): 101\nsudo rocminfo lists the card\n{OLD}", "amd-gpu-unsupported-by-rocm"),
        (f"{NO_DRIVER}{PACK.format(AMD_NODES)}", "container-missing-gpu-passthrough"),
        (f"{NO_DRIVER}{PACK.format(AMD_NODES)}", "container-render-group-mismatch"),
        (f"{NO_DRIVER}{PACK.format(AMD_NODES)}", "nvidia-driver-not-loaded"),
        (f"{NO_DRIVER}{PACK.format('-v models:/models')}", "torch-built-for-other-vendor"),
        ("supported python versions: 3.10, 3.11, 3.12\n", "python-version-unsupported"),
        ("2x Radeon VII\nthe p2p test does not fail\n", "pcie-p2p-unusable"),
        (
            "GPU 0: NVIDIA H100 NVL\nP2P test on GPU 1 to GPU 0 failed. Bandwidth 256 is less than 335\n",
            "pcie-p2p-unusable",
        ),
        ("2x Radeon VII\nthe peer-to-peer samples pass\n", "pcie-p2p-unusable"),
        ("./build.sh: line 12: cd: /home/me/build: No such file or directory\n", "install-path-has-space"),
        (f"{NO_KERNEL.format('HIP')}{CARD}{SPACED}", "torch-missing-gpu-arch"),
        (f"{NO_KERNEL.format('CUDA')}GPU 0: NVIDIA GeForce GTX 770\n{SPACED}", "install-path-has-space"),
        (
            "ImportError: librocm_smi64.so.1: cannot open shared object file: No such file or directory\nfrom torch._C import *\n",
            "jax-plugin-mismatch",
        ),
        (
            "julia/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /opt/rocm/lib/librocfft.so)\n",
            "rocm-path-broken",
        ),
        (
            "WSL environment detected.\nImportError: env/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by env/torch/lib/libhsa-runtime64.so)\n",
            "wsl-gpu-misconfigured",
        ),
        (
            "ImportError: env/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by env/torch/lib/libhsa-runtime64.so)\n",
            "system-library-missing",
        ),
        (
            "[ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_migraphx.so with error: undefined symbol: rocblas_create_handle\n",
            "gpu-libs-conflict",
        ),
    ]
)


def test_a_kernel_that_is_there_has_cured_nothing() -> None:
    assert "newer-kernel-works" in keys("on the latest kernel the card is detected")
    assert "newer-kernel-works" not in keys("the latest kernel is installed, and the card is not detected")


def test_an_iommu_that_is_off_is_a_fact() -> None:
    """What is told of a remedy is not."""

    def told(line: str) -> str | None:
        return read_text([f"Other output:\n{line}\n".encode()]).host.iommu

    assert told("IOMMU disabled in BIOS and grub") == "off"
    assert told("P2P is on, IOMMU is off") == "off"
    assert told("it works with IOMMU disabled") is None
    assert told("try again with the IOMMU off") is None
    assert told("the IOMMU is not disabled") is None


FAT = "python: /src/clr/hipamd/src/hip_code_object.cpp:762: hip::FatBinaryInfo** hip::StatCO::addFatBinary(const void*, bool): Assertion `err == hipSuccess' failed.\n"
OTHER = "app: /src/clr/hipamd/src/hip_code_object.cpp:120: void hip::f(int): Assertion `handle != nullptr' failed.\n"

test_a_library_without_code_for_the_gpu = names([(FAT + NEW, "library-missing-gpu-arch")], first=True)
test_no_fault_of_the_runtime = names_not(
    [(FAT + NEW, "known-bad-library-version"), (OTHER + NEW, "library-missing-gpu-arch")]
)
test_another_assertion_is_one = names([(OTHER + NEW, "known-bad-library-version")])
