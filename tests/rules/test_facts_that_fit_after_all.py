"""Facts that look wrong and are not: what a text shows beside them says that the cause can't be this one."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.access import container_missing_gpu_passthrough as passthrough
from doctor.rules.driver import amd_gpu_unsupported_by_rocm as unsupported
from doctor.rules.driver import amdgpu_rocm_version_skew as skew
from doctor.rules.python import torch_missing_gpu_arch as torch_arch
from tests.knowledge.texts import raised

TABLE = "Package    Version\n---------- -------\n"
TWO_CARDS = (
    "$ rocm-smi --showproductname\nGPU[0]\t\t: Card Series: \t\tAMD Radeon RX 7800 XT\n"
    "GPU[0]\t\t: GFX Version: \t\tgfx1101\n"
    "GPU[1]\t\t: Card Series: \t\tAMD Radeon RX 480\nGPU[1]\t\t: GFX Version: \t\tgfx803\n"
    f"$ pip list\n{TABLE}torch 2.8.0+rocm6.4\n>>> torch.cuda.get_arch_list()\n['gfx1100', 'gfx1101']\n"
)
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.49 GiB. GPU 0 has 4.02 GiB free.\n"


def severities(rule: object, text: str) -> list[str]:
    check = rule.check  # type: ignore[attr-defined]
    return [f.severity.value for f in check(read_text([text.encode()]), Knowledge(), None)]


def test_a_card_without_code_beside_one_with_code() -> None:
    assert severities(torch_arch, TWO_CARDS + OUT_OF_MEMORY) == ["info"]
    shape = "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for w: copying a param with shape\n"
    assert severities(torch_arch, TWO_CARDS + shape) == ["info"]
    for error in ("RuntimeError: HIP error: invalid device function\n", "Segmentation fault (core dumped)\n"):
        assert severities(torch_arch, TWO_CARDS + error) == ["warning"], error


APPTAINER = "$ srun singularity exec {}-B /scratch torch-rocm.sif bash -c 'python main.py'\n"
ON_MI250X = "container engine: singularity-ce 4.1.3\nGPU[0]\t\t: Card series: \t\tAMD Instinct MI250X\nit ends\n"


def test_apptainer_binds_dev_unless_it_contains() -> None:
    assert severities(passthrough, ON_MI250X + APPTAINER.format("")) == []
    assert severities(passthrough, ON_MI250X + APPTAINER.format("--containall ")) != []
    assert severities(passthrough, ON_MI250X + APPTAINER.format("") + "torch.cuda.is_available() -> False\n") != []


def test_enroots_hook_gives_the_gpus_that_the_image_asks_for() -> None:
    run = "$ srun --mpi=pmix --container-image=nvcr.io#nvidia/pytorch:25.06-py3 python x.py\n"
    line = f"container engine: enroot/pyxis\nGPU 0: NVIDIA GB200\n{run}"
    assert severities(passthrough, f"{line}ValueError: not enough values to unpack\n") == []
    assert severities(passthrough, f"{line}torch.cuda.is_available() -> False\n") != []


AGENT = (
    "*******\nAgent {}\n*******\n  Name:                    gfx90a\n"
    "  Vendor Name:             AMD\n  Device Type:             GPU\n"
)
ENDS = "OpenMMException: Particle coordinate is NaN\n"


def test_a_paste_that_leaves_agents_out_counts_no_gpus() -> None:
    cut = f"$ rocminfo\n{AGENT.format(3)}$ env\nHIP_VISIBLE_DEVICES=2\n{ENDS}"
    whole = f"$ rocminfo\n{AGENT.format(2)}$ env\nHIP_VISIBLE_DEVICES=2\n{ENDS}"
    assert "visible-devices-conflict" not in raised(cut)
    assert "visible-devices-conflict" in raised(whole)


def test_ray_hides_the_gpus_from_its_driver() -> None:
    text = (
        "GPU 0: NVIDIA H800\nGPU 1: NVIDIA H800\n$ env\n{}CUDA_VISIBLE_DEVICES=\nAssertionError: only equal chunks\n{}"
    )
    ray = "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1\n"
    assert "visible-devices-conflict" not in raised(text.format(ray, ""))
    assert "visible-devices-conflict" in raised(text.format("", ""))
    assert "visible-devices-conflict" in raised(text.format(ray, "RuntimeError: No CUDA GPUs are available\n"))


def test_a_release_that_no_table_has_is_unknown() -> None:
    driver = "ROCm version: {}\namdgpu driver: {}\nit fails\n"
    assert severities(skew, driver.format("7.1.0", "6.16.6")) == []  # 30.20.1, and 30.20.0 is listed
    assert severities(skew, driver.format("6.5.0", "6.13.1")) == []  # ROCm 6.5.0 was never published
    assert severities(skew, driver.format("7.1.0", "6.3.6")) == ["warning"]


MI50 = (
    "ROCm version: 6.3.3\nggml_cuda_init: found 1 ROCm devices:\n"
    "  Device 0: AMD Radeon Graphics, gfx906:sramecc+:xnack- (0x906), VMM: no\n"
)
ABORTS = "terminate called after throwing an instance of 'std::runtime_error'\nAborted (core dumped)\n"


def test_a_gpu_that_does_its_work_is_served() -> None:
    done = "slot update_slots: id  0 | task 881 | prompt done, n_past = 21870\n"
    assert "amd-gpu-unsupported-by-rocm" not in raised(MI50 + ABORTS + done)
    assert "amd-gpu-unsupported-by-rocm" in raised(MI50 + ABORTS)


@pytest.mark.parametrize(
    ("wheel", "served"),
    [
        ("rocm-sdk-libraries-gfx1151", True),
        ("rocm-sdk-libraries-gfx115X-all", True),
        ("rocm-sdk-libraries-gfx942", False),
    ],
)
def test_wheels_of_rocm_name_their_target(wheel: str, served: bool) -> None:
    strix = AGENT.format(2).replace("gfx90a", "gfx1151")
    wheels = f"$ pip list\n{TABLE}torch 2.8.0+rocm6.4.1\n{wheel} 6.4.1\n"
    text = f"ROCm version: 6.4.1\n$ rocminfo\n{strix}{wheels}Segmentation fault (core dumped)\n"
    assert (severities(unsupported, text) == []) is served


TRITON = (
    "ROCm version: 6.4.0\nGPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\n$ pip list\n"
    + TABLE
    + "torch 2.8.0+rocm6.4\n"
)


def test_a_banner_gives_torchs_own_triton_its_number() -> None:
    banner = "O^O/ Torch: 2.8.0+rocm6.4. Triton: 3.4.0\nAttributeError: 'LlamaAttention' object has no attribute 'x'\n"
    assert "triton-mismatch" not in raised(TRITON + banner)
    assert "triton-mismatch" in raised(
        TRITON + "triton 3.4.0\nRuntimeError: 0 active drivers ([]). There should only be one. triton\n"
    )


def test_tensorflow_for_the_cpu_beside_jax() -> None:
    jax = "GPU 0: NVIDIA RTX 4000 Ada\n$ pip list\n" + TABLE + "jax 0.4.33\njaxlib 0.4.33\ntensorflow-cpu 2.17.0\n{}\n"
    assert "tensorflow-gpu-mismatch" not in raised(jax.format("FloatingPointError: invalid value (nan) in jit(f)"))
    assert "tensorflow-gpu-mismatch" in raised(jax.format("tensorflow does not use the GPU, it runs on the CPU"))


def test_paths_of_nccl_that_are_off_where_a_program_ends_at_its_own_error() -> None:
    text = "$ env\nNCCL_P2P_DISABLE=1\nGPU type: NVIDIA L20\n{}\n"
    parser = "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--flash']"
    assert "collective-flag-misconfigured" not in raised(text.format(parser))
    own = "vllm serve\nERROR TypeError: 'NoneType' object is not callable"
    assert "collective-flag-misconfigured" not in raised(text.format(own))
    assert "collective-flag-misconfigured" in raised(text.format(f"{own}\nall_reduce between the GPUs is very slow"))


def test_rocblas_where_a_program_ends_at_its_own_error() -> None:
    text = f"ROCm version: 6.1.3\n$ rocminfo\n{AGENT.format(2)}$ pip list\n{TABLE}torch 2.1.2+rocm6.1\n{{}}\n"
    own = "RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?"
    assert "hipblaslt-not-selected" not in raised(text.format(own))
    assert "hipblaslt-not-selected" in raised(text.format("matrix products are slow, far below the speed of the card"))
