"""What rules ask the catalogue, and that every entry of every table is whole."""

from __future__ import annotations

import json

import pytest

from doctor.knowledge import Knowledge, entries
from doctor.knowledge.catalogue import DATA, table
from doctor.knowledge.names import gpu_by_name
from doctor.versions import Dotted
from tests.each import each

KB = Knowledge()
MODELS: dict[str, type[entries.Entry]] = {
    "amd_gpus": entries.AmdGpu,
    "gfx_targets": entries.GfxTarget,
    "rocm_releases": entries.RocmRelease,
    "nvidia_gpus": entries.NvidiaGpu,
    "compute_capabilities": entries.ComputeCapability,
    "cuda_majors": entries.CudaMajor,
    "cuda_toolkits": entries.Toolkit,
    "early_cuda": entries.EarlyCuda,
    "driver_branches": entries.DriverBranch,
    "xids": entries.Xid,
    "sxids": entries.SXid,
    "torch_builds": entries.TorchBuild,
}


@each("name", sorted(MODELS))
def test_every_entry_of_a_table_is_valid_and_says_its_source(name: str) -> None:
    rows = [MODELS[name].model_validate(row) for row in table(name).values()]
    assert rows
    assert all(row.source and row.as_of for row in rows)


@each("name", sorted(MODELS))
def test_a_table_file_is_named_after_what_it_holds(name: str) -> None:
    assert json.loads((DATA / f"{name}.json").read_text("utf-8"))["schema"] == f"doctor.{name}/1"


def test_an_amd_product_by_pci_id_and_revision() -> None:
    mi300x, xtx = KB.amd_gpu("1002:74a1"), KB.amd_gpu("1002:744c", "c8")
    assert mi300x
    assert (mi300x.gfx, mi300x.memory_gib) == ("gfx942", 192)
    assert xtx
    assert xtx.names == ("AMD Radeon RX 7900 XTX",)


def test_an_amd_id_that_several_products_share_needs_the_revision_but_tells_the_target() -> None:
    assert KB.amd_gpu("1002:744c") is None
    assert KB.amd_arch("1002:744c") == "gfx1100"
    assert KB.amd_gpu("1002:ffff") is None


def test_an_nvidia_product_by_pci_id() -> None:
    h100 = KB.nvidia_gpu("10DE:2330")
    assert h100
    assert (h100.arch, h100.architecture, h100.memory_gb) == ("sm_90", "Hopper", 80)
    assert KB.nvidia_gpu("10de:ffff") is None


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("11.8", "450.80.02"),
        ("12.4", "525.60.13"),
        ("13.0.1", "580.65.06"),
        ("10.2", "440.33"),
        ("9.2.88", "396.26"),
        ("6.5", None),
        (None, None),
    ],
)
def test_lowest_driver_of_a_cuda_version(cuda: str | None, driver: str | None) -> None:
    floor = KB.cuda_floor(cuda)
    assert (floor.driver if floor else None) == driver


def test_the_driver_that_nvidia_pairs_with_a_toolkit() -> None:
    floor = KB.cuda_floor("12.8")
    assert floor
    assert floor.paired == Dotted("570.26")


def test_newest_cuda_of_a_driver() -> None:
    assert KB.driver_serves_cuda("575.57.08") == "12.9"
    assert KB.driver_serves_cuda("999.1") is None


def test_an_xid_says_what_it_asks_for() -> None:
    lost = KB.xid(79)
    assert lost
    assert (lost.action, lost.severity) == ("RESTART_BM", "error")
    assert KB.xid(9999) is None


@each(
    "rocm, gfx, supported",
    [
        ("6.2.0", "gfx942", True),
        ("6.2.0", "gfx1201", False),
        ("6.3", "gfx942:sramecc+:xnack-", True),
        ("6.4", "gfx1201", None),  # from 6.4.1 on
        ("7.2.0", "gfx950", True),  # its matrix is unknown; 7.1.0 and 7.2.1 agree
        ("10.1.0", "gfx1103", True),
        ("10.3.0", "gfx942", None),
        ("6.2.9", "gfx942", None),
        ("", "gfx942", None),
        ("6.2.0", None, None),
    ],
)
def test_whether_a_rocm_release_supports_a_target(rocm: str, gfx: str | None, supported: bool | None) -> None:
    assert KB.rocm_supports(rocm, gfx) is supported


def test_architectures_of_the_official_wheels() -> None:
    assert KB.torch_archs("2.6.0", "12.4") == ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
    assert KB.torch_archs("2.6.0") == KB.torch_archs("2.6.0+cu124")
    assert "sm_120" in (KB.torch_archs("2.12.0", "13.0", "aarch64") or ())
    assert "gfx1201" in (KB.torch_archs("2.9.1+rocm6.4") or ())
    assert KB.torch_archs("2.7.0+rocm6.3") is None
    assert KB.torch_archs("0.1") is None


@each(
    "gpu, flavour",
    [
        ("10de:1db4", "unsupported"),
        ("10de:2330", "either"),
        ("10de:2342", "required"),
        ("sm_120", "required"),
        ("sm_61", "unsupported"),
        ("Ada Lovelace", "either"),
        ("Grace Hopper", "required"),
        ("10de:ffff", None),
        ("Fermi", None),
        (None, None),
    ],
)
def test_which_flavour_of_module_a_gpu_takes(gpu: str | None, flavour: str | None) -> None:
    assert KB.open_module(gpu) == flavour


@each(
    "name, arch",
    [
        ("nvidia tesla k80", "sm_37"),
        ("Tesla K40m", "sm_35"),
        ("GeForce GTX 750 Ti", "sm_50"),
        ("940MX", "sm_50"),
        ("Quadro M2000M", "sm_50"),
        ("Quadro M2000", "sm_52"),
        ("GTX980 Ti", "sm_52"),
        ("gtx 1080ti", "sm_61"),
        ("NVIDIA TITAN V", "sm_70"),
        ("RTX 2080SUPER", "sm_75"),
    ],
)
def test_names_of_gpus_before_pascal_and_as_people_join_them(name: str, arch: str) -> None:
    found = gpu_by_name(name)
    assert found is not None
    assert (found.vendor, found.arch) == ("nvidia", arch)


@each(
    "name, arch",
    [
        ("AMD Radeon RX 6600M", "gfx1032"),
        ("Radeon RX 6800S", "gfx1032"),
        ("Radeon RX 6800M", "gfx1031"),
        ("AMD Radeon RX 6850M XT", "gfx1031"),
        ("RX 6500M", "gfx1034"),
        ("AMD Radeon RX 7600M XT", "gfx1102"),
        ("Radeon RX 7900M", "gfx1100"),
        ("Radeon RX 6800", "gfx1030"),
    ],
)
def test_gpus_of_notebooks_have_the_die_of_their_number(name: str, arch: str) -> None:
    assert gpu_by_name(name) == ("amd", arch)


@pytest.mark.parametrize("name", ["RX 970", "GTX 860M", "TITAN X (Pascal)", "Core i7-940"])
def test_names_that_leave_the_architecture_open(name: str) -> None:
    assert gpu_by_name(name) is None
