"""Files by which installations of ROCm and CUDA tell what they are."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.elf import gpu_library, ld_so_cache, ld_so_conf
from doctor.parsers.kernel import dpkg_status, install_version
from doctor.parsers.lib import version_macros


@pytest.mark.parametrize(
    ("text", "version"), [("6.2.0-66", "6.2.0"), ("7.9.0rc1", "7.9.0rc1"), ("5.7\n", "5.7"), ("10.0.0", "10.0.0")]
)
def test_rocm_s_version_file(text: str, version: str) -> None:
    assert install_version.rocm(text) == version


@pytest.mark.parametrize("text", ["", "not a version", "{}"])
def test_what_is_no_version_is_an_error(text: str) -> None:
    for reader in (install_version.rocm, install_version.hip, install_version.cuda_text, install_version.cuda_json):
        with pytest.raises(ParserError):
            reader(text)
    with pytest.raises(ParserError):
        version_macros.read(text)


def test_the_names_of_cuda_s_components_in_version_json() -> None:
    text = '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_nvcc": {"version": "12.4.131"}, "nsight": 3}'
    assert install_version.cuda_json(text) == {"version": "12.4.1", "nvcc": "12.4.131"}


def test_a_header_with_macros_of_two_things_tells_the_first_that_has_a_major() -> None:
    text = "#define MIOPEN_API_MINOR 7\n#define MIOPEN_VERSION_MAJOR 3\n#define MIOPEN_VERSION_MINOR 2\n"
    assert version_macros.read(text) == "3.2"


def test_a_library_s_name_with_no_more_than_its_soname_tells_no_version() -> None:
    assert gpu_library.read("libcudnn.so.9") == gpu_library.Library("cuda", "cudnn", "libcudnn.so.9", None)
    assert gpu_library.read("libcudnn.so") is None


def test_a_damaged_cache_is_an_error_and_never_a_crash() -> None:
    with pytest.raises(ParserError):
        ld_so_cache.read(b"")
    head = b"glibc-ld.so.cache1.1" + b"\xff" * 28
    assert {name for name, _ in ld_so_cache.read(head + b"\xff" * 48)} <= {""}


def test_comments_and_hardware_lines_of_ld_so_conf_are_no_folders() -> None:
    text = "# /no\nhwcap 0 nosegneg\n/usr/local/lib\n  /opt/rocm/lib # yes\ninclude ld.so.conf.d/*.conf\n"
    assert ld_so_conf.read(text) == ld_so_conf.Conf(("/usr/local/lib", "/opt/rocm/lib"), ("ld.so.conf.d/*.conf",))


def test_only_installed_packages_count() -> None:
    text = (
        "Package: rocblas\nStatus: deinstall ok config-files\nVersion: 4.0\n\n"
        "Package: rocblas-dev\nStatus: install ok installed\nVersion: 4.2.0\n"
    )
    assert dpkg_status.read(text, ("rocblas",)) == {"rocblas-dev": "4.2.0"}
