"""An extension that looks for a library of another CUDA than torch's or the installed one."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.engine import registry
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from tests.each import each
from tests.rules.machines import build, h100_host

(CHECK,) = (check for check in registry.checks() if check.rule.id == "extension-abi-mismatch")
SO = "cannot open shared object file: No such file or directory"
TORCH = {"torch.version": "2.7.0+cu128", "torch.build": "cuda", "torch.cuda": "12.8", "packages": []}


def lacks(library: str, asker: str = "spatial_ops") -> dict[str, Any]:
    return {"symptoms": {"cuda-library-not-found": f"ImportError: {asker}: {library}: {SO}"}}


def toolkit(version: str) -> dict[str, Any]:
    return {"cuda[shown].kind": "toolkit", "cuda[shown].version": version, "cuda[shown].path": "/usr/local/cuda"}


def told(machine: Snapshot) -> list[str]:
    return [finding.summary for finding in CHECK.run(machine, Knowledge(), None)]


@pytest.mark.parametrize(
    ("facts", "wanted", "here"),
    [
        (TORCH | lacks("libcudart.so.11.0"), "11", "12.8"),
        (TORCH | lacks("libcublas.so.13"), "13", "12.8"),
        (toolkit("12.1") | lacks("libnvrtc.so.11.2"), "11", "12.1"),
        (toolkit("10.0") | lacks("libcudart.so.9.2"), "9.2", "10.0"),
        (toolkit("10.1") | lacks("libcudart.so.10.2"), "10.2", "10.1"),
    ],
)
def test_the_release_in_the_soname_is_another(facts: dict[str, Any], wanted: str, here: str) -> None:
    (summary,) = told(build(facts))
    assert summary.endswith(f"was built for CUDA {wanted}, but CUDA {here} is here.")


@each(
    "facts",
    [
        TORCH | lacks("libcudart.so.12"),
        TORCH | lacks("libcudnn.so.8"),
        toolkit("11.8") | lacks("libcudart.so.11.0"),
        toolkit("10.2") | lacks("libcudart.so.10.2"),
        TORCH | lacks("libcublas.so.11", "onnxruntime/libonnxruntime_providers_cuda.so"),
        TORCH | lacks("libcublas.so.11") | {"packages": [{"name": "ctranslate2", "version": "3.2"}]},
        TORCH | lacks("libcudart.so.11.0") | {"packages": [{"name": "cupy-cuda11x", "version": "13.0.0"}]},
        TORCH | lacks("libcudart.so.11.0") | {"torch.build": "rocm"},
        lacks("libcudart.so.11.0"),
    ],
)
def test_silent_where_it_is_the_same_or_another_s_or_none_is_known(facts: dict[str, Any]) -> None:
    assert told(build(facts)) == []


def test_silent_on_a_healthy_machine() -> None:
    assert told(h100_host()) == []
