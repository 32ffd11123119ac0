"""What the loader would take for torch's libraries, in an environment whose libraries are made byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet
from doctor.probes.lib import python_libraries
from doctor.system.tree import TreeSystem
from tests.parsers import binaries
from tests.probes.pretend import Pretend, values

SITE = "opt/venv/lib/python3.12/site-packages"
TORCH, NVIDIA = f"{SITE}/torch/lib", f"{SITE}/nvidia"
FOLDERS = {SITE: ("nvidia", "torch")}


def machine(root: Path, *, shadow: bytes | None = None, cusparse: bool = True) -> Path:
    """torch with an RPATH to cuSPARSE, which has a RUNPATH to nvJitLink, as NVIDIA's wheels do."""
    rpath = "$ORIGIN/../../nvidia/cusparse/lib:$ORIGIN"
    files = {
        "opt/venv/bin/python3": binaries.elf(needed=()),
        f"{TORCH}/libtorch_global_deps.so": binaries.elf(needed=("libcusparse.so.12", "libcuda.so.1"), rpath=rpath),
        f"{NVIDIA}/nvjitlink/lib/libnvJitLink.so.12": binaries.elf(soname="libnvJitLink.so.12", build_id=b"new"),
    }
    if cusparse:
        runpath = "$ORIGIN/../../nvjitlink/lib"
        files[f"{NVIDIA}/cusparse/lib/libcusparse.so.12"] = binaries.elf(
            needed=("libnvJitLink.so.12",), soname="libcusparse.so.12", runpath=runpath
        )
    if shadow is not None:
        files["opt/cuda/lib64/libnvJitLink.so.12"] = shadow
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def told(system: Any) -> dict[str, dict[str, Any]]:
    sheet = FactSheet()
    python_libraries.look(system, sheet, FOLDERS, SITE, "opt/venv/bin/python3", "3.12.3")
    return {row["key"]: row for row in values(sheet).get("libraries", [])}


def shadowed(root: Path) -> Pretend:
    return Pretend(root, environ={"LD_LIBRARY_PATH": "/opt/cuda/lib64"})


def test_torchs_own_copies_win_and_the_driver_is_left_out(tmp_path: Path) -> None:
    rows = told(Pretend(machine(tmp_path), environ={}))
    assert {name: row["by"] for name, row in rows.items()} == {
        "libcusparse.so.12": "RPATH of libtorch_global_deps.so",
        "libnvJitLink.so.12": "RUNPATH of libcusparse.so.12",
    }


def test_a_shadow_wins_where_the_asking_library_has_a_runpath(tmp_path: Path) -> None:
    other = binaries.elf(soname="libnvJitLink.so.12", build_id=b"old")
    row = told(shadowed(machine(tmp_path, shadow=other)))["libnvJitLink.so.12"]
    assert (row["path"], row["by"]) == ("/opt/cuda/lib64/libnvJitLink.so.12", "LD_LIBRARY_PATH")
    assert row["intended"] == f"/{NVIDIA}/nvjitlink/lib/libnvJitLink.so.12"
    assert row["same_build"] is False


def test_a_copy_of_the_same_build_is_told_as_such(tmp_path: Path) -> None:
    same = binaries.elf(soname="libnvJitLink.so.12", build_id=b"new")
    assert told(shadowed(machine(tmp_path, shadow=same)))["libnvJitLink.so.12"]["same_build"] is True


def test_what_is_nowhere_is_reported_of_a_tree_too(tmp_path: Path) -> None:
    root = machine(tmp_path, cusparse=False)
    assert "path" not in told(Pretend(root, environ={}))["libcusparse.so.12"]
    assert "path" not in told(TreeSystem(root))["libcusparse.so.12"]


def test_what_a_variable_of_a_tree_may_lead_to_is_not_missing(tmp_path: Path) -> None:
    root = machine(tmp_path, cusparse=False)
    (root / "usr/local/cuda-12.8/lib64").mkdir(parents=True)
    (root / "usr/local/cuda-12.8/lib64/libcusparse.so.12").write_bytes(binaries.elf(soname="libcusparse.so.12"))
    assert told(TreeSystem(root)) == {}


def test_a_tree_without_its_c_library_is_a_part_of_a_system(tmp_path: Path) -> None:
    root = machine(tmp_path, cusparse=False)
    (root / "opt/venv/bin/python3").write_bytes(binaries.elf(needed=("libc.so.6",)))
    assert told(TreeSystem(root)) == {}


def test_a_library_for_another_cpu_is_passed_over(tmp_path: Path) -> None:
    root = machine(tmp_path)
    library = root / NVIDIA / "cusparse/lib/libcusparse.so.12"
    library.write_bytes(binaries.elf(soname="libcusparse.so.12", machine=183))
    row = told(Pretend(root, environ={}))["libcusparse.so.12"]
    assert (row.get("path"), row["unfit"]) == (None, [f"/{NVIDIA}/cusparse/lib/libcusparse.so.12 (aarch64, 64-bit)"])


@pytest.mark.parametrize(("defines", "missing"), [(("cusparseSpMM",), None), (("cusparseOld",), ["cusparseSpMM"])])
def test_a_changed_library_lacks_what_torch_wants_of_it(
    tmp_path: Path, defines: tuple[str, ...], missing: list[str] | None
) -> None:
    root = machine(tmp_path)
    wants = binaries.elf(
        needed=("libcusparse.so.12",), rpath="$ORIGIN/../../nvidia/cusparse/lib", wants=("cusparseSpMM",)
    )
    (root / TORCH / "libtorch_global_deps.so").write_bytes(wants)
    library = f"{NVIDIA}/cusparse/lib/libcusparse.so.12"
    (root / library).write_bytes(binaries.elf(soname="libcusparse.so.12", defines=defines))
    sheet = FactSheet()
    sheet.put("installed_faults", [{"kind": "changed", "files": [f"/{library}"]}], "file:/")
    python_libraries.look(Pretend(root, environ={}), sheet, FOLDERS, SITE, "opt/venv/bin/python3", "3.12.3")
    assert values(sheet)["libraries"][0].get("missing_symbols") == missing


def test_nvrtc_opens_its_builtins_by_the_rpath_of_what_loaded_it(tmp_path: Path) -> None:
    """As in the packages for CUDA 13: libnvrtc has neither RPATH nor RUNPATH of its own."""
    lib = f"{NVIDIA}/cu13/lib"
    torchs = binaries.elf(needed=("libnvrtc.so.13",), rpath="$ORIGIN/../../nvidia/cu13/lib")
    (machine(tmp_path) / TORCH / "libtorch_global_deps.so").write_bytes(torchs)
    (tmp_path / lib).mkdir(parents=True)
    (tmp_path / lib / "libnvrtc.so.13").write_bytes(binaries.elf(soname="libnvrtc.so.13"))
    assert told(Pretend(tmp_path, environ={}))["libnvrtc-builtins.so.13"].get("path") is None
    (tmp_path / lib / "libnvrtc-builtins.so.13.0").write_bytes(binaries.elf(soname="libnvrtc-builtins.so.13.0"))
    assert (
        told(Pretend(tmp_path, environ={}))["libnvrtc-builtins.so.13.0"]["path"] == f"/{lib}/libnvrtc-builtins.so.13.0"
    )


def test_what_a_preloaded_copy_lacks(tmp_path: Path) -> None:
    name, lib = "libnccl.so.2", f"{NVIDIA}/nccl/lib"
    wants = binaries.elf(needed=(name,), rpath="$ORIGIN/../../nvidia/nccl/lib", wants=("ncclRecv", "malloc"))
    (machine(tmp_path) / TORCH / "libtorch_global_deps.so").write_bytes(wants)
    (tmp_path / lib).mkdir(parents=True)
    (tmp_path / lib / name).write_bytes(binaries.elf(soname=name, defines=("ncclRecv",), build_id=b"new"))
    (tmp_path / "old").mkdir()
    for defines, lacks in ((("ncclSend",), ["ncclRecv"]), (("ncclRecv",), [])):
        (tmp_path / "old" / name).write_bytes(binaries.elf(soname=name, defines=defines, build_id=b"old"))
        assert told(Pretend(tmp_path, environ={"LD_PRELOAD": f"/old/{name}"}))[name]["missing_symbols"] == lacks
