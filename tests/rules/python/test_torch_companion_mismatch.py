"""torch-companion-mismatch: torchvision of another torch."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.rules.python import torch_companion_mismatch as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def with_vision(version: str, torch: str = "2.7.0+cu128") -> Snapshot:
    return machines.h100_host({"torch.version": torch, "packages": [{"name": "torchvision", "version": version}]})


def test_torchvision_of_another_torch() -> None:
    (finding,) = found(rule, with_vision("0.21.0+cu126"))
    assert finding.summary == "torchvision 0.21.0+cu126 does not match torch 2.7.0, which needs 0.22.0."
    assert finding.subject.id == "torchvision"
    assert (finding.remedies[0].steps[0].command or ())[-2:] == ("torchvision==0.22.0", "torch==2.7.0")
    assert finding.source == "PyPI wheel METADATA torch 2.7.0 (2026-11-20)"


def test_the_right_one_and_releases_that_no_table_has() -> None:
    assert told(rule, with_vision("0.22.0+cu128")) == []
    assert told(rule, with_vision("0.22.0a0+git1")) == []
    assert told(rule, with_vision("0.21.0", torch="2.7.0a0+nv25.3")) == []


def test_patch_releases_of_one_series_are_one_warning() -> None:
    packages = [{"name": "torchvision", "version": "0.15.2+cu118"}, {"name": "torchaudio", "version": "2.0.2+cu118"}]
    (finding,) = found(rule, machines.h100_host({"torch.version": "2.0.0+cu118", "packages": packages}))
    assert finding.severity is Severity.WARNING


def with_audio(version: str, torch: str) -> Snapshot:
    return machines.h100_host({"torch.version": torch, "packages": [{"name": "torchaudio", "version": version}]})


@pytest.mark.parametrize("torch", ["2.9.1+rocm7.2.1.lw.gitff65f5bc", "2.9.1+rocm7.2"])
def test_amds_own_wheels_pair_releases_of_one_series(torch: str) -> None:
    tag = "rocm7.2.1.gitb919bd0c" if "git" in torch else "rocm7.2"
    assert told(rule, with_vision(f"0.24.0+{tag}", torch)) == []
    assert told(rule, with_audio(f"2.9.0+{tag}", torch)) == []
    assert len(told(rule, with_vision(f"0.23.0+{tag}", torch))) == 1


def test_pytorchs_own_do_not() -> None:
    assert len(told(rule, with_vision("0.24.0+rocm6.4", "2.9.1+rocm6.4"))) == 1
    assert len(told(rule, with_vision("0.24.0", "2.9.1+rocm7.2"))) == 1


def test_nightlies_of_the_same_weeks_belong_together_whatever_their_series() -> None:
    assert told(rule, with_audio("2.8.0.dev20251002+rocm7.0", torch="2.10.0.dev20250929+rocm7.0")) == []


def test_nightlies_of_other_seasons_do_not() -> None:
    (finding,) = found(rule, with_audio("2.6.0.dev20241112+rocm6.2", torch="2.10.0.dev20250929+rocm7.0"))
    assert finding.subject.id == "torchaudio"


def test_builds_from_source_on_both_sides_have_no_numbers_to_compare() -> None:
    assert told(rule, with_audio("2.2.0a0+1980f8a", torch="2.5.0a0+git2694f6c")) == []


def test_a_release_beside_a_torch_built_from_source_has() -> None:
    (finding,) = found(rule, with_audio("2.2.0", torch="2.5.0a0+git2694f6c"))
    assert finding.subject.id == "torchaudio"


def test_torchs_own_number_written_for_both_is_none_of_torchvision() -> None:
    assert found(rule, with_vision("1.6.0", torch="1.6.0")) == []
