"""Each source against a recorded reply: what is newer there than in the catalogue, and what a strange reply does.

The replies were cut out of what the sources published (their first lines say which version); NVIDIA's is written by
hand in the format that programs reading its list expect, with two branches that do not exist yet.
"""

from __future__ import annotations

import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from doctor.knowledge import Knowledge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import ask_sources
import read_wheels
from refresh import (
    distributions,
    known_releases,
    nvidia_drivers,
    pci_ids,
    pypi,
    pytorch_matrix,
    rocm_docs,
    therock,
    vllm_wheels,
)

KB = Knowledge()
REPLIES = Path(__file__).with_name("replies")


def recorded(name: str) -> pypi.Fetch:
    return lambda url, headers: (REPLIES / name).read_bytes()


def says(text: str) -> pypi.Fetch:
    return lambda url, headers: text.encode()


def unreached(url: str, headers: dict[str, str]) -> bytes:
    raise OSError("Name or service not known")


def test_releases_of_the_package_index_that_are_newer_than_a_known_one() -> None:
    listed = pypi.files("xformers", recorded("pypi_xformers.json"))
    assert list(known_releases.newer("xformers", "0.0.34", listed)) == ["+ packages: xformers 0.0.35 (2026-02-20)"]
    assert list(known_releases.newer("xformers", "0.0.35", listed)) == []


def test_files_have_hashes_tags_and_sizes() -> None:
    listed = pypi.files("xformers", recorded("pypi_xformers.json"))
    wheel = next(f for f in listed if f.name == "xformers-0.0.35-py39-none-manylinux_2_28_x86_64.whl")
    assert (wheel.is_wheel, wheel.platforms(), wheel.version) == (True, {"manylinux_2_28_x86_64"}, "0.0.35")
    assert wheel.sha256.startswith("ccc73c7d")
    assert next(f for f in listed if f.name.endswith(".tar.gz")).is_wheel is False


def test_the_build_matrix_names_what_the_table_lacks_and_is_not_run() -> None:
    assert list(pytorch_matrix.ask(recorded("pytorch_matrix.txt"), KB)) == []
    later = 'CURRENT_STABLE_VERSION = "2.99.0"\nCUDA_ARCHES_DICT = {"release": ["14.0"]}\nraise SystemExit(1)\n'
    assert list(pytorch_matrix.ask(says(later), KB)) == [
        "+ torch_builds: 2.99.0 is the current release",
        "+ torch_builds: 2.99.0 is built for CUDA 14.0",
    ]
    with pytest.raises(ValueError, match="generate_binary_build_matrix"):
        list(pytorch_matrix.ask(says("<html>"), KB))


def test_a_new_driver_branch_and_a_new_release_of_a_known_one() -> None:
    assert list(nvidia_drivers.ask(recorded("nvidia_drivers.json"), KB)) == [
        "+ driver_branches: 620 (production branch), newest 620.20.01",
    ]
    later = '{"570": {"driver_info": [{"release_version": "570.999.01"}]}}'
    (line,) = nvidia_drivers.ask(says(later), KB)
    assert line.endswith("-> 570.999.01")


def amd_s(replace: str = "", by: str = "") -> pypi.Fetch:
    names = {
        rocm_docs.RELEASES: "rocm_releases.rst",
        rocm_docs.DRIVERS: "rocm_drivers.yaml",
        rocm_docs.SYSTEMS: "rocm_systems.yaml",
    }
    return lambda url, headers: (REPLIES / names[url]).read_text().replace(replace, by).encode()


def test_a_new_rocm_a_new_amdgpu_driver_and_a_new_kernel() -> None:
    assert list(rocm_docs.ask(amd_s(), KB)) == []
    assert list(rocm_docs.ask(amd_s("10.1.0", "10.9.0"), KB)) == ["+ rocm_releases: 10.9.0 (October 5, 2026)"]
    assert list(rocm_docs.ask(amd_s('"31.60.0"', '"31.90.0"'), KB)) == ["+ amdgpu_drivers: 31.90.0"]
    (line,) = rocm_docs.ask(amd_s("HWE 6.17", "HWE 7.1"), KB)
    assert line == "+ rocm_os_kernels: Ubuntu 24.04.4 has kernel HWE 7.1"
    with pytest.raises(ValueError, match=r"versions\.rst: its form"):
        list(rocm_docs.ask(says("<html>"), KB))


def test_the_gpus_of_amd_s_own_wheels() -> None:
    assert list(therock.ask(recorded("therock.md"), KB)) == []
    lines = list(therock.ask(says("| AMD New | gfx1300 | `device-gfx1300` |\n| 2.99 | 3 |\n"), KB))
    assert "+ device_wheels: therock-nightly: gfx1300" in lines
    assert "- device_wheels: therock-nightly: gfx1036" in lines
    assert "+ device_wheels: therock-nightly: torch 2.99" in lines
    with pytest.raises(ValueError, match="no table"):
        list(therock.ask(says("<html>"), KB))


def test_a_gpu_of_a_known_chip_and_neither_old_chips_nor_switches() -> None:
    real = (REPLIES / "pci.ids").read_text()
    assert list(pci_ids.ask(says(real), KB)) == []
    later = real.replace("75a0  Aqua", "7fff  Aqua Vanjaram [Instinct MI999]\n\t75a0  Aqua")
    assert list(pci_ids.ask(says(later), KB)) == ["+ amd_gpus: 1002:7fff Aqua Vanjaram [Instinct MI999]"]
    with pytest.raises(ValueError, match="no device"):
        list(pci_ids.ask(says("<html>"), KB))


def test_the_releases_in_vllm_s_index_for_rocm() -> None:
    real = (REPLIES / "vllm_rocm.html").read_text()
    assert list(vllm_wheels.ask(says(real), KB)) == []
    later = real.replace("0.18.0%2Brocm700", "0.99.0%2Brocm721")
    assert list(vllm_wheels.ask(says(later), KB)) == ["+ package_ways: vllm 0.99.0 is built for rocm721"]
    with pytest.raises(ValueError, match="no wheel"):
        list(vllm_wheels.ask(says("<html>"), KB))


def test_the_glibc_of_distributions() -> None:
    assert list(distributions.ask(recorded("distributions.rst"), KB)) == []
    row = '"manylinux_2_44", "|fedora-99| |ubuntu-22.04| |archlinux-latest|"'
    later = f".. begin compatibility\n   {row}\n.. end compatibility"
    assert list(distributions.ask(says(later), KB)) == [
        "+ c_libraries: fedora 99 has glibc 2.44",
        "! c_libraries: ubuntu 22.04: 2.35 here, 2.44 there",
    ]


def test_a_source_that_is_not_reached_is_listed_and_stops_no_other() -> None:
    newer, unread = ask_sources.report(unreached, KB)
    assert newer == []
    assert [line.split(": ")[1] for line in unread] == [source.TITLE for source in ask_sources.SOURCES]


def test_a_source_with_a_strange_reply_is_listed() -> None:
    _, unread = ask_sources.report(says("[]"), KB)
    assert len(unread) == len(ask_sources.SOURCES)


def remote(body: bytes) -> tuple[pypi.File, pypi.Fetch]:
    """A wheel behind an index that answers ranges."""

    def get(url: str, headers: dict[str, str]) -> bytes:
        first, last = headers["Range"].removeprefix("bytes=").split("-")
        return body[int(first) : int(last) + 1]

    return pypi.File("a-1-py3-none-any.whl", "1", "https://x/a", "00", len(body), "2026-01-01", None, frozenset()), get


def test_metadata_is_read_out_of_a_wheel_by_ranges() -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("a/__init__.py", "x" * 100_000)
        made.writestr("a-1.dist-info/METADATA", "Name: a\nRequires-Dist: torch>=2.10\n")
    file, get = remote(packed.getvalue())
    assert pypi.metadata(file, get) == "Name: a\nRequires-Dist: torch>=2.10\n"


def test_requirements_that_matter_for_a_gpu_are_kept_by_extra() -> None:
    said = (
        "Name: jax\nRequires-Python: >=3.12\nRequires-Dist: numpy>=2.1\nRequires-Dist: scipy>=1.14\n"
        "Requires-Dist: torch==2.10.0; platform_system == 'Linux'\nRequires-Dist: triton; sys_platform == 'win32'\n"
        "Requires-Dist: jax-rocm7-plugin==0.12.0.1.*; extra == 'rocm7-local'\n"
    )
    assert read_wheels.asked(said) == {
        "requires_python": ">=3.12",
        "torch": "==2.10.0",
        "pins": {"numpy": ">=2.1"},
        "extras": {"rocm7-local": {"jax-rocm7-plugin": "==0.12.0.1.*"}},
    }
