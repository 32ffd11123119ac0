"""profile-expectation-unmet: what is expected and no other finding speaks of; and the profile of another board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from doctor.engine.judge import judge
from doctor.engine.registry import checks
from doctor.facts import Origin, Snapshot, State
from doctor.findings import Finding, Report
from doctor.knowledge import Knowledge
from doctor.profiles import Profile, folder, load, match
from doctor.rules.profile import profile_expectation_unmet as rule
from tests.rules import machines

GOOD: dict[str, Any] = {
    "host.iommu": "passthrough", "torch.version": "2.14.0+rocm7.2", "torch.rocm": "7.2", "rocm": None,
    "rocm[/opt/rocm-7.2.4].version": "7.2.4", "rocm[/opt/rocm-7.2.4].path": "/opt/rocm-7.2.4",
    "kernel.cmdline": "ro iommu=pt pci=realloc=off", "amdgpu_driver.version": "6.16.13",
    **{f"gpus[{address}].compute_partition": "SPX" for address in machines.MI300X},
    **{f"gpus[{address}].performance_level": "auto" for address in machines.MI300X},
}  # fmt: skip


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load("mi300x+rocm7.2", folder())


def found(machine: Snapshot, profile: Profile | None) -> list[Finding]:
    return list(rule.check(machine, Knowledge(), profile))


def judged(machine: Snapshot, profile: Profile | None, **how: Any) -> Report:
    return judge(machine, Knowledge(), profile, checks=checks(), **how)


def unmet(report: Report) -> Iterator[str]:
    return (f.subject.id for f in report.findings if f.rule == rule.RULE.id)


def test_a_machine_as_the_profile_wants_it(profile: Profile) -> None:
    report = judged(machines.mi300x_host(GOOD), profile)
    assert report.profile is not None
    assert (report.profile.deviates, report.profile.unknown) == ((), ())
    assert rule.RULE.id in report.clear
    assert {j.outcome for j in report.profile.judged} == {"holds"}
    assert {j.status for j in report.profile.judged} == {"vendor-matrix", "community", "wheels-exist"}


def test_what_no_rule_speaks_of(profile: Profile) -> None:
    (finding,) = found(machines.mi300x_host(GOOD | {"torch.version": "2.9.1+rocm7.2"}), profile)
    assert finding.summary == f"Profile {profile.name} expects torch 2.14.*; it is 2.9.1+rocm7.2."
    assert (finding.severity.value, finding.subject.id) == ("info", "torch.version")
    assert finding.evidence[0].text == "torch: 2.9.1+rocm7.2"
    assert finding.remedies[0].title == "Set torch as expected: 2.14.*."


def test_of_a_long_text_only_the_word_is_told(profile: Profile) -> None:
    machine = machines.mi300x_host(GOOD | {"kernel.cmdline": "ro quiet rd.luks.key=hunter2"})
    (finding,) = found(machine, profile)
    expected = "Profile mi300x+rocm7.2 expects kernel command line with pci=realloc=off; it is without pci=realloc=off."
    assert finding.summary == expected
    (row,) = (j for j in profile.verdict(machine, "named", "").judged if j.fact == "kernel.cmdline")
    assert row.found == "without pci=realloc=off"


def test_one_finding_for_all_gpus(profile: Profile) -> None:
    two = {f"gpus[{address}].compute_partition": "CPX" for address in machines.MI300X[:2]}
    (finding,) = found(machines.mi300x_host(GOOD | two), profile)
    assert finding.subject.id == "gpus[*].compute_partition"
    assert len(finding.evidence) == 2


def test_without_a_profile_and_on_the_unknown(profile: Profile) -> None:
    assert found(machines.mi300x_host(), None) == []
    nothing = Snapshot()
    assert found(nothing, profile) == []
    report = judged(nothing, profile)
    (row,) = (u for u in report.unchecked if u.rule == rule.RULE.id)
    assert "torch.version" in row.facts
    assert not any(u.rule == rule.RULE.id for u in judged(nothing, None).unchecked)


def test_what_its_own_rule_says_is_said_once(profile: Profile) -> None:
    report = judged(machines.mi300x_host(GOOD | {"host.numa_balancing": 1}), profile)
    assert list(unmet(report)) == []
    (finding,) = (f for f in report.findings if f.rule == "numa-balancing-enabled")
    assert finding.severity.value == "warning"  # info at most without a profile


def test_what_another_finding_rests_on_is_said_once(profile: Profile) -> None:
    """A CUDA torch on AMD GPUs: torch-built-for-other-vendor shows torch.build; the profile has nothing to add."""
    report = judged(machines.mi300x_host(GOOD | {"torch.build": "cuda", "torch.rocm": None}), profile)
    assert "torch-built-for-other-vendor" in {f.rule for f in report.findings}
    assert "torch.build" not in unmet(report)


def test_in_a_guest_what_is_asked_of_the_host_is_not_expected(profile: Profile) -> None:
    guest = machines.mi300x_host(GOOD | {"host.virtual_machine": True, "host.numa_balancing": 1})
    report = judged(guest, profile)
    assert report.profile is not None
    assert "host.numa_balancing" not in {j.fact for j in report.profile.judged}


def test_where_it_is_not_known_whether_it_applies_it_could_not_be_checked(profile: Profile) -> None:
    unknown = GOOD | {"host.virtual_machine": None, "host.iommu": "translated"}
    report = judged(machines.mi300x_host(unknown), profile)
    assert report.profile is not None
    assert "host.iommu" in report.profile.unknown
    assert "host.iommu" not in unmet(report)


def test_the_profile_s_bounds_are_the_rule_s() -> None:
    """A site that wants NUMA balancing says so in a profile of its own; then it is no finding."""
    profile = load("mi300x+rocm7.2", folder())
    wanted = profile.expectation("numa-balancing-enabled")
    assert wanted is not None
    wanted = wanted.model_copy(update={"equals": 1})
    own = profile.model_copy(update={"expect": (wanted,)})
    report = judged(machines.mi300x_host(GOOD | {"host.numa_balancing": 1}), own)
    assert "numa-balancing-enabled" not in {f.rule for f in report.findings}
    report = judged(machines.mi300x_host(GOOD), own)
    assert list(unmet(report)) == ["host.numa_balancing"]


def test_the_profile_of_another_board() -> None:
    profile = load("h100+cuda13.0", folder())
    finding = found(machines.mi300x_host(GOOD), profile)[0]
    assert finding.summary == (
        "Profile h100+cuda13.0 is for other hardware: it is for GPUs of nvidia, and AMD Instinct MI300X is amd's."
    )
    assert finding.subject.kind == "profile"


def test_bridges_that_were_not_asked_for_acs_are_not_missing() -> None:
    profile = load("h100+cuda13.0", folder())
    acs = next(e for e in profile.expect if e.fact == "pci[*].acs_redirect")
    bridge = {"pci[0000:00:01.0].kind": "other", "pci[0000:00:01.0].acs_redirect": False}
    assert acs.judge(machines.h100_host()) == "unknown"
    assert acs.judge(machines.h100_host(bridge)) == "holds"
    assert acs.judge(machines.h100_host(bridge | {"pci[0000:00:01.0].acs_redirect": True})) == "deviates"
    refused = machines.h100_host(bridge)
    denied = Origin(state=State.DENIED, source="file:/sys/bus/pci/devices/0000:1a:01.0/config")
    name = f"pci[{machines.H100[0]}].acs_redirect"
    refused = refused.model_copy(update={"origins": {**refused.origins, name: denied}})
    assert acs.judge(refused) == "unknown"


def test_why_no_profile_was_judged_is_in_the_report() -> None:
    why = "no profile is for this hardware (NVIDIA L40)"
    assert judged(machines.rtx4090_desktop(), None, why=why).profile_note == why
    assert judged(machines.rtx4090_desktop(), None).profile_note is None


@pytest.mark.parametrize(
    "healthy", [machines.h100_host, machines.mi300x_host, machines.rx7900_desktop, machines.rtx4090_desktop,
                machines.h100_container, machines.mi300x_container]
)  # fmt: skip
def test_a_healthy_machine_of_another_stack_gets_no_warning_from_a_matched_profile(healthy: Any) -> None:
    machine = healthy()
    matched, why = match(machine, folder())
    assert matched is not None, why
    report = judged(machine, matched, chosen="matched", why=why)
    assert [f.summary for f in report.findings if f.severity.value != "info"] == []
    assert set(unmet(report)) <= {"kernel.cmdline"}  # pci=realloc=off, which AMD advises for MI300X
    assert report.profile is not None
    assert "torch.version" in report.profile.deviates
    assert report.status in ("ok", "partial")
