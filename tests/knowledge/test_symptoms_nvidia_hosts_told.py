"""What is told of NVIDIA hosts, slots, laptops' switches and engines: each case with one that nearly is it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import names, names_not, told

GONE = "nvidia-smi: No devices were found\n\n"
UNREACHED = "nvidia-smi cannot communicate with the NVIDIA driver\n\n"
NO_CUDA = "torch.cuda.is_available() returns False\n\n"
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system.\n\n"
POD = "running inside a container: yes\ncontainer engine: containerd/kubernetes\n\n"
INSIDE = "running inside a container: yes\n\n"
NO_NVML = "Failed to initialize NVML: could not load NVML library.\n\n"
JETSON = "GPU 0: Jetson AGX Orin\n\nrunning inside a container: yes\n"
CASES = [
    (GONE + "the RTX 3070 works directly in the slot of the board\nnot with the x16 riser", "pcie-link-degraded"),
    (GONE + "the same card is fine without the extension", "pcie-link-degraded"),
    (NO_CUDA + "GPU 0: NVIDIA T4\nthe driver was removed by apt autoremove", "nvidia-driver-not-loaded"),
    (NO_CUDA + "GPU 0: NVIDIA T4\nnvidia-driver-535 has been purged", "nvidia-driver-not-loaded"),
    ("nvidia-smi stopped working after apt upgrade, no reboot yet", "nvidia-driver-library-mismatch"),
    ("nvidia-smi fails; the node was not restarted since the driver update", "nvidia-driver-library-mismatch"),
    (GONE + "prime-select query: intel", "integrated-gpu-conflict"),
    (UNREACHED + "bbswitch: 0000:01:00.0 OFF", "integrated-gpu-conflict"),
    ("no CUDA GPU is seen\nsupergfxctl -g: Integrated", "integrated-gpu-conflict"),
    ("libcuda.so is not found\n\nOS: Ubuntu 18.04 on WSL 2", "wsl-gpu-misconfigured"),
    ("Failed to dlopen libcuda.so\n\nKernel: 5.15.90.1-microsoft-standard-WSL2", "wsl-gpu-misconfigured"),
    ("/usr/lib/wsl/lib has no libcuda.so, WSL2", "wsl-gpu-misconfigured"),
    (
        'no libraries in the LXD container\nsecurity.privileged: "true"\nnvidia.runtime: "true"',
        "container-runtime-not-configured",
    ),
    ('GPU not found in the devcontainer\n"hostRequirements": {"gpu": "optional"}', "container-missing-gpu-passthrough"),
    (NO_CUDA + "devcontainer.json has no runArgs", "container-missing-gpu-passthrough"),
    (
        "distrobox does not see the NVIDIA GPU\nit was created without --nvidia",
        "container-missing-gpu-passthrough",
    ),
    ("nvidia-container-toolkit was removed with the upgrade of Docker", "container-runtime-not-configured"),
    (NO_CUDA + "$ docker build -t app .\ndocker run --gpus all works", "container-runtime-not-configured"),
    (NO_CUDA + "$ docker build -t app .", "container-missing-gpu-passthrough"),
    ("Graphics driver 'nvidia-470-82' for Flatpak has not been found", "nvidia-driver-library-mismatch"),
    ("org.freedesktop.Platform.GL.nvidia-545-23-08 is not available", "nvidia-driver-library-mismatch"),
    (
        "No devices were found in the container\nafter nvidia-smi was run on the host it works",
        "nvidia-uvm-missing",
    ),
    (NO_CUDA + JETSON + "$ docker run --gpus all acme/app\n", "container-missing-gpu-passthrough"),
    (
        "LXC: NVIDIA-SMI couldn't find libnvidia-ml.so library in your system\nnvidia-smi works on the host",
        "container-missing-gpu-passthrough",
    ),
    ("MNNVL fails: /dev/nvidia-caps-imex-channels is missing", "nvidia-imex-not-running"),
    (
        GONE + "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)\nBIOS: Above 4G Decoding: Disabled",
        "large-bar-disabled",
    ),
    (GONE + "NVIDIA driver version: 570.86 (proprietary)\nGPU 0: RTX 5090", "nvidia-open-module-required"),
    ("No devices found\nPCI: 10de:2bb5 (GB202)\nnonfree-kmod-nvidia-production", "nvidia-open-module-required"),
    (
        "flatpak apps are black since the NVIDIA driver update to 580",
        "nvidia-driver-library-mismatch",
    ),
    ("OBS in Flatpak has no NVENC, NVIDIA 575; fixed by flatpak update", "nvidia-driver-library-mismatch"),
    (NO_DRIVER + "our pods on kubernetes; a deployment with GPU limits works", "container-missing-gpu-passthrough"),
    (NO_DRIVER + POD + "it is mended when nvidia.com/gpu: 1 is in the limits", "container-missing-gpu-passthrough"),
    (
        "nvidia-smi: command not found in the pod\n" + POD + "OS: Container-Optimized OS",
        "container-missing-gpu-passthrough",
    ),
    (
        "nvidia-container-cli: initialization error: driver rpc error: failed\nUbuntu 22.04 on Windows 11",
        "wsl-gpu-misconfigured",
    ),
    (
        "could not select device driver with capabilities: [[gpu]]\ndocker was installed from snap",
        "container-engine-no-gpu-support",
    ),
    ("nvidia-open-dkms 545.29.06 does not build for linux-ck 6.7", "nvidia-kernel-incompatible"),
    ("The NVIDIA driver 535.54 fails to compile on kernel 6.8", "nvidia-kernel-incompatible"),
    ("nvidia-470xx-dkms no longer builds against Linux 6.15", "nvidia-kernel-incompatible"),
    ("CUDA initialization fails with 802\nH100 SXM5", "nvidia-fabricmanager-not-running"),
    ("CUDA dies with error 802 on the node", "nvidia-fabricmanager-not-running"),
    (
        "GPU 0: NVIDIA H100 80GB HBM3\n\n" + NO_CUDA + "nvidia-fabricmanager is not installed",
        "nvidia-fabricmanager-not-running",
    ),
    (INSIDE + "ffmpeg: h264_nvenc is not available in the container", "container-missing-gpu-passthrough"),
    (INSIDE + "libnvidia-encode.so is not mounted", "container-missing-gpu-passthrough"),
    (INSIDE + "NVIDIA T4: vulkaninfo shows llvmpipe alone", "container-missing-gpu-passthrough"),
    (INSIDE + "NVIDIA driver 550: VK_ERROR_INCOMPATIBLE_DRIVER", "container-missing-gpu-passthrough"),
    ("pods of Kubernetes do not see the GPU; docker run does", "container-runtime-not-configured"),
    (
        "nerdctl run --gpus all works and nvidia-smi sees the card, but pods of k3s cannot find it",
        "container-runtime-not-configured",
    ),
    (
        "CUDA call cuInit(0) failed with error code 999\nworked until the system upgrade (pacman -Syu, cuda and nvidia "
        "packages); not rebooted since",
        "nvidia-driver-library-mismatch",
    ),
    (
        "one of three GPUs is lost from time to time\nthe GPU hangs on an x16 extender cable",
        "pcie-link-degraded",
    ),
    ("unable to signal init: permission denied, containerd 1.7", "container-security-profile"),
    (
        "failed call to cuInit: UNKNOWN ERROR (34)\nwith LD_LIBRARY_PATH=/usr/lib it works\nNVIDIA T4",
        "gpu-libs-not-found",
    ),
    ("ollama uses the Intel iGPU, the RTX 3050 idles", "integrated-gpu-conflict"),
    ("Blender picks the integrated GPU instead of the NVIDIA card", "integrated-gpu-conflict"),
    ("nvidia: The NVIDIA probe routine was not called for 1 device(s).", "gpu-bound-to-other-driver"),
    ("lsmod | grep nouveau prints three lines; the installer stops", "nouveau-loaded"),
    ("nouveau owns the device, NVIDIA GTX 1070", "nouveau-loaded"),
    ("buildkit: nvidia-smi: not found in RUN, NVIDIA T4", "container-runtime-not-configured"),
    ('podman: failed to stat CDI host device "/dev/nvidia-modeset"', "cdi-spec-missing-or-stale"),
    (
        "CUDA broke after dnf update; modinfo says 570.124, nvidia-smi says 565.77",
        "nvidia-driver-library-mismatch",
    ),
    ("container has libnvidia-ml.so.525, host driver is 550", "nvidia-driver-library-mismatch"),
    ("clocks were locked with nvidia-smi -lgc 600, training is three times slower", "gpu-throttled"),
    ("power limit was lowered to 150 W, and training is slow on the RTX 4090", "gpu-throttled"),
    (NO_CUDA + "qsub without any GPU in the PBS job", "scheduler-no-gpu-allocated"),
    ("only root can run CUDA programs, NVIDIA T4", "device-node-permission"),
    ("gpu-operator: toolkit-validation Init:0/1, the driver is preinstalled", "container-runtime-not-configured"),
    ("podman run without --device: torch says no NVIDIA driver", "container-missing-gpu-passthrough"),
    (NO_CUDA + "the container was started without --gpus", "container-missing-gpu-passthrough"),
    ('k3s: pods say "nvidia-smi": executable file not found in $PATH', "container-runtime-not-configured"),
    (NO_CUDA + "Debian: nvidia-driver is not installed", "nvidia-driver-not-loaded"),
    ("modprobe nvidia: Operation not permitted (lockdown)", "secure-boot-blocks-module"),
    ("DGX: PSU lost, power brake, all GPUs at 345 MHz, NVIDIA A100", "gpu-throttled"),
    ("laptop in iGPU only mode (MUX)\nnvidia-smi: No devices were found", "integrated-gpu-conflict"),
]
NEARLY = [
    ("the GPU sits on a riser and trains well", "pcie-link-degraded"),
    ("works in the x16 slot; a question about cooling", "pcie-link-degraded"),
    (NO_CUDA + "the driver was removed and reinstalled\nnvidia-smi works", "nvidia-driver-not-loaded"),
    ("after apt upgrade no reboot was needed, all works", "nvidia-driver-library-mismatch"),
    ("prime-select query: intel, the CUDA jobs run on the server", "integrated-gpu-conflict"),
    (GONE + "prime-select query: nvidia", "integrated-gpu-conflict"),
    ("libcuda.so.1 is found, WSL2", "wsl-gpu-misconfigured"),
    ('security.privileged: "false"\nnvidia.runtime: "true"\nLXD', "container-runtime-not-configured"),
    (
        'GPU not found in the devcontainer\n"runArgs": ["--gpus", "all"]',
        "container-missing-gpu-passthrough",
    ),
    ("opened in a devcontainer: the tests pass", "container-missing-gpu-passthrough"),
    ("we use distrobox for the builds; training works", "container-missing-gpu-passthrough"),
    ("$ docker build -t app .\nthe image is built", "container-missing-gpu-passthrough"),
    ("nvidia-container-toolkit was removed and reinstalled", "container-runtime-not-configured"),
    (NO_CUDA + JETSON + "$ docker run --runtime nvidia acme/app\n", "container-missing-gpu-passthrough"),
    ("flatpak update makes GIMP start again, NVIDIA laptop with amdgpu graphics", "nvidia-driver-library-mismatch"),
    ("flatpak 1.14, NVIDIA 570: flatpak update finds nothing to do", "nvidia-driver-library-mismatch"),
    (NO_DRIVER + POD + "OS: Container-Optimized OS (GKE 1.28)", "container-runtime-not-configured"),
    ("a pod with nvidia.com/gpu: 1 works, training is slow", "container-missing-gpu-passthrough"),
    (
        "nvidia-container-cli: initialization error: driver rpc error: failed\nUbuntu 22.04 on Windows 11",
        "nvidia-driver-not-loaded",
    ),
    ("nvidia-open-dkms builds for linux-ck 6.7; gcc does not build on Windows", "nvidia-kernel-incompatible"),
    ("the extension does not build against torch 2.5, NVIDIA driver 550", "nvidia-kernel-incompatible"),
    ("CUDA job 802 fails with a timeout", "nvidia-fabricmanager-not-running"),
    (
        "GPU 0: NVIDIA A100 80GB PCIe\n\n" + NO_CUDA + "nvidia-fabricmanager is not installed",
        "nvidia-fabricmanager-not-running",
    ),
    (
        INSIDE + "libnvidia-encode.so is not loaded\n\nexport NVIDIA_DRIVER_CAPABILITIES=compute,video",
        "container-missing-gpu-passthrough",
    ),
    ("NVENC is not available on the NVIDIA A100, it has no encoder", "container-missing-gpu-passthrough"),
    (INSIDE + "Vulkan: no device, radv on an AMD RX 7900", "container-missing-gpu-passthrough"),
    (INSIDE + "Vulkan works with the NVIDIA driver", "container-missing-gpu-passthrough"),
    ("docker run works; pods of Kubernetes see the GPU as well", "container-runtime-not-configured"),
    ("the pods do not start for want of memory; docker run was not tried", "container-runtime-not-configured"),
    ("Driver/library version mismatch: rmmod nvidia_uvm nvidia helped", "nvidia-uvm-stale-after-suspend"),
    ("nvidia-container-cli: device error: GPU-8a6f3c1e: unknown device", "mig-misconfigured"),
    ("akmods failed to build v4l2loopback; no display, NVIDIA GPU", "nvidia-driver-not-loaded"),
    ("akmods built the NVIDIA module; the display is dark since the upgrade", "nvidia-driver-not-loaded"),
    ("dkms: nvidia is installed for the old and the new kernel", "nvidia-driver-not-loaded"),
    ("the MOK screen was shown and the key enrolled; nvidia-smi works", "secure-boot-blocks-module"),
    (UNREACHED + "the host is an Azure VM, security type: Standard", "secure-boot-blocks-module"),
    (NO_NVML + "$ minikube start --driver=docker --gpus all", "container-engine-no-gpu-support"),
    ("gl_conf stands at mesa, glxgears runs, NVIDIA GTX 1070", "gpu-libs-conflict"),
    ("Error response from daemon: OCI runtime create failed: container_linux.go:296", "env-not-seen-by-service"),
    ("the GPU hangs on an x16 extender cable; how do I mount it upright?", "pcie-link-degraded"),
    ("the GPU hangs on an x16 extender cable", "amdgpu-gpu-hang"),
    (UNREACHED + "instance type: g4dn.xlarge", "no-gpu-found"),
    (UNREACHED + "machine type: n1-standard-8 with one T4", "no-gpu-found"),
    ("instance type: inf1.xlarge, our model runs on the CPU there", "no-gpu-found"),
    ("line 34: CUDA call cuInit returns 0", "gpu-libs-not-found"),
    ("the desktop uses the Intel iGPU, the RTX 3050 idles", "integrated-gpu-conflict"),
    ("the codec uses the Intel iGPU and the NVIDIA card trains", "integrated-gpu-conflict"),
    ("lsmod | grep nouveau prints none", "nouveau-loaded"),
    ("buildkit builds the image, NVIDIA T4 on the host", "container-runtime-not-configured"),
    ("nvidia-smi: not found in RUN", "nvidia-driver-not-loaded"),
    (NO_CUDA + "in run.py, NVIDIA T4", "container-runtime-not-configured"),
    ("modinfo says 570.124, nvidia-smi says 570.124.06", "nvidia-driver-library-mismatch"),
    ("libcuda.so.550 and driver 550.90 on the host", "nvidia-driver-library-mismatch"),
    ("we lock clocks with nvidia-smi -lgc 1200 and measure", "gpu-throttled"),
    ("ngpus was not requested, the job runs on the CPU as it should", "scheduler-no-gpu-allocated"),
    ("only root can install CUDA packages", "device-node-permission"),
    ("toolkit-validation completed", "container-runtime-not-configured"),
    (
        "flatpak update brought org.freedesktop.Platform.GL.nvidia-580; OBS crashes in its own plugin",
        "nvidia-driver-library-mismatch",
    ),
    ("docker run works; the pod fails to pull its image, kubernetes", "container-runtime-not-configured"),
    ("docker run sees the GPU and pods do not start: ImagePullBackOff", "container-runtime-not-configured"),
    (
        "akmods failed once on the laptop; it ran again, nvidia-smi works and no display is missing",
        "nvidia-driver-not-loaded",
    ),
    ("update-glx offers mesa and nvidia; a game is slow on my CPU", "gpu-libs-conflict"),
    ("power limit was set to 300 W, the data loader is slow, NVIDIA A40", "gpu-throttled"),
    ("fabric manager is not installed on the RTX A6000 box and CUDA works", "nvidia-fabricmanager-not-running"),
    ("run without --nv on the login node: the docs say so", "container-missing-gpu-passthrough"),
    ("kernel is in lockdown mode; modprobe nvidia works", "secure-boot-blocks-module"),
    ("HW Power Brake Slowdown : Not Active, 1410 MHz", "gpu-throttled"),
    ("MUX switch: how do I set it? the laptop renders well", "integrated-gpu-conflict"),
    ("MNNVL fails: /dev/nvidia-caps-imex-channels is missing", "container-missing-gpu-passthrough"),
    ("vllm: Failed to infer device type\n" + UNREACHED, "vllm-build-mismatch"),
    (
        GONE + "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)\nBIOS: Above 4G Decoding: Disabled",
        "nvidia-open-module-required",
    ),
]


test_it_is_named = names(CASES, first=True)
test_what_nearly_says_it = names_not(NEARLY)


def test_the_first_use_on_the_host_may_be_two_causes() -> None:
    both = told("No devices were found in the container\nafter nvidia-smi was run on the host it works")
    assert both == ["nvidia-uvm-missing", "persistence-mode-off"]


def test_a_card_that_is_lost_behind_a_riser_has_a_fatal_xid_as_well() -> None:
    lost = "GPU has fallen off the bus\nfails only behind the OCuLink box"
    assert set(told(lost)) == {"nvidia-xid-fatal", "pcie-link-degraded"}


@pytest.mark.parametrize("wish", ["the laptop has no NVIDIA GPU", "this server is without an NVIDIA card"])
def test_a_machine_without_such_a_gpu_may_lack_the_runtime_as_well(wish: str) -> None:
    refused = 'could not select device driver "nvidia" with capabilities: [[gpu]]\n'
    assert set(told(refused + wish)) == {"container-runtime-not-configured", "no-gpu-found"}
    assert told(refused + "no NVIDIA GPU is detected") == ["container-runtime-not-configured"]


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (
            "dkms status: nvidia installed for every kernel except 7.2.3-200, which hangs",
            {"nvidia-driver-not-loaded", "nvidia-kernel-incompatible"},
        ),
        (
            UNREACHED + "akmods@6.11.4-301.fc41.x86_64.service failed",
            {"nvidia-driver-not-loaded", "nvidia-kernel-incompatible"},
        ),
        (
            "could not insert 'nvidia': Exec format error\n\n$ dmesg\nnvidia: version magic '5.4.18-100 SMP ' should "
            "be '5.4.18-200 SMP '\n",
            {"nvidia-driver-not-loaded", "nvidia-kernel-incompatible"},
        ),
        (
            UNREACHED + "I skipped the MOK management screen",
            {"nvidia-driver-not-loaded", "secure-boot-blocks-module"},
        ),
        (
            UNREACHED + "Azure VM, security type: Trusted Launch",
            {"nvidia-driver-not-loaded", "secure-boot-blocks-module"},
        ),
        (
            "NVML: driver not loaded\n" + UNREACHED + "instance type: inf1.xlarge",
            {"nvidia-driver-not-loaded", "no-gpu-found"},
        ),
        (
            INSIDE + "Failed to initialize NVML: Unknown Error\n\nafter setenforce 0 it works",
            {"container-lost-devices", "container-security-profile"},
        ),
        (
            "GPU is lost. Reboot the system to recover this GPU\nthe card is connected with a PCIe riser",
            {"nvidia-xid-fatal", "pcie-link-degraded"},
        ),
        (
            NO_NVML + "$ minikube start --driver=docker",
            {"container-runtime-not-configured", "container-engine-no-gpu-support"},
        ),
        (
            "cuInit returns 999\nupdate-alternatives: x86_64-linux-gnu_gl_conf: set to mesa, NVIDIA GTX 1070",
            {"nvidia-uvm-missing", "gpu-libs-conflict"},
        ),
        (
            "nvidia-container-cli: initialization error: cuda error: unknown error\nnvidia-smi on the host: not found",
            {"nvidia-driver-not-loaded"},
        ),
    ],
)
def test_two_causes_that_nothing_in_the_text_tells_apart(text: str, causes: set[str]) -> None:
    assert set(told(text)) == causes


def test_a_card_that_is_lost_later_has_found_room_for_its_memory() -> None:
    failed = "NVRM: GPU 0000:81:00.0: RmInitAdapter failed! (0x25:0x40:1470)\nrm_init_adapter failed\n"
    assert "large-bar-disabled" not in told(failed + "disappears after some days, only a reboot helps")
