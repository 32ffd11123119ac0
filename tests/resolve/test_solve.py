"""What is asked of a machine, and what comes out."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.resolve import Solution, described, explain, from_snapshot, solve
from doctor.resolve.target import amdgpu_release, other_here
from tests.each import each
from tests.rules import machines

KB = Knowledge()


def asked(packages: str, tool: str = "pip", **machine: str) -> Solution:
    return solve(KB, described(KB, **machine), packages.split(), tool)  # type: ignore[arg-type]


def lines(found: Solution) -> list[str]:
    return [" ".join(argv) for argv in found.commands]


def test_a_plain_wheel_that_fits_needs_no_index() -> None:
    found = asked("torch transformers", gpu="H100", driver="580.95.05", python="3.12")
    assert lines(found) == ["python3.12 -m pip install torch==2.15.0 transformers==5.23.0"]


def test_an_older_driver_gets_a_build_for_its_cuda_from_its_index() -> None:
    found = asked("torch torchvision transformers", gpu="H100", driver="570.124.06", python="3.12")
    index = "--index-url https://download.pytorch.org/whl/cu126"
    assert lines(found) == [
        f"python3.12 -m pip install torch==2.14.1 torchvision==0.29.2 {index}",
        "python3.12 -m pip install transformers==5.23.0 torch==2.14.1+cu126",
    ]


def test_uv_is_written_for_uv() -> None:
    found = asked("vllm", "uv", gpu="H100", driver="570.124.06", python="3.12", os="ubuntu-22.04")
    assert lines(found) == [
        "uv pip install --python 3.12 torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0 "
        "--index-url https://download.pytorch.org/whl/cu129",
        "uv pip install --python 3.12 vllm==0.24.0+cu129 torch==2.11.0+cu129 "
        "--extra-index-url https://wheels.vllm.ai/0.24.0/cu129 --index-strategy unsafe-best-match",
    ]


def test_pip_is_not_told_what_only_uv_knows() -> None:
    found = asked("vllm", gpu="H100", driver="570.124.06", python="3.12", os="ubuntu-22.04")
    assert "--index-strategy" not in lines(found)[1]


def test_what_is_compiled_comes_last_against_the_torch_that_is_there() -> None:
    found = asked("torch flash-attn", gpu="A100", driver="550.163.01", python="3.12")
    assert lines(found)[-1].endswith("flash-attn==2.8.3.post2 torch==2.14.1+cu126 --no-build-isolation")
    assert any("nvcc" in need for need in found.needs)


def test_flash_attn_needs_a_compiler_only_where_it_has_no_binary() -> None:
    def needs(packages: str) -> tuple[str, ...]:
        return asked(packages, gpu="H100", driver="570.124.06", python="3.12").needs

    assert needs("torch==2.8.0 flash-attn==2.8.3") == ()
    assert needs("torch==2.8.0 flash-attn==2.8.2") == (
        "a CUDA 12 toolkit with nvcc: flash-attn 2.8.2 has no binary for torch 2.8 with CUDA 12 on Python 3.12",
    )
    assert needs("torch==2.8.0 flash-attn==2.8.3.post2") == (
        "a CUDA 12 toolkit with nvcc, unless flash-attn 2.8.3.post2 has a binary for torch 2.8; "
        "that is not in the knowledge base",
    )


def test_a_package_that_brings_its_own_torch_stands_alone() -> None:
    found = asked("torch vllm", gpu="MI300X", driver="6.4.1", python="3.12", os="ubuntu-22.04")
    assert lines(found) == [
        "python3.12 -m pip install vllm==0.18.0+rocm700 --extra-index-url https://wheels.vllm.ai/rocm/0.18.0/rocm700"
    ]


def test_without_a_known_driver_the_answer_says_which_is_needed() -> None:
    assert asked("torch", gpu="sm_90", python="3.12").needs == ("NVIDIA driver >= 580.65.06",)
    assert asked("torch", gpu="gfx942").needs == ("an amdgpu driver 30.10.0 to 31.40.1",)
    assert asked("torch", gpu="sm_61").needs == ("NVIDIA driver >= 525.60.13, of branch 580 at most",)


@pytest.mark.parametrize(
    "machine",
    [
        {"gpu": "sm_90", "rocm": "7.2"},
        {"gpu": "H100", "driver": "30.10"},
        {"gpu": "gfx942", "driver": "570.124.06"},
        {"rocm": "7.2", "driver": "570.124.06"},
    ],
)
def test_two_vendors_in_one_description_are_refused(machine: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"is (AMD|NVIDIA)'s and .* (AMD|NVIDIA)'s: one machine has one of them"):
        described(KB, **machine)


def test_a_driver_or_rocm_alone_tells_whose_gpu_is_meant() -> None:
    assert described(KB, driver="570.124.06").vendor == "nvidia"
    assert described(KB, driver="30.10").vendor == described(KB, rocm="7.2").vendor == "amd"
    assert described(KB, os="ubuntu-24.04").vendor is None
    (line,) = lines(asked("torch", driver="570.124.06", python="3.12"))
    assert "cpu" not in line


@pytest.mark.parametrize(
    ("wish", "machine", "why"),
    [
        ("torch==2.14.0+cu130", {"gpu": "gfx942"}, "is built for NVIDIA GPUs, and gfx942 is from AMD"),
        ("torch==2.14.0+rocm7.14", {"gpu": "H100"}, "is built for AMD GPUs, and H100 is from NVIDIA"),
        ("torch==2.14.0+cu130", {"os": "ubuntu-24.04"}, "is built for NVIDIA GPUs, and no GPU was named"),
        (
            "torch==2.14.0+cu999",
            {"gpu": "H100"},
            "no build of torch that matches torch==2.14.0+cu999 is in the knowledge base",
        ),
    ],
)
def test_a_build_of_the_other_vendor_is_named_as_that(wish: str, machine: dict[str, str], why: str) -> None:
    found = asked(wish, **machine)
    assert found.status == "impossible"
    assert why in explain(found)


def test_another_processor_is_named_as_the_change() -> None:
    assert asked("torch", gpu="gfx942", machine="riscv64").changes[0].text == "x86_64 instead of riscv64"


def test_a_gpu_of_the_other_vendor_in_this_machine_is_told() -> None:
    amd, nvidia = described(KB, rocm="7.2"), described(KB, driver="570.124.06")
    assert "H100" in (said := other_here(amd, machines.h100_host()) or "")
    assert "of this machine is NVIDIA's" in said
    assert other_here(nvidia, machines.h100_host()) is None
    assert other_here(amd, machines.h100_host({"gpus": None})) is None
    assert other_here(amd, Snapshot()) is None


def test_a_sentence_says_what_is_wrong_and_what_would_run() -> None:
    found = asked("torch==2.14.0+cu130", gpu="sm_90", driver="570.124", python="3.12")
    assert explain(found) == (
        "torch 2.14.0+cu130: CUDA 13.0 needs driver >= 580.65.06; 570.124 is loaded; "
        "closest stack that fits: torch 2.14.0+cu126"
    )
    older = asked("torch==2.14.0+cu130", gpu="sm_120", driver="570.124", python="3.12")
    assert older.nearest
    assert older.nearest.stack == "torch 2.11.0+cu129"  # 2.14 has no CUDA 12 build with code for sm_120


@pytest.mark.parametrize(
    ("packages", "machine", "words"),
    [
        ("torch", {"gpu": "gfx9999"}, "GPU gfx9999 is not in the knowledge base"),
        ("torch", {"gpu": "sm_999"}, "GPU sm_999 is not in the knowledge base"),
        ("potato", {"gpu": "sm_90"}, "potato is not in the knowledge base"),
        ("torch==99.0", {"gpu": "sm_90"}, "torch ==99.0 is not in the knowledge base"),
        ("vllm==0.1.0", {"gpu": "sm_90"}, "vllm==0.1.0 is not in the knowledge base"),
        ("onnxruntime-gpu", {"gpu": "gfx942"}, "; onnxruntime-migraphx is the package for them"),
        ("sglang", {"gpu": "gfx942", "driver": "5.7"}, "sglang for AMD GPUs is not in the knowledge base"),
        ("torch potato", {"gpu": "gfx942", "driver": "5.7"}, "potato is not in the knowledge base"),
        ("tensorflow", {"gpu": "gfx1100"}, "tensorflow for AMD GPUs is not in the knowledge base"),
    ],
)
def test_what_is_not_known_is_not_called_unsupported(packages: str, machine: dict[str, str], words: str) -> None:
    found = asked(packages, **machine)
    assert found.status == "unknown"
    assert words in explain(found)
    assert not found.commands
    assert "unsupported" not in str(found)


def test_an_image_is_offered_for_its_gpus_and_drivers_alone() -> None:
    found = asked("sglang", gpu="MI355X", driver="31.40", python="3.12")
    assert found.nearest
    assert lines(found.nearest) == ["docker pull rocm/sgl-dev:v0.5.13.post1-ubuntu24.04-py3.14-rocm7.14"]
    for gpu, driver in (("MI355X", "6.4.1"), ("RX 7900 XTX", "31.40")):
        other = asked("sglang", gpu=gpu, driver=driver, python="3.12").nearest
        assert other is None or not any(p.image for p in other.picks)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ({"gpu": "a potato"}, "--gpu a potato: not in the knowledge base"),
        ({"gpu": "sm_90", "driver": "new"}, "--driver new"),
        ({"gpu": "sm_90", "glibc": "new"}, "--glibc new: expected a version such as 2.35"),
        ({"gpu": "sm_90", "python": "two"}, "--python two"),
        ({"gpu": "sm_90", "os": "ubuntu"}, "--os ubuntu"),
        ({"gpu": "sm_90", "os": "windows-11"}, "--os windows-11: only wheels for Linux"),
    ],
)
def test_a_machine_that_is_described_wrongly_is_an_error_in_words(machine: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        described(KB, **machine)


def test_a_gpu_that_comes_with_an_arm_processor_is_solved_for_one() -> None:
    assert described(KB, gpu="GB10").machine == "aarch64"
    assert described(KB, gpu="GH200").machine == described(KB, gpu="nvidia gb200").machine == "aarch64"
    assert described(KB, gpu="H100").machine == described(KB, gpu="B200").machine == "x86_64"
    assert described(KB, gpu="sm_90", machine="arm64").machine == "aarch64"


def test_a_package_that_is_named_twice_is_wanted_with_all_that_was_asked() -> None:
    assert "torch==2.13.0" in str(asked("torch torch==2.13.0", gpu="sm_90").commands)
    assert asked("torch==2.13.0 torch==2.14.0", gpu="sm_90").status != "solved"


def test_a_requirement_that_is_none_is_an_error_in_words() -> None:
    with pytest.raises(InputError, match="torch=2: is no requirement"):
        asked("torch=2", gpu="sm_90")


def _machine(**facts: Any) -> Snapshot:
    return Snapshot.model_validate(facts)


def test_a_machine_s_own_facts_make_its_target() -> None:
    machine = _machine(
        gpus=[{"key": "0000:01:00.0", "vendor": "nvidia", "arch": "sm_90", "name": "NVIDIA H100"}],
        nvidia_driver={"version": "570.124.06"},
        os={"id": "ubuntu", "version": "22.04"},
        interpreter={"path": "/opt/env/bin/python", "version": "3.11.9"},
    )
    target = from_snapshot(KB, machine)
    assert (target.vendor, target.arch, target.driver) == ("nvidia", "sm_90", "570.124.06")
    assert (target.python, target.glibc, target.interpreter) == ("3.11", "2.35", "/opt/env/bin/python")


def test_the_number_of_amdgpu_s_module_is_not_its_release() -> None:
    assert amdgpu_release(KB, "6.16.13") == "30.30.0"
    assert (amdgpu_release(KB, "6.10.5"), amdgpu_release(KB, "6.7")) == ("6.3.x", "6.1.x")
    assert (amdgpu_release(KB, "6.3"), amdgpu_release(KB, "in-tree")) == (None, None)  # a release as it is; no number
    assert amdgpu_release(KB, "1.2.3") is None


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("MI 300X", "gfx942"),
        ("7900xtx", "gfx1100"),
        ("7800 XT", "gfx1101"),
        ("6700xt", "gfx1031"),
        ("4090", "sm_89"),
        ("1080ti", "sm_61"),
        ("Ryzen AI Max+ 395", "gfx1151"),
        ("GTX 680", "sm_30"),
        ("compute_86", "sm_86"),
    ],
)
def test_a_gpu_is_named_as_people_write_it(name: str, arch: str) -> None:
    assert described(KB, gpu=name).arch == arch


def test_a_bare_number_of_no_series_is_not_known() -> None:
    with pytest.raises(InputError, match="--gpu 1234: not in the"):
        described(KB, gpu="1234")


@pytest.mark.parametrize(
    ("packages", "machine", "version"),
    [
        ("onnxruntime-gpu", {"gpu": "GTX 1060", "driver": "580.95.05"}, "1.26.0"),  # CUDA 13 ended at Turing
        ("onnxruntime-gpu", {"gpu": "RTX 2080", "driver": "580.95.05"}, "1.31.1"),
        ("flash-attn", {"gpu": "RTX 5090", "driver": "580.95.05"}, "2.8.3.post2"),
    ],
)
def test_the_newest_release_of_any_way_that_fits_is_taken(packages: str, machine: dict[str, str], version: str) -> None:
    found = solve(KB, described(KB, python="3.12", **machine), packages.split())
    assert (found.status, found.picks[0].version) == ("solved", version)


def test_a_plug_in_for_the_machine_s_rocm_needs_that_rocm() -> None:
    found = solve(KB, described(KB, gpu="gfx942", rocm="6.4", driver="6.4.1", python="3.12"), ["jax"])
    assert found.status == "impossible"
    assert "it needs ROCm 7.0 to 7.14 on the machine; 6.4 is installed" in found.refusals()[0].text
    assert found.changes[0].text == "ROCm 7.0 to 7.14 instead of 6.4"


def test_a_library_that_the_command_does_not_install_is_named() -> None:
    needs = {
        name: solve(KB, described(KB, gpu="T4", driver="550.54.14", python="3.12"), [name]).needs
        for name in ("ctranslate2", "faiss-gpu")
    }
    assert needs["ctranslate2"] == ("libcublas.so.12 (CUDA 12) on the machine: this command does not install it",)
    assert needs["faiss-gpu"] == ()


@each(
    "packages, machine, status, words",
    [
        # A driver that does not drive the GPU fits no package, torch or not.
        ("jax", {"gpu": "B200", "driver": "560.35.03"}, "impossible", "sm_100 needs driver branch >= 570"),
        ("jax", {"gpu": "B200", "driver": "575.57.08"}, "solved", ""),
        ("onnxruntime-gpu", {"gpu": "V100", "driver": "590.48.01"}, "impossible", "that supports sm_70 is 580"),
        ("vllm", {"gpu": "gfx950", "driver": "6.4.1"}, "impossible", "gfx950 needs amdgpu >= 30.10.0"),
        (
            "torch",
            {"gpu": "gfx1201", "driver": "6.3"},
            "unknown",
            "from ROCm 6.4.1 (amdgpu 6.4.1) on; whether 6.3 drives it",
        ),
        ("torch", {"gpu": "gfx1102", "driver": "6.4.1"}, "solved", ""),
        # Jetson's driver has a number of its own; Nano, TX2 and Xavier have no CUDA of Arm servers.
        ("torch", {"gpu": "sm_110", "driver": "580.00"}, "solved", ""),
        ("torch", {"gpu": "sm_90", "driver": "580.00", "machine": "aarch64"}, "solved", ""),
        ("torch==2.5.1", {"gpu": "sm_72"}, "impossible", "need JetPack 7 or newer"),
        # AMD's own wheels where PyTorch's are not known to fit the driver, for Instinct and Radeon by their lists.
        ("torch", {"gpu": "gfx950", "driver": "31.60"}, "solved", ""),
        ("torch", {"gpu": "gfx1153", "driver": "30.30"}, "solved", ""),
        ("torch", {"gpu": "gfx950", "driver": "31.60", "machine": "aarch64"}, "impossible", "built for x86_64"),
    ],
)
def test_driver_and_gpu_are_judged_for_every_package(
    packages: str, machine: dict[str, str], status: str, words: str
) -> None:
    found = asked(packages, python="3.12", **machine)
    assert (found.status, words in explain(found)) == (status, True)


def test_amd_s_own_wheels_are_of_the_rocm_that_the_driver_serves() -> None:
    assert "2.14.0+rocm10.1.0" in str(asked("torch", gpu="gfx950", driver="31.60", python="3.12").commands)
    assert "2.12.0+rocm7.14.0" in str(asked("torch", gpu="gfx1153", driver="30.30", python="3.12").commands)


def test_a_reason_against_the_newest_release_is_given_once() -> None:
    found = asked("triton", gpu="V100", driver="570.133.20", python="3.12")
    assert len(found.passed_over) == len({line.partition(": ")[2] for line in found.passed_over}) == 2
    assert found.passed_over[1] == "triton 3.9.0: torch 2.14.1 needs triton ~=3.8.0"


def test_a_module_s_number_is_taken_for_its_release() -> None:
    assert described(KB, gpu="gfx942", driver="6.16.13").driver == "30.30.0"
    assert described(KB, gpu="gfx942", driver="6.4.1").driver == "6.4.1"
