"""Rows of known faults hold where all that they ask for is known and met, and show by what they say."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.diagnosis import registry
from doctor.knowledge.library_faults import LibraryFault, library_faults
from doctor.knowledge.symptoms import Symptoms
from doctor.rules.library_release import known_faults
from doctor.rules.python import known_bad_library_version
from tests.knowledge.texts import KB, raised
from tests.rules.machines import build

RULES = {check.rule.id for check in registry.checks()}
ROWS = library_faults()
WRONG = {"symptoms": {"gpu-work-goes-wrong": "gemm_ex with int8 gives incorrect results for K = 1"}}


def rocm(version: str) -> dict[str, Any]:
    return {"rocm[/opt/rocm].path": "/opt/rocm", "rocm[/opt/rocm].version": version}


def told(facts: dict[str, Any]) -> list[tuple[str, str, int]]:
    rule = "known-bad-library-version"
    return [(f.subject.id, f.severity.value, f.suspect) for f in known_faults(build(facts), rule)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_row_asks_for_something_and_names_rule_symptoms_fix_and_source(row: LibraryFault) -> None:
    assert row.rule in RULES
    assert row.rocm or row.packages or row.torch or row.amdgpu or row.kernel
    assert set(row.felt) <= set(Symptoms().signatures)
    assert row.fix.endswith(".")
    assert row.source.startswith("https://")
    assert row.facts(build({})) is None


def test_ids_are_used_once() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({**rocm("7.1.0"), **WRONG}, ("gemm-ex-k1", "warning", 0)),
        ({**rocm("7.1.1"), "symptoms": {"output-garbage": "the model answers !!!!"}}, ("gemm-ex-k1", "info", 2)),
        ({**rocm("7.1.1"), "symptoms": {"gpu-work-goes-wrong": "the job hangs"}}, ("gemm-ex-k1", "info", 0)),
        (rocm("7.1.0"), ("gemm-ex-k1", "info", 0)),
    ],
)
def test_a_fault_that_shows_is_a_warning(facts: dict[str, Any], expected: tuple[str, str, int]) -> None:
    assert expected in told(facts)


@pytest.mark.parametrize("version", ["7.0.2", "7.2.5"])
def test_releases_beside_the_range_are_not_meant(version: str) -> None:
    assert "gemm-ex-k1" not in {name for name, _, _ in told({**rocm(version), **WRONG})}


@pytest.mark.parametrize(
    ("name", "arch", "version", "line", "named"),
    [
        ("AMD Instinct MI300A", "gfx942", "6.2.0", "gang copies reach 45 GB/s instead of 90", "mi300a-sdma-6.2"),
        ("AMD Instinct MI300A", "gfx942", "6.3.0", "gang copies reach 45 GB/s instead of 90", ""),
        ("AMD Instinct MI300X", "gfx942", "6.2.0", "gang copies reach 45 GB/s instead of 90", ""),
        ("AMD Radeon Graphics", "gfx90c", "6.0.2", "the second hipMemcpy hangs", "vega-apu-copies-hang"),
        ("AMD Radeon Graphics", "gfx90c", "6.1.0", "the second hipMemcpy hangs", ""),
        ("AMD Radeon Graphics", "gfx1103", "6.0.2", "the second hipMemcpy hangs", ""),
        ("AMD Radeon Graphics", "gfx90c", "6.0.2", "the build of the kernel hangs", ""),
    ],
)
def test_copies_that_are_slow_or_hang(name: str, arch: str, version: str, line: str, named: str) -> None:
    gpu = {"gpus[#0].vendor": "amd", "gpus[#0].name": name, "gpus[#0].arch": arch}
    facts = {**gpu, **rocm(version), "symptoms": {"gpu-work-goes-wrong": line}}
    assert [row for row, severity, _ in told(facts) if severity == "warning"] == ([named] if named else [])


def test_every_condition_must_be_met() -> None:
    wheel = {"packages": [{"name": "nvidia-cudnn-cu12", "version": "9.10.2.21"}]}
    assert told({**wheel, "torch.version": "2.9.0+cu128"}) == [("cudnn-conv3d-bf16", "info", 0)]
    assert told({**wheel, "torch.version": "2.7.1+cu128"}) == []
    assert told({"torch.version": "2.9.1+cu128"}) == []


def test_a_nightly_build_is_not_yet_the_release_whose_number_it_bears() -> None:
    trouble = {"symptoms": {"cuda-out-of-memory": "OOM in conv3d"}}
    assert told({"torch.version": "2.9.0.dev20250815+cu129", **trouble}) == []
    assert told({"torch.version": "2.9.0+cu129", **trouble}) == [("torch-conv3d-bf16", "warning", 0)]


def test_the_release_of_a_known_library_decides_in_the_place_of_torch_alone() -> None:
    facts: dict[str, Any] = {"torch.version": "2.9.0", "symptoms": {"cuda-out-of-memory": "OOM in conv3d"}}
    assert [row[0] for row in told(facts)] == ["torch-conv3d-bf16"]
    for cudnn, ids in (("9.10.2.21", ["cudnn-conv3d-bf16"]), ("9.15.1", [])):
        packages = [{"name": "nvidia-cudnn-cu12", "version": cudnn}]
        assert [row[0] for row in told(facts | {"packages": packages})] == ids


def test_the_evidence_names_the_package_whose_release_it_is() -> None:
    wheels = [{"name": "nvidia-cudnn-cu12", "version": "9.10.2.21"}, {"name": "numpy", "version": "2.2.6"}]
    machine = build({"packages": wheels, "torch.version": "2.9.0+cu128"})
    (fault,) = known_faults(machine, "known-bad-library-version")
    assert [row.text for row in fault.evidence] == ["torch.version = 2.9.0+cu128", "nvidia-cudnn-cu12 9.10.2.21"]


def test_a_fault_of_another_rule_is_not_told_here() -> None:
    facts = {
        "gpus[#0].vendor": "amd",
        "gpus[#0].arch": "gfx950",
        "packages": [{"name": "tensorflow-rocm", "version": "2.17.1"}],
    }
    assert told(facts) == []
    assert [f.subject.id for f in known_faults(build(facts), "tensorflow-gpu-mismatch")] == ["tensorflow-2.17.1-gfx950"]


@pytest.mark.parametrize(
    ("arch", "nccl", "named"),
    [("sm_120", "2.25.1+cuda12.8", True), ("sm_120", "2.27.5", False), ("sm_90", "2.25.1", False)],
)
def test_nccl_on_blackwell_without_nvlink_is_bad_before_2_27(arch: str, nccl: str, named: bool) -> None:
    facts = {
        "gpus[#0].vendor": "nvidia",
        "gpus[#0].arch": arch,
        "packages": [{"name": "nccl", "version": nccl}],
        "symptoms": {"cuda-illegal-memory-access": "alltoall_perf: an illegal memory access was encountered"},
    }
    assert (("nccl-blackwell-before-2.27", "warning", 0) in told(facts)) is named


@pytest.mark.parametrize(
    ("text", "expected"),
    [("device_count() returns 0 with MIG", "warning"), ("device_count() shows only one GPU with MIG", "info")],
)
def test_one_mig_instance_a_process_is_by_design(text: str, expected: str) -> None:
    facts = {"torch.version": "1.13.1", "symptoms": {"mig-count-told": text}}
    assert ("torch-1.13-mig-count", expected) in [(name, severity) for name, severity, _ in told(facts)]


def test_one_sign_is_of_one_fault() -> None:
    gpu = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1201"}
    facts = {**rocm("7.1.1"), "symptoms": {"output-garbage": "the model answers !!!!"}, **gpu}
    may_be = [name for name, severity, suspect in told(facts) if suspect or severity == "warning"]
    assert len(may_be) > 1
    found = list(known_bad_library_version.check(build(facts), KB, None))
    loud = [f.subject.id for f in found if f.suspect or f.severity.value == "warning"]
    assert len(loud) == 1
    assert loud[0] in may_be
    assert len(found) == len(told(facts))


CONV3D = 'File "torch/nn/modules/conv.py", line 712, in _conv_forward\n    return F.conv3d(\n'
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.18 GiB. GPU 0 has 44.40 GiB\n"
OF_2_9 = "GPU 0: NVIDIA L40S\nPyTorch version: 2.9.0+cu128\n[pip3] nvidia-cudnn-cu12=={}\n[pip3] torch==2.9.0\n"
NO_PLAN = "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.\n"
OF_HOPPER = "GPU 0: NVIDIA H100\nPyTorch version: {}+cu124\nCUDA used to build PyTorch: 12.4\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (CONV3D + NO_MEMORY + OF_2_9.format("9.10.2.21"), True),
        (CONV3D + NO_MEMORY + OF_2_9.format("9.15.1.9"), False),
        (CONV3D + OF_2_9.format("9.10.2.21"), False),
        (NO_PLAN + OF_HOPPER.format("2.5.0"), True),
    ],
)
def test_the_operation_that_fails_is_named_by_the_traceback(text: str, named: bool) -> None:
    assert ("known-bad-library-version" in raised(text)[:1]) is named
