"""What is said of variables that do not reach a program, of UCX's lists, of network plugins and of asked-for builds."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, told

EXAMPLES = {
    "ucx-transport-missing-told": "UCX  WARN  network device 'mlx5_7:1' is not available, please use one or more of: a",
    "ucx-variable-unused": "UCX  WARN  unused environment variable: UCX_RDNV_SCHEME",
    "variable-absent-there-told": "MIOPEN_FIND_MODE is set at login, not set in the cron job",
    "open-tool-keeps-driver-told": "it is fast while nvtop is running",
    "something-works-told": "rocminfo works",
    "nccl-network-plugin-wanted": "NCCL INFO NET/Plugin: Could not find: libnccl-net.so.",
    "fabric-adapter-told": "the instance has an EFA adapter",
    "torch-built-with-cuda-false-told": "torch.backends.cuda.is_built() -> False",
    "cuda-build-asked-for-told": "conda install pytorch pytorch-cuda=12.4 -c pytorch -c nvidia",
    "gpu-available-false-printed": "GPU available: False, used: False",
    "ray-lists-inconsistent": "AssertionError: Inconsistant values found. Please use either A or B.",
    "editor-starts-it-told": "I start it from Spyder",
    "shell-is-right-told": "the card is found in a plain bash",
    "nvidia-smi-works-told": "nvidia-smi lists both cards",
    "slows-with-heat-told": "the edge temperature is 94 C",
    "slows-over-time-told": "tokens/s drop steadily after ten minutes",
    "tensorflow-cuda-library-told": "tensorflow: Could not load dynamic library 'libcudnn.so.8'",
    "torch-version-cuda-none-told": "torch.version.cuda is None",
    "path-differs-there-told": "ssh node7 env: nothing of NCCL",
    "gpus-in-virtual-guest-told": "a Proxmox guest with four cards",
    "several-gpus-work-together-told": "all_reduce between the GPUs",
    "slot-of-the-chipset-told": "it sits in an x4 slot of the chipset",
    "command-absent-there-told": "nvidia-smi: command not found under sudo",
    "stands-after-rings-told": "it stops after NCCL INFO Connected all rings",
    "wrong-with-several-told": "the answer is garbage on both cards, fine with one",
    "rdma-retries-exceeded": "UCX  ERROR Transport retry count exceeded on mlx5_0:1/RoCE",
    "hangs-with-several-told": "it freezes with more than one GPU",
    "speed-lasts-minutes-told": "the hash rate drops after 20 minutes",
    "variable-empty-there-told": "notebook:  LD_LIBRARY_PATH is empty",
    "one-gpu-of-several-told": "nvidia-smi shows only one",
    "override-in-quotes": 'msg="skipping check" HSA_OVERRIDE_GFX_VERSION="\\"10.3.0\\""',
    "ollama-igpu-memory-too-small": 'msg="unsupported Radeon iGPU detected skipping" id=0 total="512.0 MiB"',
    "clocks-fall-below-limit-told": "the clocks fall at about 240 W, limit 400 W",
    "temperature-above-limits-told": "sclk 2900 MHz, edge 111 C",
    "descriptor-limit-huge": "getrlimit(RLIMIT_NOFILE, {rlim_cur=1073741816, rlim_max=1073741816}) = 0",
    "smi-takes-long-told": "nvidia-smi takes 24 s in a container",
}
NEAR = {
    "variable-empty-there-told": "notebook: the list is empty",
    "one-gpu-of-several-told": "nvidia-smi shows only those processes that are mine",
    "override-in-quotes": 'HSA_OVERRIDE_GFX_VERSION="10.3.0"',
    "ollama-igpu-memory-too-small": 'msg="unsupported Radeon iGPU detected skipping" id=0 total="16.0 GiB"',
    "clocks-fall-below-limit-told": "the clocks fall when it is idle",
    "temperature-above-limits-told": "edge 71 C, junction 105 C",
    "descriptor-limit-huge": "getrlimit(RLIMIT_NOFILE, {rlim_cur=1048576, rlim_max=1048576}) = 0",
    "smi-takes-long-told": "nvidia-smi takes no options here",
    "ucx-transport-missing-told": "the model is not available, please use one or more of: a, b",
    "ucx-variable-unused": "unused environment variable: FOO",
    "variable-absent-there-told": "CUDA_VISIBLE_DEVICES is empty in the Ray worker",
    "open-tool-keeps-driver-told": "nvidia-smi shows both cards",
    "something-works-told": "the GPU no longer works",
    "nccl-network-plugin-wanted": "NCCL INFO NET/Plugin: Loaded net plugin Libfabric from libnccl-net.so",
    "fabric-adapter-told": "the default is off",
    "torch-built-with-cuda-false-told": "PyTorch built with CUDA: True",
    "cuda-build-asked-for-told": "pip install torch --index-url https://download.pytorch.org/whl/cpu",
    "gpu-available-false-printed": "GPU available: True",
    "editor-starts-it-told": "the hide of a cow",
    "shell-is-right-told": "it fails in the terminal",
    "nvidia-smi-works-told": "nvidia-smi works only as root",
    "slows-with-heat-told": "the edge temperature is 54 C",
    "slows-over-time-told": "the loss decreases after ten minutes",
    "tensorflow-cuda-library-told": "tensorflow: loaded the dataset",
    "torch-version-cuda-none-told": "torch.version.cuda is 12.4",
    "path-differs-there-told": "PATH in the terminal is fine",
    "gpus-in-virtual-guest-told": "a guest at the hotel",
    "slot-of-the-chipset-told": "the chipset is a B550",
    "command-absent-there-told": "nvcc: command not found",
    "stands-after-rings-told": "NCCL INFO Connected all rings",
    "wrong-with-several-told": "wrong number of cards",
    "rdma-retries-exceeded": "the download was retried",
    "hangs-with-several-told": "it hangs with a batch of 8",
    "speed-lasts-minutes-told": "the loss drops after 20 minutes",
    "cuda-devices-busy": "GPU 0 has 23 GiB of which 5 MiB is free. Process 4411 has 23 GiB in use.",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", NEAR)
def test_the_near_miss_does_not(key: str) -> None:
    assert key not in keys(NEAR[key])


@pytest.mark.parametrize(
    "line",
    [
        "HSA_ENABLE_SDMA is missing in the environment of the unit",
        "LD_LIBRARY_PATH: set in my terminal, unset under sudo",
        "NCCL_SOCKET_IFNAME is not among the variables that reach the remote ranks",
        "the supervisor starts the server without LD_LIBRARY_PATH",
        "sshd drops NCCL_IB_HCA",
    ],
)
def test_a_variable_that_one_place_has_and_another_lacks(line: str) -> None:
    assert told(line) == ["env-not-seen-by-service"]


TOLD = {
    "tensor parallel over two cards is slow\nthe host is an ESXi guest": "pcie-p2p-unusable",
    "ncclSystemError in a docker container\nover two nodes, bridge network": "collective-flag-misconfigured",
    "export FI_PROVIDER=efa\nNCCL INFO NET/Plugin : No plugin found (libnccl-net.so).": "gpu-libs-not-found",
    "Each run starts slow.\nWith nvidia-smi -l in another terminal it is fast.": "persistence-mode-off",
    "export UCX_NET_DEVICES=mlx5_9:1\nUCX  WARN  network device 'mlx5_9:1' is not available, please use one of": (
        "collective-flag-misconfigured"
    ),
    "I run it from VS Code: No CUDA GPUs are available\nin a terminal it is found": "env-not-seen-by-service",
    "epochs get slower and slower\nthe card overheats": "gpu-throttled",
    "ray 2.45.0\nAssertionError: Inconsistant values found. Please use either HIP_VISIBLE_DEVICES or": (
        "visible-devices-conflict"
    ),
    "PyTorch built with CUDA:         False\nGPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)": "torch-cpu-only-build",
}


@pytest.mark.parametrize("text", TOLD)
def test_texts_that_need_one_another_name_the_cause_together(text: str) -> None:
    assert TOLD[text] in told(text)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("s: UCX_ROOT; UCX_MAX_RNDV_RAIL", True),
        (": UCX_HOME", False),
        (": UCX_HOME (maybe: UCX_TLS?)", False),
        ("s: UCX_ROOT; UCX_VERSION", False),
    ],
)
def test_where_a_module_says_that_ucx_lies_is_no_option_of_it(names: str, shown: bool) -> None:
    assert ("ucx-variable-unused" in keys(f"parser.c:2033 UCX  WARN  unused environment variable{names}")) is shown


def test_a_plugin_that_nothing_asks_for_is_no_fault() -> None:
    assert not told("NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\nloss 1.2")


def test_an_adapter_that_a_full_table_of_files_keeps_away_is_misnamed_by_nobody() -> None:
    text = "export NCCL_SOCKET_IFNAME=eth\nCall to accept failed : Too many open files\nunhandled system error"
    assert told(text) == ["nofile-limit-too-low"]


def test_a_session_that_answers_true_has_a_build_for_the_gpu_on_windows_too() -> None:
    text = "OS: Windows 11\ntorch.cuda.is_available() is True in the console and False in the script"
    assert "torch-cpu-only-build" not in told(text)


def test_a_tool_that_works_tells_that_the_driver_is_loaded() -> None:
    error = "RuntimeError: Found no NVIDIA driver on your system."
    assert "nvidia-driver-not-loaded" in told(error)
    assert "nvidia-driver-not-loaded" not in told(f"{error}\nnvidia-smi works")


def test_heat_alone_is_no_slow_program() -> None:
    assert "gpu-throttled" not in told("the card gets hot, 90 C, and all runs at full speed")
