"""Profiles are composed, validated with all faults at once, matched and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.diagnosis.registry import checks
from doctor.errors import DataFileError, InputError
from doctor.profiles import load, match, names
from tests.rules.machines import h100_host, mi300x_host


@pytest.mark.parametrize("name", names())
def test_every_shipped_profile_is_valid(name: str) -> None:
    assert load(name).expect


def test_a_profile_is_matched_by_hardware() -> None:
    for host, name in ((mi300x_host(), "mi300x-serve"), (h100_host(), "h100-serve")):
        found, _ = match(host)
        assert found is not None
        assert found.name == name


def test_expectations_hold_deviate_or_stay_unknown() -> None:
    profile = load("mi300x-serve")
    verdict = profile.verdict(mi300x_host({"host.numa_balancing": 1, "host.iommu": None}), "named", "")
    assert "host.numa_balancing" in verdict.deviates
    assert "host.iommu" in verdict.unknown
    assert "amdgpu_driver.loaded" in verdict.holds


def test_an_unmet_expectation_is_a_finding() -> None:
    rule = next(c for c in checks() if c.rule.id == "profile-expectation-unmet")
    machine = mi300x_host({"host.iommu": "translated"})
    summaries = [f.summary for f in rule.run(machine, None, load("mi300x-serve"))]
    assert "host.iommu should be one of passthrough, off; it is translated." in summaries


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('schema = 2\nname = "p"\ncolour = 1\n[[expect]]\nfact = "os.id"\nwhy = "w"\n')
    with pytest.raises(DataFileError) as caught:
        load(str(path))
    assert {f.split(":")[0] for f in caught.value.faults} == {"schema", "colour", "expect[1].source"}


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="h100-serve"):
        load("nonsense")


def test_a_circle_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('schema = 1\nname = "p"\nextends = ["p"]\n')
    with pytest.raises(DataFileError, match="circle"):
        load(str(path))
