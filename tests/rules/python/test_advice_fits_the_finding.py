"""A remedy that the finding itself rules out is not given."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.python import Package
from doctor.knowledge import Knowledge
from doctor.rules.flags import visible_devices_conflict
from doctor.rules.lib import pip, torch_install
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.python import jax_plugin_mismatch, python_version_unsupported
from tests.rules import machines
from tests.rules.driver.asked import found

KB = Knowledge()


def test_no_build_for_python_3_12_is_not_answered_with_python_3_12() -> None:
    machine = machines.no_gpu_host({"interpreter.version": "3.12.4"})
    first, keep = python_version_unsupported.advice(machine, KB)
    assert first.steps[0].command == ("uv", "venv", "--python", "3.11", ".venv-3.11")
    assert keep.keeps == ("Python 3.12",)


def test_the_python_is_one_that_torchs_release_has_wheels_for() -> None:
    edits = {"interpreter.version": "3.14.0", "torch.version": "2.2.0"}
    first = python_version_unsupported.advice(machines.no_gpu_host(edits), KB)[0]
    assert (first.steps[0].command or ())[3] in ("3.12", "3.11")


def test_an_error_of_jaxs_rocm_plugin_gets_no_cuda() -> None:
    text = "RuntimeError: Unable to initialize backend 'rocm': xla_rocm60 is of jaxlib 0.4.31"
    machine = machines.no_gpu_host({"gpus": None, "symptoms": {"jax-plugin-version": text}})
    (by_hand,) = jax_plugin_mismatch.advice(machine, KB)  # no release has an extra for ROCm 6 any more
    assert by_hand.title.startswith("Install JAX for ROCm 6")
    (of_7,) = jax_plugin_mismatch.advice(machines.mi300x_host({"rocm": None}), KB)
    assert (of_7.steps[0].command or ())[-1] == "jax[rocm7-local]"


def test_a_container_with_void_is_recreated() -> None:
    edits = {"environment": {"NVIDIA_VISIBLE_DEVICES": "void"}, "nodes": []}
    machine = machines.h100_container(edits)
    (finding,) = found(visible_devices_conflict, machine)
    assert finding.remedies[0].title.startswith("Recreate the container")
    assert finding.remedies[0].steps[-1].command == ("docker", "run", "--gpus", "all", "IMAGE")
    (finding,) = found(visible_devices_conflict, machines.h100_container(edits | {"container.engine": "podman"}))
    assert (finding.remedies[0].steps[-1].command or ())[:2] == ("podman", "run")
    assert "env" not in [step.command[0] for step in finding.remedies[0].steps if step.command]


_USR = {"interpreter.path": "/usr/bin/python3"}
_ON_TOP = ("/usr/bin/python3", "-m", "venv", "--system-site-packages")


@pytest.mark.parametrize(
    ("edits", "first"),
    [
        ({"interpreter.path": "/opt/venv/bin/python"}, ("/opt/venv/bin/python", "-m", "pip", "install")),
        ({**_USR, "interpreter.externally_managed": True}, _ON_TOP),
        ({**_USR, "interpreter.externally_managed": False, "os.id": "debian", "os.version": "12"},
         ("/usr/bin/python3", "-m", "pip", "install")),  # its marker was removed
        ({**_USR, "os.id": "debian", "os.version": "12"}, _ON_TOP),  # a text does not show the marker
        ({**_USR, "os.id": "debian", "os.version": "11"}, ("/usr/bin/python3", "-m", "pip", "install")),
        ({**_USR, "os.id": "ubuntu", "os.version": "24.04"}, _ON_TOP),
        ({"torch.version": None, "torch.build": None}, ("uv", "venv", "--python", "3.12")),  # no Python is here
        ({}, ("python3", "-m", "pip", "install")),  # torch is there, so its environment is: it is to be activated
    ],
)  # fmt: skip
def test_packages_go_where_pip_may_put_them(edits: dict[str, Any], first: tuple[str, ...]) -> None:
    machine = machines.rx7900_desktop(edits)
    for remedy in (torch_install.install(machine, "amd"), pip_install(machine, "Install X.", "x==1")):
        assert (remedy.steps[0].command or ())[:4] == first
        removed = [step.command for step in remedy.undo] == [("rm", "-r", "gpu-venv")]
        assert removed is ("venv" in first)
        assert ("new environment" in remedy.title) is ("venv" in first)


def test_old_builds_come_back_from_their_own_indexes() -> None:
    packages = {"torch": "2.9.1+cu128", "torchvision": "0.21.0+cu124", "triton": "3.5.1", "mine": "1+git7"}
    held = [Package(name=name, version=version) for name, version in packages.items()]
    machine = machines.rx7900_desktop({"interpreter.path": "/v/bin/python"})
    index = f"--index-url {pip.INDEX}"
    assert [" ".join((step.command or ())[4:]) for step in pip.undo(machine, held)] == [
        f"{index}/cu128 torch==2.9.1+cu128", f"{index}/cu124 --no-deps torchvision==0.21.0+cu124",
        "--force-reinstall --no-deps triton==3.5.1",
    ]  # fmt: skip


def test_a_library_of_torch_is_installed_beside_a_torch_that_loads_it() -> None:
    """A new environment comes first on Python's path; torch finds libraries beside itself alone."""
    machine = machines.rx7900_desktop({**_USR, "interpreter.externally_managed": True, "torch.version": "2.9.1+cu128"})
    remedy = pip_install(machine, "Install cuDNN's package again.", "--no-deps", "nvidia-cudnn-cu12==9.10.2.21")
    assert (remedy.steps[-1].command or ())[-1] == "torch==2.9.1"
