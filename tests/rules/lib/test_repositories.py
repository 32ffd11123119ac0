"""Vendors' repositories: by distribution and release, as AMD's and NVIDIA's own installation pages name them."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.facts.host import Os
from doctor.rules.lib import commands, repositories

AMD = "https://repo.radeon.com/amdgpu"


@pytest.mark.parametrize(
    ("system", "release", "line"),
    [
        (Os(id="ubuntu", version="24.04"), "30.30.0", f"{AMD}/30.30/ubuntu noble main"),
        (Os(id="debian", version="12"), "30.20.1", f"{AMD}/30.20.1/ubuntu jammy main"),
        (Os(id="rhel", version="9.6"), "6.4.1", f"baseurl={AMD}/6.4.1/el/9.6/main/x86_64/"),
        (Os(id="rocky", version="10.1"), "31.40.1", f"baseurl={AMD}/31.40.1/el/10/main/x86_64/"),
        (Os(id="sles", version="15.7"), "31.40.1", f"baseurl={AMD}/31.40.1/sle/15.7/main/x86_64/"),
    ],
)
def test_amds_repository(system: Os, release: str, line: str) -> None:
    steps = list(repositories.amdgpu(Snapshot(os=system), release))
    assert line in str([step.command for step in steps])


_EPEL = "https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm"


@pytest.mark.parametrize(
    ("system", "release"),
    [
        (Os(id="ubuntu", version="26.04"), "30.30.1"),  # the repository has no suite of it yet
        (Os(id="azurelinux", version="3.0"), "31.40.1"),  # its folder was never looked up
        (Os(), "31.40.1"),
    ],
)
def test_where_no_address_is_known_the_guide_is_named(system: Os, release: str) -> None:
    *before, step = repositories.amdgpu(Snapshot(os=system), release)
    assert [one.text for one in before] == ["Install the headers of the running kernel (`uname -r`)."] * (
        system.id == "azurelinux"
    )
    assert step.command is None
    assert "https://instinct.docs.amd.com/" in step.text


def test_the_driver_is_the_one_that_ships_with_the_rocm_that_is_here() -> None:
    for rocm, release in (("7.2.1", "30.30.1"), ("6.4.1", "6.4.1"), (None, "31.40.1")):
        machine = Snapshot.model_validate({"os": {"id": "ubuntu", "version": "24.04"}, "torch": {"rocm": rocm}})
        assert commands.amdgpu_driver(machine)[0].title == f"Install AMD's driver package amdgpu-dkms {release}."


@pytest.mark.parametrize(
    ("name", "first"), [("ubuntu", "curl"), ("fedora", "curl"), ("sles", "zypper"), ("arch", "pacman")]
)
def test_nvidias_container_toolkit(name: str, first: str) -> None:
    steps = list(repositories.container_toolkit(Snapshot(os=Os(id=name))))
    assert (steps[0].command or ())[0] == first
    assert (steps[-1].command or ())[-1] == "nvidia-container-toolkit"


@pytest.mark.parametrize(
    ("system", "kernel", "firsts"),
    [
        (Os(id="rocky", version="9.6"), "5.14.0-570.el9_6.x86_64", ["kernel-devel-5.14.0-570.el9_6.x86_64", _EPEL]),
        (Os(id="ol", version="9.6"), "5.15.0-3.el9uek.x86_64", ["kernel-uek-devel-5.15.0-3.el9uek.x86_64", _EPEL]),
        (Os(id="sles", version="15.7"), "6.4.0-1-default", ["kernel-default-devel", "PackageHub/15.7/x86_64"]),
        (Os(id="ubuntu", version="24.04"), "6.8.0-60-generic", ["linux-headers-6.8.0-60-generic"]),
    ],
)
def test_what_dkms_needs_comes_before_amds_repository(system: Os, kernel: str, firsts: list[str]) -> None:
    machine = Snapshot.model_validate({"os": system, "kernel": {"release": kernel}})
    steps = [step.command or () for step in repositories.amdgpu(machine, "6.4.1")]
    assert [argv[-1] for argv in steps[: len(firsts)]] == firsts
    assert steps[len(firsts)][0] in ("curl", "sh")
    assert (("zypper", "--gpg-auto-import-keys", "refresh") in steps) is (system.id == "sles")
