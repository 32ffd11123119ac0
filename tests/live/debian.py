"""Real packages of Debian, put into a tree of its own: files and the list of installed packages, nothing run.

`DOCTOR_DEBS` names a folder where packages are kept between runs. `APT_CONFIG` may name a configuration of apt with
more suites (trixie, sid, contrib, non-free) than the machine's own; docs/slow-tier.md says which were used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.facts.origin import State
from doctor.system.base import Reading
from doctor.system.tree import TreeSystem

needs_apt = pytest.mark.skipif(
    not (shutil.which("apt-get") and shutil.which("dpkg") and os.geteuid() == 0), reason="needs apt-get, dpkg and root"
)


class Rooted(TreeSystem):
    """A tree and the environment that a process in it would have."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        super().__init__(root)
        self._environ = dict(environ)

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.VALUE, "environment:", dict(self._environ))


def package(name: str, folder: Path | None = None) -> Path:
    """The package file of `name`, `name=version` or `name/suite`; skips where no list of packages has it."""
    place = Path(os.environ.get("DOCTOR_DEBS") or folder or ".")
    if "/" in name:  # the same package may be there of another suite
        place = place / name.partition("/")[2]
        place.mkdir(parents=True, exist_ok=True)
    stem, version = re.split("[=/]", name)[0], name.partition("=")[2]
    pattern = f"{stem}_{version.replace(':', '%3a') or '*'}_*.deb"
    if not list(place.glob(pattern)):
        ran = subprocess.run(
            ["apt-get", "download", name], cwd=place, capture_output=True, text=True, check=False, timeout=900
        )
        if not list(place.glob(pattern)):
            pytest.skip(f"{name}: {ran.stderr.strip()[-200:]}")
    return sorted(place.glob(pattern))[-1]


def unpack(root: Path, *names: str) -> Path:
    """The files alone."""
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        # dpkg -x would put a folder over a link such as lib -> usr/lib
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", package(name, root.parent)], stdout=subprocess.PIPE
        ) as tar:
            tar_x = ["tar", "-x", "--keep-directory-symlink", "-C", str(root)]
            subprocess.run(tar_x, stdin=tar.stdout, check=True, timeout=600)
    return root


def install(root: Path, *names: str) -> Path:
    """Files, and entries in var/lib/dpkg/status that say that they are installed. Scripts of packages are not run, and
    what they depend on is left out."""
    for folder in ("var/lib/dpkg", "usr/bin", "usr/lib", "etc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for link, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
        if not (root / link).exists():
            (root / link).symlink_to(target)
    unpack(root, *names)
    with (root / "var/lib/dpkg/status").open("a") as status:
        for name in names:
            fields = subprocess.run(
                ["dpkg-deb", "-f", package(name, root.parent)], check=True, capture_output=True, text=True, timeout=60
            ).stdout
            first, _, rest = fields.partition("\n")
            status.write(f"{first}\nStatus: install ok installed\n{rest}\n")
    return root
