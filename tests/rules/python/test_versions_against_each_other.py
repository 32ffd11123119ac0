"""Versions at hand that contradict each other are told where no error text is known; near ones and unknown ones are
not."""

from __future__ import annotations

from typing import Any

from doctor.facts import Snapshot
from tests.each import each
from tests.rules.machines import build
from tests.rules.python.test_packages_around_torch import fired, packages

SO = "cannot open shared object file: No such file or directory"
NVIDIA = {"gpus[0].vendor": "nvidia", "gpus[0].name": "NVIDIA A100-SXM4-80GB", "gpus[0].arch": "sm_80"}
BLACKWELL = {"gpus[0].vendor": "nvidia", "gpus[0].name": "NVIDIA GeForce RTX 5090", "gpus[0].arch": "sm_120"}
AMD = {"gpus[0].vendor": "amd", "gpus[0].name": "AMD Radeon RX 7900 XTX", "gpus[0].arch": "gfx1100"}
BUILDS = {"symptoms": {"build-command-failed": "ninja: build stopped: subcommand failed."}}


def rocm(version: str) -> dict[str, Any]:
    return {f"rocm[/opt/rocm-{version}].path": f"/opt/rocm-{version}", f"rocm[/opt/rocm-{version}].version": version}


def cuda(version: str) -> dict[str, Any]:
    name = f"cuda[/usr/local/cuda-{version}]"
    return {f"{name}.path": f"/usr/local/cuda-{version}", f"{name}.version": version}


def missing(soname: str, key: str = "rocm-library-not-found") -> dict[str, Any]:
    return {"symptoms": {key: f"ImportError: {soname}: {SO}"}}


CASES = [
    ("vllm-build-mismatch", {**NVIDIA, **packages(vllm="0.8.5"), "torch.version": "2.7.0", "torch.build": "cuda"},
     {**NVIDIA, **packages(vllm="0.8.5"), "torch.version": "2.6.0", "torch.build": "cuda"}),
    ("vllm-build-mismatch", {**AMD, **packages(vllm="0.8.5"), "torch.version": "2.6.0", "torch.build": "cuda"},
     {**AMD, **packages(vllm="0.8.5+rocm631"), "torch.version": "2.6.0+rocm6.3", "torch.build": "rocm"}),
    ("extension-abi-mismatch",
     {**NVIDIA, **packages(xformers="0.0.26.post1"), "torch.version": "2.4.0+cu121", "torch.build": "cuda"},
     {**NVIDIA, **packages(xformers="0.0.27.post2"), "torch.version": "2.4.0+cu121", "torch.build": "cuda"}),
    ("torch-companion-mismatch", {**packages(torchvision="0.19.0+cpu"), "torch.version": "2.4.0+cu121"},
     {**packages(torchvision="0.19.0+cu121"), "torch.version": "2.4.0+cu121"}),
    ("torch-companion-mismatch", {**packages(torchvision="0.8.2"), "torch.version": "1.9.0"},
     {**packages(torchvision="0.10.0"), "torch.version": "1.9.0"}),
    ("host-compiler-unsupported", {**BUILDS, **cuda("12.1"), "host.gcc_version": "14.2.0"},
     {**BUILDS, **cuda("12.1"), "host.gcc_version": "12.3.0"}),
    ("toolkit-torch-mismatch", {**BUILDS, **cuda("11.8"), "torch.version": "2.5.1+cu121", "torch.cuda": "12.1"},
     {**BUILDS, **cuda("12.4"), "torch.version": "2.5.1+cu121", "torch.cuda": "12.1"}),
    ("toolkit-torch-mismatch", {**BUILDS, **rocm("5.7.1"), "torch.version": "2.6.0+rocm6.2.4", "torch.rocm": "6.2.4"},
     {**BUILDS, **rocm("6.2.0"), "torch.version": "2.6.0+rocm6.2.4", "torch.rocm": "6.2.4"}),
    ("torch-rocm-version-mismatch",
     {**rocm("7.0.1"), **missing("libamdhip64.so.6"), "torch.version": "2.6.0+rocm6.2", "torch.rocm": "6.2"},
     {**rocm("6.4.1"), **missing("libamdhip64.so.6"), "torch.version": "2.6.0+rocm6.2", "torch.rocm": "6.2"}),
    ("torch-rocm-version-mismatch",
     {**rocm("7.0.1"), **missing("libamdhip64.so.6"), "torch.version": "2.8.0+rocm7.0", "torch.rocm": "7.0"},
     {**rocm("7.0.1"), **missing("libamdhip64.so.6"), "torch.version": "2.8.0+rocm7.0", "torch.rocm": "7.0",
      "torch.available": True}),
    ("torch-rocm-version-mismatch",
     {**rocm("7.0.1"), **missing("libamdhip64.so.6"), "torch.version": "2.8.0+rocm7.0", "torch.rocm": "7.0"},
     {**rocm("7.0.1"), **missing("flash_attn_2_cuda.so: libamdhip64.so.6"), "torch.version": "2.8.0+rocm7.0",
      "torch.rocm": "7.0"}),
    ("extension-abi-mismatch",
     {**missing("torch_scatter/_version_cuda.so: libamdhip64.so.6"), "torch.rocm": "7.0"},
     {**missing("torch_scatter/_version_cuda.so: libamdhip64.so.7"), "torch.rocm": "7.0"}),
    ("extension-abi-mismatch",
     {**missing("libamdhip64.so.6"), "torch.rocm": "7.0", "torch.available": True},
     {**missing("libamdhip64.so.6"), "torch.rocm": "7.0"}),
    ("torch-rocm-version-mismatch", {**rocm("7.0.1"), **missing("libhipblas.so.2"), "torch.version": "2.5.0"},
     {**rocm("7.0.1"), **missing("libhipblas.so.2"), **packages(bitsandbytes="0.48.0"), "torch.version": "2.5.0"}),
    ("amdsmi-mismatch", {**rocm("6.3.1"), **packages(amdsmi="7.0.2")}, {**rocm("6.3.1"), **packages(amdsmi="6.3.1")}),
    ("onnxruntime-gpu-mismatch", {**NVIDIA, **cuda("11.8"), **packages(onnxruntime_gpu="1.20.1")},
     {**NVIDIA, **cuda("12.4"), **packages(onnxruntime_gpu="1.20.1")}),
    ("onnxruntime-gpu-mismatch", {**NVIDIA, **packages(onnxruntime_gpu="1.23.0", nvidia_cuda_runtime="13.0.48")},
     {**NVIDIA, **packages(onnxruntime_gpu="1.23.0", nvidia_cuda_runtime_cu13="0.0.0a0")}),
    ("onnxruntime-gpu-mismatch", {**NVIDIA, **packages(onnxruntime_gpu="1.23.0", nvidia_cublas_cu11="11.10.3.66")},
     {**AMD, **packages(onnxruntime_gpu="1.23.0", nvidia_cublas_cu11="11.10.3.66")}),
    ("tensorflow-gpu-mismatch", {**NVIDIA, **cuda("11.8"), **packages(tensorflow="2.17.0")},
     {**NVIDIA, **cuda("12.3"), **packages(tensorflow="2.17.0")}),
    ("tensorflow-gpu-mismatch", {**NVIDIA, "os.id": "windows", **packages(tensorflow="2.12.0")},
     {**NVIDIA, "os.id": "windows", **packages(tensorflow="2.10.1")}),
    ("numpy-abi-mismatch", packages(numpy="2.0.1", tensorflow="2.16.1"), packages(numpy="2.0.1", tensorflow="2.18.0")),
    ("library-missing-gpu-arch",
     {**NVIDIA, "symptoms": {"cuda-no-kernel-image": "no kernel image is available for execution on the device"},
      "torch.version": "2.5.1+cu124", "torch.build": "cuda", "torch.cuda": "12.4", "torch.arch_list": ["sm_80"]},
     {**BLACKWELL, "symptoms": {"cuda-no-kernel-image": "no kernel image is available for execution on the device"},
      "torch.version": "2.5.1+cu124", "torch.build": "cuda", "torch.cuda": "12.4", "torch.arch_list": ["sm_80"]}),
    ("torch-missing-gpu-arch",
     {**BLACKWELL, "torch.version": "2.5.1+cu124", "torch.build": "cuda", "torch.cuda": "12.4"},
     {**BLACKWELL, "torch.version": "2.7.1+cu128", "torch.build": "cuda", "torch.cuda": "12.8"}),
]  # fmt: skip


@each("rule, broken, fine", CASES)
def test_what_contradicts_is_told_and_what_is_near_is_not(
    rule: str, broken: dict[str, Any], fine: dict[str, Any]
) -> None:
    assert len(fired(rule, build(broken))) == 1
    assert fired(rule, build(fine)) == []


@each("rule", sorted({case[0] for case in CASES}))
def test_nothing_is_said_of_the_unknown(rule: str) -> None:
    assert fired(rule, Snapshot()) == []


@each("rule, broken, fine", CASES)
def test_one_side_alone_says_nothing(rule: str, broken: dict[str, Any], fine: dict[str, Any]) -> None:
    for side in ("torch.version", "host.gcc_version", "interpreter.version"):
        assert fired(rule, build({side: broken[side]} if side in broken else {})) == []
