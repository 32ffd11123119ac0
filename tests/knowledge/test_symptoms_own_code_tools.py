"""Errors of monitors, exporters and installers name no cause, and words beside them accuse nothing."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.knowledge.symptoms import shared
from doctor.rules.access import container_runtime_not_configured
from doctor.rules.python import install_path_has_space, library_missing_gpu_arch
from tests.knowledge.texts import keys, raised, told

EXAMPLES = [
    ("user-error-table-of-rvs", "RVS-ERROR [CLI] No platform support for the detected GPU or no GPU detected !"),
    ("user-error-plain-type", "    name = name.decode()\nAttributeError: 'str' object has no attribute 'decode'"),
    ("user-error-plain-type", "AttributeError: 'list' object has no attribute 'memory'"),
    ("user-error-number-read", "OverflowError: Python int too large to convert to C long"),
    ("user-error-number-read", 'E! Error in plugin: strconv.ParseFloat: parsing "[N/A]": invalid syntax'),
    ("user-error-number-read", "ValueError: could not convert string to float: '550.90.07'"),
    ("user-error-number-read", "packaging.version.InvalidVersion: Invalid version: '13.0 (UMD)'"),
    ("user-error-nothing-compared", "TypeError: '<' not supported between instances of 'int' and 'NoneType'"),
    ("user-error-nothing-compared", "TypeError: unsupported operand type(s) for /: 'NoneType' and 'int'"),
    ("user-error-process-gone", "FileNotFoundError: [Errno 2] No such file or directory: '/proc/714/stat'"),
    ("user-error-process-gone", "psutil.NoSuchProcess: process no longer exists (pid=714)"),
    (
        "user-error-packages-of-profiler",
        "The 'plotext' package was not found in the current execution environment.",
    ),
    (
        "user-error-packages-of-profiler",
        "the 'numpy' distribution does not meet version requirements to use omni",
    ),
    ("user-error-own-script-missing", "python3: can't open file '/srv/check.py': [Errno 2] No such file or directory"),
    ("user-error-name-not-in-table", "ValueError: Unknown device name: NVIDIA L2. Expected one of: ['a100']"),
    ("user-error-name-not-in-table", "KeyError: 'NVIDIA RTX 4000 SFF Ada Generation'"),
    ("user-error-installer-without-lspci", "Unable to detect NVIDIA/AMD GPU. Install lspci or lshw to automatically"),
    ("user-error-file-cut-short", "ImportError: /app/.venv/cv2/libs/libvpx-1.so.8.0.1: file too short"),
    ("user-error-nil-of-go", "panic: runtime error: invalid memory address or nil pointer dereference"),
    ("user-error-part-of-opencv", "ImportError: cannot import name 'guidedFilter' from 'cv2.ximgproc'"),
    ("user-error-part-of-opencv", "AttributeError: module 'cv2' has no attribute 'saliency'"),
    ("user-error-node-not-installed", "When loading the graph, the following node types were not found:"),
    ("user-error-node-not-installed", "a workflow with missing custom nodes"),
    ("user-error-figures-not-drawn-told", "the labels pod and namespace are missing in Grafana"),
    ("user-error-figures-not-drawn-told", "no entries under fdinfo for our program"),
    ("user-error-asking-tool-missing", "Error detecting GPU: [WinError 2] The system cannot find the file specified"),
    ("user-error-asking-tool-missing", "'wmic' is not recognized as an internal or external command,"),
    ("user-error-asking-tool-missing", "failed while querying the graphics cards: [WinError 2] Das System kann die"),
    ("user-error-asking-tool-missing", "/bin/sh: 1: wmic: not found"),
    ("user-error-figures-not-drawn-told", "fan_speed is never collected since the update"),
    (
        "user-error-gpu-not-in-tables-of-suite",
        "RVS-ERROR [CLI] No platform support for the detected GPU or no GPU detected !",
    ),
    ("user-error-module-not-imported", "    if torch.version.hip is None:\nNameError: name 'torch' is not defined"),
    ("user-error-module-not-imported", "NameError: name 'plt' is not defined"),
]
NEAR = [
    "ImportError: /usr/lib/x86_64-linux-gnu/libcuda.so.1: file too short",
    "AttributeError: 'NoneType' object has no attribute 'cadam32bit_grad_fp32'",
    "clang: error: no such file or directory: '/home/anna'",
    "KeyError: 'CUDA_HOME'",
    "error: building the extension: [WinError 2] The system cannot find the file specified",
    "wmic path win32_VideoController get name",
    "'nvidia-smi' is not recognized as an internal or external command",
    "AttributeError: module 'cv2' has no attribute 'cuda'",
    "two nodes of the cluster are missing their GPUs",
    "Warning: unknown GPU architecture gfx1201, taking the default",
    "could not convert string to float: 'a dog'",
    "the node has no label nvidia.com/gpu.present",
    "NameError: name 'flash_attn_2_cuda' is not defined",
    "NameError: name 'amdsmi' is not defined",
    "RVS-ERROR: no GPU detected",
]


@pytest.mark.parametrize(("key", "text"), EXAMPLES)
def test_the_line_shows_the_symptom_and_points_to_nothing(key: str, text: str) -> None:
    assert key in set().union(*(keys(line) for line in text.splitlines()))
    assert shared().signatures[key].points_to == ()


@pytest.mark.parametrize("line", NEAR)
def test_what_is_near_is_no_error_of_a_tool(line: str) -> None:
    assert not [key for key in keys(line) if key.startswith("user-error-")]


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES])
def test_nothing_of_the_machine_is_accused(text: str) -> None:
    assert raised(f"Our monitor on a server with two GPUs stops in a container.\n{text}\nWhat is wrong?") == []


def test_what_blender_asks_for_is_no_lack_of_kernels() -> None:
    line = "No compatible GPUs found for Cycles. Requires NVIDIA GPU with compute capability 5.0"
    assert "capability-below-library-minimum" not in keys(line)
    assert "capability-below-library-minimum" in keys("this kernel requires compute capability 8.0")


def test_a_file_that_python_misses_is_no_path_cut_at_a_space() -> None:
    assert "input-path-cut" in keys("clang: error: no such file or directory: '/home/anna'")
    assert "input-path-cut" not in keys("FileNotFoundError: [Errno 2] No such file or directory: '/proc/7/stat'")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("C:\\Users\\Ann Lee\\venv\\Scripts\\python.exe", True),
        ("/home/ann/my models/webui/venv", True),
        ("C:\\Users\\ann\\venv\\Scripts\\python.exe -s ComfyUI\\main.py", False),
        ("installed under /home/ann/x, then /opt/rocm/bin/x was run", False),
    ],
)
def test_a_path_that_holds_a_space(line: str, shown: bool) -> None:
    assert ("path-shown-with-space" in keys(line)) is shown


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("nvidia-smi works in the VM and in the container", True),
        ("in the container nvidia-smi shows the two cards", True),
        ("nvidia-smi did not work in the container", False),
        ("in the container nvidia-smi shows no devices", False),
        ("nvidia-smi prints an empty line in the pod", False),
        ("nvidia-smi works on the host", False),
        ("nvidia-smi works on the host and in the container", True),
        ("nvidia-smi works on the host but not in the container", False),
        ("nvidia-smi works on the host, in the container it fails", False),
        ("nvidia-smi runs fine outside, and inside the container it does not", False),
        ("nvidia-smi shows the GPU on the host and nothing inside", False),
    ],
)
def test_nvidia_smi_in_a_container(line: str, works: bool) -> None:
    assert ("nvidia-smi-in-container-told" in keys(line)) is works


def test_a_list_of_what_each_backend_has_misses_no_triton() -> None:
    line = "Found backend triton: {'available': False, 'unavailable_reason': \"ImportError: No module named 'triton'\"}"
    assert not {"triton-module-missing", "triton-missing-told"} & keys(line)
    assert "triton-module-missing" in keys("ModuleNotFoundError: No module named 'triton'")


def test_words_accuse_no_path_where_none_with_a_space_is_shown() -> None:
    assert install_path_has_space.unheard(read_text([rb"venv C:\Users\ann\webui\venv\Scripts\python.exe"]))
    assert not install_path_has_space.unheard(read_text([rb"venv C:\Users\Ann Lee\webui\venv\Scripts\python.exe"]))


def test_words_accuse_no_engine_that_lists_nvidias_runtime() -> None:
    lists = " Runtimes: io.containerd.runc.v2 nvidia runc\n"
    assert container_runtime_not_configured.unheard(read_text([lists.encode()]))
    assert not container_runtime_not_configured.unheard(read_text([f"{lists}pods in kubernetes see no GPU".encode()]))
    assert not container_runtime_not_configured.unheard(read_text([b" Runtimes: io.containerd.runc.v2 runc\n"]))


BANNER = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"


@pytest.mark.parametrize("said", ["the GPU works fine inside the container", "nvidia-smi works in the container"])
def test_a_banner_of_an_image_whose_gpu_works(said: str) -> None:
    assert "container-missing-gpu-passthrough" not in raised(f"{BANNER}{said}")
    assert "container-missing-gpu-passthrough" in raised(f"{BANNER}nvidia-smi works on the host")
    assert "container-missing-gpu-passthrough" in raised(f"{BANNER}the GPU does not work in the container")
    assert "container-missing-gpu-passthrough" in raised(f"{BANNER}the GPU works on the host but not inside")
    assert "container-missing-gpu-passthrough" in raised(f"{BANNER}CUDA works on the host, in the container it fails")


@pytest.mark.parametrize(
    ("line", "blank"),
    [
        ("in the pod nvidia-smi prints an empty line", True),
        ("nvidia-smi is blank", True),
        ("nvidia-smi shows the VRAM empty", False),
        ("by nvidia-smi the GPU memory is empty", False),
    ],
)
def test_an_empty_output_is_not_an_empty_memory(line: str, blank: bool) -> None:
    assert ("blank-nvidia-smi" in keys(line)) is blank


JAX = "xla_bridge.py:353] Unable to initialize backend '"


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        (f"W0402 11:20:17 2242 {JAX}cuda': INTERNAL: no supported devices found", True),
        (f'I0402 {JAX}gpu\': NOT_FOUND: platform "cuda". Available platform names are: Interpreter Host', True),
        (f"I0402 11:20:17 2242 {JAX}rocm': NOT_FOUND: Could not find registered platform", False),
        (f'{JAX}rocm\': NOT_FOUND: platform "rocm". Available platform names are: Host Interpreter CUDA', False),
    ],
)
def test_jax_remarks_on_backends_that_are_not_meant(line: str, lacking: bool) -> None:
    assert ("jax-backend-not-initialized" in keys(line)) is lacking


def test_what_xformers_caught_is_no_missing_triton() -> None:
    assert not {"triton-module-missing", "triton-missing-told"} & keys("Error caught was: No module named 'triton'")


def test_vllms_remark_on_its_own_collective_accuses_where_something_fails() -> None:
    remark = "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed."
    assert "pcie-p2p-unusable" not in raised(f"WARNING custom_all_reduce.py:146] {remark}\nthe docs have a typo")
    assert "p2p-validation" in keys("the P2P test failed between GPU 0 and 1")


def test_words_miss_no_kernels_where_layers_are_on_the_gpu() -> None:
    log = "load_tensors: offloaded 29/29 layers to GPU\n"
    assert library_missing_gpu_arch.unheard(read_text([log.encode()]))
    assert not library_missing_gpu_arch.unheard(
        read_text([f"{log}CUDA error: no kernel image is available for execution on the device".encode()])
    )
    assert not library_missing_gpu_arch.unheard(read_text([b"load_tensors: offloaded 0/29 layers to GPU"]))


REMARKS = [
    ("variable-deprecated", "Using the `WANDB_DISABLED` environment variable is deprecated"),
    (
        "some-system-library-missing",
        "libibverbs: Warning: couldn't load: libx-rdma.so: cannot open shared object file",
    ),
    ("system-library-not-found", "mca_base_component_repository_open: librdmacm.so.1: cannot open shared object file"),
    ("p2p-validation", "P2P is disabled between connected GPUs 1 and 0. You can repress this message with NCCL_X"),
]
ERRORS = [
    ("variable-deprecated", "The NCCL_ASYNC_ERROR_HANDLING environment variable is deprecated"),
    ("some-system-library-missing", "ImportError: libsnd.so.1: cannot open shared object file"),
    ("system-library-not-found", "ImportError: librdmacm.so.1: cannot open shared object file"),
    ("p2p-validation", "peer access is not supported between these two devices"),
]


@pytest.mark.parametrize(("key", "line"), REMARKS)
def test_a_remark_of_a_program_that_goes_on_is_no_error(key: str, line: str) -> None:
    assert key not in keys(line)


@pytest.mark.parametrize(("key", "line"), ERRORS)
def test_the_error_itself_is_one(key: str, line: str) -> None:
    assert key in keys(line)


def test_a_provider_that_did_not_load_before_cudas_was_applied() -> None:
    error = "Failed to load library libonnxruntime_providers_tensorrt.so with error: libnvinfer.so.10: "
    error += "cannot open shared object file"
    assert raised(f"[E:onnxruntime] {error}\nRuntimeError: no provider") != []
    assert told(f"[E:onnxruntime] {error}\nApplied providers: ['CUDAExecutionProvider']") == []
