"""What a unit, a sandbox or an engine keeps from a program that runs well elsewhere, with near misses."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.readers import docker_run_line
from doctor.rules.access import (
    container_missing_gpu_passthrough,
    container_no_cgroups_misconfigured,
    container_render_group_mismatch,
)
from doctor.rules.flags import env_not_seen_by_service
from doctor.rules.python import torch_built_for_other_vendor
from tests.knowledge.texts import keys, names, names_not, raised, told

DENIED, PASSED, RUNTIME = (
    "container-device-cgroup-denied",
    "container-missing-gpu-passthrough",
    "container-runtime-not-configured",
)
PROFILE, LOST, GROUP = "container-security-profile", "container-lost-devices", "container-render-group-mismatch"
ENGINE, ACCOUNT, DRIVER = "container-engine-no-gpu-support", "device-node-permission", "nvidia-driver-not-loaded"
WSL, KERNEL_PART, SLEPT = "wsl-gpu-misconfigured", "amdgpu-driver-not-loaded", "nvidia-uvm-stale-after-suspend"
SERVICE, JOB = "env-not-seen-by-service", "scheduler-no-gpu-allocated"
INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: {}\n```\n"
NAMED = "Container:\n```\ncontainer engine: {}\n```\n"
T4 = "GPU:\n```\n$ nvidia-smi -L\nGPU 0: Tesla T4\n```\n"
TOOLKIT = "container-toolkit-too-old"
WINDOWS = "System:\n```\nOS: Windows 11, WSL2\nNVIDIA driver version: 555.99\n```\n" + INSIDE.format("docker")
LXC = NAMED.format("LXC") + "NVIDIA driver version: 550.90.07\n"
NO_NVML = "libnvidia-ml.so.1: cannot open shared object file: No such file or directory\n"
UNREACHED = "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver\n"
CLOSED = "crw-rw---- 1 root video 195, 0 Jun 25 11:05 /dev/nvidia0\n"
RPC = "nvidia-container-cli: initialization error: driver error: failed to process request\n"
AMD_RUN = "$ docker run -it --device=/dev/kfd --device=/dev/dri --group-add video {}\n"

test_it_is_named = names(
    [
        # A unit's list of devices
        ("the GPU is not found by the service\nDeviceAllow=char-nvidiactl char-nvidia-uvm", DENIED),
        ("llama-server.service: no ROCm-capable device is detected\nDeviceAllow=/dev/dri/renderD128 rw", DENIED),
        ("ollama uses the CPU instead of the GPU\nthe unit's device allow list has no /dev/dxg", DENIED),
        ("GPU not detected since the systemd hardening of the unit", DENIED),
        (NAMED.format("kubernetes") + "/dev/nvidia-caps/nvidia-cap2 cannot be opened", DENIED),
        # Counters
        (INSIDE.format("docker") + "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", PROFILE),
        ("$ docker run --gpus=all acme/train\nERR_NVGPUCTRPERM", PROFILE),
        # A container that lost its GPUs
        (NAMED.format("docker") + "ollama uses the CPU\nrecreating the container makes it work again", LOST),
        (NAMED.format("docker") + "the container no longer finds the GPU after a couple of days", LOST),
        # Outside it works
        (INSIDE.format("bubblewrap") + UNREACHED + "the same command works outside the sandbox", PASSED),
        (INSIDE.format("docker") + UNREACHED + "ls /dev | grep nvidia -> nothing", PASSED),
        # Engines
        (NAMED.format("k0s containerd") + T4 + NO_NVML, RUNTIME),
        ("Insufficient nvidia.com/gpu\nthe containerd config has only runc", RUNTIME),
        ("System:\n```\nOS: macOS 14\n```\n" + NAMED.format("Docker Desktop") + "GPU cannot be used", ENGINE),
        (NAMED.format("gVisor (runsc)") + "the GPU is not found", ENGINE),
        # Nodes and groups
        (RPC + CLOSED, ACCOUNT),
        ("hipErrorNoDevice\ndev5: /dev/kfd,gid=44", GROUP),
        # Rights in people's words
        ("the nvidia device: no permission to access the nvidia device\nuser: 472:472", ACCOUNT),
        ("regular users cannot access the nvidia devices", ACCOUNT),
        ("the GPU is not found\noptions nvidia NVreg_DeviceFileGID=481 NVreg_DeviceFileMode=0660", ACCOUNT),
        (INSIDE.format("docker") + "no permission on /dev/kfd for the ROCm account", GROUP),
        ("ROCm finds no GPU agent in the pod\nsupplementalGroups not set in the chart", GROUP),
        # Lost after a time
        (NAMED.format("docker") + "ollama fails to use the GPU after idle time", LOST),
        (NAMED.format("kubernetes") + "CUDA unknown error\nnew pods on the node work", LOST),
        ("running GPU workspaces lose the GPU\nthe update runs systemctl daemon-reload", LOST),
        # Video libraries, a default runtime, a sandbox
        ("$ docker run --gpus all jellyfin/jellyfin\nCannot load libnvcuvid.so.1", PASSED),
        (NAMED.format("docker") + "Cannot load libcuda.so.1", PASSED),
        ("nvidia tasks: no GPU\nDefault Runtime: runc", RUNTIME),
        (NAMED.format("bubblewrap") + "Failed to initialize NVML: Insufficient Permissions", PROFILE),
        # Accounts, groups, profiles
        ("CUDA initialization fails for normal users", ACCOUNT),
        ("ROCm: the service user cannot open /dev/dri/renderD128", ACCOUNT),
        (INSIDE.format("docker") + "render is 104 in the container, 993 on the host", GROUP),
        ("podman\nUnable to open /dev/kfd read-write: Permission denied\nit works with label=disable", PROFILE),
        (
            NAMED.format("systemd-nspawn") + "NVML: Unknown Error\n--bind=/dev/nvidia0 is given, DeviceAllow not set",
            DENIED,
        ),
        # Engines
        ("the GPU is not detected\nAddDevice lines missing in the .container file", PASSED),
        ("nvidia: --gpus all has no effect until Docker was restarted", RUNTIME),
        (NAMED.format("docker") + "containers lose GPU access\nnative.cgroupdriver=systemd", LOST),
        (WINDOWS + "cudaErrorSymbolNotFound: named symbol not found", TOOLKIT),
        # Root alone, nodes not bound, numbers of LXC
        ("rocminfo shows the GPU for root only", ACCOUNT),
        (NAMED.format("LXC") + "the GPU is not found\n/dev/nvidia* not bound in the container's config", PASSED),
        (LXC + "CUDA unknown error\nnvidia-uvm major is 509, the config allows c 508:* rwm", DENIED),
        (NAMED.format("docker") + "no GPU found\ngroup_add: 109\nrender:x:992: on the host", GROUP),
        ("no CUDA-capable device is detected\ndocker restart immich_machine_learning brings it back", LOST),
        (NAMED.format("docker") + "the GPU vanishes from long-running containers\nnew containers are fine", LOST),
    ]
)
test_near_misses = names_not(
    [
        ("all GPUs are used by the service\nDeviceAllow=char-nvidiactl char-nvidia-uvm", DENIED),
        ("the kernel's hardening patches are on\nGPU not detected", DENIED),
        ("the unit's device allow list has no /dev/dxg\nOS: WSL2 Ubuntu", WSL),
        ("service finds no GPU\nDeviceAllow=/dev/dri/renderD128 rw and no /dev/kfd", KERNEL_PART),
        ("running inside a container: no\ncontainer engine: docker\nERR_NVGPUCTRPERM", PROFILE),
        ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\nprofiling works with --privileged", DENIED),
        (NAMED.format("docker") + "ollama uses the CPU\nrecreating the container does not help", LOST),
        (INSIDE.format("bubblewrap") + UNREACHED + "the same command works outside the sandbox", DRIVER),
        (INSIDE.format("docker") + UNREACHED + "it does not work outside the container either", PASSED),
        (NAMED.format("docker 27") + T4.replace("-L", "-L fails") + NO_NVML, RUNTIME),
        (NAMED.format("k0s containerd") + T4 + NO_NVML, DRIVER),
        ("Insufficient nvidia.com/gpu\nthe containerd config has only runc", JOB),
        ("Insufficient nvidia.com/gpu\nthe containerd config has runc and nvidia", RUNTIME),
        (RPC + CLOSED, DRIVER),
        (RPC + CLOSED.replace("rw----", "rw-rw-"), ACCOUNT),
        ("everything works\ndev5: /dev/kfd,gid=44", GROUP),
        ("hipErrorNoDevice\ndev5: /dev/kfd,gid=992", GROUP),
        ("nvidia-smi works at first, the container fails after sleep 30", SLEPT),
        ("set_mempolicy: Operation not permitted\nthe container has no CAP_SYS_NICE", SERVICE),
        (
            "nvidia-container-cli: permission error: capability change failed\nit works without sudo",
            SERVICE,
        ),
        (AMD_RUN.format("acme/llm") + "rocminfo enumerates all 8 agents", GROUP),
        ("$ docker run -it --device=/dev/kfd acme/llm\nthe GPU is not found\n", GROUP),
        ("the program has no permission to write the cache of the GPU's kernels", ACCOUNT),
        ("no permission on /dev/kfd for the ROCm account", GROUP),
        ("the GPU is not found\noptions nvidia NVreg_DeviceFileMode=0666", ACCOUNT),
        ("supplementalGroups: [993] is set in the chart\nROCm finds no GPU agent in the pod", GROUP),
        ("ollama fails to use the GPU after idle time", LOST),
        (NAMED.format("docker") + "the desktop no longer sees the GPU after a few days and suspend", LOST),
        (NAMED.format("kubernetes") + "CUDA unknown error\nnew pods on the node work", SLEPT),
        ("the service file was changed, systemctl daemon-reload was run\nthe GPU is used", LOST),
        ("$ docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all img\nCannot load libnvcuvid.so.1", PASSED),
        ("$ docker run --gpus all img\nthe GPU is not found\nDefault Runtime: runc", RUNTIME),
        (NAMED.format("bubblewrap") + "Failed to initialize NVML: Insufficient Permissions", ACCOUNT),
        ("the desktop fails for normal users of this app", ACCOUNT),
        ("podman\nUnable to open /dev/kfd read-write: Permission denied\nit works with label=disable", ACCOUNT),
        (
            NAMED.format("systemd-nspawn") + "NVML: Unknown Error\n--bind=/dev/nvidia0 is given, DeviceAllow not set",
            LOST,
        ),
        ("the GPU is detected\nAddDevice=/dev/kfd stands in the .container file", PASSED),
        ("nvidia: the GPU was used until Docker was updated", RUNTIME),
        (NAMED.format("docker") + "containers use the GPU\nnative.cgroupdriver=systemd", LOST),
        (WINDOWS.replace("555.99", "537.58") + "cudaErrorSymbolNotFound: named symbol not found", TOOLKIT),
        ("rocminfo shows the GPU for root and for users", ACCOUNT),
        (NAMED.format("LXC") + "the GPU is used\n/dev/nvidia* bound in the container's config", PASSED),
        (LXC + "CUDA unknown error\nnvidia-uvm major is 509, as in the config", DENIED),
        (NAMED.format("docker") + "no GPU found\nrender:x:992: in /etc/group", GROUP),
        ("no CUDA-capable device is detected\ndocker restart immich_machine_learning changes nothing", LOST),
        (NAMED.format("docker") + "the menu vanishes in containers\nnew containers are fine", LOST),
    ]
)


def test_a_machine_whose_cuda_is_gone_after_sleep_is_still_told() -> None:
    assert "suspend-resume-told" in keys("CUDA fails after sleep")
    assert "suspend-resume-told" not in keys("nvidia-smi fails after time.sleep(30)")


def test_the_vm_of_an_engine_tells_that_macos_has_no_cuda() -> None:
    text = "System:\n```\nOS: macOS 14\n```\n" + NAMED.format("Docker Desktop") + "GPU cannot be used"
    assert raised(text) == [ENGINE]


def test_an_option_that_is_told_to_be_removed_is_none() -> None:
    sheet = docker_run_line.read("docker run compose.yml, privileged: true removed, devices: /dev/kfd")
    assert sheet.get("container.run_args") == ["compose.yml,"]
    assert docker_run_line.read("docker run --rm --gpus all img").get("container.run_args") == [
        "--rm",
        "--gpus",
        "all",
        "img",
    ]


def test_a_compose_file_that_was_refused_started_no_container() -> None:
    text = "The Compose file './compose.yml' is invalid because: Additional properties are not allowed"
    assert container_missing_gpu_passthrough.unheard(read_text([text.encode()]))
    assert not container_missing_gpu_passthrough.unheard(read_text([(text + "\nthe GPU is not found").encode()]))


def test_words_are_no_sign_of_a_wrong_torch_where_none_is_named() -> None:
    plain, torch = "nvidia-smi shows all GPUs of the machine", "torch shows all GPUs of the machine"
    assert torch_built_for_other_vendor.unheard(read_text([plain.encode()]))
    assert not torch_built_for_other_vendor.unheard(read_text([torch.encode()]))


def test_no_variable_gives_back_what_a_unit_refuses() -> None:
    text = "ollama serve from a shell finds the GPU, the service does not\n"
    assert not env_not_seen_by_service.unheard(read_text([text.encode()]))
    assert env_not_seen_by_service.unheard(read_text([(text + "DeviceAllow=char-nvidiactl").encode()]))


def test_a_word_taken_for_a_path_is_no_matter_of_the_cgroup() -> None:
    text = "nvidia-container-cli: mount error: stat failed: /GeForce: no such file or directory"
    assert container_no_cgroups_misconfigured.unheard(read_text([text.encode()]))
    other = "nvidia-container-cli: mount error: failed to add device rules"
    assert not container_no_cgroups_misconfigured.unheard(read_text([other.encode()]))


@pytest.mark.parametrize("text", ["Failed to find group", "the gid of render differs from the host's"])
def test_another_number_of_the_group_is_no_account_to_add(text: str) -> None:
    said = f"render group: {text}\n" + INSIDE.format("docker")
    assert (ACCOUNT in told(said)) is False


def test_numbers_of_lxc_that_agree_are_no_sign_of_another_number() -> None:
    text = "ollama: model requires more system memory\ndev0: /dev/dri/renderD128,gid=993\ndev1: /dev/kfd,gid={}\n"
    assert container_render_group_mismatch.unheard(read_text([text.format(993).encode()]))
    assert not container_render_group_mismatch.unheard(read_text([text.format(44).encode()]))
    assert not container_render_group_mismatch.unheard(read_text([(text + "no GPU found").format(993).encode()]))
