"""Releases of compilers and profilers against GPUs: the tables' own rows, and what must not be said."""

from __future__ import annotations

import pytest

from doctor.facts.snapshot import Snapshot
from doctor.knowledge import Knowledge
from doctor.rules.tools import gpu_tool_unsupported
from tests.each import each
from tests.rules.machines import Facts, h100_host, mi300x_host, rx7900_desktop

KB = Knowledge()
NVIDIA, AMD = "0000:1b:00.0", "0000:05:00.0"


def tool(name: str, version: str | None, key: str = "/usr/bin") -> Facts:
    row = {"name": name, "kind": "profiler", "version": version}
    return {f"tools[{key}/{name}].{field}": value for field, value in row.items() if value}


def cuda(version: str, kind: str = "prefix", **components: str) -> Facts:
    name = f"cuda[/usr/local/cuda-{version}]"
    rows = {"path": f"/usr/local/cuda-{version}", "version": version, "kind": kind, "components": components}
    return {f"{name}.{field}": value for field, value in rows.items()}


def one_nvidia(arch: str, facts: Facts) -> Snapshot:
    gpus = {f"gpus[{NVIDIA}].{f}": v for f, v in {"vendor": "nvidia", "arch": arch, "name": "a GPU"}.items()}
    return h100_host({"gpus": None, "cuda": None} | gpus | facts)


def one_amd(arch: str, facts: Facts) -> Snapshot:
    gpus = {f"gpus[{AMD}].{f}": v for f, v in {"vendor": "amd", "arch": arch, "name": "a GPU"}.items()}
    return mi300x_host({"gpus": None} | gpus | facts)


def said(machine: Snapshot) -> list[str]:
    return [f.summary for f in gpu_tool_unsupported.check(machine, KB, None)]


@each(
    "name, version, bad, good",
    [
        ("ncu", "2024.1.1.4", "sm_61", "sm_70"),
        ("ncu", "2024.1.1.4", "sm_120", "sm_89"),
        ("ncu", "2022.2.1", "sm_90", "sm_86"),
        ("ncu", "2026.2.0", "sm_70", "sm_75"),
        ("nsys", "2023.4.4.54", "sm_52", "sm_60"),
        ("nvprof", "12.4.127", "sm_80", "sm_75"),
        ("nvcc", "12.4.131", "sm_120", "sm_90"),
        ("nvcc", "12.4.131", "sm_37", "sm_50"),
    ],
)
def test_tools_of_nvidia(name: str, version: str, bad: str, good: str) -> None:
    (text,) = said(one_nvidia(bad, tool(name, version)))
    assert bad in text
    assert said(one_nvidia(good, tool(name, version))) == []


@each(
    "name, version, bad, good",
    [
        ("rocprof-compute", "6.3.2", "gfx906", "gfx942"),
        ("rocprof-compute", "6.3.2", "gfx1100", "gfx90a"),
        ("rocprof-compute", "7.14.0", "gfx1201", "gfx1151"),
        ("rocprofv2", "6.2.0", "gfx1201", "gfx1100"),
        ("hipcc", "5.7.1", "gfx942", "gfx90a"),
        ("rocprof-sys-run", "6.3.0", "gfx1201", "gfx942"),
        ("rocprofv3", "6.2.0", "gfx950", "gfx942"),
        ("omnitrace-run", "6.2.0", "gfx950", "gfx942"),
    ],
)
def test_tools_of_amd(name: str, version: str, bad: str, good: str) -> None:
    (text,) = said(one_amd(bad, tool(name, version)))
    assert bad in text
    assert said(one_amd(good, tool(name, version))) == []


@pytest.mark.parametrize("version", [None, "12.4", "2019.5", "1.0"])
def test_a_release_that_no_table_holds_is_not_judged(version: str | None) -> None:
    assert said(one_nvidia("sm_61", tool("ncu", version))) == []


def test_a_gpu_that_is_not_known_is_not_judged() -> None:
    assert said(one_nvidia("sm_61", tool("ncu", "2024.1.1") | {f"gpus[{NVIDIA}].arch": None})) == []
    assert said(rx7900_desktop(tool("rocprof-compute", None))) == []


def test_the_version_of_a_tool_is_that_of_its_installation() -> None:
    path = "/usr/local/cuda-13.0"
    facts = cuda("13.0.2") | {f"tools[{path}/bin/nvcc].{f}": v for f, v in
                              {"name": "nvcc", "kind": "compiler", "of": path}.items()}  # fmt: skip
    facts = {k.replace("cuda-13.0.2", "cuda-13.0"): v for k, v in facts.items()} | {
        "cuda[/usr/local/cuda-13.0].path": path, "nvidia_driver.version": "580.95.05"}  # fmt: skip
    (text,) = said(one_nvidia("sm_70", facts | {f"tools[{path}/bin/nvcc].version": "13.0"}))
    assert text == ("nvcc of CUDA 13.0 and its libraries do not support sm_70; CUDA 12.9 is the last that does.")


def test_libraries_of_a_cuda_that_dropped_the_gpu() -> None:
    libraries = cuda("13.0.96", "wheel", cublas="13.1.0.3", cudnn="9.13.0")
    (text,) = said(one_nvidia("sm_70", libraries))
    assert "cublas, cudnn" in text
    assert said(one_nvidia("sm_75", libraries)) == []
    assert said(one_nvidia("sm_70", cuda("12.9.79", "wheel", cublas="12.9.1.4"))) == []


def test_a_compiler_whose_programs_the_driver_does_not_run() -> None:
    facts = tool("nvcc", "13.0.88") | {"nvidia_driver.version": "550.54.14"}
    (text,) = said(one_nvidia("sm_90", facts))
    expected = "Programs built by nvcc of CUDA 13.0 do not run on driver 550.54.14, which must be 580.65.06 or newer."
    assert text == expected
    assert said(one_nvidia("sm_90", facts | {"nvidia_driver.version": "580.65.06"})) == []


def test_hipify_and_the_cuda_that_it_reads() -> None:
    (text,) = said(one_amd("gfx942", tool("hipify-clang", "6.0.2") | cuda("12.4.1")))
    assert text == "hipify-clang of ROCm 6.0.2 reads CUDA up to 12.2, but CUDA 12.4.1 is installed."
    assert said(one_amd("gfx942", tool("hipify-clang", "6.3.0") | cuda("12.4.1"))) == []


@pytest.mark.parametrize(
    ("driver", "fix"),
    [
        ("450.80.02", "Install a toolkit of CUDA 11.0 or older, or a newer driver."),
        ("390.48", "Install a newer driver."),  # the table begins later
    ],
)
def test_a_driver_of_which_no_cuda_is_known(driver: str, fix: str) -> None:
    facts = tool("nvcc", "12.4.131") | {"nvidia_driver.version": driver}
    (finding,) = gpu_tool_unsupported.check(one_nvidia("sm_70", facts), KB, None)
    assert finding.remedies[0].title == fix
