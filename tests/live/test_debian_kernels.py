"""Kernel names in Debian's rocBLAS and hipBLASLt: each tells whose it is. Run by hand: half a gigabyte is fetched.

Releases that this system does not have (sid, experimental) are read through package lists of the test's own: nothing of
the system's sources is touched, and nothing is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.parsers.blas.gemm_kernel import is_product, library
from doctor.parsers.blas.rocm_library_files import target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("apt-get") or not shutil.which("dpkg"), reason="needs apt-get and dpkg"),
]
_NAME = re.compile(rb"(?:Custom_)?Cijk_[A-Za-z0-9_]{1,900}")
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_GFX = "gfx90a"


@pytest.fixture(scope="module")
def apt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an apt-get whose lists are of sid and experimental, from the mirror that this system uses."""
    folder = tmp_path_factory.mktemp("apt")
    told = [p.read_text() for p in Path("/etc/apt").rglob("*") if p.suffix in (".list", ".sources") and p.is_file()]
    mirrors = re.findall(r"https?://[^\s]{1,200}/debian/?(?=\s|$)", "\n".join(told))
    if not mirrors or not Path(_KEYRING).is_file():
        pytest.skip("no mirror of Debian in /etc/apt, or no keyring of its archive")
    for name in ("parts", "lists/partial", "cache/archives/partial", "preferences"):
        (folder / name).mkdir(parents=True)
    (folder / "parts/newer.sources").write_text(
        f"Types: deb\nURIs: {mirrors[0]}\nSuites: sid experimental\nComponents: main\nSigned-By: {_KEYRING}\n"
    )
    rows = {"Etc::SourceList": "none", "Etc::SourceParts": "parts", "Etc::Preferences": "none",
            "Etc::PreferencesParts": "preferences", "State::Lists": "lists", "Cache": "cache"}  # fmt: skip
    (folder / "apt.conf").write_text("".join(f'Dir::{key} "{folder / name}";\n' for key, name in rows.items()))
    environ = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    ran = subprocess.run(
        ["apt-get", "update", "-q"], env=environ, capture_output=True, text=True, check=False, timeout=300
    )
    if ran.returncode != 0:
        pytest.skip(f"apt-get update: {ran.stderr.strip()[-200:]}")
    return environ


def names(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, name of a kernel) in files that stand in the clear: bundles that begin with CCOB are compressed, and hold
    pieces of names. `Cijk_Dijk…` is the end of a file's own name."""
    for path in sorted(folder.rglob(f"*{_GFX}*")):
        content = path.read_bytes() if path.suffix in (".co", ".hsaco", ".dat") and path.is_file() else b""
        if not content.startswith(b"CCOB"):
            for found in set(_NAME.findall(content)):
                if not found.startswith(b"Cijk_Dijk"):
                    yield path.name, found.decode()


@pytest.mark.parametrize(
    ("package", "maker", "least"),
    [
        ("librocblas5/experimental", "rocblas", 10_000),
        ("libhipblaslt1/sid", "hipblaslt", 10_000),
        ("libhipblaslt1/experimental", "hipblaslt", 10_000),
    ],
)
def test_every_kernel_of_a_library_is_taken_for_its_own(
    package: str, maker: str, least: int, apt: dict[str, str], tmp_path: Path
) -> None:
    """Skips where Debian has no such package any more."""
    fetched = subprocess.run(
        ["apt-get", "download", package],
        cwd=tmp_path,
        env=apt,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    archive = next(tmp_path.glob("*.deb"), None)
    if archive is None:
        pytest.skip(f"{package}: {fetched.stderr.strip()[-200:]}")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as packed:
        wanted = ["tar", "-x", "-C", str(tmp_path), "--wildcards", f"*{_GFX}*"]
        subprocess.run(wanted, stdin=packed.stdout, check=True, timeout=900)
    found = list(names(tmp_path))
    products = {name for file, name in found if not file.startswith("Kernels.so")}
    assert len(products) >= least
    assert {library(name) for name in products} == {maker}
    assert all(is_product(name) for name in products)
    aside = {name for file, name in found if file.startswith("Kernels.so")}
    assert aside, "helpers of both libraries have the same names"
    assert {library(name) for name in aside} == {None}
    assert {(target(p.name) or "").partition(":")[0] for p in tmp_path.rglob(f"*{_GFX}*") if p.is_file()} == {_GFX}
