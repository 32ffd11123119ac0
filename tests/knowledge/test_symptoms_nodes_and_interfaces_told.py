"""What is told of shared memory, nodes of another number, names of interfaces and copies of the driver, and what nearly
says it."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not

IN = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n```\n"
SHM, UVM, RULES = "container-shm-too-small", "nvidia-uvm-missing", "container-device-cgroup-denied"
FLAG, DIFFER, LOST, XID = (
    "collective-flag-misconfigured",
    "nvidia-driver-library-mismatch",
    "container-lost-devices",
    "nvidia-xid-fatal",
)
OLD, GIVEN, NOUVEAU = "nvidia-driver-too-old", "container-missing-gpu-passthrough", "nouveau-loaded"
ABSENT, CDI = "nvidia-driver-not-loaded", "cdi-spec-missing-or-stale"
CARD = "GPU 0: GeForce GTX 980 (UUID: GPU-1b2c3d4e-0000-1111-2222-333344445555)\n"
WRAPPED = "container engine: nvidia-docker\n$ docker run --rm nvidia/cuda:8.0 ./train\n"
CASES = [
    ("the engine runs out of shared memory with two workers\n" + IN, SHM),
    ("the test server ran out of shared memory\ncontainer engine: kubernetes\n", SHM),
    ("SGLang is short of shared memory at the second request\n" + IN, SHM),
    ("the worker crashed\npod without a /dev/shm mount\n" + IN, SHM),
    ("NCCL hangs at init\n/dev/shm is not mounted in the pod\n" + IN, SHM),
    ("tensor parallelism fails\nno shm size in the template\n" + IN, SHM),
    ("multi-GPU inference fails\nthe chart has no shm volume\n" + IN, SHM),
    ("CUDA fails with error 999\n/dev/nvidia-uvm has a fixed major number in the udev rule\n", UVM),
    ("no CUDA device\nthe rule makes nvidia-uvm with major 237, which is not the one in /proc/devices\n", UVM),
    ("no CUDA device\na stale device number of /dev/nvidia-uvm after the module was loaded anew\n", UVM),
    ("NVIDIA T4: CUDA is found only after root has run nvidia-smi once\n", UVM),
    ("NVIDIA L4\nno CUDA device for the service; works once deviceQuery was run by root\n", UVM),
    ("flatpak\norg.freedesktop.Platform.GL.nvidia is of an older version than the host's driver\n", DIFFER),
    (
        "games are slow\nthe flatpak runtime org.freedesktop.Platform.GL.nvidia-550-78 does not match the module\n",
        DIFFER,
    ),
    ("Blender finds no GPU\nthe Flatpak driver extension is out of sync with the NVIDIA driver\n", DIFFER),
    ("the pod loses the GPU after a few hours\n" + IN + CARD, LOST),
    ("under load the machine loses the GPU\n" + CARD, XID),
    (WRAPPED + "nvidia-docker | Error: unsupported CUDA version: driver 7.5 < image 8.0\n" + CARD, OLD),
    ("docker run --rm nvidia/cuda:8.0 ./t\nError: unsupported CUDA version: driver 7.5 < image 8.0\n" + CARD, OLD),
    ("NCCL error at the first step\nexport NCCL_SOCKET_IFNAME=eth0\nthe nodes have ens5 and ens6\n", FLAG),
    ("unhandled system error\nexport NCCL_SOCKET_IFNAME=ib\nthe network interface is called enp24s0f0\n", FLAG),
    ("ranks hang in init_process_group with NCCL\nexport NCCL_SOCKET_IFNAME=en,eth\nthe nodes talk over Wi-Fi\n", FLAG),
    ("black screen after the install\nnouveau is the only driver in the image\n" + CARD, NOUVEAU),
    ("nvidia-smi: command not found\nthe live system falls back to nouveau\n" + CARD, NOUVEAU),
    ("torch.cuda.is_available() is False\nthe kernel uses nouveau instead of nvidia, RTX 4090\n", NOUVEAU),
    ("no CUDA-capable device is detected\nNVIDIA T4: the only loaded driver is nouveau\n", NOUVEAU),
    ("no CUDA device\n/proc/driver/nvidia does not exist on the worker\nNVIDIA T4\n", ABSENT),
    ("GPU not available after the new image\nno nvidia.ko for kernel 6.8.0-1021-aws\n", ABSENT),
    ("nvidia-smi fails on the nodes after the weekly kernel update\n", ABSENT),
    ("since the kernel upgrade the NVIDIA driver does not work\n", ABSENT),
    ("Error: setting up: unresolvable CDI device nvidia.com/gpu=0\n", CDI),
    ("podman run --device nvidia.com/gpu=all fails\n/etc/cdi is empty\n", CDI),
    ("the shared memory of Docker is too small for two workers\n" + IN, SHM),
    ("NCCL init fails with 8 GPUs\nit works with --ipc=host\n" + IN, SHM),
    ("data loader workers crash in the pod\nno shm volume\n" + IN, SHM),
]
NEARLY = [
    ("the Triton kernel runs out of shared memory with 4 stages\n" + IN, SHM),
    ("out of resource: shared memory, Required: 131072, Hardware limit: 101376\n" + IN, SHM),
    ("the engine runs out of shared memory\n", SHM),
    ("pod without a /dev/shm mount\n" + IN, SHM),
    ("the worker crashed\n/dev/shm is mounted with 16 GiB\n" + IN, SHM),
    ("multi-GPU inference works, no shm size is set\n" + IN, SHM),
    ("lxc container\nthe major number of nvidia-uvm changed to 511\nno CUDA device\n", UVM),
    ("the major number of nvidia-uvm changed, the config allows c 508:*\nno CUDA device, Proxmox\n", UVM),
    ("/dev/nvidia-uvm has a hardcoded major number that is not the one in /proc/devices\nno CUDA device\n", RULES),
    ("NVIDIA T4: nvidia-smi works, also for root\n", UVM),
    ("flatpak: org.freedesktop.Platform.GL.nvidia-550-78 is installed\nBlender finds no GPU\n", DIFFER),
    ("the flatpak app is of a different version than the snap\nNVIDIA GeForce\n", DIFFER),
    ("the pod loses the GPU after a few hours\n" + IN + CARD, XID),
    ("the container sometimes lost the GPU overnight\n" + IN + CARD, XID),
    (WRAPPED + "nvidia-docker | Error: unsupported CUDA version: driver 7.5 < image 8.0\n" + CARD, GIVEN),
    (WRAPPED + "Error: unsupported CUDA version: driver 7.5 < image 8.0\n", GIVEN),
    ("NCCL error at the first step\nexport NCCL_SOCKET_IFNAME=ens\nthe nodes have ens5 and ens6\n", FLAG),
    ("unhandled system error\nexport NCCL_SOCKET_IFNAME=^docker0,lo\nthe nodes have ens5\ntoo many open files", FLAG),
    ("export NCCL_SOCKET_IFNAME=eth0\nthe nodes have ens5 and ens6\n", FLAG),
    ("/proc/driver/nvidia does not exist in the container\n" + IN, ABSENT),
    ("/proc/driver/nvidia exists, nvidia.ko is loaded\nCUDA fails\n", ABSENT),
    ("AMD Radeon RX 7900 XTX\n/proc/driver/nvidia does not exist, TensorFlow runs on ROCm\n", ABSENT),
    ("nvidia-smi works after the kernel update\n", ABSENT),
    ("/etc/cdi has nvidia.yaml, cdi list shows 2 devices\n", CDI),
    ("the kernel's shared memory is too small for this tile\n" + IN, SHM),
    ("NCCL init works with --ipc=host and without\n" + IN, SHM),
    ("nouveau is the only driver that this old card needs\n" + CARD, NOUVEAU),
    ("black screen after the install\nit works with nouveau, and with nvidia 550\n" + CARD, NOUVEAU),
    (
        "the desktop is slow\nthe installer falls back to nouveau where no NVIDIA driver fits\nAMD Radeon RX 7600\n",
        NOUVEAU,
    ),
    (
        "no CUDA-capable device is detected\npods that request nvidia.com/gpu get no GPU\nkubernetes, NVIDIA A30\n",
        GIVEN,
    ),
]

test_it_is_told = names(CASES)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_pod_that_asks_and_is_given_none_is_no_pod_that_works() -> None:
    assert "pod-with-gpu-limit-works-told" not in keys("the pod that requests nvidia.com/gpu gets none")
    assert "pod-with-gpu-limit-works-told" in keys("the pod that requests nvidia.com/gpu gets it")
