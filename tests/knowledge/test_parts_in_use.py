"""What a text shows in use, or of a release that fits, is accused neither by an error text nor by words."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.access import container_missing_gpu_passthrough as passthrough
from doctor.rules.driver import nvidia_driver_too_old as old_driver
from doctor.rules.flags import collective_flag_misconfigured as collective
from doctor.rules.host import large_bar_disabled as large_bar
from doctor.rules.host import mig_misconfigured as mig
from doctor.rules.python import library_missing_gpu_arch as library
from doctor.rules.python import toolkit_torch_mismatch as toolkit
from doctor.rules.python import triton_mismatch as triton
from doctor.rules.python import vllm_build_mismatch as vllm
from tests.knowledge.texts import keys, names, names_not

SERVES = 'level=INFO msg="inference compute" id=GPU-1 library={} compute=8.9 name="NVIDIA GeForce RTX 4070"\n'
OLD_AMD = 'level=WARN source=amd_linux.go:201 msg="amdgpu too old gfx803" gpu=1\n'
NO_TARGET = 'level=WARN source=amd_linux.go:201 msg="amdgpu too old gfx000" gpu=0\n'
OLD_NVIDIA = 'level=INFO source=gpu.go:252 msg="[1] CUDA GPU is too old. Compute Capability detected: 3.5"\n'
NO_KERNEL = "ggml_cuda_error: CUDA error: no kernel image is available for execution on the device"
LAYERS = "load_tensors: offloaded 43/43 layers to GPU\n"
FOUND = "    Found GPU0 NVIDIA GB10 which is of cuda capability {}.\n"
RANGE = "    Minimum and Maximum cuda capability supported by this version of PyTorch is\n    (8.0) - (12.0)\n"
NO_EXTENSION = "ModuleNotFoundError: No module named 'vllm._C'\n"
NO_OPERATOR = "AttributeError: '_OpNamespace' '_C' object has no attribute 'silu_and_mul'\n"
LISTED = "$ pip show -f vllm | grep _C\n  vllm/_C.abi3.so\n"
OTHER_SYMBOL = "ImportError: /venv/vllm/_C.abi3.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jS2_\n"
LACKS = "NCCL INFO NET/IB : No device found.\n"
NAMED = "export NCCL_SOCKET_IFNAME={}\n"
SOCKET = "node7:1:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.9.0.7<0>\n"
PACKAGES = "$ pip list\nPackage Version\n------- -------\n{}\n"

test_fault_is_named = names(
    (
        (OLD_AMD, "library-missing-gpu-arch"),
        (OLD_AMD + SERVES.format("cpu"), "library-missing-gpu-arch"),
        (OLD_AMD + "load_tensors: offloaded 0/43 layers to GPU\n", "library-missing-gpu-arch"),
        (OLD_NVIDIA, "library-missing-gpu-arch"),
        (RANGE, "torch-missing-gpu-arch"),
        (FOUND.format("7.0") + RANGE, "torch-missing-gpu-arch"),
        (NO_EXTENSION, "vllm-build-mismatch"),
        (NO_OPERATOR, "vllm-build-mismatch"),
        (OTHER_SYMBOL + LISTED, "vllm-build-mismatch"),
    )
)
test_what_is_in_use_is_not = names_not(
    (
        (OLD_AMD + SERVES.format("cuda"), "library-missing-gpu-arch"),
        (OLD_AMD + SERVES.format("rocm"), "amd-gpu-unsupported-by-rocm"),
        (OLD_AMD + LAYERS, "library-missing-gpu-arch"),
        (OLD_NVIDIA + SERVES.format("cuda"), "library-missing-gpu-arch"),
        (NO_TARGET, "amd-gpu-unsupported-by-rocm"),
        (NO_TARGET, "library-missing-gpu-arch"),
        (FOUND.format("12.1") + RANGE, "torch-missing-gpu-arch"),
        (NO_EXTENSION + LISTED, "vllm-build-mismatch"),
        (NO_OPERATOR + LISTED, "vllm-build-mismatch"),
    )
)


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


@pytest.mark.parametrize("took", [SERVES.format("cuda"), "whisper_backend_init_gpu: using CUDA0 backend\n"])
def test_an_engine_that_took_the_gpu_has_code_for_it(took: str) -> None:
    assert library.unheard(of(took + "the transcript repeats itself"))
    for amiss in ("Segmentation fault (core dumped)", "it is very slow", NO_KERNEL, "it hangs"):
        assert not library.unheard(of(took + amiss)), amiss
    assert not library.unheard(of("the transcript repeats itself"))


def test_buffers_on_a_gpu_are_taken_and_those_of_the_processor_are_not() -> None:
    assert "ggml-took-gpu-told" in keys("load_tensors:        CUDA0 model buffer size =  4095.05 MiB")
    assert "ggml-took-gpu-told" not in keys("load_tensors:   CPU_Mapped model buffer size =  4095.05 MiB")
    assert "ggml-took-gpu-told" not in keys("whisper_backend_init_gpu: using BLAS backend")


def test_torch_that_asks_for_the_capability_has_a_driver_that_is_new_enough() -> None:
    assert old_driver.unheard(of(FOUND.format("12.1")))
    assert not old_driver.unheard(of("torch on a GB10 stops"))


def _flags(text: str) -> list[str]:
    found = collective.check(of(text), None, None)  # type: ignore[arg-type]
    return [f.subject.id for f in found if "names what NCCL uses" in f.summary]


@pytest.mark.parametrize(
    ("value", "log"),
    [
        ("eth0", SOCKET),
        ("eth", SOCKET),
        ("=eth0", SOCKET),
        ("ib0,eth0", SOCKET),
        ("eth0", "node7:1:9 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.7<0>\n"),
        ("eth0", "node7:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.9.0.7<0>\n"),
    ],
)
def test_an_interface_that_nccl_took(value: str, log: str) -> None:
    text = NAMED.format(value) + LACKS
    assert _flags(text) == ["NCCL_SOCKET_IFNAME"]
    assert _flags(text + log) == []


@pytest.mark.parametrize(
    ("value", "beside"),
    [
        ("eth1", ""),
        ("=eth", ""),
        ("eth0", "two nodes, torchrun --nnodes=2\n"),
        ("eth0", "NCCL WARN Bootstrap : no socket interface found\n"),
        ("eth0", "NCCL WARN socketStartConnect: Connect to 10.9.0.8<41567> failed : Connection refused\n"),
    ],
)
def test_an_interface_that_it_did_not_take_or_that_reaches_nobody(value: str, beside: str) -> None:
    assert _flags(NAMED.format(value) + LACKS + SOCKET + beside) == ["NCCL_SOCKET_IFNAME"]


def test_ucx_whose_settings_work_is_not_suspected() -> None:
    up = "export UCX_TLS=rc,cuda_copy,cuda_ipc\nINFO vllm: Backend UCX was instantiated\n"
    assert collective.unheard(of(up + "no instances found for the endpoint"))
    assert not collective.unheard(of(up + "the transfer hangs"))
    assert not collective.unheard(of(up + "nixl_agent: NIXL_ERR_REMOTE_DISCONNECT"))
    assert not collective.unheard(of("export UCX_TLS=rc,cuda_copy\nno instances found for the endpoint"))


ASSIGNED = "[    1.9] pci 0000:04:00.0: BAR 1: assigned [mem {} 64bit pref]\n"


def test_a_window_that_the_kernel_placed() -> None:
    placed = ASSIGNED.format("0x38000000000-0x387ffffffff")
    assert large_bar.unheard(of(placed + "it became slower"))
    assert not large_bar.unheard(of(ASSIGNED.format("0xe0000000-0xefffffff") + "it became slower"))
    none = "[    1.9] pci 0000:05:00.0: BAR 1: can't assign; no space\n"
    assert not large_bar.unheard(of(placed + none))


GPU = "GPU-6f2c1d0e-7c1e-2e07-4fcb-1c5f7a8b1f0e"
ONE, TWO = "MIG-a3dd7ab2-2a3a-5c7e-9e1f-0f5f2f1d9c07", "MIG-b1f0c9d4-02c4-5a3b-8d5d-7d1b58a0a4ce"
CUT = f"$ nvidia-smi -L\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: {GPU})\n  MIG 3g.40gb     Device  0: (UUID: {ONE})\n"
NOT_A_NUMBER = f"ValueError: invalid literal for int() with base 10: '{ONE}'\n"
ASKED = "\nexport CUDA_VISIBLE_DEVICES={}\nIs CUDA available: {}\nPyTorch version: 2.6.0+cu124\n"


def test_an_instance_that_torch_has_is_usable() -> None:
    assert mig.unheard(of(CUT + ASKED.format(ONE, "True")))
    assert not mig.unheard(of(CUT + ASKED.format(TWO, "True")))
    assert not mig.unheard(of(CUT + ASKED.format(ONE, "False")))


def test_a_program_that_reads_numbers_says_nothing_of_instances() -> None:
    assert "mig-uuid-invalid" not in keys(NOT_A_NUMBER)
    assert "mig-uuid-invalid" in keys(f"error: invalid device {ONE}")


test_it_is_the_variable = names(((NOT_A_NUMBER, "visible-devices-conflict"),))


@pytest.mark.parametrize(
    ("rows", "unheard"),
    [
        ("torch 2.5.1\ntriton 3.1.0", True),
        ("torch 2.5.1\ntriton 3.2.0", False),
        ("torch 2.5.1", False),
        ("torch 2.5.1\ntriton 3.1.0\npytorch-triton-rocm 3.1.0", False),
        ("torch 99.1.0\ntriton 3.1.0", False),
    ],
)
def test_the_triton_that_torch_pins(rows: str, unheard: bool) -> None:
    assert triton.unheard(of(PACKAGES.format(rows) + "the engine stops")) is unheard
    failed = PACKAGES.format(rows) + "RuntimeError: Cannot find a working triton installation.\n"
    assert not triton.unheard(of(failed))


@pytest.mark.parametrize(("held", "unheard"), [("12.1", True), ("12.4", False), ("11.8", False)])
def test_a_toolkit_of_the_cuda_of_torch(held: str, unheard: bool) -> None:
    text = f"CUDA toolkit version: {held}\n{PACKAGES.format('torch 2.3.0+cu121')}the extension is compiled, it stops"
    assert toolkit.unheard(of(text)) is unheard
    assert not toolkit.unheard(of(f"{text}\nnvcc fatal   : Unsupported gpu architecture 'compute_120'"))


def test_a_gpu_that_the_device_plugin_gave() -> None:
    pod = f"container engine: containerd (k8s)\n$ nvidia-smi -L\nGPU 0: NVIDIA L40S (UUID: {GPU})\n\n"
    given = f"export NVIDIA_VISIBLE_DEVICES={GPU}\n"
    assert passthrough.unheard(of(pod + given + "the engine stops"))
    assert not passthrough.unheard(of(pod + given + "RuntimeError: No CUDA GPUs are available"))
    assert not passthrough.unheard(of(pod + "export NVIDIA_VISIBLE_DEVICES=all\nthe engine stops"))
    assert not passthrough.unheard(of(f"{pod}export NVIDIA_VISIBLE_DEVICES={GPU[:-1]}0\nthe engine stops"))


def test_an_extension_that_is_installed_is_of_no_other_build() -> None:
    assert vllm.unheard(of(NO_EXTENSION + LISTED))
    assert not vllm.unheard(of(NO_EXTENSION))
    assert "vllm-extension-installed-told" not in keys(OTHER_SYMBOL)
