"""Compilers and profilers, by the folders of their packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.facts import FactSheet, assemble
from doctor.probes.toolkits import gpu_tools
from doctor.system.tree import TreeSystem
from tests.probes.pretend import values


def told(root: Path, *files: str) -> dict[str, Any]:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    sheet = FactSheet()
    gpu_tools.probe(TreeSystem(root), sheet)
    assemble([sheet])
    return values(sheet)


def test_tools_of_both_vendors_with_their_versions(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/rocm").symlink_to("rocm-6.4.1")
    facts = told(
        tmp_path,
        "opt/rocm-6.4.1/bin/hipcc",
        "opt/rocm-6.4.1/bin/rocprofv3",
        "opt/rocm-6.4.1/bin/rocprof-sys-run",
        "usr/local/cuda-12.8/bin/nvcc",
        "opt/nvidia/nsight-compute/2025.1.1/ncu",
        "opt/nvidia/nsight-systems/host-linux/x",
        "usr/bin/hipify-perl",
        "usr/bin/gcc",
    )
    assert [(t["key"], t["kind"], t["version"]) for t in facts["tools"]] == [
        ("/opt/nvidia/nsight-compute/2025.1.1/ncu", "profiler", "2025.1.1"),
        ("/opt/rocm-6.4.1/bin/hipcc", "compiler", "6.4.1"),
        ("/opt/rocm-6.4.1/bin/rocprof-sys-run", "profiler", "6.4.1"),
        ("/opt/rocm-6.4.1/bin/rocprofv3", "profiler", "6.4.1"),
        ("/usr/bin/hipify-perl", "converter", None),
        ("/usr/local/cuda-12.8/bin/nvcc", "compiler", "12.8"),
    ]


def test_no_tools_is_known_and_no_folder_is_not(tmp_path: Path) -> None:
    assert told(tmp_path, "usr/bin/gcc")["tools"] == []
    (tmp_path / "empty").mkdir()
    assert told(tmp_path / "empty").get("tools") is None


_STATUS = """Package: nsight-compute
Status: install ok installed
Version: 2024.1.1.4~12.4.1-2

Package: hipcc
Status: install ok installed
Version: 5.7.1-6+deb13u1

"""


def test_the_distribution_s_programs_have_the_versions_of_their_packages(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(_STATUS)
    facts = told(tmp_path, "usr/bin/ncu", "usr/bin/hipcc", "usr/bin/hipconfig", "usr/bin/nvcc")
    assert {t["name"]: t["version"] for t in facts["tools"]} == {
        "ncu": "2024.1.1.4", "hipcc": "5.7.1", "hipconfig": "5.7.1", "nvcc": None,
    }  # fmt: skip


def test_a_link_in_usr_bin_belongs_to_the_installation_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/hipcc").symlink_to("../../opt/rocm-6.4.1/bin/hipcc")
    facts = told(tmp_path, "opt/rocm-6.4.1/bin/hipcc")
    assert {t["key"]: (t["version"], t["of"]) for t in facts["tools"]} == {
        "/opt/rocm-6.4.1/bin/hipcc": ("6.4.1", "/opt/rocm-6.4.1"),
        "/usr/bin/hipcc": ("6.4.1", "/opt/rocm-6.4.1"),
    }


def test_the_nsight_tools_of_a_toolkit_have_numbers_of_their_own(tmp_path: Path) -> None:
    """`/usr/local/cuda-12.4/bin/ncu` is Nsight Compute 2024.1, and no 12.4."""
    (tmp_path / "usr/local/cuda-12.4").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-12.4/version.json").write_text(
        '{"cuda": {"version": "12.4.1"}, "nsight_compute": {"version": "2024.1.1.4"}}'
    )
    facts = told(tmp_path, "usr/local/cuda-12.4/bin/ncu", "usr/local/cuda-12.4/bin/nsys")
    assert {t["name"]: t["version"] for t in facts["tools"]} == {"ncu": "2024.1.1.4", "nsys": None}
