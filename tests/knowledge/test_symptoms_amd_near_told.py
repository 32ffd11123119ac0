"""What tells a cause on AMD's machines from the one that comes to mind first: each with what nearly says it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised

AGENT = (
    "$ rocminfo\n  Name:                    {}\n  Marketing Name:          {}\n  Vendor Name: AMD\n  Device Type: GPU\n"
)
VEGA = AGENT.format("gfx900", "Radeon RX Vega 64")
NAVI = AGENT.format("gfx1030", "AMD Radeon RX 6800")
STRIX = AGENT.format("gfx1151", "AMD Radeon 8060S")
INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n```\n"
FAULT = "Memory access fault by GPU node-2 (Agent handle: 0x5) on address 0x7f. Reason: Page not present\n"
NO_RESOURCES = (
    "hsa api call failure at: rocminfo.cc:1102\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed\n"
)
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system.\n"
LOADS = "OSError: {}: cannot open shared object file: No such file or directory\n"
JAX = "Jax plugin configuration error: Exception when calling jax_plugins.xla_rocm60.initialize()\n"
ROCM = "System:\n```\nROCm version: {}\n```\n"
BOTH = (
    "Topology: Add APU node [0x0:0x0]\n[drm] initializing kernel modesetting ({} 0x1002:0x7300 0x1002:0x0B36 0xC9).\n"
)
TENSORFLOW = "tensorflow-gpu-mismatch"
PATH, LIBRARY, SPACE = "rocm-path-broken", "system-library-missing", "install-path-has-space"
NOT_LOADED, UNSUPPORTED = "amdgpu-driver-not-loaded", "amd-gpu-unsupported-by-rocm"
INTEGRATED, COMPANION = "integrated-gpu-conflict", "torch-companion-mismatch"
VENDOR, NVIDIA, NODES = "torch-built-for-other-vendor", "nvidia-driver-not-loaded", "device-node-permission"
RENDER = "container-render-group-mismatch"
KERNEL = "amdgpu-kernel-or-os-unsupported"
CASES = [
    (VEGA + "INTERNAL: bitcode module not found at ./opencl.bc", PATH),
    (NAVI + "bitcode module is required by this HLO module but was not found at ./ocml.bc", PATH),
    (NAVI + "libdevice is required by this HLO module but was not found at ./oclc_abi_version_500.bc", PATH),
    (VEGA + "Internal: unable to find ld.lld in PATH: No such file or directory", PATH),
    (NAVI + "FileNotFoundError: [Errno 2] No such file or directory: 'ld.lld'", PATH),
    (NAVI + "FlyDSL: lld invocation failed", PATH),
    (NAVI + "sh: 1: clang-offload-bundler: not found", PATH),
    (VEGA + "File torchaudio/_extension/utils.py\n" + LOADS.format("libc10_cuda.so"), COMPANION),
    (NAVI + "import torchvision\n" + LOADS.format("libtorch_cuda.so"), COMPANION),
    (VEGA + "failed in torchvision/extension.py\n" + LOADS.format("libc10_cuda.so"), COMPANION),
    (JAX + "failed to find libsuitesparseconfig.so.4", LIBRARY),
    (NAVI + "Segmentation fault\ncould not load library libmsgpackc.so.2", LIBRARY),
    (NAVI + "RuntimeError: cannot find 'libhwloc.so.15'\ncore dumped", LIBRARY),
    (NAVI + "torch.cuda.is_available() returns False\nlibnuma1 is not installed", LIBRARY),
    (NAVI + "torch.cuda.is_available() returns False\nthe image lacks libnuma1", LIBRARY),
    (VEGA + "rocminfo fails\nRuntimeError: No HIP GPUs are available\nlibelf1 was not in the image", LIBRARY),
    (STRIX + ROCM.format("7.1.0") + "segfault on hipMalloc with ROCm 6.4.1 and 7.1.0", UNSUPPORTED),
    (STRIX + ROCM.format("7.0.2") + "hipGetDeviceCount segfaults; ROCm 7.13 runs", UNSUPPORTED),
    (FAULT + "ROCm version: 7.0\nDevice 0: Radeon RX 7800 XT\nDevice 1: Raphael", INTEGRATED),
    (FAULT + "ROCm version: 6.4\nRadeon RX 9070 and 1002:13c0 in lspci", INTEGRATED),
    (NAVI + "HIP error: invalid device function\n07:00.0 Granite Ridge [Radeon Graphics]\nRX 6800", INTEGRATED),
    (NAVI + 'the test prints nothing when it lies in the folder "run 1"; in "run" it prints', SPACE),
    (NAVI + "in a directory named 'my models' it stopped working, in 'models' it works", SPACE),
    (NAVI + "the disk `New Volume` : every HIP program fails there", SPACE),
    (NO_DRIVER + "D:\\ai\\comfyui-rocm-0726\\python_env\\python.exe", VENDOR),
    (NO_DRIVER + "/home/me/stable-diffusion-webui-rocm/venv/bin/python", VENDOR),
    (NO_DRIVER + "/data/rocm-forge/launch.py", VENDOR),
    (VEGA + "$ dmesg\n[    2.7] amdgpu: Unknown symbol amd_iommu_bind_pasid (err 0)", NOT_LOADED),
    (VEGA + "$ dmesg\n[    7.6] amdgpu: Unknown symbol amd_iommu_free_device (err -2)", NOT_LOADED),
    (VEGA + "$ dmesg\n[    7.6] amdgpu: Unknown symbol amd_iommu_free_device (err -2)", KERNEL),
    ("ROCm version: 1.7\n/dev/kfd no longer exists", NOT_LOADED),
    ("ROCm version: 6.2\nsince the upgrade /dev/kfd is gone", NOT_LOADED),
    ("ROCm version: 5.7\n/dev/kfd has disappeared", NOT_LOADED),
    ("ROCm version: 1.7\nmodprobe amdkfd: exec error", NOT_LOADED),
    ("ROCm version: 5.7\na modprobe of amdgpu fails", NOT_LOADED),
    (NO_RESOURCES + "CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics", UNSUPPORTED),
    (NO_RESOURCES + "laptop, Ryzen 7 2700U with Radeon Vega Mobile Gfx", UNSUPPORTED),
    (NO_RESOURCES + "GPU: Raven Ridge", UNSUPPORTED),
    (
        INSIDE + NAVI + "$ docker run --device=/dev/kfd --device=/dev/dri\nrocminfo: Permission denied for /dev/kfd",
        RENDER,
    ),
    ("tensorflow-rocm 1.13.4 and 1.14.0: import fails with ROCm 2.5", TENSORFLOW),
    ("tensorflow-rocm 2.2.0 fails to import after the upgrade to ROCm 3.5", TENSORFLOW),
    ("importing tensorflow 2.0 fails under ROCm 2.6", TENSORFLOW),
    (NO_RESOURCES + "as root there is no problem", NODES),
    (NO_RESOURCES + "with sudo no error", NODES),
    (NO_RESOURCES + "the error is gone with sudo", NODES),
    ("rocminfo segfaults\n$ dmesg\n" + BOTH.format("FIJI"), INTEGRATED),
    ("Segmentation fault in rocminfo\n$ dmesg\n" + BOTH.format("VEGA20"), INTEGRATED),
    ("rocminfo: core dumped\nROCm 1.9, APU with an R9 Fury as discrete card", INTEGRATED),
    ("ROCm version: 2.0\nrocminfo crashes\nan APU and a dedicated GPU", INTEGRATED),
    (NAVI + "amdclang++\nJohn: binary 'John' not prefixed by 'amd'.", SPACE),
    (NAVI + "binary 'Anna' not prefixed by 'amd'", SPACE),
    (NAVI + "gcc: command not found\nC:\\Users\\Jo Doe\\venv\\Scripts\\python.exe", SPACE),
    ("rock-dkms 2.9 does not build\nKernel: 5.3.0-23-generic", KERNEL),
    ("rock-dkms installation ends with exit status 10", KERNEL),
    ("ROCm version: 5.0\namdgpu-dkms: will not compile for 5.13", KERNEL),
    (NAVI + "a HIP program does not run from /mnt/New Volume/build, from /tmp/build it runs", SPACE),
    (NAVI + "it fails in /home/me/my code/x; in /home/me/code/x it works", SPACE),
]
NEARLY = [
    (NAVI + "bitcode module /opt/rocm/amdgcn/bitcode/opencl.bc was linked", PATH),
    ("GPU 0: NVIDIA A100\nld.lld: not found", PATH),
    (NAVI + "clang -fuse-ld=ld.lld, all tests pass", PATH),
    (NAVI + "Warning: ld.lld was not found, compilation functionality will be unavailable.", PATH),
    (VEGA + "File torchaudio/_extension/utils.py\n" + LOADS.format("libsox.so"), COMPANION),
    (VEGA + "import my_ops\n" + LOADS.format("libc10_cuda.so"), COMPANION),
    (NAVI + "NCCL INFO NET/Plugin: Could not find: librccl-net.so. Using internal network plugin.\nhangs", LIBRARY),
    (NAVI + "warning: could not load libmsgpackc.so.2\nCUDA error", LIBRARY),
    (NAVI + "torch.cuda.is_available() returns False\nnumactl is installed", LIBRARY),
    (NAVI + "libnuma1 is not installed\nall works", LIBRARY),
    ("# Can't find libmcwamp.so.3\nImportError: libmcwamp.so.3: cannot open shared object file", LIBRARY),
    (NAVI + ROCM.format("6.2") + "segfault on hipMalloc", UNSUPPORTED),
    (FAULT + "ROCm version: 7.0\nRadeon RX 7800 XT\nCPU: Ryzen 7 7700", INTEGRATED),
    ("ROCm version: 7.0\nRadeon RX 7800 XT\nRaphael drives the display, all works", INTEGRATED),
    (NAVI + 'the folder "run 1" holds the results; the training fails with out of memory', SPACE),
    (NAVI + "the directory 'models' is empty, loading fails", SPACE),
    (NO_DRIVER + "/home/me/comfyui/main.py", VENDOR),
    (NO_DRIVER + "D:\\ai\\comfyui-rocm-0726\\python_env\\python.exe", NVIDIA),
    (INSIDE + "ROCm version: 6.2\n/dev/kfd is gone", NOT_LOADED),
    (VEGA + "modprobe amdgpu: done", NOT_LOADED),
    (NO_RESOURCES + "CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics\nRadeon RX 580, RX 5700", UNSUPPORTED),
    ("CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics\nrocminfo lists gfx902, all works", UNSUPPORTED),
    (
        NO_RESOURCES
        + "$ id\nuid=1000(a) gid=1000(a) groups=1000(a),44(video)\nAMD Ryzen 5 3400G with Radeon Vega Graphics",
        NODES,
    ),
    ("tensorflow-rocm 2.4.1: training fails with ROCm 4.0", TENSORFLOW),
    (NO_RESOURCES + "as root the same error", INTEGRATED),
    ("out of memory\nwith sudo no error", NODES),
    ("rocminfo segfaults\n$ dmesg\n" + BOTH.format("RAVEN"), INTEGRATED),
    ("rocminfo lists both\n$ dmesg\n" + BOTH.format("FIJI"), INTEGRATED),
    ("ROCm version: 6.0\nan APU and a dedicated GPU, all works", INTEGRATED),
    (NAVI + "binary 'clang' not prefixed by 'amd'.", SPACE),
    (NAVI + "out of memory\nC:\\Users\\Jo Doe\\venv\\Scripts\\python.exe", SPACE),
    ("rock-dkms is installed; the build of my program ends with exit status 2", KERNEL),
    ("if rock-dkms does not build, take an older kernel", KERNEL),
    (NAVI + "it fails in /home/me/code/x; in /home/me/y it works", SPACE),
]


test_it_is_named = names(CASES)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_name_that_is_not_known_says_nothing_of_the_node() -> None:
    """rocminfo says so wherever it has no terminal."""
    assert "kfd-open-permission" not in keys("Failed to get user name to check for video group membership")
    assert "kfd-open-permission" in keys("Unable to open /dev/kfd read-write: Permission denied")


@pytest.mark.parametrize("gfx", ["gfx1032", "gfx1010"])
def test_who_may_not_open_the_node_is_not_told_of_the_gpu(gfx: str) -> None:
    text = AGENT.format(gfx, "Radeon") + "the log shows only the CPU\nopen /dev/kfd: permission denied"
    assert UNSUPPORTED not in raised(text)


def test_an_image_that_lacks_a_package_was_given_the_gpu_for_all_that_words_say() -> None:
    text = INSIDE + NAVI + "torch.cuda.is_available() returns False\nlibnuma1 is not installed in the image"
    assert raised(text) == [LIBRARY]
