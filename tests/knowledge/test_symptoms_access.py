"""Each text of who may reach a GPU is found in a line as programs print it or as people state it, and not in others."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms
from tests.knowledge.texts import certain, told

SYMPTOMS = Symptoms()
EXAMPLES = {
    "gpu-not-seen-said": "Gpu isnt recognized after install",
    "nvidia-smi-no-devices": "No devices were found",
    "gpu-option-lacking-said": "docker-compose.yml only, no device reservation",
    "group-lacking-said": "the container's user is not in video",
    "render-gid-differs-said": "host: render gid 992",
    "lxc-node-gid": "dev5: /dev/kfd,gid=44",
    "root-alone-reaches-gpu": "nvidia-smi works with sudo",
    "unprivileged-device-use": "an unprivileged user in the pod cannot use the devices",
    "radeon-permissions-not-set-up": "Radeon card detected, but permissions not set up properly.",
    "nvmap-permission": "NvRmMemInitNvmap failed: error Permission denied",
    "tensile-no-devices": "rocBLAS error: Could not initialize Tensile host: No devices found",
    "exec-nvidia-smi-missing": 'exec: "nvidia-smi": executable file not found in $PATH: unknown',
    "blank-nvidia-smi": "nvidia-smi is mapped into the container as a blank file",
    "toolkit-lacking-said": "nvidia-container-toolkit not installed",
    "enroot-nvidia-hook": "[ERROR] /etc/enroot/hooks.d/98-nvidia.sh exited with return code 1",
    "oci-hook-failed": 'crun: {"msg":"error executing hook `/usr/bin/nvidia-ctk` (exit code: 1)"}',
    "cdi-unknown-field": 'decoding JSON: json: unknown field "hostPath"',
    "devices-allow-denied": "open failed: /sys/fs/cgroup/devices/user.slice/devices.allow: permission denied",
    "device-rule-lacking-said": "no cgroup device allowance for the nodes",
    "lxc-device-rule": "lxc.cgroup2.devices.allow: c 226:* rwm",
    "selinux-enforcing": "SELinux: Enforcing",
    "selinux-record": "scontext=system_u:system_r:container_t:s0:c260,c628",
    "cpu-manager-static": "kubelet --cpu-manager-policy=static",
    "nccl-shm-open": "NCCL WARN Error: failed to extend /dev/shm/nccl-1yLr2X to 9637892 bytes",
    "nccl-system-error": "ncclSystemError: System call (e.g. socket, malloc) or external library call failed",
    "bus-error": "Fatal Python error: Bus error",
    "torch-shm-object": "unable to open shared memory object </torch_54163_3383444026> in read-write mode",
    "descriptor-limit-low": "WARNING: The file descriptor limit is too low: 1024.",
    "fabric-test-passes-told": "all_reduce_perf finishes with the expected numbers",
    "ibv-no-memory": "ibv_create_cq(cqe=4096) failed: Cannot allocate memory",
    "login-node-said": "run on the login node",
    "step-gpus-lacking-said": "srun -n1 without --gpus-per-task",
    "nvml-library-not-found": "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
    "wsl-linux-driver-said": "a Linux driver is installed inside WSL",
    "dxg-detection-unset": "HSA_ENABLE_DXG_DETECTION is not set",
    "gpu-idle-said": "ollama: no usable GPU, falls back to CPU",
    "lxc-mounts-node": "lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file",
    "program-by-sudo": "$ sudo python3 main.py",
    "container-restart-cures": "GPU lost after an upgrade; container restart brings it back",
    "docker-before-gpus": "unknown flag: --gpus",
    "stat-of-cdi-node": "Error: stat /dev/nvidia-modeset: no such file or directory",
    "socket-out-of-resource": "socket.accept() out of system resource",
    "ibv-reg-fails": "NCCL WARN Call to ibv_reg_mr failed",
    "dataloader-worker-exited": "RuntimeError: DataLoader worker (pid 123) exited unexpectedly",
    "cdi-said": "CDI spec is older than the driver",
    "allocation-lacks-gpus-said": "there are no GPUs in the allocation",
}


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in [hit.key for hit in SYMPTOMS.find([(1, EXAMPLES[key])])]


@pytest.mark.parametrize(
    "line",
    [
        "Is CUDA available: True",
        "GPU 0: NVIDIA A100-SXM4-80GB",
        "docker run --gpus all --device /dev/kfd image",
        "the model is not available on the hub",
        "uid=0(root) gid=0(root) groups=0(root),44(video)",
        "root@node:/workspace# nvidia-smi",
        "srun --gres=gpu:8 python train.py",
    ],
)
def test_no_symptom_in_a_plain_line(line: str) -> None:
    assert not {hit.key for hit in SYMPTOMS.find([(1, line)])} & set(EXAMPLES)


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ("RuntimeError: No CUDA GPUs are available", True),
        ("CUDA driver version is insufficient for CUDA runtime version", True),
        ("the exporter shows no processes", False),
    ],
)
def test_an_option_that_is_lacking_is_sure_where_something_sees_no_gpu(line: str, sure: bool) -> None:
    text = f"{line}\ncompose.yml has no device reservation\n"
    assert "container-missing-gpu-passthrough" in told(text)
    assert ("container-missing-gpu-passthrough" in certain(text)) is sure


def test_a_label_that_a_node_lacks_is_no_option_of_a_container() -> None:
    assert "container-missing-gpu-passthrough" not in certain("node without the label nvidia.com/gpu.present=true\n")
