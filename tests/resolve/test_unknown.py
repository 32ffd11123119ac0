"""What is not known stays unknown: no "runs", no advice about a driver; and what is known to be too old is refused."""

from __future__ import annotations

import pytest

from doctor.errors import InputError
from doctor.knowledge import Knowledge
from doctor.resolve import Solution, described, explain, solve
from doctor.resolve.target import glibc_of

KB = Knowledge()
H100 = {"gpu": "H100", "driver": "580.95.05", "python": "3.12"}


def asked(packages: str, **machine: str) -> Solution:
    return solve(KB, described(KB, **machine), packages.split())


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ({**H100, "os": "nixos-25.05"}, "the C library of nixos 25.05 is not in the knowledge base; --glibc gives"),
        ({**H100, "os": "ubuntu-99.04"}, "the C library of ubuntu 99.04 is not in the knowledge base"),
        ({**H100, "driver": "620.10"}, "driver 620.10 is not in the knowledge base; the newest known is 615"),
        (
            {"gpu": "MI300X", "driver": "40.10"},
            "driver 40.10 is not in the knowledge base; the newest known is 31.60.0",
        ),
        ({"gpu": "gfx1151", "driver": "in-tree"}, "which ROCm an in-tree amdgpu supports depends on the kernel"),
    ],
)
def test_an_unknown_part_of_the_machine_is_said_and_no_advice_is_given(machine: dict[str, str], words: str) -> None:
    found = asked("torch", **machine)
    assert found.status == "unknown"
    assert words in explain(found)
    assert found.changes == ()
    assert " runs on " not in explain(found)


def test_an_unknown_release_asks_for_no_other_driver() -> None:
    assert asked("sglang==0.5.3", gpu="H100", driver="575.57.08", python="3.12").changes == ()
    assert asked("vllm", gpu="H100", driver="515.65.01", python="3.12").changes != ()


def test_a_python_that_is_newer_than_any_known_is_unknown() -> None:
    found = asked("transformers", **{**H100, "python": "3.16"})
    assert found.status == "unknown"
    assert "Python 3.16 is not in the knowledge base; the newest known is 3.15" in explain(found)


def test_a_known_system_beside_them_is_solved() -> None:
    assert asked("torch", **{**H100, "os": "fedora-43"}).status == "solved"
    assert asked("torch", **{**H100, "os": "nixos-25.05", "glibc": "2.40"}).status == "solved"
    assert asked("transformers", **{**H100, "python": "3.14"}).status == "solved"


def test_musl_takes_no_wheel_that_is_made_for_glibc() -> None:
    found = asked("torch", **{**H100, "os": "alpine-3.20"})
    assert found.status == "impossible"
    assert "its wheels need glibc; this system uses musl" in explain(found)


def test_an_old_glibc_gets_a_release_whose_wheels_are_made_for_it() -> None:
    found = asked("torch", **{**H100, "os": "centos-7"})
    assert (found.status, found.build and found.build.version) == ("solved", "2.6.0")


@pytest.mark.parametrize(
    ("os", "version", "glibc"),
    [("ubuntu", "24.04", "2.39"), ("rhel", "9.6", "2.34"), ("rockylinux", "9", "2.34"), ("debian", "13", "2.41"),
     ("alpine", "3.20", None), ("nixos", "25.05", None), ("centos", "7", "2.17"), ("sles", "16.0", "2.38")],
)  # fmt: skip
def test_the_c_library_of_a_system(os: str, version: str, glibc: str | None) -> None:
    assert glibc_of(KB, os, version) == glibc


def test_a_driver_that_predates_the_gpu_is_refused() -> None:
    found = asked("torch", gpu="gfx950", driver="6.4.1", python="3.12")
    assert "gfx950 needs amdgpu >= 30.10.0; 6.4.1 is loaded" in explain(found)
    assert found.changes[0].text == "an amdgpu driver 30.10.0 to 31.40.1 instead of 6.4.1"
    assert asked("torch", gpu="gfx950", driver="30.10", python="3.12").status == "solved"


def test_an_in_tree_driver_is_amd_s() -> None:
    assert described(KB, driver="in-tree").vendor == "amd"
    with pytest.raises(InputError, match="--driver in-tree AMD's"):
        described(KB, gpu="H100", driver="in-tree")


def test_a_gpu_without_a_build_of_pytorch_gets_amd_s_own_wheels() -> None:
    found = asked("torch torchvision", gpu="gfx1036", python="3.12")
    assert found.status == "solved"
    assert " ".join(found.commands[0]).endswith("+rocm7.14.0 --index-url https://repo.amd.com/rocm/whl-multi-arch/")
    assert "AMD's release channel" in (found.picks[0].note or "")
    assert asked("torch==2.14.1", gpu="gfx1036").status == "impossible"
    nightly = asked("torch", gpu="gfx1036", driver="30.30", python="3.10")
    assert nightly.status == "unknown"  # which drivers serve the ROCm of a nightly build


@pytest.mark.parametrize(
    ("machine", "index"),
    [
        ({}, "https://stable.repo.amd.com/rocm/whl-next/"),
        ({"driver": "31.60"}, "https://stable.repo.amd.com/rocm/whl-next/"),
        ({"driver": "30.10.1", "python": "3.12"}, "https://repo.amd.com/rocm/whl-multi-arch/"),  # ROCm 10.1 lists newer
        ({"python": "3.9"}, "https://rocm.nightlies.amd.com/whl-multi-arch/"),
    ],
)
def test_amd_s_release_comes_before_its_nightly_builds(machine: dict[str, str], index: str) -> None:
    (command,) = asked("torch torchvision", gpu="gfx1153", **machine).commands
    assert command[-1] == index
    pinned = "torch[device-gfx1153]==2.14.0+rocm10.1.0" in command
    assert pinned == ("stable" in index)
