"""A profile as the expected state: what is uniformly wrong is found, what is not known is said, other GPUs are left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.fleet.answers import Answer
from doctor.fleet.expected import Expected, name_of
from doctor.fleet.tally import Tally
from doctor.fleet.text import as_data, render
from doctor.fleet.verdict import Verdict, judged, one_line
from doctor.profiles import load
from tests.fleet.test_verdict import node, odd

PROFILE = """schema = 1
name = "ours"
about = "Our H100"
status = "captured"
hardware = { vendor = "nvidia", pci_ids = ["10de:2330"], count = 2 }

[[expect]]
fact = "nvidia_driver.version"
at_least = "575.57.08"
why = "What we tested."
source = { url = "ours", as_of = 2026-11-01, status = "captured" }

[[expect]]
fact = "gpus[*].persistence_mode"
severity = "info"
equals = true
why = "Saves time."
source = { url = "ours", as_of = 2026-11-01, status = "captured" }
"""
OTHER = [{"key": "0", "vendor": "nvidia", "name": "A10", "pci_id": "10de:2236", "pci_address": "0000:1b:00.0"}]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "ours.toml"
    path.write_text(PROFILE)
    return path


def fleet(profile: Path, *groups: tuple[int, dict[str, Any]]) -> Verdict:
    tally, number = Tally(expected=Expected(load(str(profile)))), 0
    for size, report in groups:
        for _ in range(size):
            number += 1
            tally.add(Answer(f"n{number}", json.loads(json.dumps(report))))
    return judged(tally)


def test_a_fleet_as_the_profile_says_is_good(profile: Path) -> None:
    verdict = fleet(profile, (3, node()))
    like = "like profile ours and most of their kind"
    assert one_line(verdict) == f"Fleet: good. All 3 nodes answered, without an error and {like}."
    assert "compared with profile ours and the majority" in render(verdict)


def test_a_fleet_that_is_uniformly_wrong_is_not_good(profile: Path) -> None:
    verdict = fleet(profile, (3, node(nvidia_driver__version="535.10")))
    assert odd(verdict) == [("n[1-3]", "driver: nvidia_driver.version", "535.10", "at least 575.57.08")]
    assert verdict.to_drain() == {}


def test_the_one_node_that_is_right_is_not_odd_for_being_alone(profile: Path) -> None:
    verdict = fleet(profile, (8, node(nvidia_driver__version="535.10")), (1, node()))
    assert [row[0] for row in odd(verdict)] == ["n[1-8]"]


def test_what_the_profile_does_not_speak_of_is_compared_with_the_majority(profile: Path) -> None:
    assert [row[:2] for row in odd(fleet(profile, (8, node()), (1, node(kernel__release="6.9"))))] == [
        ("n9", "kernel: kernel.release")
    ]


def test_a_node_with_fewer_gpus_than_the_profile_says_is_to_be_drained(profile: Path) -> None:
    verdict = fleet(profile, (3, node(gpus=node()["snapshot"]["gpus"][:1])))
    assert odd(verdict) == [("n[1-3]", "gpu: GPUs", "1", "2")]
    assert verdict.to_drain() == {"GPUs = 1, not 2": ["n1", "n2", "n3"]}


def test_an_expected_fact_that_is_not_known_is_said_and_no_fault(profile: Path) -> None:
    verdict = fleet(profile, (2, node()), (1, node(nvidia_driver__version=None)))
    assert odd(verdict) == []
    assert one_line(verdict).endswith("1 fact of the profile not known on 1 of 3.")
    assert as_data(verdict)["not_compared"] == {"driver: nvidia_driver.version": "n3"}
    assert not verdict.good()


def test_a_report_whose_gpus_are_not_known_is_not_compared(profile: Path) -> None:
    verdict = fleet(profile, (8, node(gpus=None)), (1, node(gpus=None, nvidia_driver__version="570.10")))
    assert as_data(verdict)["not_compared"] == {"gpu: GPUs": "n[1-9]"}
    assert [row[:2] for row in odd(verdict)] == [("n9", "driver: nvidia_driver.version")]


def test_nodes_with_other_gpus_are_compared_with_the_majority(profile: Path) -> None:
    verdict = fleet(profile, (3, node()), (3, node(gpus=OTHER, nvidia_driver__version="1.0")))
    assert odd(verdict) == []
    assert {kind.name: kind.profile for kind in verdict.kinds} == {"H100": "ours", "A10": None}


def test_a_profile_that_is_for_none_of_the_nodes_is_said(profile: Path) -> None:
    verdict = fleet(profile, (3, node(gpus=OTHER)))
    assert "profile ours is for none of these GPUs" in one_line(verdict)
    assert not verdict.good()


def test_the_command_takes_it_and_strict_counts_what_is_not_known(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "n1.json").write_text(json.dumps(node(nvidia_driver__version=None)))
    asked = ["fleet", "report", str(tmp_path / "r"), "--profile", str(profile)]
    assert run(asked) == 0
    assert run([*asked, "--strict"]) == 4
    assert "Expected by the profile, and not known" in capsys.readouterr().out
    assert run([*asked[:-1], "nonsense"]) == 2
    assert run([*asked[:-1], ""]) == 2


@pytest.mark.parametrize(
    ("fact", "name"),
    [
        ("gpus[*].driver", "gpu: GPU driver"),
        ("gpus[*].errors.remap_failed", "gpu: GPU errors: remap failed"),
        ("environment.NCCL_DEBUG", "flags: NCCL_DEBUG"),
        ("host.iommu", "system: host.iommu"),
        ("torch.version", "stack: torch.version"),
    ],
)
def test_a_fact_has_the_name_that_the_majority_is_compared_by(fact: str, name: str) -> None:
    assert name_of(fact) == name
