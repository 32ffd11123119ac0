"""Rules on what files tell: symbols, requirements, GPU code, and what the loader would take."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.rules.blas import blas_kernels_missing
from doctor.rules.python import (
    companion_kernel_lib_outdated,
    extension_abi_mismatch,
    gpu_libs_conflict,
    gpu_libs_not_found,
    jax_plugin_mismatch,
    library_missing_gpu_arch,
    numpy_abi_mismatch,
    python_install_damaged,
    python_version_unsupported,
    system_library_missing,
    tensorflow_gpu_mismatch,
    toolkit_torch_mismatch,
    torch_companion_mismatch,
    torch_missing_gpu_arch,
    triton_mismatch,
    vllm_build_mismatch,
)
from tests.rules import machines
from tests.rules.driver.asked import found, told

SITE = "/opt/venv/lib/python3.12/site-packages"
OLD = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"


def package(name: str, version: str, *requires: str, python: str | None = None) -> dict[str, Any]:
    row = {"name": name, "version": version, "location": SITE, "requires": list(requires)}
    return row | ({"requires_python": python} if python else {})


def library(package: str, *archs: str, **more: Any) -> dict[str, Any]:
    kinds = {
        kind: [a for a in archs if a.startswith(start)]
        for kind, start in (("sass", "sm"), ("ptx", "compute"), ("gfx", "gfx"))
    }
    groups = [{"archs": list(archs), "number": 4}] if archs else None
    return {"key": f"{SITE}/{package}/_C.so", "package": package, **kinds, "objects": groups, **more}


def h100(**facts: Any) -> Snapshot:
    return machines.h100_host({name.replace("__", "."): value for name, value in facts.items()})


def with_packages(*rows: dict[str, Any], torch: str = "2.7.0+cu128") -> Snapshot:
    return h100(torch__version=torch, packages=[package("torch", torch), *rows], interpreter__version="3.12.3")


def test_an_extension_that_wants_what_torch_lacks() -> None:
    row = library("flash-attn", "sm_80", missing_symbols=[OLD], torch_symbols=57, cxx11_abi=False)
    machine = h100(binaries=[row], torch__cxx11_abi=True)
    (finding,) = found(extension_abi_mismatch, machine)
    assert finding.severity is Severity.ERROR
    assert finding.subject.id == "flash-attn"
    assert "c10::detail::torchCheckFail (built with the old C++ ABI, torch with the new)" in finding.evidence[0].text


def test_symbols_that_are_all_there_or_not_known() -> None:
    assert told(extension_abi_mismatch, h100(binaries=[library("flash-attn", "sm_80", missing_symbols=[])])) == []
    assert told(extension_abi_mismatch, h100(binaries=[library("flash-attn", "sm_80")])) == []


@pytest.mark.parametrize(
    ("rule", "name"), [(torch_companion_mismatch, "torchvision"), (vllm_build_mismatch, "vllm")], ids=str
)
def test_torchvision_and_vllm_have_rules_of_their_own(rule: ModuleType, name: str) -> None:
    row = library(name, "sm_90", missing_symbols=[OLD], torch_symbols=9)
    machine = h100(binaries=[row], packages=[package(name, "0.dev1+g12ab")])
    assert [f.subject.id for f in found(rule, machine)] == [name]
    assert told(extension_abi_mismatch, machine) == []


@pytest.mark.parametrize(
    ("rule", "asking", "held", "subject"),
    [
        (torch_companion_mismatch, package("torchvision", "0.99.0", "torch (==2.6.0)"), None, "torchvision"),
        (torch_companion_mismatch, package("accelerate", "9.0", "torch>=3.0"), None, "accelerate"),
        (extension_abi_mismatch, package("fbgemm-gpu", "1.1", "torch==2.6.0"), None, "fbgemm-gpu"),
        (vllm_build_mismatch, package("vllm", "0.9.dev1+gabc", "torch==2.9.1"), None, "vllm"),
        (numpy_abi_mismatch, package("onnx", "1.15.0", "numpy<2.0.0"), package("numpy", "2.2.6"), "numpy"),
        (jax_plugin_mismatch, package("jax-cuda12-plugin", "0.6.2", "jax-cuda12-pjrt==0.6.2"),
         package("jax-cuda12-pjrt", "0.6.1"), "jaxlib"),
        (companion_kernel_lib_outdated, package("sglang", "0.5.1", "sgl-kernel==0.3.4"),
         package("sgl-kernel", "0.3.1"), "sgl-kernel"),
    ],
)  # fmt: skip
def test_a_requirement_that_is_not_met(
    rule: ModuleType, asking: dict[str, Any], held: dict[str, Any] | None, subject: str
) -> None:
    machine = with_packages(asking, *([held] if held else []))
    assert subject in [f.subject.id for f in found(rule, machine)]
    mended = asking | {"requires": []}
    assert told(rule, with_packages(mended, *([held] if held else []))) == []


@pytest.mark.parametrize(
    ("rule", "asking", "held", "severity"),
    [
        (python_install_damaged, package("torch", "2.7.0", "sympy>=1.13"), package("sympy", "1.12"), "warning"),
        (python_install_damaged, package("torch", "2.7.0", "sympy>=1.13"), package("sympy", "2.0"), None),
        (python_install_damaged, package("peft", "1", "psutil<6"), package("psutil", "7.0"), None),
        (python_install_damaged, package("transformers", "5", "tqdm<2"), package("tqdm", "2"), "error"),
        (python_install_damaged, package("transformers", "5", "typer<2"), package("typer", "2"), None),
        (numpy_abi_mismatch, package("scipy", "1.10", "numpy<1.27"), package("numpy", "2.2.6"), "warning"),
        (numpy_abi_mismatch, package("numba", "0.60", "numpy<2.1"), package("numpy", "2.2.6"), "warning"),
        (numpy_abi_mismatch, package("opencv-python", "4", "numpy<2.1"), package("numpy", "2.2.6"), "info"),
    ],
)  # fmt: skip
def test_a_release_that_is_too_old_or_refused(
    rule: ModuleType, asking: dict[str, Any], held: dict[str, Any], severity: str | None
) -> None:
    machine = h100(torch__version="2.7.0", packages=[asking, held], installed_faults=[])
    assert [f.severity.value for f in found(rule, machine)] == ([severity] if severity else [])


def test_requirements_that_hold_elsewhere_or_for_an_extra_ask_nothing() -> None:
    lines = (
        "torch==1.0 ; platform_system == 'Windows'",
        "torch==1.0 ; python_version < '3.9'",
        "torch @ file:///x",
        "???",
    )
    assert told(torch_companion_mismatch, with_packages(package("torchvision", "0.99.0", *lines))) == []


def test_the_triton_that_torch_asks_for() -> None:
    def machine(*rows: dict[str, Any]) -> Snapshot:
        torch = package("torch", "2.7.0+cu128", 'triton==3.3.0 ; platform_system == "Linux"')
        return h100(packages=[torch, *rows], torch__version="2.7.0+cu128", interpreter__version="3.12.3")

    assert {f.subject.id for f in found(triton_mismatch, machine(package("triton", "3.0.0")))} == {"triton"}
    (missing,) = found(triton_mismatch, machine())
    assert "none is installed" in missing.summary
    assert told(triton_mismatch, machine(package("triton", "3.3.0"))) == []


def test_other_releases_of_cuda_libraries_than_torch_pins() -> None:
    def machine(cudnn: str) -> Snapshot:
        torch = package("torch", "2.4.1", "nvidia-cudnn-cu12 (==9.1.0.70)")
        return h100(packages=[torch, package("nvidia-cudnn-cu12", cudnn)], interpreter__version="3.12.3")

    assert [f.subject.id for f in found(gpu_libs_conflict, machine("8.9.2.26"))] == ["nvidia-cudnn-cu12"]
    assert told(gpu_libs_conflict, machine("9.1.0.70")) == []
    severities = {v: found(gpu_libs_conflict, machine(v))[0].severity for v in ("9.0.0.312", "9.10.2.21", "10.1.0.3")}
    assert severities == {"9.0.0.312": "warning", "9.10.2.21": "info", "10.1.0.3": "warning"}


def test_a_python_that_a_package_refuses() -> None:
    def machine(python: str) -> Snapshot:
        return h100(packages=[package("vllm", "0.10.2", python="<3.14,>=3.9")], interpreter__version=python)

    assert [f.subject.id for f in found(python_version_unsupported, machine("3.14.1"))] == ["vllm"]
    assert told(python_version_unsupported, machine("3.12.3")) == []
    unknown = machines.h100_host(
        {"packages": [package("vllm", "0.10.2", python=">=3.99")], "interpreter.version": None}
    )
    assert told(python_version_unsupported, unknown) == []


def test_the_cudnn_of_tensorflows_tested_build() -> None:
    def machine(cudnn: str) -> Snapshot:
        return h100(packages=[package("tensorflow", "2.17.0"), package("nvidia-cudnn-cu12", cudnn)])

    assert [f.subject.id for f in found(tensorflow_gpu_mismatch, machine("9.1.0.70"))] == ["tensorflow"]
    assert told(tensorflow_gpu_mismatch, machine("8.9.7.29")) == []


def test_a_library_without_code_for_the_gpu() -> None:
    (finding,) = found(library_missing_gpu_arch, h100(binaries=[library("xformers", "sm_70", "sm_80")]))
    assert finding.summary.startswith("xformers has no code for sm_90")
    assert "sm_70, sm_80" in finding.evidence[0].text


@pytest.mark.parametrize("archs", [("sm_80", "compute_80"), ("sm_90a",), ("sm_90",)])
def test_code_that_runs_in_another_way(archs: tuple[str, ...]) -> None:
    assert told(library_missing_gpu_arch, h100(binaries=[library("xformers", *archs)])) == []


def test_one_library_of_a_package_that_runs_is_enough() -> None:
    rows = [library("vllm", "sm_80"), library("vllm", "sm_90a") | {"key": f"{SITE}/vllm/_flashmla_C.so"}]
    assert told(library_missing_gpu_arch, h100(binaries=rows)) == []
    assert told(library_missing_gpu_arch, h100(binaries=[library("torch", "sm_50")])) == []
    assert (
        told(library_missing_gpu_arch, machines.h100_host({"gpus": None, "binaries": [library("vllm", "sm_80")]})) == []
    )


def test_ptx_that_the_driver_is_too_old_to_compile() -> None:
    facts = {"torch__cuda": "12.8", "torch__ptx": ["compute_80"], "torch__arch_list": ["sm_80", "compute_80"]}
    old = h100(**facts, nvidia_driver__cuda_version="12.4")
    assert [f.subject.kind for f in found(torch_missing_gpu_arch, old)] == ["gpu"]
    assert told(torch_missing_gpu_arch, h100(**facts, nvidia_driver__cuda_version="12.8")) == []


def test_rocblas_in_torchs_wheel_without_files_for_the_gpu() -> None:
    def machine(*archs: str, **environment: str) -> Snapshot:
        row = library("rocblas", *archs) | {"key": f"{SITE}/torch/lib/rocblas/library"}
        return machines.mi300x_host({"binaries": [row], "environment": environment})

    assert [f.subject.kind for f in found(blas_kernels_missing, machine("gfx90a"))] == ["gpu"]
    assert told(blas_kernels_missing, machine("gfx90a", "gfx942")) == []
    assert told(blas_kernels_missing, machine("gfx9-4-generic")) == []
    assert told(blas_kernels_missing, machine("gfx90a", HSA_OVERRIDE_GFX_VERSION="9.0.10")) == []


def taken(name: str, path: str | None, by: str | None, **more: Any) -> dict[str, Any]:
    return {"key": name, "path": path, "by": by, "wanted_by": f"{SITE}/torch/lib/libtorch_cuda.so", **more}


def test_copies_that_win_over_torchs_own() -> None:
    own = f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"
    rows = [
        taken("libnvJitLink.so.12", "/usr/local/cuda-12.1/lib64/libnvJitLink.so.12", "LD_LIBRARY_PATH", intended=own),
        taken("libcublasLt.so.12", "/usr/local/cuda-12.1/lib64/libcublasLt.so.12", "LD_LIBRARY_PATH", intended="/y"),
        taken("libcudnn.so.9", own.replace("nvjitlink", "cudnn"), "RPATH of libtorch_cuda.so"),
    ]
    (finding,) = found(gpu_libs_conflict, h100(libraries=rows))
    assert finding.subject.id == "LD_LIBRARY_PATH"
    assert finding.summary.startswith("libnvJitLink.so.12 and 1 more would load from /usr/local/cuda-12.1/lib64")
    assert f"wins by LD_LIBRARY_PATH; {own} loses" in finding.evidence[0].text
    assert told(gpu_libs_conflict, h100(libraries=[row | {"same_build": True} for row in rows])) == []
    assert told(gpu_libs_conflict, h100(libraries=[rows[2]])) == []


def test_a_library_that_is_nowhere() -> None:
    torch = package("torch", "2.7.0", "nvidia-cudnn-cu12==9.7.1.26")
    rows = [taken("libcudnn.so.9", None, None), taken("libnuma.so.1", None, None)]
    machine = h100(libraries=rows, packages=[torch], interpreter__version="3.12.3", os__id="ubuntu")
    (finding,) = found(gpu_libs_not_found, machine)
    assert (finding.remedies[0].steps[0].command or ())[-1] == "nvidia-cudnn-cu12==9.7.1.26"
    (system,) = found(system_library_missing, machine)
    assert (system.remedies[0].steps[0].command or ())[-1] == "libnuma1"
    there = h100(libraries=[row | {"path": "/x", "by": "ld.so.cache"} for row in rows])
    assert told(gpu_libs_not_found, there) == told(system_library_missing, there) == []


def test_deepspeed_compiles_with_a_toolkit_of_another_major() -> None:
    def machine(toolkit: str, *packages: dict[str, Any]) -> Snapshot:
        cuda = [{"key": "/usr/local/cuda", "path": "/usr/local/cuda", "version": toolkit, "kind": "prefix"}]
        return h100(cuda=cuda, packages=list(packages), torch__cuda="12.8")

    deepspeed = package("deepspeed", "0.18.1")
    assert [f.subject.kind for f in found(toolkit_torch_mismatch, machine("13.0.1", deepspeed))] == ["toolkit"]
    assert told(toolkit_torch_mismatch, machine("12.4.1", deepspeed)) == []
    assert told(toolkit_torch_mismatch, machine("13.0.1")) == []
    assert told(toolkit_torch_mismatch, h100(packages=[deepspeed], torch__cuda="12.8", cuda=None)) == []


@pytest.mark.parametrize(
    ("arch", "code", "runs"), [("sm_90", "sm_90a", True), ("sm_103", "sm_100a", False), ("sm_110", "sm_101", True)]
)
def test_code_for_one_device_alone_in_torchs_own_list(arch: str, code: str, runs: bool) -> None:
    machine = machines.h100_host({"torch.arch_list": [code], f"gpus[{machines.H100[0]}].arch": arch})
    assert (machines.H100[0] in [f.subject.id for f in found(torch_missing_gpu_arch, machine)]) is not runs


def test_a_stray_object_for_the_compilers_default_proves_nothing() -> None:
    """vLLM 0.10.2 has one object of 81 that was compiled for no architecture in particular."""
    groups = [{"archs": ["sm_70", "sm_80"], "number": 80}, {"archs": ["sm_52", "compute_52"], "number": 1}]
    row = library("vllm", "sm_52", "sm_70", "sm_80", "compute_52") | {"objects": groups}
    (finding,) = found(library_missing_gpu_arch, h100(binaries=[row]))
    assert "sm_70, sm_80 (most objects)" in finding.evidence[0].text


def cudnn(graph: str, ops: str | None) -> list[dict[str, Any]]:
    lib = f"{SITE}/nvidia/cudnn/lib"
    return [
        {"key": "libcudnn_graph.so.9", "path": f"{lib}/libcudnn_graph.so.9", "by": "RUNPATH of x", "release": graph},
        {"key": "libcudnn_ops.so.9", "path": f"{lib}/libcudnn_ops.so.9", "by": "RUNPATH of x", "release": ops},
    ]


def test_cudnn_of_two_releases() -> None:
    held = package("nvidia-cudnn-cu12", "9.10.2.21")
    (finding,) = found(gpu_libs_conflict, h100(libraries=cudnn("9.1.0", "9.10.2"), packages=[held]))
    assert finding.summary == (
        "cuDNN's libraries are of several releases: libcudnn_graph.so.9 9.1.0, libcudnn_ops.so.9 9.10.2."
    )
    assert (finding.remedies[0].steps[0].command or ())[-1] == "nvidia-cudnn-cu12==9.10.2.21"


@pytest.mark.parametrize("ops", ["9.10.2", None])
def test_cudnn_of_one_release(ops: str | None) -> None:
    assert told(gpu_libs_conflict, h100(libraries=cudnn("9.10.2", ops))) == []


def test_a_preloaded_libstdcxx_is_left_out() -> None:
    row = {
        "key": "libstdc++.so.6",
        "path": "/old/libstdc++.so.6",
        "by": "LD_PRELOAD",
        "wanted_by": f"{SITE}/torch/_C.so",
    }
    (finding,) = found(system_library_missing, h100(libraries=[row | {"missing_versions": ["GLIBCXX_3.4.30"]}]))
    assert finding.remedies[0].steps[0].command == ("env", "-u", "LD_PRELOAD", "COMMAND")
