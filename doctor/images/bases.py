"""What is known of a base image from its name: the distribution, its Python, where its packages come from by date."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UBUNTU = "https://packages.ubuntu.com/python3"
_DEBIAN = "https://packages.debian.org/python3"


@dataclass(frozen=True)
class Base:
    """`python`: the one that apt installs; `own_python`: the image brings another of its own, under /usr/local."""

    os: str
    version: str
    codename: str
    python: str
    source: str
    own_python: str | None = None

    @property
    def words(self) -> str:
        return f"{self.os.capitalize()} {self.version}"

    @property
    def target_os(self) -> str:
        """As the resolver names it: `ubuntu-24.04`."""
        return f"{self.os}-{self.version}"

    @property
    def snapshot(self) -> str:
        """Archive by date; `{}` is the moment, as 20261115T000000Z."""
        if self.os == "ubuntu":
            return "http://snapshot.ubuntu.com/ubuntu/{}"
        return "http://snapshot.debian.org/archive/debian/{}"

    def sources(self, moment: str) -> str:
        """apt's one-line sources at a moment. The index files are signed, so that plain http does no harm; their date
        of expiry is past by design."""
        where, mark = self.snapshot.format(moment), "[check-valid-until=no]"
        if self.os == "ubuntu":
            suites = [self.codename, f"{self.codename}-updates", f"{self.codename}-security"]
            lines = [f"deb {mark} {where} {suite} main restricted universe multiverse" for suite in suites]
        elif self.version == "sid":  # what is newest; it has no updates and no security beside itself
            lines = [f"deb {mark} {where} sid main"]
        else:
            security = where.replace("/debian/", "/debian-security/")
            lines = [f"deb {mark} {where} {suite} main" for suite in (self.codename, f"{self.codename}-updates")]
            lines.append(f"deb {mark} {security} {self.codename}-security main")
        return "\n".join(lines) + "\n"


# The default Python of each release: the distributions' package pages, as of 2026-11-21.
KNOWN = (
    Base("debian", "sid", "sid", "3.14", _DEBIAN),
    Base("ubuntu", "22.04", "jammy", "3.10", _UBUNTU),
    Base("ubuntu", "24.04", "noble", "3.12", _UBUNTU),
    Base("ubuntu", "26.04", "resolute", "3.14", _UBUNTU),
    Base("debian", "12", "bookworm", "3.11", _DEBIAN),
    Base("debian", "13", "trixie", "3.13", _DEBIAN),
)


def base_of(image: str) -> Base | None:
    """None: the name does not say which distribution it is.

    >>> base_of("nvidia/cuda:13.0.2-base-ubuntu24.04").codename
    'noble'
    >>> base_of("localhost:5000/debian:13-slim").words
    'Debian 13'
    >>> base_of("debian:trixie-slim").words
    'Debian 13'
    >>> base_of("python:3.12-slim-bookworm").own_python
    '3.12'
    >>> base_of("rocm/pytorch:latest")
    """
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    own = re.match(r"3\.\d{1,2}", tag) if name == "python" else None
    for base in KNOWN:
        number = re.escape(base.version)
        words = rf"(?:^|[-_:]){base.codename}(?:$|[-_.])|{base.os}[-_:]?{number}(?![\d.])"
        if re.search(words, f"{name}:{tag}" if name in (base.os, f"dev-{base.os}-{base.version}") else f"{name}-{tag}"):
            if own:
                return Base(base.os, base.version, base.codename, base.python, base.source, own[0])
            return base
    return None
