"""Distributions: what their os-release says, the C library that they bring, where they keep libraries."""

from __future__ import annotations

from typing import NamedTuple


class Distribution(NamedTuple):
    os_release: str
    glibc: str
    kernel: str
    libraries: str = "usr/lib/x86_64-linux-gnu"


def _os_release(**fields: str) -> str:
    return "".join(f'{name.upper()}="{value}"\n' for name, value in fields.items())


def _ubuntu(version: str, name: str, codename: str) -> str:
    return _os_release(
        pretty_name=f"Ubuntu {name}", name="Ubuntu", version_id=version, version=f"{name} ({codename})",
        version_codename=codename.split()[0].lower(), id="ubuntu", id_like="debian",
    )  # fmt: skip


DISTRIBUTIONS = {
    "ubuntu-22.04": Distribution(
        _ubuntu("22.04", "22.04.5 LTS", "Jammy Jellyfish"), "2.35", "5.15.0-122-generic"
    ),
    "ubuntu-24.04": Distribution(_ubuntu("24.04", "24.04.3 LTS", "Noble Numbat"), "2.39", "6.8.0-60-generic"),
    "debian-12": Distribution(
        _os_release(
            pretty_name="Debian GNU/Linux 12 (bookworm)", name="Debian GNU/Linux", version_id="12", id="debian",
            version_codename="bookworm",
        ), "2.36", "6.1.0-37-amd64",
    ),
    "rocky-9": Distribution(
        _os_release(
            pretty_name="Rocky Linux 9.6 (Blue Onyx)", name="Rocky Linux", version_id="9.6", id="rocky",
            id_like="rhel centos fedora", platform_id="platform:el9",
        ), "2.34", "5.14.0-570.12.1.el9_6.x86_64", "usr/lib64",
    ),
    "wsl-ubuntu-24.04": Distribution(
        _ubuntu("24.04", "24.04.3 LTS", "Noble Numbat"), "2.39", "6.6.87.2-microsoft-standard-WSL2"
    ),
}  # fmt: skip
