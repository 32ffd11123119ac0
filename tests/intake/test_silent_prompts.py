"""A prompt that printed nothing tells that what was searched for is not there."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake.read import read_text


def read(text: str) -> Snapshot:
    return read_text([text.encode()])


def test_a_search_of_lsmod_between_two_prompts_found_nothing() -> None:
    machine = read("[root@gpu3 ~]# lsmod | grep nvidia_peermem\n[root@gpu3 ~]# lsmod | grep -e amdgpu\n[root@gpu3 ~]#")
    assert machine.nvidia_driver.peermem_loaded is False
    assert machine.nvidia_driver.loaded is None
    assert machine.source("nvidia_driver.peermem_loaded") == "text:1"


def test_a_count_of_none() -> None:
    assert read("$ lsmod | grep -c peermem\n0\n").nvidia_driver.peermem_loaded is False


def test_a_search_for_a_family_of_modules_is_one_for_each() -> None:
    driver = read("me@box:~$ lsmod | grep -i nvidia\nme@box:~$ ls\n").nvidia_driver
    assert (driver.loaded, driver.uvm_loaded) == (False, False)


@pytest.mark.parametrize(
    "text",
    [
        "$ lsmod | grep nvidia\n$ nvidia-smi\n",
        "me@box:~$ lsmod | grep nvidia\nnvidia 62468096 60\nme@box:~$ ls\n",
        "me@box:~$ lsmod | grep nvidia\n\nme@box:~$ ls\n",
        "me@box:~$ lsmod | grep -v nvidia\nme@box:~$ ls\n",
        "me@box:~$ lsmod | grep nvidia\n",
        "$ lsmod | grep -c nvidia\n4\n",
        "me@box:~$ lsmod | sort\nme@box:~$ ls\n",
    ],
    ids=["a manual's", "rows", "something was cut", "the rest", "the end", "four", "all"],
)
def test_what_tells_nothing_of_absence(text: str) -> None:
    driver = read(text).nvidia_driver
    assert False not in (driver.loaded, driver.peermem_loaded)
