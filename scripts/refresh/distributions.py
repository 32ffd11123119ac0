"""pep600_compliance's table: the glibc of each distribution's release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "the glibc of distributions"
URL = "https://raw.githubusercontent.com/mayeut/pep600_compliance/master/README.rst"
_IDS = {"almalinux": "almalinux", "amazonlinux": "amzn", "centos": "centos", "debian": "debian", "fedora": "fedora",
        "opensuse": "opensuse-leap", "oraclelinux": "ol", "rhubi": "rhel", "rockylinux": "rocky",
        "ubuntu": "ubuntu"}  # fmt: skip
"""The table's name -> os-release's ID."""


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ c_libraries: fedora 45 has glibc 2.44`. Raises ValueError for a page without the table."""
    for (os, version), glibc in sorted(parsed(get(URL, {}).decode("utf-8", "replace")).items()):
        known = next((d.glibc for d in kb.c_libraries(os) if d.version == version), None)
        if known is None:
            yield f"+ c_libraries: {os} {version} has glibc {glibc}"
        elif known != glibc:
            yield f"! c_libraries: {os} {version}: {known} here, {glibc} there"


def parsed(text: str) -> dict[tuple[str, str], str]:
    """(os, release) -> glibc. Rolling releases have none that lasts, and are left out."""
    start, end = text.find(".. begin compatibility"), text.find(".. end compatibility")
    if start < 0 or end < start:
        raise ValueError(f"{URL}: no table of distributions")
    found: dict[tuple[str, str], str] = {}
    for policy, names in re.findall(r'"manylinux_(\d+_\d+)", "([^"]*)"', text[start:end]):
        for name, version in re.findall(r"\|([a-z]+)-([^|]+)\|", names):
            number = re.fullmatch(r"(?:stream)?(\d+(?:\.\d+)?)", version)
            if name in _IDS and number:
                found[_IDS[name], number[1]] = policy.replace("_", ".")
    return found
