"""nvidia-driver-library-mismatch: two versions, or the tools' own words."""

from __future__ import annotations

from doctor.rules.driver import nvidia_driver_library_mismatch as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs


def test_two_versions_on_a_host_want_a_reboot() -> None:
    upgraded = {"nvidia_driver.user_version": "580.95.05", "nvidia_driver.module_on_disk": "580.95.05"}
    (finding,) = found(rule, machines.h100_host(upgraded))
    assert finding.summary == "NVIDIA kernel module 575.57.08 is loaded, but the driver libraries are 580.95.05."
    assert argvs(finding)[0] == ("systemctl", "reboot")


def test_a_reboot_is_not_advised_where_it_would_load_the_same_module() -> None:
    edits = {"nvidia_driver.user_version": "580.95.05", "nvidia_driver.module_on_disk": "575.57.08"}
    (finding,) = found(rule, machines.h100_host(edits))
    assert argvs(finding) == [("dkms", "autoinstall"), ("systemctl", "reboot")]


def test_a_container_is_started_anew() -> None:
    (finding,) = found(rule, machines.h100_container({"nvidia_driver.user_version": "580.95.05"}))
    assert [r.scope.value for r in finding.remedies] == ["container", "container"]
    assert argvs(finding) == []


def test_nvml_says_so() -> None:
    edits = {"nvidia_driver.user_version": None, "nvidia_driver.nvml_error": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"}
    expected = "The NVIDIA kernel module and the driver libraries have different versions."
    assert told(rule, machines.h100_host(edits)) == [("error", "nvidia", expected)]


def test_near_misses() -> None:
    compat = {
        "nvidia_driver.user_version": "580.95.05",
        "nvidia_driver.libraries": [{"path": "/usr/local/cuda/compat/libcuda.so.580.95.05", "version": "580.95.05"}],
    }
    assert found(rule, machines.h100_host(compat)) == []
    assert found(rule, machines.h100_host()) == []
    assert found(rule, machines.h100_host(machines.event("nvidia-api-mismatch"))) == []


def test_unknown_library_version() -> None:
    assert found(rule, machines.h100_host({"nvidia_driver.user_version": None})) == []


def test_nvml_s_short_version_of_the_same_driver_is_no_mismatch() -> None:
    same = {"nvidia_driver.version": "595.71.05", "nvidia_driver.user_version": "595.71"}
    assert found(rule, machines.h100_host(same)) == []
    other = {"nvidia_driver.version": "595.71.05", "nvidia_driver.user_version": "595.80"}
    assert len(found(rule, machines.h100_host(other))) == 1


def test_the_upgrade_that_made_it_so_is_named_with_who_did_it() -> None:
    facts = {
        "nvidia_driver.user_version": "580.95.05",
        "changes[1].when": "2026-11-17 06:12:01", "changes[1].package": "nvidia-utils-580", "changes[1].age_s": 3600,
        "changes[1].action": "upgrade", "changes[1].new": "580.95.05-0ubuntu1", "changes[1].by": "unattended-upgrades",
        "holders[7].pid": 7, "holders[7].name": "nv-hostengine", "holders[7].nodes": ["/dev/nvidiactl"],
    }  # fmt: skip
    words = [e.text for e in found(rule, machines.h100_host(facts))[0].evidence]
    upgrade = "2026-11-17 06:12:01: upgrade of nvidia-utils-580 to 580.95.05-0ubuntu1 by unattended-upgrades"
    assert upgrade in words
    assert "the loaded module is held by nv-hostengine (pid 7)" in words
    old = found(rule, machines.h100_host(facts | {"changes[1].age_s": 40 * 86400}))[0].evidence
    assert upgrade not in [e.text for e in old]


def test_two_branches_differ_and_a_branch_and_its_release_do_not() -> None:
    two = {"nvidia_driver.version": "550.x", "nvidia_driver.user_version": "570.x"}
    assert len(found(rule, machines.h100_host(two))) == 1
    assert found(rule, machines.h100_host(two | {"nvidia_driver.user_version": "550.120"})) == []
