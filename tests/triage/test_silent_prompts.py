"""A prompt that printed nothing tells that what was searched for is not there."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.triage.read import read_text


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
        "me@box:~$ lsmod | grep nvidia\n\nme@box:~$ ls\n",
        "me@box:~$ lsmod | grep -v nvidia\nme@box:~$ ls\n",
        "me@box:~$ lsmod | grep nvidia\n",
        "$ lsmod | grep -c nvidia\n4\n",
        "me@box:~$ lsmod | sort\nme@box:~$ ls\n",
    ],
    ids=["a manual's", "something was cut", "the rest", "the end", "four", "all"],
)
def test_what_tells_nothing_of_absence(text: str) -> None:
    driver = read(text).nvidia_driver
    assert False not in (driver.loaded, driver.peermem_loaded)


def test_a_module_without_a_row_in_what_was_searched_is_not_loaded() -> None:
    driver = read("$ lsmod | grep nvidia\nnvidia_modeset 1234567 1\nnvidia 34567890 1 nvidia_modeset\n").nvidia_driver
    assert (driver.loaded, driver.uvm_loaded) == (True, False)


@pytest.mark.parametrize("command", ["lsmod", "lsmod | grep nvidia | head -2", "lsmod | grep -w nvidia"])
def test_rows_of_another_search_tell_nothing_of_others(command: str) -> None:
    assert read(f"$ {command}\nnvidia 34567890 1\n").nvidia_driver.uvm_loaded is None


def test_a_shell_of_apptainer_and_a_step_with_an_image_are_inside() -> None:
    assert read(
        "$ apptainer shell x.sif\nApptainer> nvidia-smi\nbash: nvidia-smi: command not found\n"
    ).container.inside
    container = read("srun --gpus=2 \\\n  --container-image=img \\\n  --pty bash\n").container
    assert (container.inside, container.engine) == (True, "enroot")


def test_a_step_without_an_image_is_on_the_host() -> None:
    assert read("$ srun --gpus=2 --pty bash\n").container.inside is None


def test_a_comment_of_a_script_is_no_command_at_a_prompt_of_root() -> None:
    script = "```\n#!/bin/bash\n#SBATCH --nodes=1\n# export HSA_OVERRIDE_GFX_VERSION=10.3.0\npython train.py\n```\n"
    assert "HSA_OVERRIDE_GFX_VERSION" not in (read(script).environment or {})
    typed = "```\n# export HSA_OVERRIDE_GFX_VERSION=10.3.0\n# rocminfo\n```\n"
    assert read(typed).environment == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}


def test_a_list_with_another_torch_is_of_another_environment() -> None:
    text = "$ pip list\ntorch 2.6.0\nnumpy 1.26.4\n\nrequirements.txt:\n```\ntorch==2.0.1\nxformers==0.0.20\n```\n"
    held = {package.name: package.version for package in read(text).packages or ()}
    assert held["torch"] == "2.6.0"
    assert "xformers" not in held
