"""Text of torch/version.py -> what that torch was built for. The file is read as text and never run.

>>> read("__version__ = '2.5.1+rocm6.2'\\ndebug = False\\ncuda: Optional[str] = None\\n"
...      "git_version = 'a8d6afb511a69687bbb2b7e88a3cf67917e1697e'\\nhip: Optional[str] = '6.2.41133-dd7f95766'\\n")[:4]
('2.5.1+rocm6.2', 'rocm', None, '6.2.41133-dd7f95766')
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINE = re.compile(
    r"^(__version__|debug|cuda|hip|rocm|xpu|git_version)(?:\s?:\s?[A-Za-z_.\[\]| ]{1,40}?)?\s{0,4}=\s{0,4}"
    r"(?:'([^'\\]{0,200})'|\"([^\"\\]{0,200})\"|(None|True|False))\s{0,4}(?:#.*)?$"
)
_ROCM = re.compile(r"\+rocm(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_GIT = re.compile(r"^[0-9a-f]{7,64}$")
_LINES = 400


class TorchBuild(NamedTuple):
    """`rocm` is the release that the build says, `hip` the version of its HIP."""

    version: str
    build: Literal["cuda", "rocm", "cpu", "xpu"]
    cuda: str | None
    hip: str | None
    rocm: str | None
    git: str | None
    debug: bool


def read(text: str) -> TorchBuild:
    """Only literal assignments count. Raises ParserError without `__version__`, or when it names no build at all."""
    values: dict[str, str | None] = {}
    for line in text.splitlines()[:_LINES]:
        if match := _LINE.match(line.rstrip()[:500]):
            given = match[2] if match[2] is not None else match[3]
            values[match[1]] = clean(given, 200) if given is not None else (None if match[4] == "None" else match[4])
    version = values.get("__version__")
    if not version:
        raise ParserError("no literal __version__: not torch/version.py")
    if "cuda" not in values and "hip" not in values:
        raise ParserError("neither cuda nor hip is assigned, so the build is unknown")
    release = _ROCM.search(version)
    git = values.get("git_version")
    return TorchBuild(
        version,
        _build(version, values),
        values.get("cuda") or None,
        values.get("hip") or None,
        release[1] if release else values.get("rocm") or None,
        git if git and _GIT.match(git) else None,
        values.get("debug") == "True",
    )


def _build(version: str, values: dict[str, str | None]) -> Literal["cuda", "rocm", "cpu", "xpu"]:
    if values.get("hip") or "+rocm" in version:
        return "rocm"
    if values.get("cuda"):
        return "cuda"
    return "xpu" if values.get("xpu") or "+xpu" in version else "cpu"
