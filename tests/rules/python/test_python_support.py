"""Packages that no release serves the GPU with, said plainly; builds of one's own and pasted lists are left alone."""

from __future__ import annotations

import pytest

from doctor.facts.snapshot import Snapshot
from doctor.knowledge import Knowledge
from doctor.rules.lib.python_support import unsupported
from tests.rules.machines import Facts, build

KB = Knowledge()


def machine(vendor: str, arch: str, name: str, version: str, more: Facts | None = None) -> Snapshot:
    gpu = {f"gpus[0000:01:00.0].{f}": v for f, v in {"vendor": vendor, "arch": arch, "name": "a GPU"}.items()}
    return build({**gpu, "packages": [{"name": name, "version": version, "location": "/env"}], **(more or {})})


def said(found: Snapshot) -> list[str]:
    return [f.summary for f in unsupported(found, KB)]


@pytest.mark.parametrize(
    ("name", "version", "bad", "good"),
    [
        ("flash-attn", "2.8.3", "sm_75", "sm_80"),
        ("transformer-engine", "2.20.0", "sm_75", "sm_89"),
        ("vllm", "0.21.0", "sm_70", "sm_75"),
        ("vllm", "0.10.2", "sm_61", "sm_70"),
    ],
)
def test_gpus_below_the_first_that_a_package_serves(name: str, version: str, bad: str, good: str) -> None:
    (text,) = said(machine("nvidia", bad, name, version))
    assert f"{name} {version} does not support {bad}" in text
    assert said(machine("nvidia", good, name, version)) == []


@pytest.mark.parametrize("name", ["tensorrt-llm", "transformer-engine", "tensorrt", "onnxruntime-gpu", "cupy-cuda12x"])
def test_packages_that_are_nvidia_s_alone(name: str) -> None:
    assert said(machine("amd", "gfx942", name, "1.2.1")) == [f"{name} 1.2.1 does not support AMD's GPUs."]
    assert said(machine("nvidia", "sm_90", name, "1.2.1")) == []


def test_what_is_not_judged() -> None:
    assert said(machine("amd", "gfx942", "transformer-engine", "2.2.0.dev0+rocm")) == []
    own: Facts = {"binaries[/env/x.so].package": "transformer-engine", "binaries[/env/x.so].gfx": ("gfx942",)}
    assert said(machine("amd", "gfx942", "transformer-engine", "2.2.0", own)) == []
    assert said(build({"packages": [{"name": "tensorrt-llm", "version": "1.2.1"}]})) == []
    assert said(machine("nvidia", "sm_75", "flash-attn", "2.8.3.post2")) == []
