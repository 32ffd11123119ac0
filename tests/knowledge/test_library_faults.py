"""Rows of known faults hold where all that they ask for is known and met, and show by what they say."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.engine import registry
from doctor.knowledge.library_faults import LibraryFault, library_faults
from doctor.rules.lib.library_release import known_faults
from doctor.triage.templates.catalogue import shared
from tests.each import each
from tests.rules.machines import build

RULES = {check.rule.id for check in registry.checks()}
ROWS = library_faults()
WRONG = {"symptoms": {"gpu-work-goes-wrong": "gemm_ex with int8 gives incorrect results for K = 1"}}


def rocm(version: str) -> dict[str, Any]:
    return {"rocm[/opt/rocm].path": "/opt/rocm", "rocm[/opt/rocm].version": version}


def told(facts: dict[str, Any]) -> list[tuple[str, str, int]]:
    rule = "known-bad-library-version"
    return [(f.subject.id, f.severity.value, f.suspect) for f in known_faults(build(facts), rule)]


@each("row", ROWS)
def test_each_row_asks_for_something_and_names_rule_symptoms_fix_and_source(row: LibraryFault) -> None:
    assert row.rule in RULES
    assert row.rocm or row.packages or row.torch or row.amdgpu or row.kernel
    assert set(row.felt) <= set(shared().templates)
    assert row.fix.endswith(".")
    assert row.source.startswith("https://")
    assert row.facts(build({})) is None


def test_ids_are_used_once() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("version", ["7.0.2", "7.2.5"])
def test_releases_beside_the_range_are_not_meant(version: str) -> None:
    assert "gemm-ex-k1" not in {name for name, _, _ in told({**rocm(version), **WRONG})}


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
    assert [row.text for row in fault.evidence] == ["torch: 2.9.0+cu128", "nvidia-cudnn-cu12 9.10.2.21"]


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
