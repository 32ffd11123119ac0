"""Error texts of kernel modules, services, engines and networks: what each points to, and what speaks against it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, raised


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "nvidia-persistenced[811]: Failed to query NVIDIA devices. Please ensure that the NVIDIA device files "
            "(/dev/nvidia*) exist, and that user 0 has read and write permissions for those files.",
            "nvidia-driver-not-loaded",
        ),
        ("modprobe: ERROR: could not insert 'nvidia': Exec format error", "nvidia-kernel-incompatible"),
        (
            "docker: Error response from daemon: error gathering device information while adding custom device "
            '"/dev/nvidia-uvm": no such file or directory.',
            "nvidia-uvm-missing",
        ),
        ("cudaGetDeviceCount returned 3\n-> initialization error", "nvidia-uvm-hmm-init-failure"),
        (
            "nvidia-container-cli: initialization error: driver error: timed out: unknown.",
            "persistence-mode-off",
        ),
        (
            "n2: NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [send] via NET/IB/0/GDRDMA\n"
            "n1: NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [receive] via NET/IB/1",
            "gpudirect-rdma-missing",
        ),
        (
            "n1:10:20 [0] misc/socket.cc:452 NCCL WARN socketStartConnect: Connect to 172.17.0.1<47345> failed : "
            "No route to host",
            "collective-flag-misconfigured",
        ),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "nvidia-driver-not-loaded"),
        (
            "$ lsmod | grep nvidia prints nothing, RTX 3090, torch.cuda.is_available() is False",
            "nvidia-driver-not-loaded",
        ),
        ("echo $CUDA_VISIBLE_DEVICES -> NoDevFiles", "scheduler-no-gpu-allocated"),
        ("Linux D 5.15.90.1-microsoft-standard-WSL2\nFailed to initialize NVML: N/A", "wsl-gpu-misconfigured"),
        ("Strix Halo, 128 GB: ROCm only sees 15.5GB", "apu-memory-pool-misconfigured"),
        ("Ryzen AI MAX+ 395: PyTorch can only allocate about 62 GB", "apu-memory-pool-misconfigured"),
        ("[WARN] Kernel module nvidia_uvm is not loaded.", "nvidia-uvm-missing"),
        (
            "kubectl logs train-0: RuntimeError: Found no NVIDIA driver on your system.",
            "container-runtime-not-configured",
        ),
        ("GTX 1080 Ti in a headless box: python hangs at exit unless a monitor is connected", "persistence-mode-off"),
        ("After I close the laptop lid: RuntimeError: CUDA unknown error", "nvidia-uvm-stale-after-suspend"),
        (
            "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-74edc72b-204b-7996-59f6-bff24ec89c23)\n"
            "  MIG 3g.20gb     Device  0: (UUID: MIG-163816c9-1176-5817-9217-644f2bc0b174)\n"
            "RuntimeError: CUDA error: invalid device ordinal",
            "mig-misconfigured",
        ),
        ("I must run **nvidia-smi** first, otherwise: error executing hook `x` (exit code: 1)", "nvidia-uvm-missing"),
        (
            "RTX 5090\nNVRM: installed in this system is not supported by open\n"
            "Above 4G Decoding is off in the BIOS. nvidia-smi says: No devices were found",
            "large-bar-disabled",
        ),
        (
            "2x MI100: DDP training over RCCL hangs\n$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz-5.15.0 root=/dev/sda1 ro",
            "iommu-not-passthrough",
        ),
        ("INFO:    Could not find any nv files on this host!\nmy RTX 3090 is not seen", "nvidia-driver-not-loaded"),
        ("misc/ibvwrap.cc:268 NCCL WARN Call to ibv_create_cq failed", "memlock-limit-too-low"),
        ("RTX 4090, LLM loads slowly: the PCIe link stays at Gen1", "pcie-link-degraded"),
        ("GTX 1650 Ti: the nvidia driver cannot load because of secure boot", "secure-boot-blocks-module"),
        ("usermod: group 'render' does not exist", "device-node-permission"),
        (
            "RX 7900 XTX: torch.cuda.is_available() returns False. Of 2 user accounts A returns True, but B does not",
            "device-node-permission",
        ),
        (
            "sudo apt install rocm-dkms\nError! Bad return status for module build on kernel: 5.6.7 (x86_64)\n"
            "dpkg: error processing package rock-dkms (--configure):",
            "amdgpu-kernel-or-os-unsupported",
        ),
        ("gfx1151, linux-firmware-20251125: GPU Hang in every ROCm job", "amdgpu-firmware-bad"),
        (
            "after the laptop wakes up from suspension CUDA stops working. Quadro P2000",
            "nvidia-uvm-stale-after-suspend",
        ),
        (
            "$ ls -la /dev | grep kfd\ncrw-------   1 root    root    234,   0 Mai 21 05:13 kfd",
            "device-node-permission",
        ),
        ("ROCm cannot detect GPU. RX 580, CPU is Core i7 3770K", "pcie-atomics-missing"),
        ("training gets stuck; it works by setting NCCL_P2P_DISABLE = 1. 4x RTX 3090", "pcie-p2p-unusable"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
            "Error! Bad return status for module build on kernel: 5.13.18-21.09.16.amdgpu.ubuntu (x86_64)",
            "nvidia-kernel-incompatible",
        ),
        (
            'tried it on WSL2: error gathering device information while adding custom device "/dev/kfd"',
            "wsl-gpu-misconfigured",
        ),
        ("WSL2, Ubuntu 24.04. numba: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)", "wsl-gpu-misconfigured"),
        (
            "H100. [root@n ~]# lsmod | grep nvidia_peermem\n[root@n ~]#\n[root@n ~]# lsmod | grep nvidia_peermem\n"
            "[root@n ~]# cat log\nNCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.1.2<0>",
            "gpudirect-rdma-missing",
        ),
        (
            "docker run --device /dev/nvidia0 --device /dev/nvidiactl img\n"
            "cuInit(0) failed -> CUDA_ERROR_UNKNOWN: unknown error",
            "container-missing-gpu-passthrough",
        ),
        (
            "| 0 Tesla P40  Off  | 0000:05:00.0  Off | 0 |\nheadless server: it hangs for ten seconds",
            "persistence-mode-off",
        ),
        (
            "After a few hours the docker container can no longer see the GPU; restarting it helps",
            "container-lost-devices",
        ),
    ],
)
def test_a_text_and_its_cause(text: str, cause: str) -> None:
    assert raised(text)[:1] == [cause]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "cudaGetDeviceCount returned 3\n| NVIDIA-SMI 470.223.02  Driver Version: 470.223.02  CUDA Version: 11.4 |",
            "nvidia-uvm-hmm-init-failure",
        ),
        ("NCCL INFO Channel 00/0 : 0[1] -> 8[1] [send] via NET/IB/0", "gpudirect-rdma-missing"),
        (
            "Incompatible strategy detected auto\nlibnvidia-ml.so.1: cannot open shared object",
            "nvidia-driver-not-loaded",
        ),
        (
            "NVRM: The NVIDIA probe routine was not called for 1 device(s).\nnouveau  1662531  0",
            "gpu-bound-to-other-driver",
        ),
        (
            "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error\nNo GPU/TPU found, falling back to CPU.",
            "jax-plugin-mismatch",
        ),
        ("==> ERROR: module not found: 'nvidia_uvm'", "nvidia-uvm-missing"),
        (
            "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-74edc72b-204b-7996-59f6-bff24ec89c23)\n"
            "  MIG 3g.20gb     Device  0: (UUID: MIG-163816c9-1176-5817-9217-644f2bc0b174)\n"
            "RuntimeError: CUDA error: out of memory",
            "mig-misconfigured",
        ),
        (
            "[root@n ~]# lsmod | grep nvidia_peermem\n[root@n ~]# cat log\n"
            "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.1.2<0>\n"
            "NCCL INFO Channel 00/0 : 0[1] -> 8[1] [send] via NET/IB/0/GDRDMA",
            "gpudirect-rdma-missing",
        ),
        (
            "GTX 1080\nNVRM: installed in this system is not supported by open\n"
            "NVRM: nvidia.ko because it does not include the required GPU",
            "large-bar-disabled",
        ),
        (
            "2x MI100: DDP over RCCL hangs\n$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt",
            "iommu-not-passthrough",
        ),
        ("gfx1151, linux-firmware-20251125 is installed; a question on the docs", "amdgpu-firmware-bad"),
        (
            "$ ls -la /dev | grep kfd\ncrw-rw----   1 root    render    234,   0 Mai 21 05:13 kfd",
            "device-node-permission",
        ),
        ("RTX 4090: torch only sees 15.5GB of 24GB", "apu-memory-pool-misconfigured"),
        ("On kernel 6.14.0 nothing works with ROCm. RX 580", "amdgpu-driver-known-bad"),
    ],
)
def test_what_speaks_against_it(text: str, cause: str) -> None:
    assert cause not in raised(text)


def test_an_smi_tool_that_is_slow_only_while_the_gpus_work_does_not_wait_for_the_driver() -> None:
    assert "nvidia-smi-slow-told" not in keys("nvidia-smi takes long when the GPU is busy")
    assert "nvidia-smi-slow-told" in keys("nvidia-smi takes long when no job runs")
