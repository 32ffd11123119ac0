"""Name of an installed package's metadata folder -> the package's name and version. No file is read.

>>> read("nvidia_cublas_cu12-12.4.5.8.dist-info")
Distribution(name='nvidia-cublas-cu12', version='12.4.5.8')
>>> read("PyGObject-3.42.2.egg-info").name, read("setuptools-65.5.0-py3.11.egg-info").version
('pygobject', '65.5.0')
>>> read("torch") is None
True
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FOLDER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._]{0,127})-([A-Za-z0-9][A-Za-z0-9.!+_~]{0,99})$")
_EGG = re.compile(
    r"^([A-Za-z0-9][A-Za-z0-9._\-]{0,127}?)-(\d[A-Za-z0-9.!+_~]{0,99})(?:-py\d[\d.]{0,6})?(?:-[a-z0-9_\-]{1,40})?$"
)
_CONDA = re.compile(r"^([a-z0-9_][a-z0-9._\-]{0,127})-([A-Za-z0-9!._+]{1,100})-([A-Za-z0-9._]{1,100})\.json$")
_RUNS = re.compile(r"[-_.]+")


class Distribution(NamedTuple):
    """`name` is normalised as PyPI does: lower case, single `-`."""

    name: str
    version: str


def normal(name: str) -> str:
    """The normalised form of a package's name (PEP 503)."""
    return _RUNS.sub("-", name).lower()


def read(folder: str) -> Distribution | None:
    """None for a name that is no metadata folder, or none that says its version."""
    stem, dot, kind = folder[:400].rpartition(".")
    if not dot or kind not in ("dist-info", "egg-info"):
        return None
    match = _FOLDER.match(stem) if kind == "dist-info" else _EGG.match(stem)
    return Distribution(normal(match[1]), match[2]) if match else None


def read_conda(file: str) -> Distribution | None:
    """Of a record in conda-meta: `pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json`."""
    match = _CONDA.match(file[:400])
    return Distribution(normal(match[1]), match[2]) if match else None
