"""What is told in a few words of NVIDIA's driver, containers and links: each case with one that nearly is it."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker compose\n"
NO_CUDA = "RuntimeError: No CUDA GPUs are available\n\n"
NO_LIBCUDA = "| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07    CUDA Version: {}  |\n"
BLIND = "torch.cuda.is_available(): False\n"
IN_DOCKER = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n```\n"
CASES = [
    (NO_LIBCUDA.format("N/A") + BLIND, "gpu-libs-not-found"),
    ("OS: Ubuntu 22.04 (WSL2)\n" + NO_LIBCUDA.format("ERR!"), "wsl-gpu-misconfigured"),
    ("2 nodes reach 6 GB/s where 20 GB/s are expected\nlsmod has no nvidia_peermem", "gpudirect-rdma-missing"),
    ("all_reduce_perf is slow over InfiniBand\nnv_peer_mem is missing from lsmod", "gpudirect-rdma-missing"),
    (NO_LIBCUDA.format("N/A") + BLIND + IN_DOCKER, "container-missing-gpu-passthrough"),
    ("nvidia-docker | Error: unsupported CUDA version: driver 0.0 < image 9.0", "nvidia-driver-not-loaded"),
    ("CUDA driver version is 0, runtime version is 11080", "nvidia-driver-not-loaded"),
    ("  CUDA Driver Version / Runtime Version          0.0 / 10.1", "nvidia-driver-not-loaded"),
    ("cudaDriverGetVersion: 0, cudaRuntimeGetVersion: 12040\n" + IN_DOCKER, "container-missing-gpu-passthrough"),
    ("RuntimeError: No CUDA GPUs are available\n$ CUDA_VISIBLE_DEVICES=$0 python demo.py", "visible-devices-conflict"),
    ("host: 525.60.12 vgpu-kvm\nguest: nvidia-driver-470 (apt)", "nvidia-driver-library-mismatch"),
    ("the plugin is built against libfabric 1.19\nlibfabric 1.15 (distribution) is loaded", "gpu-libs-conflict"),
    ("Return value 46 from 'cudaStreamCreate(&stream)'.", "compute-mode-exclusive"),
    ("cudaGetDeviceCount returned 35", "nvidia-driver-too-old"),
    ("CUDA error code 214 at solver.cu:31", "gpu-ecc-errors"),
    ("cuInit failed: 100", "nvidia-driver-not-loaded"),
    (
        "torch.cuda.is_available() returns False\ntorch 1.4.0\n"
        "| NVIDIA-SMI 410.78       Driver Version: 410.78       CUDA Version: 10.0     |",
        "nvidia-driver-too-old",
    ),
    ("kubernetes: the plugin's pod has no runtimeClassName: nvidia", "container-runtime-not-configured"),
    ("runtimeClassName is not set in the DaemonSet of the plugin", "container-runtime-not-configured"),
    (
        "ldconfig: File /usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1 is empty, not checked.",
        "gpu-libs-conflict",
    ),
    (
        "P2P bandwidth is only 1.2 GB/s\nGPU 0: NVIDIA L40S\nGPU 1: NVIDIA L40S\nIOMMU enabled (translating)",
        "iommu-not-passthrough",
    ),
    (
        NO_CUDA + INSIDE + "$ docker run runtime: nvidia acme/app:1\n```\n\nexport CUDA_VISIBLE_DEVICES=all\n"
        "GPU 0: NVIDIA GeForce RTX 3060\n",
        "visible-devices-conflict",
    ),
    ("cuda driver library init failure: 802", "nvidia-fabricmanager-not-running"),
    ("cuda driver library init failure: 803", "cuda-compat-conflict"),
    ("cudart init failure: 804", "cuda-compat-conflict"),
    ("Failed to initialize NVML: Function Not Found", "nvidia-driver-library-mismatch"),
    ("lsmod: nouveau, i2c_algo_bit", "nouveau-loaded"),
    ("CUDA_VISIBLE_DEVICES was set in /etc/profile; the server is a systemd service", "env-not-seen-by-service"),
    ("a forgotten override.conf of the unit sets it once more", "env-not-seen-by-service"),
    ("NCCL hangs on two GPUs\nVT-d enabled", "iommu-not-passthrough"),
    (INSIDE + "$ docker run --gpus all acme/a:1\n```\nCUDA Version: N/A", "container-missing-gpu-passthrough"),
    ("ROCR_VISIBLE_DEVICES has no effect with the service, see systemctl status", "env-not-seen-by-service"),
    ("GPU lost by all containers\nkernel module 560.35.03, libraries 565.57", "nvidia-driver-library-mismatch"),
    (
        "error: libcuda.so.1: cannot open shared object file\n\n" + INSIDE + "$ docker run --gpus all acme/a:1\n```\n",
        "gpu-libs-not-found",
    ),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n\nNVIDIA driver version: "
        "460.91\n\nGPU 0: Tesla T4\n",
        "nvidia-driver-not-loaded",
    ),
    (
        "docker: unknown or invalid runtime name: nvidia\n\nthis docker is from snap: docker (snap)\n",
        "container-engine-no-gpu-support",
    ),
    ("driver: nvidia-driver-580-open\n\nGPU 0: Tesla P100-PCIE-16GB\n", "nvidia-open-module-unsupported-gpu"),
]
NEARLY = [
    ("Error: unsupported CUDA version: driver 0.0 < image 9.0", "nvidia-driver-too-old"),
    ("Error: unsupported CUDA version: driver 8.0 < image 9.0", "nvidia-driver-not-loaded"),
    ("  CUDA Driver Version / Runtime Version          10.1 / 10.0", "nvidia-driver-not-loaded"),
    (NO_LIBCUDA.format("N/A") + "ollama serves from the GPU", "gpu-libs-not-found"),
    (NO_LIBCUDA.format("ERR!") + BLIND, "nvidia-xid-fatal"),
    (NO_LIBCUDA.format("ERR!") + BLIND, "wsl-gpu-misconfigured"),
    ("loss 0.3, 2 nodes\nlsmod has no nvidia_peermem", "gpudirect-rdma-missing"),
    ("$ CUDA_VISIBLE_DEVICES=0 python demo.py\nloss 0.2", "visible-devices-conflict"),
    ("host: 525.60.13\nguest: nvidia-driver-525 (apt)", "nvidia-driver-library-mismatch"),
    ("the plugin is built against libfabric 1.19\nthe plugin is loaded", "gpu-libs-conflict"),
    ("Return value 46 from 'malloc_hook(stream)'.", "compute-mode-exclusive"),
    ("cudaMalloc failed at line 35", "nvidia-driver-too-old"),
    (
        "torch.cuda.is_available() returns False\ntorch 1.4.0\n"
        "| NVIDIA-SMI 418.87       Driver Version: 418.87       CUDA Version: 10.1     |",
        "nvidia-driver-too-old",
    ),
    ("cudaGetDeviceCount returned 3.5 in code 35", "nvidia-driver-too-old"),
    ("CUDA error code 2140 at solver.cu:214", "gpu-ecc-errors"),
    ("the pod sets runtimeClassName: nvidia", "container-runtime-not-configured"),
    ("ldconfig: File /usr/lib/x86_64-linux-gnu/libfoo.so.1 is empty, not checked.", "gpu-libs-conflict"),
    (
        "P2P bandwidth is only 1.2 GB/s\nGPU 0: NVIDIA L40S\nGPU 1: NVIDIA L40S\nIOMMU is not translating",
        "iommu-not-passthrough",
    ),
    (
        NO_CUDA + INSIDE + "$ docker run runtime: nvidia acme/app:1\n```\n\nexport NVIDIA_VISIBLE_DEVICES=all\n"
        "GPU 0: NVIDIA GeForce RTX 3060\n",
        "container-missing-gpu-passthrough",
    ),
    ("cuda driver library init failure: 35", "nvidia-uvm-hmm-init-failure"),
    ("GPU 0: Tesla M40\n\nNVRM: RmInitAdapter failed! (0x22:0x56:884)", "nvidia-open-module-required"),
    ("lsmod | grep nouveau shows nothing", "nouveau-loaded"),
    ("CUDA_VISIBLE_DEVICES was set in /etc/profile", "env-not-seen-by-service"),
    ("VT-d enabled\nGPU 0: NVIDIA L4", "iommu-not-passthrough"),
    ("| NVIDIA-SMI 470.1  Driver Version: 470.1  CUDA Version: N/A |", "container-missing-gpu-passthrough"),
    ("uncorrectable ECC errors, all rows were remapped, pending: No", "gpu-ecc-errors at error"),
    ("driver: nvidia-driver-580-open\n\nGPU 0: NVIDIA L4\n", "nvidia-open-module-unsupported-gpu"),
    ("docker run --gpus all ubuntu nvidia-smi works\n" + INSIDE + "$ docker run --gpus all app\n```\n", "cdi"),
]


test_it_is_named = names(CASES, first=True)
test_what_nearly_says_it = names_not(NEARLY)
