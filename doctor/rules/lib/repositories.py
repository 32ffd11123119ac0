"""Steps that add a vendor's package repository to the host's system.

AMD: ROCm/amdgpu-docs, install/detailed-install/package-manager, and its conf.py for the suites of Debian (2026-06).
Container toolkit: docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Step
from doctor.rules.lib.advice import step, writes
from doctor.rules.lib.nvidia_packages import distribution, dkms_source
from doctor.rules.lib.packages import READ_SUSE, host_family, install, kernel_headers
from doctor.versions import Dotted

_AMD = "https://repo.radeon.com"
_AMD_GUIDE = "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/"
_TOOLKIT = "https://nvidia.github.io/libnvidia-container"
_TOOLKIT_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
_FROM = {"ubuntu-26.04": "31.30", "sles-16": "31.30"}
"""The first release of the driver whose repository has that system."""
_READ = step("Refresh the package lists.", "apt-get", "update")


def _fetch(what: str, file: str, url: str) -> Step:
    return step(f"Fetch {what}.", "curl", "--fail", "--location", "--create-dirs", "--output", file, url)


def amdgpu(machine: Snapshot, release: str) -> Iterator[Step]:
    """What amdgpu-dkms is built with, and AMD's repository of one release of it; its folder has no last `.0`."""
    row, version = distribution(machine), machine.os.version or ""
    base = f"{_AMD}/amdgpu/{release.removesuffix('.0')}"
    key = f"{_AMD}/rocm/rocm.gpg.key"
    kind = row.amd_repository if row and Dotted(release) >= _FROM.get(row.id, "0") else None
    if row and kind:
        yield kernel_headers(machine)
        yield from dkms_source(machine, row)
    if row and kind and row.manager == "apt":
        ring = "/etc/apt/keyrings/rocm.asc"
        yield _fetch("the key of AMD's repository", ring, key)
        yield writes(
            "/etc/apt/sources.list.d/amdgpu.list", f"deb [arch=amd64 signed-by={ring}] {base}/ubuntu {kind} main"
        )
        yield _READ
    elif row and kind in ("el", "sle") and re.fullmatch(r"\d{1,2}\.\d{1,2}", version):
        folder = "yum.repos.d" if kind == "el" else "zypp/repos.d"
        where = f"{kind}/{'10' if row.version == '10' else version}"
        lines = ("[amdgpu]", "name=amdgpu", f"baseurl={base}/{where}/main/x86_64/", "enabled=1", "gpgcheck=1")
        yield writes(f"/etc/{folder}/amdgpu.repo", *lines, f"gpgkey={key}")
        if kind == "sle":
            yield READ_SUSE
    else:
        yield step(f"Add AMD's amdgpu repository for this system: {_AMD_GUIDE}")


def container_toolkit(machine: Snapshot) -> Iterator[Step]:
    """NVIDIA's container toolkit, from NVIDIA's repository."""
    manager = host_family(machine)
    if manager == "apt":
        ring = "/usr/share/keyrings/nvidia-container-toolkit.asc"
        yield _fetch("the key of NVIDIA's repository", ring, f"{_TOOLKIT}/gpgkey")
        line = f"deb [signed-by={ring}] {_TOOLKIT}/stable/deb/$(ARCH) /"
        yield writes("/etc/apt/sources.list.d/nvidia-container-toolkit.list", line)
        yield _READ
    elif manager == "dnf":
        name = "nvidia-container-toolkit.repo"
        yield _fetch("NVIDIA's repository file", f"/etc/yum.repos.d/{name}", f"{_TOOLKIT}/stable/rpm/{name}")
    elif manager == "zypper":
        url = f"{_TOOLKIT}/stable/rpm/nvidia-container-toolkit.repo"
        yield step("Add NVIDIA's repository.", "zypper", "addrepo", url)
        yield READ_SUSE
    elif manager is None:
        yield step(f"Add NVIDIA's container toolkit repository: {_TOOLKIT_GUIDE}")
    package = "nvidia-container-toolkit"
    yield step(f"Install {package}.", *(install(manager, package) or ()))
