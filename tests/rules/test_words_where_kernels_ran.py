"""Words alone: where kernels ran, or nothing of a cause is shown, they accuse nothing that keeps work from starting."""

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules import work_done
from doctor.rules.driver import (
    cuda_compat_conflict,
    nvidia_driver_too_old,
    nvidia_kernel_incompatible,
    nvidia_open_module_unsupported_gpu,
)
from doctor.rules.flags import (
    debug_flag_left_on,
    env_flag_unknown_or_renamed,
    env_flag_wrong_for_gpu,
    visible_devices_conflict,
)
from doctor.rules.host import gpu_memory_exhausted, pcie_p2p_unusable
from doctor.rules.python import (
    companion_kernel_lib_outdated,
    extension_abi_mismatch,
    gpu_libs_conflict,
    gpu_libs_not_found,
    host_compiler_unsupported,
    jax_plugin_mismatch,
    known_bad_library_version,
    library_missing_gpu_arch,
    numpy_abi_mismatch,
    onnxruntime_gpu_mismatch,
    tensorflow_gpu_mismatch,
    toolkit_torch_mismatch,
    torch_companion_mismatch,
    torch_cpu_only_build,
    triton_mismatch,
    vllm_build_mismatch,
)
from tests.knowledge.texts import raised

ASTRAY = "RuntimeError: CUDA error: an illegal memory access was encountered"
WRONG = "the compiled function gives wrong results"
KEEP_FROM_STARTING: list[ModuleType] = [
    cuda_compat_conflict, jax_plugin_mismatch, library_missing_gpu_arch, nvidia_kernel_incompatible,
    toolkit_torch_mismatch, torch_companion_mismatch, torch_cpu_only_build, triton_mismatch, vllm_build_mismatch,
    gpu_libs_not_found, tensorflow_gpu_mismatch, host_compiler_unsupported, onnxruntime_gpu_mismatch,
    nvidia_driver_too_old,
]  # fmt: skip


@pytest.mark.parametrize("rule", KEEP_FROM_STARTING, ids=lambda rule: rule.__name__.rsplit(".", 1)[-1])
@pytest.mark.parametrize("line", [ASTRAY, WRONG])
def test_kernels_that_ran_were_started(rule: ModuleType, line: str) -> None:
    assert rule.unheard(read_text([f"vLLM and jax stop while the build is compiled\n{line}".encode()]))
    assert not rule.unheard(read_text([b"vLLM and jax stop while the build is compiled\n    torchvision 0.15.1"]))
    failed = f"ImportError: DLL load failed\nvLLM does not compile\n{line}"
    assert not rule.unheard(read_text([failed.encode()]))


def test_memory_is_not_short_where_a_kernel_went_astray() -> None:
    assert gpu_memory_exhausted.unheard(read_text([ASTRAY.encode()]))
    assert not gpu_memory_exhausted.unheard(read_text([f"{ASTRAY}\nCUDA out of memory".encode()]))
    assert not gpu_memory_exhausted.unheard(read_text([WRONG.encode()]))
    assert not work_done.ran(read_text([b"it is slow"]))


def test_a_list_of_packages_accuses_no_numpy() -> None:
    assert numpy_abi_mismatch.unheard(read_text([b"numpy 1.26.0\njax 0.4.31\nSegmentation fault"]))


def test_nothing_is_compiled() -> None:
    assert toolkit_torch_mismatch.unheard(read_text([b"CUDA_HOME: /usr/local/cuda-12.6\nthe server stops at start"]))


@pytest.mark.parametrize(
    ("packages", "unheard"),
    [
        ("jax 0.4.30\njaxlib 0.4.30\njax-cuda12-plugin 0.4.30\njax-cuda12-pjrt 0.4.30", True),
        ("jax 0.4.30\njaxlib 0.4.30\njax-cuda12-plugin 0.4.28\njax-cuda12-pjrt 0.4.30", False),
        ("jax.devices (8 total): [CudaDevice(id=0) CudaDevice(id=1)]", True),
        ("jax 0.7.2\njaxlib 0.7.2\ndevice info: NVIDIA A100-SXM4-80GB-1, 1 local devices", True),
        ("jax 0.7.2\njaxlib 0.7.2\ndevice info: cpu-1, 1 local devices", False),
    ],
)
def test_jax_and_a_plugin_of_its_release(packages: str, unheard: bool) -> None:
    text = f"$ pip list\nPackage    Version\n---------- -------\n{packages}\n"
    assert jax_plugin_mismatch.unheard(read_text([text.encode()])) is unheard


def test_torch_that_has_a_gpu_is_no_cpu_build() -> None:
    assert torch_cpu_only_build.unheard(read_text([b"CUDA available: True\ntorch is slow"]))
    assert not torch_cpu_only_build.unheard(read_text([b"CUDA available: False\ntorch is slow"]))


def test_flags_of_debugging_that_are_not_shown() -> None:
    hint = b"For debugging consider passing CUDA_LAUNCH_BLOCKING=1\nexport NCCL_ALGO=Ring"
    assert debug_flag_left_on.unheard(read_text([hint]))
    assert not debug_flag_left_on.unheard(read_text([b"export CUDA_LAUNCH_BLOCKING=1"]))


def test_flags_of_debugging_beside_the_fault_that_they_are_set_to_find() -> None:
    flags = "export CUDA_LAUNCH_BLOCKING=1\nexport AMD_SERIALIZE_KERNEL=3\n"
    for fault in (ASTRAY, "Memory access fault by GPU node-1", "HSA_STATUS_ERROR_MEMORY_FAULT", "a GPU page fault"):
        machine = read_text([f"{flags}{fault}".encode()])
        assert debug_flag_left_on.unheard(machine), fault
        assert "debug-flag-left-on" not in raised(f"{flags}{fault}"), fault
    assert not debug_flag_left_on.unheard(read_text([f"{flags}{ASTRAY}\ntraining is slow".encode()]))
    assert "debug-flag-left-on" in raised(f"{flags}training is very slow")


def test_lists_that_name_every_gpu_once() -> None:
    gpus = "GPU 0: NVIDIA H100\nGPU 1: NVIDIA H100\n"
    uuids = "GPU-5f0b0c6e-1111-2222-3333-444455556666,GPU-5f0b0c6e-1111-2222-3333-444455557777"
    whole = f"$ nvidia-smi -L\n{gpus}export CUDA_VISIBLE_DEVICES=0,1\nexport NVIDIA_VISIBLE_DEVICES={uuids}\n"
    assert visible_devices_conflict.unheard(read_text([f"{whole}the workers hang".encode()]))
    assert not visible_devices_conflict.unheard(read_text([f"{whole}No CUDA GPUs are available".encode()]))
    for part in ("0", "1,2", "0,0", uuids.split(",")[0], "none"):
        text = f"$ nvidia-smi -L\n{gpus}export CUDA_VISIBLE_DEVICES={part}\nthe workers hang"
        assert not visible_devices_conflict.unheard(read_text([text.encode()])), part
    assert not visible_devices_conflict.unheard(read_text([b"export CUDA_VISIBLE_DEVICES=0,1\nthe workers hang"]))
    assert visible_devices_conflict.unheard(read_text([f"export HIP_VISIBLE_DEVICES=0\n{WRONG}".encode()]))


def test_a_list_that_names_some_gpus_by_their_right_numbers() -> None:
    shown = (
        "$ nvidia-smi -L\nGPU 0: NVIDIA H100\nGPU 1: NVIDIA H100\nGPU 2: NVIDIA T4\nexport CUDA_VISIBLE_DEVICES={}\n{}"
    )
    for listed in ("0,1", "2,0"):
        assert visible_devices_conflict.unheard(read_text([shown.format(listed, "the workers hang").encode()]))
    for listed in ("0,3", "0,0", "1", "0,GPU-5f0b0c6e"):
        text = shown.format(listed, "the workers hang")
        assert not visible_devices_conflict.unheard(read_text([text.encode()])), listed
    text = shown.format("0,1", "RuntimeError: CUDA error: invalid device ordinal")
    assert not visible_devices_conflict.unheard(read_text([text.encode()]))
    stacked = shown.format("0,1", "export NVIDIA_VISIBLE_DEVICES=2\nthe workers hang")
    assert not visible_devices_conflict.unheard(read_text([stacked.encode()]))


def test_peer_copies_that_are_off_where_nothing_hangs() -> None:
    run = "export NCCL_P2P_DISABLE=1\n"
    assert pcie_p2p_unusable.unheard(read_text([f"{run}ValueError: no such layer".encode()]))
    for felt in ("it hangs at the first step", "all_reduce gives wrong results"):
        assert not pcie_p2p_unusable.unheard(read_text([f"{run}{felt}".encode()])), felt
    assert not pcie_p2p_unusable.unheard(
        read_text([b"torchrun --nproc_per_node=2 train.py\nValueError: no such layer"])
    )


def test_elements_that_no_release_of_cudnn_counts() -> None:
    refused = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED\n"
    for size in ("the input has 2.6e9 elements", "3 billion elements", "numel() > 2**31"):
        assert known_bad_library_version.unheard(read_text([f"{refused}{size}".encode()])), size
    assert not known_bad_library_version.unheard(read_text([f"{refused}the input has 2.0e9 elements".encode()]))
    failed = "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\nthe input has 2.6e9 elements"
    assert not known_bad_library_version.unheard(read_text([failed.encode()]))


def test_a_precision_that_the_trainer_refuses() -> None:
    line = "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0"
    assert library_missing_gpu_arch.unheard(read_text([line.encode()]))
    assert "library-missing-gpu-arch" not in raised(f"GPU 0: Tesla T4\n{line}")
    missed = f"{line}\nCUDA error: no kernel image is available for execution on the device"
    assert not library_missing_gpu_arch.unheard(read_text([missed.encode()]))


@pytest.mark.parametrize(
    ("line", "unheard"),
    [
        ("Your NVIDIA driver is older than 452.39 (current 531.79).", True),
        ("NVIDIA driver check: requires at least 525.60, 570.124 found", True),
        ("minimum NVIDIA driver 535.104; installed: 535.104", True),
        ("Your NVIDIA driver is older than 531.79 (current 452.39).", False),
        ("NVIDIA driver 450.80 is installed; it requires 525.60", False),
        ("NVIDIA driver check: requires at least 525.60", False),
    ],
)
def test_a_driver_that_is_newer_than_what_is_asked_for(line: str, unheard: bool) -> None:
    assert nvidia_driver_too_old.unheard(read_text([line.encode()])) is unheard


def test_variables_of_a_program_whose_names_are_not_listed() -> None:
    assert env_flag_unknown_or_renamed.unheard(read_text([b"export OLLAMA_NEW_ENGINE=1\nexport NCCL_ALGO=Ring"]))
    assert not env_flag_unknown_or_renamed.unheard(read_text([b"export NCCL_ALGORITHM_X=Ring"]))


def test_flags_of_which_the_table_has_none() -> None:
    assert env_flag_wrong_for_gpu.unheard(read_text([b"export NVTE_DEBUG=1\nexport NVTE_DEBUG_LEVEL=2"]))
    assert not env_flag_wrong_for_gpu.unheard(read_text([b"export HSA_XNACK=1"]))


def test_a_flag_that_an_older_release_reads() -> None:
    shown = "export VLLM_USE_V1=1\n$ pip list\nPackage Version\n------- -------\n{}\n"
    assert env_flag_unknown_or_renamed.unheard(read_text([shown.format("torch 2.6.0").encode()]))
    assert env_flag_unknown_or_renamed.unheard(read_text([shown.format("vllm 0.8.5").encode()]))
    assert not env_flag_unknown_or_renamed.unheard(read_text([shown.format("vllm 0.33.0").encode()]))


def test_a_command_that_installs_companions() -> None:
    assert torch_companion_mismatch.unheard(read_text([b"pip3 install torch torchvision torchaudio\nit stops"]))
    assert not torch_companion_mismatch.unheard(read_text([b"import torchvision fails"]))


def test_kernel_libraries_that_a_list_shows() -> None:
    shown = b"PyTorch version: 2.13.0+cu130\nCUDA used to build PyTorch: 13.0\nflashinfer_cubin: 0.6.17\n"
    assert companion_kernel_lib_outdated.unheard(read_text([shown + b"Scheduler hit an exception"]))
    assert not companion_kernel_lib_outdated.unheard(read_text([shown + b"No module named 'flashinfer.comm'"]))
    assert not companion_kernel_lib_outdated.unheard(read_text([b"AITER: accuracy drops on gfx942"]))


@pytest.mark.parametrize(
    ("line", "unheard"),
    [
        ("export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/cuda/lib64\nAssertionError in the connector", True),
        ("export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/opt/cuda-11/lib64\nAssertionError in the connector", False),
        ("export LD_LIBRARY_PATH=/usr/local/cuda/lib64\nCUBLAS_STATUS_INVALID_VALUE when calling cublasSgemm", False),
        ("AssertionError in the connector", False),
    ],
)
def test_the_path_that_images_set(line: str, unheard: bool) -> None:
    assert gpu_libs_conflict.unheard(read_text([line.encode()])) is unheard


def test_a_gpu_that_an_older_release_served() -> None:
    new = b"GPU 0: NVIDIA GeForce RTX 5090\nCUDA error: invalid argument\n"
    assert library_missing_gpu_arch.unheard(read_text([new + b"server v0.11.10 works with the same model"]))
    assert not library_missing_gpu_arch.unheard(read_text([new]))
    old = b"GPU 0: NVIDIA GeForce GTX 960M\nCUDA error: invalid argument\nserver v0.11.10 works with the same model"
    assert not library_missing_gpu_arch.unheard(read_text([old]))


def test_tensorflow_that_became_slower() -> None:
    line = b"training is 12% slower than before the upgrade from TF 2.1 to 2.2"
    assert tensorflow_gpu_mismatch.unheard(read_text([line]))
    assert not tensorflow_gpu_mismatch.unheard(read_text([b"TensorFlow trains slowly"]))
    assert tensorflow_gpu_mismatch.unheard(read_text([b"LLVM ERROR: Cannot select: 0x7f: i16,ch = AtomicCmpSwap"]))


def test_a_driver_from_before_the_open_modules() -> None:
    assert nvidia_open_module_unsupported_gpu.unheard(read_text([b"NVIDIA driver version: 346.59"]))
    assert not nvidia_open_module_unsupported_gpu.unheard(read_text([b"NVIDIA driver version: 570.86.10"]))
    assert not nvidia_open_module_unsupported_gpu.unheard(read_text([b"GTX 980"]))


def test_a_kernel_beside_a_torch_that_does_not_stand_still() -> None:
    shown = b"PyTorch version: 2.9.0+cu128\nCUDA used to build PyTorch: 12.8\nKernel: 5.15.0-94-generic\n"
    assert nvidia_kernel_incompatible.unheard(read_text([shown + b"quantization is broken with the new engine"]))
    assert not nvidia_kernel_incompatible.unheard(read_text([shown + b"training hangs since the upgrade"]))


@pytest.mark.parametrize(("line", "severity"), [(WRONG, Severity.WARNING), ("it stops at start", Severity.ERROR)])
def test_an_extension_of_another_torch_beside_what_ran(line: str, severity: Severity) -> None:
    text = f"{line}\n$ pip list\nPackage Version\n------- -------\ntorch 2.11.0\nflash-attn 2.8.3+cu130torch2.10\n"
    found = list(extension_abi_mismatch.check(read_text([text.encode()]), Knowledge(), None))
    assert [f.severity or extension_abi_mismatch.RULE.severity for f in found] == [severity]


def test_onnxruntime_whose_session_ran() -> None:
    assert onnxruntime_gpu_mismatch.unheard(read_text([b"the session is created, session.run stops"]))
    assert not onnxruntime_gpu_mismatch.unheard(read_text([b"the session falls back to the CPU"]))
    assert not onnxruntime_gpu_mismatch.unheard(read_text([b"when the session is created it takes the CPU"]))


def test_a_host_compiler_where_nothing_is_compiled() -> None:
    assert host_compiler_unsupported.unheard(read_text([b"gcc 14.2, one GPU of two is used"]))
    assert not host_compiler_unsupported.unheard(read_text([b"nvcc fatal   : no supported version of Visual Studio"]))


@pytest.mark.parametrize(
    ("shown", "unheard"),
    [
        ("export NVIDIA_VISIBLE_DEVICES=all\n", True),
        ("export NVIDIA_VISIBLE_DEVICES=void\n", False),
        ("export NVIDIA_VISIBLE_DEVICES=all\nexport CUDA_VISIBLE_DEVICES=3\n", False),
        ("export NVIDIA_VISIBLE_DEVICES=all\nCUDA_VISIBLE_DEVICES is not heeded\n", False),
        ("no GPU is seen\n", False),
    ],
)
def test_the_list_that_an_image_sets(shown: str, unheard: bool) -> None:
    assert visible_devices_conflict.unheard(read_text([shown.encode()])) is unheard


@pytest.mark.parametrize(
    ("release", "cuda", "named"),
    [
        ("1.5.1", "10.2", False),
        ("1.5.1", "11.8", True),
        ("1.7.0", "11.0", False),
        ("1.18.0", "12.4", True),
        ("1.19.0", "12.4", False),
    ],
)
def test_the_cuda_that_onnxruntime_was_built_for(release: str, cuda: str, named: bool) -> None:
    shown = f"CUDA toolkit version: {cuda}\n$ pip list\nPackage Version\n------- -------\nonnxruntime-gpu {release}\n"
    machine = read_text([shown.encode()])
    found = [f for f in onnxruntime_gpu_mismatch.check(machine, Knowledge(), None) if "is built for" in f.summary]
    assert bool(found) is named


@pytest.mark.parametrize("line", ["Error invalid configuration argument at line 119", "NVRTC_ERROR_COMPILATION (6)"])
def test_a_kernel_that_is_refused_itself_is_not_missing(line: str) -> None:
    assert library_missing_gpu_arch.unheard(read_text([line.encode()]))
    missed = f"{line}\nCUDA error: no kernel image is available for execution on the device"
    assert not library_missing_gpu_arch.unheard(read_text([missed.encode()]))


@pytest.mark.parametrize(
    ("line", "unheard"),
    [
        ("XLA_PYTHON_CLIENT_PREALLOCATE=false is not honoured any more", True),
        ("init_process_group(timeout=5) is not respected, NCCL_X stands still", True),
        ("NCCL_ALGORITHM_X=Ring is ignored", False),
        ("NCCL_ALGORITHM_X=Ring is ignored\nCUDA error: an illegal memory access was encountered", True),
    ],
)
def test_what_is_ignored_though_it_is_read(line: str, unheard: bool) -> None:
    assert env_flag_unknown_or_renamed.unheard(read_text([line.encode()])) is unheard


@pytest.mark.parametrize(("said", "suspected"), [("the server stops", True), (ASTRAY, False)])
def test_a_flag_that_is_gone_is_not_suspected_where_kernels_ran(said: str, suspected: bool) -> None:
    text = f"{said}\nexport VLLM_USE_V1=1\n$ pip list\nPackage Version\n------- -------\nvllm 0.33.0\n"
    found = list(env_flag_unknown_or_renamed.check(read_text([text.encode()]), Knowledge(), None))
    assert [bool(f.suspect) for f in found] == [suspected]


def test_a_system_that_amd_does_not_list_and_kernels_that_run_on_it() -> None:
    text = "System:\nOS: Ubuntu 23.10\nROCm version: 6.1\n$ rocminfo\n*******\nAgent 2\n*******\n  Name: gfx942\n"
    text += "  Vendor Name: AMD\n  Device Type: GPU\n"
    assert "amdgpu-kernel-or-os-unsupported" not in raised(f"{text}Memory access fault by GPU node-1\n")
    assert "amdgpu-kernel-or-os-unsupported" in raised(f"{text}the amdgpu-dkms package does not install\n")
