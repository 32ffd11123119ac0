"""What release, system, wheels and sonames say of torch's build."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.lib.framework_pins import series_of, torch_series
from doctor.rules.lib.missing_libraries import missing_runtimes
from doctor.rules.lib.torch_archs import torch_serves
from doctor.rules.lib.torch_build_at_hand import build_of
from tests.each import each
from tests.rules.machines import build

KB = Knowledge()
WHEEL = {"packages": [{"name": "nvidia-cudnn-cu12", "version": "9.1.0.70"}]}


@each(
    "facts, kind",
    [
        ({"torch.version": "2.5.1", "torch.build": "rocm"}, "rocm"),
        ({"torch.version": "2.5.1", **WHEEL}, "cuda"),
        ({"torch.version": "2.5.1", "os.id": "windows", "torch.available": False}, "cpu"),
        ({"torch.version": "2.5.1", "host.machine": "aarch64", "torch.available": False}, "cpu"),
        ({"torch.version": "2.5.1", "os.id": "windows"}, None),  # it may come from elsewhere
        ({"torch.version": "2.5.1", "os.id": "ubuntu", "torch.available": False}, None),
        ({"torch.version": "2.5.1a0+git7ce932a", **WHEEL}, None),
        ({}, None),
    ],
)
def test_the_build_that_a_release_implies(facts: dict[str, Any], kind: str | None) -> None:
    found = build_of(build(facts), KB)
    assert (found.kind if found else None) == kind


@each(
    "package, version, series",
    [
        ("vllm", "0.6.3", "2.4"),
        ("vllm", "0.6.4.post1", "2.5"),
        ("vllm", "0.8.5+cu124", "2.6"),
        ("vllm", "0.2.0", None),
        ("vllm", "0.11.1rc2.dev141", None),
        ("xformers", "0.0.28.post1", "2.4"),
        ("xformers", "0.0.28.post3", "2.5"),
        ("xformers", "0.0.35", None),
    ],
)
def test_the_torch_that_a_release_pins(package: str, version: str, series: str | None) -> None:
    assert torch_series(package, version) == series


def test_the_series_of_a_release() -> None:
    assert (series_of("2.10.0+rocm7.0"), series_of(None)) == ("2.10", None)


@pytest.mark.parametrize(
    ("soname", "told"),
    [
        ("libamdhip64.so.6", [("rocm", 6)]),
        ("libhipblas.so.3", [("rocm", 7)]),
        ("librocblas.so.4", [("rocm", 6)]),
        ("librocblas.so.0", []),  # of many releases
        ("libcudart.so.12", [("cuda", 12)]),
        ("libMIOpen.so.1", []),
        ("libcudnn.so.9", []),
    ],
)
def test_what_a_soname_says_of_the_release(soname: str, told: list[tuple[str, int]]) -> None:
    text = f"ImportError: {soname}: cannot open shared object file"
    machine = build({"symptoms": {"rocm-library-not-found": text}})
    assert [(m.stack, m.major) for m in missing_runtimes(machine)] == told
    assert list(missing_runtimes(build({"symptoms": {"program-crashed": text}}))) == []


@pytest.mark.parametrize(
    ("version", "cuda", "arch", "serves"),
    [
        ("2.5.1+cu124", "12.4", "sm_90", True),
        ("2.5.1+cu124", "12.4", "sm_89", True),
        ("2.5.1+cu124", "12.4", "sm_120", False),
        ("2.7.1+cu128", "12.8", "sm_120", True),
        (None, None, "sm_90", False),
    ],
)
def test_whether_torch_surely_has_code_for_the_gpu(
    version: str | None, cuda: str | None, arch: str, serves: bool
) -> None:
    facts = {"gpus[#0].vendor": "nvidia", "gpus[#0].arch": arch}
    if version:
        facts |= {"torch.version": version, "torch.build": "cuda", "torch.cuda": cuda or ""}
    assert torch_serves(build(facts), KB) is serves
