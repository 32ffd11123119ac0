"""Which ROCm and CUDA are on disk, and what selects them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.probes.lib import wheels
from doctor.probes.toolkits import installs
from tests.probes.pretend import Pretend

ROCM = {
    "opt/rocm-6.2.0/.info/version": "6.2.0-66\n",
    "opt/rocm-6.2.0/bin/hipcc": "#!\n",
    "opt/rocm-6.2.0/lib/libamdhip64.so.6": "",
    "opt/rocm-6.2.0/lib/libamdhip64.so.6.2.60200": "",
    "opt/rocm-6.2.0/lib/librocblas.so.4.2.60200": "",
    "opt/rocm-6.2.0/include/miopen/version.h": "#define MIOPEN_VERSION_MAJOR 3\n#define MIOPEN_VERSION_MINOR 2\n",
    "opt/rocm-6.2.0/include/rccl/rccl.h": "#define NCCL_MAJOR 2\n#define NCCL_MINOR 20\n#define NCCL_PATCH 5\n",
    "opt/rocm-6.2.0/share/hip/version": "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=41133\n",
}
CUDA = {
    "usr/local/cuda-12.4/version.json": '{"cuda": {"version": "12.4.1"}, "libcublas": {"version": "12.4.5.8"}}',
    "usr/local/cuda-12.4/bin/nvcc": "",
    "usr/local/cuda-11.8/version.json": '{"cuda": {"version": "11.8.0"}}',
    "usr/local/cuda-11.8/lib64/libcudart.so.11.0": "",
}


def look(root: Path, files: dict[str, str], **environ: str) -> Snapshot:
    sheet = FactSheet()
    installs.probe(Pretend(root, files, environ=environ), sheet)
    return assemble([sheet])


def of(machine: Snapshot, stack: str) -> dict[str, Any]:
    return {i.path: i for i in getattr(machine, stack) or ()}


def test_a_vendor_prefix_tells_its_release_and_its_components(tmp_path: Path) -> None:
    found = of(look(tmp_path, ROCM), "rocm")["/opt/rocm-6.2.0"]
    assert (found.version, found.kind) == ("6.2.0", "prefix")
    assert found.components == {
        "hip": "6.2.41133",
        "miopen": "3.2",
        "rccl": "2.20.5",
        "rocblas": "4.2.60200",
    }
    assert found.selected_by == ()


def test_every_way_that_leads_to_an_installation_is_named(tmp_path: Path) -> None:
    conf = {"etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n", "etc/ld.so.conf.d/r.conf": "/opt/rocm/lib\n"}
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/rocm").symlink_to("rocm-6.2.0")
    environ = {"PATH": "/usr/bin:/opt/rocm/bin", "ROCM_PATH": "/opt/rocm", "LD_LIBRARY_PATH": "/opt/rocm/lib"}
    machine = look(tmp_path, ROCM | conf, **environ)
    held = of(machine, "rocm")
    assert set(held) == {"/opt/rocm-6.2.0"}
    ways = {"PATH (hipcc)", "ROCM_PATH", "LD_LIBRARY_PATH", "/etc/ld.so.conf.d/r.conf", "/opt/rocm"}
    assert set(held["/opt/rocm-6.2.0"].selected_by) == ways


def test_the_first_compiler_on_path_is_the_one_that_is_selected(tmp_path: Path) -> None:
    files = CUDA | {"usr/local/cuda-11.8/bin/nvcc": ""}
    held = of(look(tmp_path, files, PATH="/usr/local/cuda-11.8/bin:/usr/local/cuda-12.4/bin"), "cuda")
    assert held["/usr/local/cuda-11.8"].selected_by == ("PATH (nvcc)",)
    assert held["/usr/local/cuda-12.4"].selected_by == ()
    assert held["/usr/local/cuda-12.4"].components == {"cublas": "12.4.5.8"}


def test_debian_s_own_rocm_is_found_by_its_package(tmp_path: Path) -> None:
    status = "Package: libamdhip64-5\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2.3-8\n\n"
    folder = "usr/lib/x86_64-linux-gnu"
    files = {f"{folder}/libamdhip64.so.5": "", f"{folder}/libamdhip64.so.5.2.21153": "", "var/lib/dpkg/status": status}
    found = of(look(tmp_path, files), "rocm")["/usr"]
    assert (found.kind, found.version, found.package) == ("distribution", "5.2.3", "libamdhip64-5 5.2.3-8")
    assert found.components == {"hip": "5.2.21153"}


def test_nothing_installed_is_known_to_be_nothing_and_an_unseen_folder_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    machine = look(tmp_path, {})
    assert machine.rocm == ()
    assert machine.cuda is None


def test_a_folder_without_anything_of_rocm_is_no_installation(tmp_path: Path) -> None:
    assert look(tmp_path, {"opt/rocm-6.0.0/README": "left by an uninstall"}).rocm == ()


def test_packages_of_python_are_an_installation_of_their_own() -> None:
    sheet = FactSheet()
    folder = "/venv/lib/python3.11/site-packages"
    rows = [("nvidia-cublas-cu12", "12.9.3.13"), ("nvidia-cuda-runtime-cu12", "12.9.79"), ("numpy", "2.0")]
    wheels.put(sheet, [{"name": n, "version": v, "location": folder} for n, v in rows])
    (found,) = assemble([sheet]).cuda or ()
    assert (found.kind, found.version) == ("wheel", "12.9.79")
    assert found.components == {"cublas": "12.9.3.13", "cudart": "12.9.79"}
