"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "kfd-open-permission": "Unable to open /dev/kfd read-write: Permission denied",
    "dri-open-permission": "Failed to open '/dev/dri/renderD128': Permission denied",
    "nvidia-node-permission": "Failed to initialize NVML: Insufficient Permissions",
    "group-not-in-image": "docker: Error response from daemon: Unable to find group render: no matching entries in group file.",  # noqa: E501
    "group-id-without-name": "groups: cannot find name for group ID 110",
    "docker-custom-device-missing": 'docker: Error response from daemon: error gathering device information while adding custom device "/dev/kfd": no such file or directory.',  # noqa: E501
    "custom-device-nvidia": 'docker: Error response from daemon: error gathering device information while adding custom device "/dev/nvidiactl": no such file or directory',  # noqa: E501
    "custom-device-dxg": 'error gathering device information while adding custom device "/dev/dxg": no such file or directory',  # noqa: E501
    "kfd-missing-in-container": "ls: cannot access '/dev/kfd': No such file or directory",
    "docker-no-gpu-capability": 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',  # noqa: E501
    "docker-no-nvidia-runtime": "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
    "container-cli-missing": 'exec: "nvidia-container-cli": executable file not found in $PATH',
    "container-cli-load-library": "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown.",  # noqa: E501
    "desktop-linux-context": "docker context: desktop-linux",
    "snap-docker": "Docker Root Dir: /var/snap/docker/common/var-lib-docker",
    "container-cli-driver-rpc": "nvidia-container-cli: initialization error: driver rpc error: timed out: unknown",
    "container-cli-cuda-error": "nvidia-container-cli: initialization error: cuda error: no cuda-capable device is detected",  # noqa: E501
    "container-cli-device-unknown": "nvidia-container-cli: device error: unknown device id: 4",
    "jetson-hook-direct": "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported. Please use the NVIDIA Container Runtime instead.",  # noqa: E501
    "no-gpu-in-compose": "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",
    "device-plugin-no-nvml": "If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
    "k8s-runtimeclass-missing": 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',  # noqa: E501
    "k8s-insufficient-gpu": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
    "slurm-no-gpu": "srun: error: Unable to allocate resources: Requested node configuration is not available",
    "ray-no-gpu": "Error: No available node types can fulfill resource request {'GPU': 1.0}",
    "nvml-unknown-error": "Failed to initialize NVML: Unknown Error",
    "container-lost-after-reload": "after systemctl daemon-reload the container loses access to its GPUs",
    "cgroup-bpf-rootless": "nvidia-container-cli: mount error: failed to add device rules: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown",  # noqa: E501
    "cgroup-subsystem-devices": "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown",
    "toolkit-too-old-symptoms": "failed to create task for container: container.Runtime.Name must be set: invalid argument",  # noqa: E501
    "toolkit-ldcache-fails": "nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: no such file or directory",  # noqa: E501
    "cdi-unresolvable": "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
    "cdi-stale-file": "Error: crun: cannot stat `/lib/firmware/nvidia/550.54.14/gsp_ga10x.bin`: No such file or directory: OCI runtime attempted to invoke a command that was not found",  # noqa: E501
    "cgroup-device-denied": 'open("/dev/kfd"): Operation not permitted',
    "seccomp-blocks": "set_mempolicy: Operation not permitted",
    "selinux-denies": 'type=AVC msg=audit(1): avc:  denied  { read write } for comm="nvidia-smi" name="nvidiactl" dev="devtmpfs"',  # noqa: E501
    "shm-nccl": "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-pZafXL (size 7340384)",
    "shm-dataloader": "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",  # noqa: E501
    "shm-no-space": "OSError: [Errno 28] No space left on device: '/dev/shm/torch_123'",
    "fd-ancdata": "RuntimeError: received 0 items of ancdata",
    "too-many-open-files": "OSError: [Errno 24] Too many open files",
    "memlock-rdma": "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
    "openfabrics-memlock": "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.",
    "wsl-blocked": "Failed to initialize NVML: GPU access blocked by the operating system",
    "wsl-librocdxg": "Cannot load librocdxg.so, failed:librocdxg.so: cannot open shared object file: No such file or directory",  # noqa: E501
    "wsl-adapter-not-found": "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found: unknown",  # noqa: E501
    "wsl-torch-no-gpu": "torch.cuda.is_available() returns False",
    "wsl-dxg-missing": "ls: cannot access '/dev/dxg': No such file or directory",
    "wsl-hsa-kmt": "libhsa-runtime64.so.1: undefined symbol: hsaKmtOpenKFD",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]
