"""Error texts of NVIDIA's kernel modules and of what hands GPUs on: what each points to, and what speaks against it."""

from __future__ import annotations

import pytest

from doctor.intake.read import read_text
from tests.knowledge.texts import raised


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.", "nvidia-open-module-unsupported-gpu"),
        ("NVRM: installed in this vGPU host system is not supported by", "nvidia-open-module-unsupported-gpu"),
        ("NVRM: ignoring the legacy GPU 0000:05:00.0", "nvidia-driver-not-loaded"),
        ("NVRM: GPU 0000:05:00.0: GPU does not have the necessary power cables connected.", "nvidia-xid-fatal"),
        ("NVRM: request_mem_region failed for 16M @ 0xf6000000. This can", "gpu-bound-to-other-driver"),
        ("NVRM: No address space to allocate resized BAR1.", "large-bar-disabled"),
        (
            "numba.cuda.cudadrv.driver.CudaAPIError: [802] Call to cuInit results in UNKNOWN_CUDA_ERROR",
            "nvidia-fabricmanager-not-running",
        ),
        ("cudaGetDeviceCount returned 802", "nvidia-fabricmanager-not-running"),
        (
            'CUDA error at a.cu:4 code=802(cudaErrorSystemNotReady) "cudaFree(0)"',
            "nvidia-fabricmanager-not-running",
        ),
        ("cuInit(0) failed with error code: 803", "cuda-compat-conflict"),
        ("cuInit returned 804", "cuda-compat-conflict"),
        (
            "== PyTorch ==\nWARNING: Detected NVIDIA H200 NVL GPU, which is not yet supported in this version of "
            "the container",
            "torch-missing-gpu-arch",
        ),
        (
            "ERROR: Detected NVIDIA K620 GPU, which is not supported by this container",
            "library-missing-gpu-arch",
        ),
        (
            "runc create failed: error adding seccomp filter rule for syscall rseq: permission denied",
            "container-security-profile",
        ),
        ("unable to apply apparmor profile: apparmor failed to apply profile", "container-security-profile"),
        (
            "nvidia-container-cli: permission error: capability change failed: operation not permitted",
            "container-security-profile",
        ),
        (
            "nvidia-container-cli: mount error: file creation failed: /var/lib/docker/1/usr/lib/libcuda.so.1"
            ": file exists: unknown",
            "gpu-libs-conflict",
        ),
        (
            "nvidia-container-cli: initialization error: load library failed: /usr/lib/wsl/drivers/x/libnvidia-ml.so"
            ": undefined symbol: a",
            "wsl-gpu-misconfigured",
        ),
        ("Linux pc 5.15.90.1-microsoft-standard-WSL2\nnvidia-smi: Segmentation fault", "wsl-gpu-misconfigured"),
        ("NvRmMemInitNvmap failed with No such file or directory", "container-missing-gpu-passthrough"),
        (
            "vfio-pci 0000:21:00.0: BAR 3: can't reserve [mem 0xd0000000-0xd1ffffff]",
            "gpu-bound-to-other-driver",
        ),
        (
            "vfio 0000:21:00.0: group 15 is not viable\nPlease ensure all devices within the iommu_group are bound to "
            "their vfio bus driver.",
            "gpu-bound-to-other-driver",
        ),
        ("vfio 0000:21:00.0: failed to open /dev/vfio/15: Device or resource busy", "gpu-bound-to-other-driver"),
        (
            "Requested operation is not valid: PCI device 0000:21:00.0 is in use by driver QEMU, domain other",
            "gpu-bound-to-other-driver",
        ),
        (
            "running command chroot with args [/run/nvidia/driver nvidia-smi]\nfailed to validate the driver, retrying "
            "after 5 seconds",
            "nvidia-driver-not-loaded",
        ),
        ("nvidia-peermem driver is not ready", "gpudirect-rdma-missing"),
        (
            "failed to generate CDI spec: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND",
            "nvidia-driver-not-loaded",
        ),
        (
            "error modifying OCI spec: failed to create the automatic CDI modifier: no device",
            "cdi-spec-missing-or-stale",
        ),
        (
            "srun: error: Unable to create step for job 81: Insufficient GRES available in allocation",
            "scheduler-no-gpu-allocated",
        ),
        (
            "slurmd: error: MIG mode is enabled, but no MIG devices were found.",
            "mig-misconfigured",
        ),
        (
            "invalid MIG configuration: at least one device with migEnabled=true was not configured correctly: "
            "device 3 has no MIG devices configured",
            "mig-misconfigured",
        ),
        (
            "The GPU is no longer usable for CUDA programs once the PC went to sleep.\nRTX 2070",
            "nvidia-uvm-stale-after-suspend",
        ),
        (
            'docker on my Windows 10 PC: could not select device driver "" with capabilities: [[gpu]]',
            "container-engine-no-gpu-support",
        ),
        (
            "With lockdown on, the nvidia-open module's signature is rejected on each boot.",
            "secure-boot-blocks-module",
        ),
        (
            "Secure Boot is enabled and the MOK is enrolled.\nThe NVIDIA driver still does not load, lsmod is empty.",
            "secure-boot-blocks-module",
        ),
        (
            "ACSCtl in the guest: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+",
            "pcie-acs-enabled",
        ),
        ("I could not get nvidia-smi to run under WSL with the new build.", "wsl-gpu-misconfigured"),
        ("It works once I chmod a+rw /dev/nvidia* on the host.", "device-node-permission"),
        (
            "WARNING: Skipping user bind, non existent bind point (file) in container: '/usr/bin/nvidia-smi'",
            "container-missing-gpu-passthrough",
        ),
        ("WARNING: Could not find any nv files on this host!", "nvidia-driver-not-loaded"),
        ("Driver 550.144 ignores the GeForce card since the update.", "nvidia-driver-not-loaded"),
        (
            "GPUs are not exposed to pods until I set nvidia as the default runtime in config.toml",
            "container-runtime-not-configured",
        ),
        ("A daemon-reload on the node makes the GPU unhealthy for the plugin.", "container-lost-devices"),
        ("The NVIDIA Legacy drivers are needed\nNVRM: No NVIDIA GPU found.", "nvidia-driver-not-loaded"),
        ("NVIDIA Insufficient driver!", "nvidia-driver-too-old"),
        ("Nouveau wasn't blacklisted by the package, so nvidia finds no adapter.", "nouveau-loaded"),
        ("A100 node: fabric manager found but not active", "nvidia-fabricmanager-not-running"),
        ("CUDA fails with 802 for lack of nvidia-fabricmanager", "nvidia-fabricmanager-not-running"),
        (
            "$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
            "My sbatch script was wrong: I didn't actually get a GPU allocated.",
            "scheduler-no-gpu-allocated",
        ),
        (
            "Docker: it uses the CPU instead of the GPU after two days. The solution was to restart the container.",
            "container-lost-devices",
        ),
        ("The docker container doesn't find the GPU after being idle", "container-lost-devices"),
        (
            "NVIDIA laptop. After sleep the log says: Unable to load cudart: cudart init failure: 999",
            "nvidia-uvm-stale-after-suspend",
        ),
        (
            "Pods do not see the GPU without defining runtimeClassName: nvidia",
            "container-runtime-not-configured",
        ),
        (
            "kernel: nouveau 0000:01:00.0: DRM: resuming client object trees...\n"
            "kernel: NVRM: The NVIDIA probe routine was not called for 1 device(s).",
            "nouveau-loaded",
        ),
        ("NVRM: GPU 0000:01:00.0 is already bound to NovaCore.", "gpu-bound-to-other-driver"),
        (
            "I cannot run nvidia-smi as user **bob**, but it is possible as user **root**.\nNo devices were found",
            "device-node-permission",
        ),
        ("My BIOS has Above 4G Decoding deactivated by default. Tesla P40", "large-bar-disabled"),
        ("Jupyter with an NVIDIA RTX 3060: when I suspend the laptop, CUDA dies", "nvidia-uvm-stale-after-suspend"),
        ("nvidia-container-cli: invalid option -- 'r'", "container-toolkit-too-old"),
        (
            "my server has two Tesla K80, can ollama use them? it can't find my gpu and uses cpu",
            "library-missing-gpu-arch",
        ),
        (
            "Jetson AGX Xavier, L4T r32.7: load library failed: libcuda.so.1: cannot open shared object file",
            "gpu-libs-not-found",
        ),
        ("ImportError: libnvrm.so: cannot open shared object file: No such file", "gpu-libs-not-found"),
    ],
)
def test_each_points_to_its_cause(text: str, cause: str) -> None:
    assert raised(text)[:1] == [cause]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("step 802 of 1000, loss 0.8; cudaMemGetInfo returned 80", "nvidia-fabricmanager-not-running"),
        ("Detected NVIDIA A100 GPU", "library-missing-gpu-arch"),
        ("WSL2 python[4121]: segfault at 0 ip 00007f", "wsl-gpu-misconfigured"),
        ("vfio-pci 0000:21:00.0: enabling device (0000 -> 0003)", "gpu-bound-to-other-driver"),
        (
            "waiting for the driver validations to be ready...\n"
            "ERROR: The Nouveau kernel driver is currently in use by your system.",
            "nvidia-driver-not-loaded",
        ),
        ("The screen is garbled after the laptop sleeps. Radeon RX 6600, amdgpu", "nvidia-uvm-stale-after-suspend"),
        ("I run docker on my Windows PC and the GPU is found in containers.", "container-engine-no-gpu-support"),
        ("SecureBoot disabled\nThe NVIDIA driver does not load.", "secure-boot-blocks-module"),
        ("Secure Boot is enabled, and the NVIDIA module is loaded and signed.", "secure-boot-blocks-module"),
        ("ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-", "pcie-acs-enabled"),
        ("docker context ls: seccomp profile: builtin", "container-security-profile"),
        ("nvidia-smi works under WSL, and so does torch", "wsl-gpu-misconfigured"),
        ("chmod 666 /dev/nvidia0 does not help", "device-node-permission"),
        ("The default runtime of this cluster is nvidia, all pods run.", "container-runtime-not-configured"),
        ("RTX 5090: driver 535.183.01 ignores the card", "nvidia-driver-not-loaded"),
        (
            "Allocate failed due to rpc error: GPU 2: GPU is lost, nvidia.com/gpu",
            "scheduler-no-gpu-allocated",
        ),
        ("I got 4 GPUs allocated by Slurm and torch sees them", "scheduler-no-gpu-allocated"),
        ("To change the port, restart the container. GPU works.", "container-lost-devices"),
        (
            'msg="discovered GPU libraries" paths="[/tmp/o/libcudart.so.11.0 /opt/cuda/lib64/libcudart.so.12.6.37]"',
            "gpu-libs-conflict",
        ),
        (
            "By using mokutil to sign modules one can keep Secure Boot and have a working GPU",
            "secure-boot-blocks-module",
        ),
        ("my server has a Tesla P40, ollama can't find my gpu and uses cpu", "library-missing-gpu-arch"),
        ("Jetson Orin: libcuda.so.1: cannot open shared object file", "nvidia-driver-not-loaded"),
    ],
)
def test_what_is_near_and_something_else(text: str, cause: str) -> None:
    assert cause not in raised(text)


def test_what_a_driver_does_about_ecc_errors_is_none() -> None:
    text = b"when an uncorrectable ECC error is detected, the driver remaps the row"
    assert read_text([text]).symptom("ecc-uncorrectable") is None
    assert read_text([b"RuntimeError: CUDA error: uncorrectable ECC error encountered"]).symptom("ecc-uncorrectable")
