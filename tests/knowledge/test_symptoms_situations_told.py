"""What is told in a few words of containers, modules, extensions and lists of devices, and what nearly says it."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not, told

IN = "Container:\n```\nrunning inside a container: yes\ncontainer engine: podman\n```\n"
CARD = "Agent 2\n*******\n  Name:            gfx1101\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
UNSEEN = "no ROCm-capable device is detected\n\n"
GROUP, NODE = "container-render-group-mismatch", "device-node-permission"
NOSET = "export RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1\n"
SMALL = "BAR 1: current size: 256MB, supported: 64MB 128MB 256MB 1GB 8GB 16GB\n"
BAR, LOST, DIFFER = "large-bar-disabled", "container-lost-devices", "nvidia-driver-library-mismatch"
CASES = [
    (UNSEEN + "with user: root in the compose file it works\n" + CARD + IN, GROUP),
    (UNSEEN + "with user: root in the compose file it works\n" + CARD + IN, NODE),
    (UNSEEN + 'user: "0": Found 1 ROCm devices\n' + CARD + IN, GROUP),
    (UNSEEN + "podman exec --user root NAME rocminfo: the GPU is listed\n" + CARD + IN, NODE),
    ("Bus error (core dumped)\nthe service has no shm_size\n" + IN, "container-shm-too-small"),
    ("the training crashes at the first batch\ndocker-compose.yml without shm_size\n", "container-shm-too-small"),
    ("worker killed by signal: Bus error\n--shm-size is not set\n", "container-shm-too-small"),
    ("undefined symbol errors in xformers", "extension-abi-mismatch"),
    ("import fails with undefined symbols from the CUDA extension", "extension-abi-mismatch"),
    ("ImportError\nflash-attn was compiled before pip upgraded torch to 2.8", "extension-abi-mismatch"),
    ("the kernels were built against a different version of torch", "extension-abi-mismatch"),
    ("all rollout workers run on GPU 0\n" + NOSET, "visible-devices-conflict"),
    ("every engine is placed on the same GPU\n" + NOSET, "visible-devices-conflict"),
    ("both servers fill the memory of the first card\n" + NOSET, "visible-devices-conflict"),
    (
        "cannot start: error gathering device information while adding custom device /dev/dri: no such file\n"
        "modprobe: FATAL: Module nvidia-drm not found in directory /lib/modules/6.8.0-45-generic",
        "nvidia-driver-not-loaded",
    ),
    (SMALL + "NVRM: Xid (PCI:0000:0a:00): 119, Timeout after 45s of waiting for RPC response from GPU0 GSP!", BAR),
    ("no GPU is found after the container has run for hours\n" + IN, LOST),
    ("nvidia-smi fails once the pod is up for 3 days\n" + IN, LOST),
    ("a long-running container loses the GPU\n" + IN, LOST),
    ("nvidia-smi fails\nthe kernel modules and the NVML library are of different releases", DIFFER),
    ("CUDA does not start: Error 999\nthe loaded module does not fit: nvidia.ko and libcuda do not match", DIFFER),
    ("NaN after all-reduce between nodes, one node is right\nEFA on p4d.24xlarge", "collective-flag-misconfigured"),
]
NEARLY = [
    (SMALL, BAR),
    ("NVRM: Xid (PCI:0000:0a:00): 119, x\nBAR 1: current size: 16GB, supported: 64MB 256MB 16GB", BAR),
    ("the job fails after it has run for hours\n" + IN, LOST),
    ("the kernel module and the libraries of the program are of different authors", DIFFER),
    ("NaN in the loss on one GPU\nEFA is enabled", "collective-flag-misconfigured"),
    ("with user: root in the compose file it fails the same way\n" + CARD + IN, GROUP),
    ("user: root\n" + CARD + IN, NODE),
    ("docker-compose.yml without shm_size\n" + IN, "container-shm-too-small"),
    ("the wheel was built before the release of torch 2.8", "extension-abi-mismatch"),
    ("all rollout workers run on GPU 0\n", "visible-devices-conflict"),
    ("all engines are spread over the GPUs\n" + NOSET, "visible-devices-conflict"),
    ("modprobe: FATAL: Module nvidia-drm not found in directory /lib/modules/6.8.0-45", "nvidia-driver-not-loaded"),
]


test_it_is_told = names(CASES)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_vulkan_that_finds_no_device_is_no_kernel_module_of_nvidia() -> None:
    assert "no-devices-were-found" not in keys("ggml_vulkan: No devices found.")
    assert "no-devices-were-found" in keys("No devices were found")


def test_nodes_that_a_guest_lacks_are_no_option_of_a_container() -> None:
    assert "gpu-option-lacking-said" not in keys("/dev/dri is missing in the VM")
    assert "gpu-option-lacking-said" in keys("/dev/dri is missing in the container")


def test_what_root_has_in_a_container_was_given_to_it() -> None:
    passed = "docker run --device /dev/kfd --device /dev/dri IMAGE\n" + UNSEEN + IN + CARD
    assert "container-missing-gpu-passthrough" not in told(passed + "with user: root in the compose file it works\n")


def test_the_node_of_unified_memory_is_there() -> None:
    assert "uvm-node-there-told" in keys("/dev/nvidia0 and /dev/nvidia-uvm exist")
    assert "uvm-node-there-told" not in keys("/dev/nvidia-uvm does not exist")


def test_a_gpu_that_is_detected() -> None:
    assert "gpu-is-detected-told" in keys("the GPU is detected, matrix products do not run")
    assert "gpu-is-detected-told" not in keys("no GPU is detected")
    assert "gpu-is-detected-told" not in keys("the GPU is detected on the host")


def test_803_tells_of_two_releases_where_no_container_could_bring_compatibility_libraries() -> None:
    error = "Error 803: system has unsupported display driver / cuda driver combination\n"
    both = ["nvidia-driver-library-mismatch", "cuda-compat-conflict"]
    assert told(error + "GPU 0: NVIDIA GeForce GTX 1660\n") == both
    assert told(error + IN) == ["cuda-compat-conflict"]
    assert told(error + "export LD_LIBRARY_PATH=/usr/local/cuda/compat\n") == ["cuda-compat-conflict"]
