"""Real wheels from the package index, unpacked into environments as an installer would lay them out.

`DOCTOR_WHEELS` names a folder where wheels are kept between runs; without it each run downloads anew. Only what the
doctor reads is unpacked: shared objects, metadata, version files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

PLATFORMS = (
    "manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_24_x86_64",
    "manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "manylinux_2_31_x86_64", "manylinux_2_34_x86_64",
    "manylinux_2_35_x86_64",
)  # fmt: skip
_READ = (".so", "/METADATA", "/version.py", "/WHEEL")


class Wheels:
    """A folder of wheels."""

    def __init__(self, folder: Path, unpacked: Path) -> None:
        """`unpacked` lies on the file system of the environments."""
        self.folder, self.unpacked = folder, unpacked
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, requirement: str, python: str = "3.10") -> Path:
        """The wheel of `name==version` for that Python, downloaded where it is not there yet."""
        name, _, version = requirement.partition("==")
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        tag = f"-cp{python.replace('.', '')}-"
        held = sorted(self.folder.glob(pattern))
        found = [w for w in held if tag in w.name or "-py3-" in w.name or "-py2.py3-" in w.name or "abi3" in w.name]
        if not found:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
            pip += ["--python-version", python, *(f"--platform={p}" for p in PLATFORMS), "-d", str(self.folder)]
            subprocess.run([*pip, requirement], check=True, capture_output=True, timeout=1800)
            found = sorted(set(self.folder.glob(pattern)) - set(held)) or held
        return found[0]

    def _unpacked(self, requirement: str, python: str) -> Path:
        """The wheel's files that the doctor reads, unpacked once; environments link to them."""
        wheel = self.get(requirement, python)
        folder = self.unpacked / wheel.stem
        if not folder.is_dir():
            with zipfile.ZipFile(wheel) as content:
                names = [n for n in content.namelist() if n.endswith(_READ) or ".so." in n.rpartition("/")[2]]
                content.extractall(folder, names)
        return folder

    def environment(self, root: Path, requirements: Sequence[str], python: str = "3.10.12") -> Path:
        """The interpreter of an environment that holds these; of `about:vllm==0.33.0` the metadata alone."""
        series = python.rpartition(".")[0]
        site = root / "lib" / f"python{series}" / "site-packages"
        site.mkdir(parents=True)
        (root / "bin").mkdir()
        (root / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
        (root / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {python}\n")
        for requirement in requirements:
            wanted = requirement.removeprefix("about:")
            unpacked = self._unpacked(wanted, series)
            for source in unpacked.rglob("*"):
                place = site / source.relative_to(unpacked)
                if source.is_file() and (wanted == requirement or ".dist-info" in source.parent.name):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.unlink(missing_ok=True)  # as an installer writes over another package's file
                    os.link(source, place)
        return root / "bin" / "python3"
