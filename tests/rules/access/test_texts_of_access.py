"""Access rules on what users paste: each fires, nearly misses, and is silent where the text does not tell."""

# ruff: noqa: E501

from __future__ import annotations

from types import ModuleType

from doctor.engine.judge import judge
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.rules.access import (
    cdi_spec_missing_or_stale,
    container_device_cgroup_denied,
    container_engine_no_gpu_support,
    container_lost_devices,
    container_missing_gpu_passthrough,
    container_no_cgroups_misconfigured,
    container_render_group_mismatch,
    container_runtime_not_configured,
    container_security_profile,
    container_shm_too_small,
    container_toolkit_too_old,
    device_node_permission,
    memlock_limit_too_low,
    nofile_limit_too_low,
    scheduler_no_gpu_allocated,
    wsl_gpu_misconfigured,
)
from doctor.triage.read import read_text
from tests.each import each

NONE_SEEN = "\nRuntimeError: No HIP GPUs are available\n"
NO_CUDA = "\nRuntimeError: No CUDA GPUs are available\n"
KFD = "crw-rw---- 1 root render 234, 0 Sep  2 15:45 /dev/kfd\n"
KFD_GID = "crw-rw---- 1 root 992 234, 0 Sep  2 15:45 /dev/kfd\n"
Row = tuple[ModuleType, str, str]

ROWS: dict[str, Row] = {
    "amd image without devices": (
        container_missing_gpu_passthrough,
        "docker run -it --rm rocm/pytorch:latest" + NONE_SEEN,
        "docker run -it --rm --device /dev/kfd --device /dev/dri rocm/pytorch:latest" + NONE_SEEN,
    ),
    "only the render nodes": (
        container_missing_gpu_passthrough,
        "docker run -it --device /dev/dri rocm/vllm" + NONE_SEEN,
        "docker run -it --device /dev/dri --device=/dev/kfd rocm/vllm" + NONE_SEEN,
    ),
    "nvidia image without gpus": (
        container_missing_gpu_passthrough,
        "docker run --rm -it nvcr.io/nvidia/pytorch:24.05-py3 python" + NO_CUDA,
        "docker run --rm -it --gpus all nvcr.io/nvidia/pytorch:24.05-py3 python" + NO_CUDA,
    ),
    "compose without a reservation": (
        container_missing_gpu_passthrough,
        "```yaml\nservices:\n  llm:\n    image: ollama/ollama:rocm\n    ports:\n      - 11434:11434\n```" + NONE_SEEN,
        "```yaml\nservices:\n  llm:\n    image: ollama/ollama:rocm\n    devices:\n      - /dev/kfd\n      - /dev/dri\n```"
        + NONE_SEEN,
    ),
    "group of another number": (
        container_render_group_mismatch,
        "docker run --device /dev/kfd --device /dev/dri --group-add video rocm/pytorch\n"
        f"uid=1000(user) gid=1000(user) groups=1000(user),44(video)\n{KFD_GID}" + NONE_SEEN,
        "docker run --device /dev/kfd --device /dev/dri --group-add 992 rocm/pytorch\n"
        f"uid=1000(user) gid=1000(user) groups=1000(user),992\n{KFD_GID}" + NONE_SEEN,
    ),
    "user outside the group": (
        device_node_permission,
        f"uid=1000(user) gid=1000(user) groups=1000(user),27(sudo)\n{KFD}" + NONE_SEEN,
        f"uid=1000(user) gid=1000(user) groups=1000(user),109(render)\n{KFD}" + NONE_SEEN,
    ),
    "only runc": (
        container_runtime_not_configured,
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n",
        "docker run --runtime=nvidia --rm nvidia/cuda nvidia-smi\n Runtimes: io.containerd.runc.v2 nvidia runc\n",
    ),
    "docker knows no gpu": (
        container_engine_no_gpu_support,
        'Docker Desktop 4.30 on Linux\ndocker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n',
        "Docker Engine 27.1\ndocker run --gpus all nvidia/cuda nvidia-smi\n",
    ),
    "rootless with cgroups": (
        container_no_cgroups_misconfigured,
        "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted\nno-cgroups = false\nrootless: true\n",
        "no-cgroups = false\nnvidia-smi works\n",
    ),
    "an old toolkit": (
        container_toolkit_too_old,
        "nvidia-container-cli: ldcache error: process /sbin/ldconfig.real failed with error code: 1\n"
        "NVIDIA Container Toolkit CLI version 1.3.0\ndocker run --gpus all ubuntu:24.04\nNVIDIA-SMI 580.65.06  Driver Version: 580.65.06  CUDA Version: 13.0\n",
        "NVIDIA Container Toolkit CLI version 1.17.8\ndocker run --gpus all ubuntu:24.04\n",
    ),
    "a device nobody resolves": (
        cdi_spec_missing_or_stale,
        "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n",
        "podman run --device nvidia.com/gpu=all ubuntu nvidia-smi\n",
    ),
    "volumes are no devices": (
        container_device_cgroup_denied,
        f"docker run -v /dev/kfd:/dev/kfd -v /dev/dri:/dev/dri rocm/pytorch\n{KFD}Unable to open /dev/kfd read-write: Operation not permitted\n",
        f"docker run --device /dev/kfd --device /dev/dri rocm/pytorch\n{KFD}",
    ),
    "gone after a while": (
        container_lost_devices,
        "It works for hours, then in the running container:\nFailed to initialize NVML: Unknown Error\nsystemctl daemon-reload was run\nCgroup Driver: systemd\n",
        "Cgroup Driver: systemd\n",
    ),
    "shm by default": (
        container_shm_too_small,
        "docker run --gpus all nvcr.io/nvidia/pytorch:24.05-py3 python train.py\nRuntimeError: DataLoader worker (pid 99) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n",
        "docker run --gpus all --ipc=host nvcr.io/nvidia/pytorch:24.05-py3 python train.py\n",
    ),
    "files": (
        nofile_limit_too_low,
        "OSError: [Errno 24] Too many open files\nopen files                          (-n) 1024\n",
        "open files                          (-n) 65535\n",
    ),
    "locked memory": (
        memlock_limit_too_low,
        "max locked memory           (kbytes, -l) 64\nNCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n",
        "max locked memory           (kbytes, -l) unlimited\n",
    ),
    "a job that asks for none": (
        scheduler_no_gpu_allocated,
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=1:00:00\npython train.py\n\nSLURM_JOB_ID=412" + NO_CUDA,
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\npython train.py\n\nSLURM_JOB_ID=412" + NO_CUDA,
    ),
    "linux driver within wsl": (
        wsl_gpu_misconfigured,
        "Linux DESK 5.15.153.1-microsoft-standard-WSL2 x86_64\na Linux driver is installed inside WSL\nnvidia-smi: Failed to initialize NVML: GPU access blocked by the operating system\n",
        "Linux DESK 5.15.153.1-microsoft-standard-WSL2 x86_64\n",
    ),
    "a group that the container does not map": (
        container_render_group_mismatch,
        "crw-rw---- 1 65534 65534 226, 128 Dec  6 21:01 /dev/dri/renderD128\nFailed to open /dev/dri/renderD128: Permission denied\n",
        "crw-rw---- 1 65534 65534 226, 128 Dec  6 21:01 /dev/dri/renderD128\nrocminfo works\n",
    ),
    "output of an exec": (
        container_missing_gpu_passthrough,
        "$ docker exec -it comfyui ls /dev/kfd\nls: cannot access '/dev/kfd': No such file or directory\n",
        "$ ls /dev/kfd\nls: cannot access '/dev/kfd': No such file or directory\n",
    ),
    "labels of selinux": (
        container_security_profile,
        'SELinux: Enforcing\npodman run --device /dev/kfd --device /dev/dri rocm/pytorch\nUnable to open /dev/kfd read-write: Permission denied\navc:  denied  { read write } for  pid=2 comm="rocminfo" scontext=system_u:system_r:container_t:s0:c260,c628 tcontext=system_u:object_r:hsa_device_t:s0\n',
        "SELinux: Enforcing\nrocminfo works\n",
    ),
}


def _found(rule: ModuleType, text: str) -> list[Finding]:
    """Findings of this rule, by its check and by the signatures that point to it."""
    machine = read_text([text.encode()]).model_copy(update={"resembles": ()})  # words alone raise nothing here
    return [f for f in judge(machine, Knowledge()).findings if f.rule == rule.RULE.id]


@each("name", ROWS)
def test_it_fires(name: str) -> None:
    assert _found(ROWS[name][0], ROWS[name][1])


@each("name", ROWS)
def test_it_nearly_misses(name: str) -> None:
    loud = [f for f in _found(ROWS[name][0], ROWS[name][2]) if f.severity.value != "info"]
    assert loud == []


@each("name", ROWS)
def test_a_text_that_tells_nothing(name: str) -> None:
    assert (
        _found(ROWS[name][0], "PyTorch version: 2.6.0\nIs CUDA available: True\nTraceback (most recent call last)\n")
        == []
    )


def test_a_record_of_selinux_is_not_about_groups() -> None:
    assert _found(container_render_group_mismatch, ROWS["labels of selinux"][1]) == []
