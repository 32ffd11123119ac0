"""What this machine's pseudonyms need: its key, the same for all that leaves it and not to be guessed elsewhere, and
the names in its own files. Neither goes into anything that is written.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from doctor.redaction import Redactor
from doctor.redaction.unknown import is_strange

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.redaction.pseudonyms import Site
    from doctor.system.base import System

_PLACES = ("etc/machine-id", "var/lib/dbus/machine-id")
_FILES = {
    "etc/passwd": (
        ("user", r"(?m)^([^:\n]+):[^:\n]*:[1-9]\d{3,4}:"),
        ("user", r"(?m)^(?:[^:\n]*:){2}[1-9]\d{3,4}:\d+:([^:,\n]+)"),
    ),
    "etc/group": (("group", r"(?m)^([^:\n]+):[^:\n]*:[1-9]\d{3,4}:"),),
    "etc/hostname": (("host", r"\A\s*([\w.-]{1,64})\s*\Z"),),
    "etc/hosts": (("host", r"(?m)^(?!127\.|::1|f[ef]0\d::)[\da-f.:]+[ \t]+([^\s#]+)"),),
    "etc/resolv.conf": (("site", r"(?m)^(?:search|domain)[ \t]+(\S+)"),),
    "etc/slurm/slurm.conf": (
        ("site", r"(?mi)^ClusterName=(\S+)"),
        ("host", r"(?mi)^(?:NodeName|SlurmctldHost|ControlMachine)=([A-Za-z][\w-]*\w)"),
    ),
}
"""Where a machine keeps names, and how they look there."""
_REQUIRED = re.compile(r"[^\w.-]")
"""What ends the name in a requirement."""
_VARIABLES = {
    "SLURM_JOB_ACCOUNT": "group", "SLURM_JOB_USER": "user", "SLURM_CLUSTER_NAME": "site", "SLURM_JOB_NAME": "project",
    "SLURMD_NODENAME": "host", "USER": "user", "LOGNAME": "user",
}  # fmt: skip
_MOST = 100
"""Each costs a search of every text."""


def machine_key(system: System) -> bytes:
    """Of the machine that is asked; a random one where it has no id or doesn't tell."""
    for path in _PLACES:
        text = (system.read_text(path, limit=256).value or "").strip()
        if len(text) >= 16:
            return hashlib.sha256(b"doctor.pseudonyms/1" + text.encode()).digest()
    return os.urandom(32)


def own_names(system: System) -> Iterator[tuple[str, str]]:
    """Kind and name: accounts, groups and hosts of the machine that is asked."""
    for path, patterns in _FILES.items():
        text = system.read_text(path, limit=1 << 20).value or ""
        yield from ((kind, name) for kind, pattern in patterns for name in re.findall(pattern, text))
    variables = system.environ().value or {}
    yield from ((kind, variables[name]) for name, kind in _VARIABLES.items() if name in variables)


def teach(redactor: Redactor, names: Iterable[tuple[str, str]]) -> None:
    """Names that are replaced everywhere; a word of the field is none."""
    for kind, name in islice(dict.fromkeys(row for row in names if is_strange(row[1])), _MOST):
        redactor.know(kind, name)


def redactor_for(report: Report | None = None, site: Site | None = None, *, redacted: bool = False) -> Redactor:
    """For what leaves this machine; ids and names of a `redacted` report are pseudonyms already."""
    if redacted or (report and report.redacted):
        return Redactor(key=None, site=site, remember=True)
    redactor = Redactor(key=local_key(), site=site, remember=True)
    teach(redactor, _local_names())
    redactor.keep(_package_names(report))
    return redactor


def _package_names(report: Report | None) -> Iterator[str]:
    """Of those that are installed, and that these require."""
    for package in (report and report.snapshot.packages) or ():
        yield package.name
        yield from (_REQUIRED.split(line, maxsplit=1)[0] for line in package.requires or ())


@lru_cache(maxsize=1)
def local_key() -> bytes:
    """Of the machine that the doctor runs on."""
    from doctor.system.live import LiveSystem

    return machine_key(LiveSystem({}))


@lru_cache(maxsize=1)
def _local_names() -> tuple[tuple[str, str], ...]:
    from doctor.system.live import LiveSystem

    return tuple(own_names(LiveSystem()))
