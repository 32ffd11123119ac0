"""What Docker's engine answers to /version and /info -> how it runs, as plain facts of `EngineMode`.

>>> read({"Version": "26.1.5"}, {"SecurityOptions": ["name=seccomp,profile=builtin", "name=userns"]})["userns_remap"]
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_MOST = 100
"""Members of a list."""
_SECCOMP = "name=seccomp,profile=/"


def read(version: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
    """Whatever listens there may answer with anything: what is of another type is left out."""
    options = [str(option) for option in _list(info.get("SecurityOptions"))]
    runtimes = info.get("Runtimes")
    return {
        "version": clean(str(version.get("Version") or info.get("ServerVersion") or "0"), 60),
        "runtimes": sorted(clean(str(name), 60) for name in runtimes)[:40] if isinstance(runtimes, dict) else [],
        # The engine lists the folders only where it looks for specs.
        "cdi_folders": folders(info.get("CDISpecDirs")),
        "rootless": any("rootless" in option for option in options),
        "userns_remap": "name=userns" in options,
        "selinux": "name=selinux" in options,
        "seccomp_profile": clean(next((f"/{o[len(_SECCOMP) :]}" for o in options if o.startswith(_SECCOMP)), ""), 400),
        "desktop": "Docker Desktop" in str(info.get("OperatingSystem", "")),
    }


_FLAGS = ("rootless", "userns_remap", "selinux", "desktop")
_TEXTS = {
    "version": re.compile(r"[0-9A-Za-z][\w.+~:-]{0,59}"),
    "runtimes": re.compile(r"[^\x00-\x1f\x7f]{1,60}"),
    "cdi_folders": re.compile(r"/[^\x00-\x1f\x7f]{0,400}"),
    "seccomp_profile": re.compile(r"(?:/[^\x00-\x1f\x7f]{0,400})?"),
}
_LISTS = ("runtimes", "cdi_folders")


def recorded(answer: Any) -> dict[str, Any]:
    """What `read` gave, out of a recording, which is anybody's. Raises ParserError on what it would not give."""
    if not isinstance(answer, dict) or not all(_is_of(name, value) for name, value in answer.items()):
        raise ParserError("not what Docker answers")
    return answer


def _is_of(name: Any, value: Any) -> bool:
    if name in _FLAGS:
        return isinstance(value, bool)
    texts = value if isinstance(value, list) and name in _LISTS else [value]
    if name not in _TEXTS or (name in _LISTS and not isinstance(value, list)) or len(texts) > _MOST:
        return False
    return all(isinstance(text, str) and _TEXTS[name].fullmatch(text) for text in texts)


def folders(value: Any) -> list[str]:
    """Absolute paths of CDI specs, in the order in which a later one wins."""
    return [clean(str(one), 400) for one in _list(value)[:20] if str(one).startswith("/")]


def _list(value: Any) -> list[Any]:
    return value[:_MOST] if isinstance(value, list) else []
