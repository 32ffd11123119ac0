"""What people with AMD's GPUs tell is found in their words, and names the cause of a whole text."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import SYMPTOMS, raised

EXAMPLES = {
    "rocm-wanted-told": "pip install torch --index-url https://download.pytorch.org/whl/rocm6.4",
    "gpu-library-without-torch-told": "hashcat -b gives nothing",
    "engine-in-vm-told": "Docker Desktop 4.30",
    "gfx-override-told": "I set HSA_OVERRIDE_GFX_VERSION to 10.3.0 in the shell",
    "own-target-beside-override": "cmake -DAMDGPU_TARGETS=gfx1031 -DGGML_HIP=ON",
    "gpu-tool-of-root-alone-told": "rocminfo fails for me, but as root it works",
    "in-container-told": "it is started inside the container",
    "prompt-of-container": "root@7c2e91d0ab34:/workspace# rocminfo",
    "kfd-group-not-mine-told": "/dev/kfd is owned by group render",
    "kernel-regression-told": "good on 6.11.4, bad on 6.12.1",
    "fault-absent-in-other-release": "The crash does not occur with ROCm 6.3",
    "p2p-told-to-hang": "direct P2P between the cards freezes the box",
    "rocblas-lacks-gpu-of-cpu": "rocBLAS error: Cannot read /x/TensileLibrary.dat: No such file or directory for GPU arch : gfx1036",
    "torch-and-rocm-told-to-differ": "there is a mismatch between torch and the ROCm of the host",
    "igpu-beside-cards-told": "the box has two cards and an iGPU",
    "ollama-no-rocm-library": 'level=WARN msg="unable to verify rocm library: no suitable rocm found, falling back to CPU"',
    "ollama-target-without-rocblas": 'level=WARN msg="dropping ROCm device — no rocblas support for gfx target" gfx_target=gfx1034',
    "ollama-amd-driver-too-old": 'msg="AMD driver is too old. Update your AMD driver to enable GPU inference."',
    "ollama-kfd-not-loaded": "kfd driver not loaded.  If running in a container, remember to include '--device /dev/kfd --device /dev/dri'",
    "support-for-target-asked": "Are there any plans to add support for gfx1035?",
    "radeon-before-vega-told": "Ubuntu 24.04, Radeon RX 470",
    "memory-ran-out-told": "a 13B model runs out of memory",
    "newer-kernel-works": "with the HWE kernel it works",
    "rocm-libraries-mixed-told": "the wheel's ROCm and the one of the system are being mixed",
    "older-release-cures-told": "Downgrading HIP to 6.1 solved it for me",
    "ck-not-written-for-target": "csrc/composable_kernel/include/ck_tile/core/x.hpp:66:19: error: static assertion failed due to "
    "requirement 'a': wrong! not implemented",
    "amdgpu-dkms-said-to-fail": "DKMS does not build for 6.15",
    "kfd-absent-told": "the kfd device is not present on that node",
    "flatpak-without-hip": "I use the Flatpak of Blender",
    "gpu-dll-named": "it loads hipblas at start",
    "dll-or-its-dependency-missing": "FileNotFoundError: Could not find module 'D:\\\\a\\\\whisper_hip.dll' (or one of its dependencies). "
    "Try using the full path with constructor syntax.",
    "rocm-dll-told-missing": "The code execution cannot proceed because rocblas.dll was not found.",
    "other-copy-of-gpu-library-wins-told": "it loads the older amdhip64_6.dll of System32",
    "kfd-not-given-to-container-told": "The template of the app is missing /dev/kfd",
    "code-for-listed-amd-gpus-only-told": "this kernel is only built for gfx942",
    "works-in-any-container-not-on-host": "it works in podman but it does not see the GPU on the host",
    "atomic-op-packet-refused": "pcieport 0000:00:1d.0:   TLP Header: 0x4c000001 0x0500000f 0xfe600000 0x00000001",
    "library-of-host-fails-in-apptainer": "ImportError: libc.so.6: version `GLIBC_2.38' not found (required by /.singularity.d/libs/libdrm.so.2)",
    "crash-with-libraries-of-host": "singularity exec --rocm img.sif python train.py",
    "lm-studio-survey-finds-none": "ROCm llama.cpp v2.1 - Engine Not Compatible",
    "generation-newer-than-rocm-told": "RDNA 4 card with ROCm 6.2",
    "amd-device-plugin-told": "Allocatable: amd.com/gpu: 0",
    "gfx-override-told-to-be-needed": "it fails on my laptop unless I set HSA_OVERRIDE_GFX_VERSION=10.3.0",
    "apu-carve-out-told": "with dynamic VRAM in the BIOS it is the same",
    "ctranslate2-on-amd-told": "faster-whisper never uses my Radeon",
    "breaks-after-other-package-told": "once torchvision is installed the engine breaks",
    "triton-of-torch-not-offered": "ERROR: No matching distribution found for pytorch-triton-rocm==3.1.0 (from torch)",
    "works-with-secure-boot-off-told": "I switched off Secure Boot and now it works",
    "card-does-not-initialise-told": "the GPU fails to initialize in the guest",
    "amdsmi-module-missing": "NameError: name 'amdsmi' is not defined",
}
NOTHING = {
    "gfx-override-told": "without HSA_OVERRIDE_GFX_VERSION it is the same",
    "own-target-beside-override": "cmake -DAMDGPU_TARGETS=gfx1030",
    "gpu-tool-of-root-alone-told": "rocminfo lists both cards",
    "kernel-regression-told": "Linux 6.8.0-45-generic",
    "fault-absent-in-other-release": "this happens on torch 2.9",
    "p2p-told-to-hang": "node:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC hang",
    "rocblas-lacks-gpu-of-cpu": "TensileLibrary_lazy_gfx1030.dat",
    "kfd-group-not-mine-told": "ls /dev/kfd",
    "prompt-of-container": "root@workstation01:/workspace# rocminfo",
    "rocm-package-unmet-dependencies": "I ran amdgpu-install --usecase=rocm and get the following error",
    "known-amdgpu-dkms-build-failed": "amdgpu-dkms 6.14 is in, HSA_STATUS_ERROR_OUT_OF_RESOURCES is what rocminfo says",
    "rocm-gpu-unsupported": "Attempting to run flash attention on unsupported GPU architecture gfx1151",
    "support-for-target-asked": "rocminfo shows gfx1100",
    "radeon-before-vega-told": "RX 5500 XT and RX 5700",
    "apu-carve-out-told": "24 GB of VRAM, BIOS 1.20",
    "newer-kernel-works": "kernel 6.8.0-45-generic",
    "rocm-libraries-mixed-told": "mixed precision is on",
    "older-release-cures-told": "reverting to kernel 6.6 solves it",
    "ck-not-written-for-target": "-- Found composable_kernel",
    "amdgpu-dkms-said-to-fail": "dkms status: amdgpu/6.8.5: installed",
    "kfd-absent-told": "/dev/kfd is owned by root",
    "nvcc-not-found": "get_nvcc_path: note: nvcc not found on $PATH",
    "engine-with-own-kernels": "[pip3] onnxruntime==1.23.0",
    "dll-or-its-dependency-missing": "Could not find module 'D:\\\\a\\\\sqlite3.dll' (or one of its dependencies).",
    "rocm-dll-told-missing": "hipblas.dll lies beside the program",
    "other-copy-of-gpu-library-wins-told": "copying hipblas.dll beside it, win-rocm-7.1",
    "kfd-not-given-to-container-told": "docker run --device /dev/kfd --device /dev/dri image",
    "code-for-listed-amd-gpus-only-told": "the wheel is only available for Linux",
    "works-in-any-container-not-on-host": "it works in docker and on the host",
    "atomic-op-packet-refused": "pcieport 0000:00:1d.0:   TLP Header: 40000001 0000000f fe600000 00000001",
    "library-of-host-fails-in-apptainer": "LD_LIBRARY_PATH=/.singularity.d/libs",
    "crash-with-libraries-of-host": "singularity exec --nv img.sif python train.py",
    "ctranslate2-on-amd-told": "ctranslate2: undefined symbol in the Radeon's runtime",
    "breaks-after-other-package-told": "torchvision is installed",
    "triton-of-torch-not-offered": "Successfully installed pytorch-triton-rocm==3.1.0",
    "works-with-secure-boot-off-told": "Secure Boot is disabled",
    "card-does-not-initialise-told": "the GPU is initialized in 2 s",
    "lm-studio-survey-finds-none": "LM Studio shows two ROCm GPUs",
    "generation-newer-than-rocm-told": "RDNA 3 with ROCm 6.2",
    "hsa-override-said": "without HSA_OVERRIDE_GFX_VERSION the server fails at start",
    "gfx-override-told-to-be-needed": "it works without HSA_OVERRIDE_GFX_VERSION",
    "bus-error": "pcieport 0000:00:01.1: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    "helped-by-gfx-override": "All went fine. When I start it I use HSA_OVERRIDE_GFX_VERSION=10.3.0",
}
TEXTS = {
    "device-node-permission": "The Debian package leaves /dev/kfd owned by group render. clinfo fails with no devices as an "
    "ordinary user, while as root it works.\nRadeon Pro W6800.\n",
    "container-render-group-mismatch": "Our image runs as uid 1001. In the container rocm-smi and clinfo give permission "
    "errors, and `sudo clinfo` shows all MI210s.\nWe are in a docker container.\n",
    "wsl-gpu-misconfigured": "Fresh WSL2 with Docker Desktop, RX 7800 XT.\ndocker: Error response from daemon: error gathering "
    'device information while adding custom device "/dev/kfd": no such file or directory.\n',
    "container-engine-no-gpu-support": "Windows 10, Docker Desktop, Radeon RX 6800.\nError response from daemon: error "
    'gathering device information while adding custom device "/dev/kfd": no such file or directory\n',
    "amdgpu-driver-not-loaded": "docker run --device /dev/kfd --device /dev/dri rocm/vllm:latest does not start since\n"
    "/dev/kfd is missing on this appliance. The card is a Radeon VII.\n",
    "container-missing-gpu-passthrough": "root@7c2e91d0ab34:/workspace# rocminfo\nROCk module is loaded\n"
    "Unable to open /dev/kfd read-write: No such file or directory\n"
    "Failed to get user name to check for video group membership\n",
    "hsa-override-misuse": "RX 6700 XT. I built it with -DAMDGPU_TARGETS=gfx1031 and start it so:\n"
    "  I use HSA_OVERRIDE_GFX_VERSION=10.3.0 ./server\nROCm error: invalid device function in ggml-cuda.cu\n",
    "integrated-gpu-conflict": "Ryzen 9 7900 and an RX 7800 XT.\nrocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/"
    "TensileLibrary.dat: No such file or directory for GPU arch : gfx1036\n",
    "amdgpu-driver-known-bad": "Since the update our W7900 gets a memory access fault in every run: good on 6.11.4, bad on "
    "6.12.1 with the same ROCm, so I think it is a kernel bug.\n",
    "known-bad-library-version": "MI250X: hipErrorInvalidImage from the first kernel on.\nThe error does not occur with "
    "torch 2.9, same machine.\n",
    "pcie-p2p-unusable": "Four W7800 on one board. As soon as direct P2P is allowed between them the machine freezes; the "
    "log ends there. NCCL_P2P_DISABLE=1 is what we run with now.\n",
    "torch-built-for-other-vendor": "I followed the guide for AMD with pip and --index-url https://download.pytorch.org/"
    "whl/rocm6.3, and main.py says: Found no NVIDIA driver on your system.\n",
}

MORE = {
    "apu-memory-pool-misconfigured": "Ryzen 7 7730U. The BIOS knows no other value for the iGPU's VRAM than 512 MB, and with any "
    "context above 2k llama.cpp says out of memory, with 32 GB of RAM free.\n",
    "amdgpu-kernel-or-os-unsupported": "RX 6600 with ollama on Debian 12: invalid argument from the runner at each start.\n"
    "With the newer kernel from backports it works.\n",
    "gpu-libs-conflict": "Radeon Pro W6800. I have ROCm 6.3 in /opt, torch brings its own, and in our process the libraries of "
    "ROCm are being mixed: it dies in rocBLAS.\n",
    "known-bad-library-version": "MI210: training hangs after some minutes. Downgrading RCCL to the release of ROCm 6.1 solved it.\n",
    "library-missing-gpu-arch": 'level=WARN msg="dropping ROCm device — no rocblas support for gfx target" gfx_target=gfx1034\n',
    "amd-gpu-unsupported-by-rocm": "My card is a Radeon RX 480. webui.sh stops with: Torch is not able to use GPU\n",
    "gpu-libs-not-found": "Fedora, RX 7700 XT. Cycles says that no compatible GPUs found; it is the Flatpak of Blender.\n",
    "container-render-group-mismatch": "TrueNAS, the ollama app with an RX 7600: permissions not set up properly. Either run "
    "ollama as root, or add you user account to the render group. open /dev/kfd: permission denied\n",
}

THIRD = {
    "gpu-libs-not-found": "Windows 10, RX 6800, the ROCm build of whisper.cpp.\nFileNotFoundError: Could not find module "
    "'D:\\\\w\\\\whisper.dll' (or one of its dependencies). Try using the full path with constructor syntax.\n",
    "gpu-libs-conflict": "RX 7600 on Windows. The program finds no ROCm device: it takes the outdated amdhip64_6.dll from System32, "
    "the SDK's own is newer.\nno ROCm-capable device is detected\n",
    "container-missing-gpu-passthrough": "Jellyfin's app on my NAS, RX 6400: only /dev/dri is mapped there, and /dev/kfd exists on "
    "the NAS itself.\n",
    "library-missing-gpu-arch": "The attention in this fork is only implemented for MI300, I run it on MI100.\n",
    "device-node-permission": "torch 2.5.1+rocm6.2 on an MI50: RuntimeError: No HIP GPUs are available.\nThe same wheel works in any "
    "container on that machine.\n",
    "pcie-atomics-missing": "Radeon R9 Fury in the lower slot, the sample never ends.\n[   88.1] pcieport 0000:00:1d.0: AER: "
    "Uncorrected (Fatal) error received: id=00e8\n[   88.1] pcieport 0000:00:1d.0:   TLP Header: 6e000002 04000000 0000000f 8a1e1008\n",
}
THIRD_TOO = {
    "gpu-libs-conflict": "MI210. singularity exec --rocm torch.sif python run.py\nSegmentation fault (core dumped)\nOutside it runs.\n",
    "gpu-libs-not-found": "RX 9070. sd.exe does not start: The code execution cannot proceed because hipblas.dll was not found.\n",
}
FOURTH = {
    "library-missing-gpu-arch": "llama.cpp on a Ryzen with gfx1153.\n:1:hip_fatbin.cpp :701 : 22 us: No compatible code objects found "
    "for: gfx1153, value of HIP_FORCE_SPIRV_CODEOBJECT: 0\nllama-cli: segmentation fault\n",
    "amd-gpu-unsupported-by-rocm": "My Navi 31 card and ROCm 5.3: the sample dies with a segmentation fault (core dumped).\n",
    "wsl-gpu-misconfigured": "minikube in WSL2, RX 7900 XTX: kubectl describe node shows amd.com/gpu: 0 after the daemonset came up.\n",
    "container-engine-no-gpu-support": "C:\\Users\\eva>docker run --device=/dev/kfd --device=/dev/dri rocm/vllm\ndocker: Error response "
    'from daemon: error gathering device information while adding custom device "/dev/kfd": no such file or directory.\n',
    "apu-memory-pool-misconfigured": "Strix Halo, 64 GB, of which 48 GB for GPU: HIP out of memory at 30 GB.\n",
}
FIFTH = {
    "library-missing-gpu-arch": "WhisperX says CPU on my PC. The card is an AMD Radeon RX 6800. What do I miss?\n",
    "tensorflow-gpu-mismatch": "tensorflow-rocm2.0 on Ubuntu 18.04 after the update to ROCm 3.5:\nimport tensorflow as tf\n"
    "ImportError: libmcwamp.so.3: cannot open shared object file: No such file or directory\n",
}
FOURTH_TOO = {
    "library-missing-gpu-arch": "LM Studio 0.3.9, two MI50. Runtimes tab: No compatible ROCm GPUs found on device.\n",
    "pcie-atomics-missing": "CPU: AMD FX-6300\nGPU: Radeon R9 Nano (Fiji)\nThe sample hangs. kern.log:\n"
    "kfd: qcm fence wait loop timeout expired\nclinfo does not detect the GPU.\n",
}


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in [hit.key for hit in SYMPTOMS.find([(1, EXAMPLES[key])])]


@pytest.mark.parametrize("key", sorted(NOTHING))
def test_a_line_near_it_does_not(key: str) -> None:
    assert key not in [hit.key for hit in SYMPTOMS.find([(1, NOTHING[key])])]


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        *sorted(TEXTS.items()),
        *sorted(MORE.items()),
        *sorted(THIRD.items()),
        *sorted(THIRD_TOO.items()),
        *sorted(FOURTH.items()),
        *sorted(FOURTH_TOO.items()),
        *sorted(FIFTH.items()),
    ],
)
def test_the_cause_of_the_text_is_named(cause: str, text: str) -> None:
    assert cause in raised(text)


def test_firmware_that_the_driver_does_without_is_no_trouble() -> None:
    text = (
        "Radeon VII:\n[    3.35] amdgpu 0000:19:00.0: Direct firmware load for amdgpu/vega20_ta.bin failed with error -2\n"
        '[    3.35] amdgpu 0000:19:00.0: psp v11.0: Failed to load firmware "amdgpu/vega20_ta.bin"\nIs this bad?\n'
    )
    assert raised(text) == []


def test_the_gpu_inside_the_cpu_explains_the_kernels_that_are_missing_for_it() -> None:
    assert raised(TEXTS["integrated-gpu-conflict"]) == ["integrated-gpu-conflict"]


def test_a_refused_atomic_operation_is_no_degraded_link() -> None:
    first, *others = raised(THIRD["pcie-atomics-missing"])
    assert first == "pcie-atomics-missing"
    assert "pcie-link-degraded" not in others
