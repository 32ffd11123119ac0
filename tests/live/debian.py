"""Real packages of Debian, put into a tree of its own by dpkg: files and the list of installed packages, nothing run.

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
    """The package file of `name` or `name=version`; skips where no list of packages has it."""
    place = Path(os.environ.get("DOCTOR_DEBS") or folder or ".")
    stem, _, version = name.partition("=")
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
        subprocess.run(["dpkg", "-x", package(name, root.parent), root], check=True, timeout=600)
    return root


def install(root: Path, *names: str) -> Path:
    """As dpkg unpacks them: files, and their entries in var/lib/dpkg/status, which then says that they are installed:
    scripts of packages are not run. What they depend on is left out."""
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "usr/bin", "usr/lib", "etc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for link, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
        if not (root / link).exists():
            (root / link).symlink_to(target)
    (root / "var/lib/dpkg/status").touch()
    files = [package(name, root.parent) for name in names]
    dpkg = ["dpkg", f"--root={root}", "--force-all", "--no-triggers", "--unpack", *map(str, files)]
    ran = subprocess.run(dpkg, capture_output=True, text=True, check=False, timeout=900)
    assert ran.returncode == 0, ran.stderr[-800:]
    status = root / "var/lib/dpkg/status"
    status.write_text(re.sub(r"(?m)^Status: install ok \S+$", "Status: install ok installed", status.read_text()))
    return root
