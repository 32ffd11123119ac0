"""Each rule on packages fires, nearly misses, and is silent where its facts are unknown."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.engine import registry
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from tests.each import each
from tests.rules.machines import build, h100_host, mi300x_host

CHECKS = {check.rule.id: check for check in registry.checks()}


def packages(**versions: str) -> dict[str, Any]:
    return {"packages": [{"name": n.replace("_", "-"), "version": v} for n, v in versions.items()]}


def fired(rule: str, machine: Snapshot) -> list[str]:
    return [finding.summary for finding in CHECKS[rule].run(machine, Knowledge(), None)]


CASES = [
    ("numpy-abi-mismatch", {**packages(numpy="2.1.0"), "torch.version": "2.2.2+cu121"},
     {**packages(numpy="1.26.4"), "torch.version": "2.2.2+cu121"}),
    ("triton-mismatch", {**packages(triton="3.1.0"), "torch.version": "2.6.0+cu124"},
     {**packages(triton="3.2.0"), "torch.version": "2.6.0+cu124"}),
    ("triton-mismatch", packages(triton="3.3.0", pytorch_triton_rocm="3.3.0"), packages(triton_kernels="1.0")),
    ("extension-abi-mismatch", packages(flash_attn="2.7.4+cu12torch2.6cxx11abiFALSE"),
     packages(flash_attn="2.7.4+cu12torch2.7cxx11abiTRUE")),
    ("gpu-libs-conflict", packages(nvidia_cudnn_cu12="9.1.0.70", nvidia_cudnn_cu13="9.14.0"),
     packages(nvidia_cudnn_cu12="9.1.0.70", nvidia_cublas_cu12="12.8.4.1")),
    ("companion-kernel-lib-outdated", packages(flashinfer_python="0.6.6", flashinfer_cubin="0.6.5"),
     packages(flashinfer_python="0.6.6", flashinfer_jit_cache="0.6.6+cu130")),
    ("tensorflow-gpu-mismatch", packages(tensorflow_cpu="2.18.0"), packages(tensorflow="2.18.0")),
    ("jax-plugin-mismatch", packages(jaxlib="0.4.38", jax_cuda12_plugin="0.5.0"),
     packages(jaxlib="0.4.38", jax_cuda12_plugin="0.4.38")),
    ("jax-plugin-mismatch", packages(jaxlib="0.7.0", jax_cuda12_plugin="0.7.1", jax_cuda12_pjrt="0.7.1"),
     packages(jaxlib="0.7.1", jax_cuda12_plugin="0.7.1", jax_cuda12_pjrt="0.7.0")),
    ("jax-plugin-mismatch", packages(jaxlib="0.4.38"), packages(jaxlib="0.4.20+cuda12.cudnn89")),
    ("vllm-build-mismatch", packages(vllm="0.33.0"), {**packages(vllm="0.33.0"), "torch.version": "2.14.0+cu130"}),
    ("onnxruntime-gpu-mismatch", packages(onnxruntime="1.20.0", onnxruntime_gpu="1.20.0"),
     packages(onnxruntime_gpu="1.20.0")),
]  # fmt: skip
AMD_CASES = [
    ("torch-rocm-version-mismatch", {"torch.rocm": "4.5"}, {"torch.rocm": "5.7"}),
    ("install-path-has-space", {"torch.location": "/home/me/my models/torch"}, {"torch.location": "/home/me/torch"}),
    ("rocm-path-broken", {"environment": {"ROCM_PATH": "/opt/rocm-5.7.0"}},
     {"environment": {"ROCM_PATH": "/opt/rocm"}}),
    ("tensorflow-gpu-mismatch", packages(tensorflow="2.18.0"), packages(tensorflow_rocm="2.18.0")),
]  # fmt: skip
RULES = sorted({case[0] for case in [*CASES, *AMD_CASES]})


@each("rule, broken, fine", CASES)
def test_on_a_machine_with_nvidia_gpus(rule: str, broken: dict[str, Any], fine: dict[str, Any]) -> None:
    assert len(fired(rule, h100_host(broken))) == 1
    assert fired(rule, h100_host(fine)) == []


@pytest.mark.parametrize(("rule", "broken", "fine"), AMD_CASES)
def test_on_a_machine_with_amd_gpus(rule: str, broken: dict[str, Any], fine: dict[str, Any]) -> None:
    assert len(fired(rule, mi300x_host(broken))) == 1
    assert fired(rule, mi300x_host(fine)) == []


@each("rule", RULES)
def test_nothing_is_said_of_the_unknown(rule: str) -> None:
    assert fired(rule, build({"os.id": "ubuntu"})) == []
