"""A remedy that the finding itself rules out is not given."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.flags import visible_devices_conflict
from doctor.rules.lib import torch_install
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
    assert "env" not in [step.command[0] for step in finding.remedies[0].steps if step.command]


@pytest.mark.parametrize(
    ("edits", "first"),
    [
        ({"interpreter.path": "/opt/venv/bin/python"}, ("/opt/venv/bin/python", "-m", "pip")),
        ({"interpreter.path": "/usr/bin/python3", "os.id": "debian", "os.version": "12"}, ("python3", "-m", "venv")),
        ({"interpreter.path": "/usr/bin/python3", "os.id": "debian", "os.version": "11"},
         ("/usr/bin/python3", "-m", "pip")),
        ({"interpreter.path": "/usr/bin/python3", "os.id": "ubuntu", "os.version": "24.04"}, ("python3", "-m", "venv")),
        ({"torch.version": None, "torch.build": None}, ("python3", "-m", "venv")),
        ({}, ("python3", "-m", "pip")),  # torch is there, so its environment is: it is to be activated
    ],
)  # fmt: skip
def test_torch_goes_where_pip_may_put_it(edits: dict[str, Any], first: tuple[str, ...]) -> None:
    """PEP 668: the Python of Debian 12 and Ubuntu 24.04 refuses pip."""
    remedy = torch_install.install(machines.rx7900_desktop(edits), "amd")
    assert (remedy.steps[0].command or ())[:3] == first
    assert (remedy.undo[0].command or ())[:1] == ("rm",) if "venv" in first else True
    assert ("new environment" in remedy.title) is ("venv" in first)
