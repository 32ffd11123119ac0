"""NVIDIA GPUs in clusters, LXC and hardened hosts, told in few words: each cause with a case that nearly is it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import names, told

LXC = "container engine: lxc\n"
RUNTIME = "container-runtime-not-configured"
CASES = [
    ("failed to find runtime handler nvidia from runtime list map[crun:0xc0001]", RUNTIME),
    ("RKE2: config.toml of containerd lacks the nvidia runtime", RUNTIME),
    ("docker info lists only runc\nthe container sees no GPU\nGPU 0: NVIDIA L4", RUNTIME),
    ("microk8s: the node has no nvidia.com/gpu\nGPU 0: NVIDIA A10", RUNTIME),
    ("Allocatable: nvidia.com/gpu: 0", RUNTIME),
    ("kubeadm, containerd: default_runtime_name = runc, pods see no GPU", RUNTIME),
    ("minikube --vm-driver=hyperkit\nnvidia-smi works on the host", "container-engine-no-gpu-support"),
    ("docker runs in a VirtualBox machine\nthe host has a GeForce RTX 3060", "container-engine-no-gpu-support"),
    (LXC + "lxc.cgroup2.devices.allow: c 508:* rwm, but nvidia-uvm has major 511", "container-device-cgroup-denied"),
    ("nvidia-smi: No devices were found\nthe GPU is still bound to vfio-pci", "gpu-bound-to-other-driver"),
    ("SecureBoot enabled\nmodprobe nvidia: Operation not permitted", "secure-boot-blocks-module"),
    ("Xid 154 GPU recovery action changed from None to Node Reboot Required", "nvidia-xid-fatal"),
    ("the GPU vanished from nvidia-smi under load, lspci shows rev ff\nGPU 0: NVIDIA RTX A4500", "nvidia-xid-fatal"),
    ("SELinux denies access to /dev/nvidia0 for container_t", "container-security-profile"),
    ("after waking from sleep: CUDA 999", "nvidia-uvm-stale-after-suspend"),
    ("the pod shows NVML: Unknown Error since yesterday", "container-lost-devices"),
    (
        "nvidia-container-cli: initialization error: driver error: failed to process request\nWSL2",
        "wsl-gpu-misconfigured",
    ),
    (
        "/dev/nvidia-caps/nvidia-cap2: operation not permitted\n\nContainer:\n```\nrunning inside a container: yes\n"
        "container engine: kubernetes\ncontainer toolkit version: 1.19.0\n```\n",
        "container-toolkit-too-old",
    ),
]

PASSED, DENIED = "container-missing-gpu-passthrough", "container-device-cgroup-denied"
CASES += [
    ("NVIDIA_VISIBLE_DEVICES=void in the pod", PASSED),
    ("NVIDIA_DRIVER_CAPABILITIES=utility,display\nlibcuda.so.1 is not there", PASSED),
    ("Dockerfile runs a CUDA test: no GPU is visible there\nno GPU during docker build", PASSED),
    ("the CI runner has no gpus setting\nGPU 0: NVIDIA L4", PASSED),
    ("Podman machine on Windows: no GPU", "container-engine-no-gpu-support"),
    ("container toolkit 1.17.7 fails, 1.17.6 works", "container-toolkit-too-old"),
    ("upgrading libnvidia-container1 fixes it", "container-toolkit-too-old"),
    ("the unit has PrivateDevices=yes\nno CUDA device in the service", DENIED),
    ("DevicePolicy=strict hides /dev/nvidia0", "container-security-profile"),
    ("rootless podman: /dev/nvidia0 belongs to nobody\nNVIDIA RTX A2000", "device-node-permission"),
    ("cuda-drivers were installed inside WSL2", "wsl-gpu-misconfigured"),
    ("no CUDA-capable device is detected\nthe distribution runs under WSL 1", "wsl-gpu-misconfigured"),
    ("GPU 0: NVIDIA Orin\nthe user lacks the group video", "device-node-permission"),
    ("8 passed-through H200: the MMIO window is too small", "large-bar-disabled"),
    ("k8s-device-plugin: No devices found. Waiting indefinitely.\ndefault_runtime_name: runc", RUNTIME),
]


test_the_cause_is_told = names(CASES)


SILENT = [
    ("docker info lists nvidia among the runtimes", RUNTIME),
    ("nvidia modules are loaded\nno nvidia.com/gpu capacity\nthe node lacks the label of the plugin", RUNTIME),
    ("the GPU was passed through to a VM, all is well there", "gpu-bound-to-other-driver"),
    ("Secure Boot: disabled\nmodprobe nvidia: Operation not permitted", "secure-boot-blocks-module"),
    ("GPU Recovery Action                   : None", "nvidia-xid-fatal"),
    ("NVIDIA_VISIBLE_DEVICES=all in the pod", PASSED),
    ("NVIDIA_DRIVER_CAPABILITIES=compute,utility", PASSED),
    ("NVIDIA_DRIVER_CAPABILITIES=video,utility\nffmpeg with h264_nvenc works", PASSED),
    ("container toolkit 1.17.8, docker 29.1 works", "container-toolkit-too-old"),
    ("PrivateDevices=no", DENIED),
    ("KeyError: 'model.layers.0.weight'\nthe unit has PrivateDevices=yes", DENIED),
    ("KeyError: 'model.layers.0.weight'\nDevicePolicy=closed", "container-security-profile"),
    ("Ubuntu under WSL 2.1.5", "wsl-gpu-misconfigured"),
    ("SELinux: permissive\nnvidia-smi works", "container-security-profile"),
    ("/dev/nvidia-caps/nvidia-cap2: operation not permitted", "container-toolkit-too-old"),
]


@pytest.mark.parametrize(("text", "cause"), SILENT)
def test_what_only_looks_like_it_is_not_told(text: str, cause: str) -> None:
    assert cause not in told(text)
