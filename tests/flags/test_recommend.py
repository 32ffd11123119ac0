"""Guides' sets: each is clean on its own GPU and not on another's; advice is the least of it, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from doctor.flags import lint, recommend
from doctor.flags.situation import Situation
from doctor.knowledge.store import table
from tests.each import each
from tests.flags.situations import of

SETS: dict[str, Mapping[str, Any]] = table("flags/recommended")
_STAND_INS = {
    "Radeon and Instinct PCIe cards": "gfx1100",
    "any AMD": "MI300X",
    "any NVIDIA": "H100",
    "any": "H100",
    "RDNA3": "gfx1100",
    "RX 7000 (gfx110x)": "gfx1100",
    "Ryzen AI Max (gfx1151)": "gfx1151",
    "VR200": "R100",
}
ON_TOP = {"mi355x-mlperf-llama2-70b", "mi355x-sdma-allgather"}
"""Added by the launcher to its set for that GPU."""


def own_gpu(row: Mapping[str, Any]) -> str:
    first = str(row["gpu"][0])
    return _STAND_INS.get(first, first.split(" (")[0])


def situation(row: Mapping[str, Any], gpu: str, count: int = 8) -> Situation:
    version = "rocm=7.2 torch=2.10" if gpu.startswith(("MI", "gfx")) else "torch=2.10"
    env = {n: str(v) for n, v in row.get("env", {}).items()}
    if row["id"] in ON_TOP:
        env = {**SETS["mi355x-megatron-training"]["env"], **env}
    work = str(row["workload"])
    stated = {
        "training": work.startswith("training"),
        "serving": work.startswith("inference"),
        "production": not work.startswith(("debug", "tuning")),
    }
    return replace(of(f"gpu={count}x{gpu} {version}"), env=env, stated=stated)


def faults(made: Situation) -> list[str]:
    return [f.summary for f in lint.findings(made) if f.severity.value != "info"]


def test_all_of_them_are_here() -> None:
    assert len(SETS) == 43


@each("name", sorted(SETS))
def test_clean_on_its_own_gpu(name: str) -> None:
    row = SETS[name]
    assert faults(situation(row, own_gpu(row))) == []


FOREIGN = {name for name, row in SETS.items() if row["vendor"] in ("amd", "nvidia") and row.get("env")}
BOTH = {
    "gcp-gib": "NCCL_NET is read by RCCL too",
    "h100-megatron-fsdp-multinode": "its names are read on both vendors' GPUs",
    "nvidia-hang-debug": "its names are read on both vendors' GPUs",
    "aws-efa": "libfabric is not a vendor's",
    "slingshot-mi250x": "Cray MPICH is not a vendor's",
    "mi3xx-roce-validation": "its names are read on both vendors' GPUs",
    "b200-deepep": "DeepEP is described for NVIDIA alone",
    "b200-jax-training": "XLA reads its names on both",
    "mi300x-inductor-inference": "inductor reads its names on both",
}


@each("name", sorted(FOREIGN - set(BOTH)))
def test_not_clean_on_the_other_vendors_gpu(name: str) -> None:
    row = SETS[name]
    other = "H100" if row["vendor"] == "amd" else "MI300X"
    there = {f.summary for f in lint.findings(situation(row, other))}
    assert there - {f.summary for f in lint.findings(situation(row, own_gpu(row)))}


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("mi3xx-vllm-serving", "gfx1100", "VLLM_ROCM_USE_AITER=1"),
        ("mi300x-maxtext-jax", "MI250X", "NVTE_CK_USES_FWD_V3=1"),
        ("h100-megatron-dense", "B200", "CUDA_DEVICE_MAX_CONNECTIONS=1"),
        ("mi300x-megatron-training", "MI355X", "RCCL_WARP_SPEED_AUTO"),
    ],
)
def test_not_clean_on_a_sister_where_it_should_not_be(name: str, other: str, said: str) -> None:
    assert any(said in f.summary for f in lint.findings(situation(SETS[name], other)))


def names(line: str, workload: str) -> dict[str, str]:
    return {row.name: row.value for row in recommend.advice(of(line), workload).lines}


def test_serving_on_mi300x_follows_amds_guide_for_vllm() -> None:
    asked = "gpu=8xMI300X rocm=7.2 torch=2.10 pkg:vllm=0.33.0"
    assert names(asked, "serve") == {"VLLM_ROCM_USE_AITER": "1", "NCCL_MIN_NCHANNELS": "112"}
    assert "NCCL_MIN_NCHANNELS" not in names(asked.replace("8x", ""), "serve")


def test_a_set_of_another_architecture_is_not_advised() -> None:
    assert "VLLM_ROCM_USE_AITER" not in names("gpu=gfx1100 rocm=7.2 torch=2.10 pkg:vllm=0.33.0", "serve")
    assert names("gpu=gfx1100 rocm=7.2 torch=2.10", "desktop") == {"TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"}


def test_what_a_checked_interaction_demands_is_added() -> None:
    asked = "gpu=8xMI355X rocm=7.2 torch=2.10 pkg:megatron-core=0.15 pkg:transformer-engine=2.9"
    assert names(asked, "train")["RCCL_WARP_SPEED_AUTO"] == "0"


def test_the_default_and_the_dead_are_left_out_with_a_reason() -> None:
    asked = of("gpu=8xMI355X rocm=7.2 torch=2.10 pkg:megatron-core=0.15 pkg:transformer-engine=2.9")
    left = {row.name: row.why for row in recommend.advice(asked, "train").left_out}
    assert left["NVTE_CK_USES_BWD_V3"] == "is the default"
    assert "NVIDIA GPUs only" in left["CUDA_DEVICE_MAX_CONNECTIONS"]


@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("HIP_FORCE_DEV_KERNARG", "gpu=MI300X rocm=6.0 torch=2.3", "gpu=MI300X rocm=6.1 torch=2.4"),
        ("HIP_FORCE_DEV_KERNARG", "gpu=MI300X torch=2.4", "gpu=MI300X rocm=7.2 torch=2.10"),
        ("TORCH_BLAS_PREFER_HIPBLASLT", "gpu=MI355X rocm=6.4 torch=2.9", "gpu=MI355X rocm=7.0 torch=2.9"),
        ("TORCH_BLAS_PREFER_HIPBLASLT", "gpu=MI300X rocm=7.0 torch=2.6", "gpu=MI300X rocm=7.0 torch=2.9"),
        ("TORCH_BLAS_PREFER_HIPBLASLT", "gpu=MI300X gpu=gfx1100 rocm=7.0 torch=2.9", "gpu=MI300X rocm=7.0 torch=2.9"),
    ],
)
def test_what_these_gpus_and_versions_do_by_themselves_is_left_out(name: str, there: str, not_there: str) -> None:
    asked = of(f"{not_there} pkg:vllm=0.10.0")
    assert name in names(f"{there} pkg:vllm=0.10.0", "serve")
    assert name not in names(f"{not_there} pkg:vllm=0.10.0", "serve")
    assert any(row.name == name and "itself" in row.why for row in recommend.advice(asked, "serve").left_out)


def test_without_a_guide_nothing_is_advised() -> None:
    assert recommend.advice(of("gpu=A100 torch=2.10"), "train")[:4] == ((), (), (), ())
    assert recommend.advice(of("torch=2.10"), "serve").lines == ()


@each("workload", ["train", "serve", "desktop"])
@each("gpu", ["MI210", "MI300X", "MI355X", "gfx1100", "gfx1201", "A100", "H100", "B200"])
def test_what_is_advised_is_clean_itself(gpu: str, workload: str) -> None:
    packages = "pkg:vllm=0.33.0 pkg:megatron-core=0.15 pkg:transformer-engine=2.9"
    asked = of(f"gpu=8x{gpu} rocm=7.2 torch=2.10 {packages}")
    made = recommend.advice(asked, workload)
    env = {row.name: row.value for row in made.lines}
    assert faults(replace(asked, env=env, stated=recommend.stated_of(workload))) == []
    assert all(row.why and row.source for row in made.lines)


def test_sets_for_a_case_of_their_own_are_listed_with_it() -> None:
    others = {name: text for _, text, name in recommend.advice(of("gpu=H100"), "train").others}
    assert "CUDA_DEVICE_MAX_CONNECTIONS=1" in others["h100-megatron-dense"]
    listed = {name for _, _, name in recommend.advice(of("gpu=MI250X"), "train").others}
    assert {"mi200-rccl", "slingshot-mi250x"} <= listed
    assert "h100-megatron-dense" not in listed
