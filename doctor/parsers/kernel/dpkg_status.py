"""Text of var/lib/dpkg/status -> the installed versions of the packages that are asked for.

>>> read("Package: rocblas\\nStatus: install ok installed\\nVersion: 6.2.0-1\\n\\n", ("rocblas",))
{'rocblas': '6.2.0-1'}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.errors import ParserError

_VERSION = re.compile(r"^Version: (\S{1,100})$", re.MULTILINE)


def read(text: str, prefixes: Iterable[str]) -> dict[str, str]:
    """Name → version of installed packages whose name starts with one of `prefixes`."""
    if not text.startswith("Package: ") and "\nPackage: " not in text:
        raise ParserError("no paragraph of a package")
    wanted = tuple(prefixes)
    found: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        paragraph = paragraph.lstrip("\n")
        if not paragraph.startswith("Package: "):
            continue
        name = paragraph[9 : paragraph.find("\n")].strip()
        if not name.startswith(wanted) or "\nStatus: install ok installed" not in paragraph[:2000]:
            continue
        version = _VERSION.search(paragraph)
        if version and name.isprintable():
            found[name[:100]] = version[1]
    return found
