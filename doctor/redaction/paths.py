"""Names in the folders of a path: whose home, scratch, work or project folder it is.

>>> sorted(owners("/mnt/beegfs/users/ehaugland/x C:\\\\Users\\\\Mia /gpfs/data/reefsim/a"))
[('project', 'reefsim'), ('user', 'Mia'), ('user', 'ehaugland')]
>>> list(owners("https://rocm.docs.amd.com/projects/install-on-linux/ https://wiki.example/projects/reefsim/"))
[('project', 'reefsim')]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.redaction.lazy import Lazy
from doctor.redaction.public_hosts import is_public
from doctor.redaction.stand_ins import FOLDERS

_PATH = Lazy(r"(?<![\w.-])(?:[A-Za-z]:)?(?:(?:[/\\]|\\\\)[\w.@+~-]{1,80}){2,12}")
_SIGN = Lazy(r"[/\\]+")
_HOMES = frozenset(["home", "homes", "users", "user"])
_SHARED = frozenset(["scratch", "work", "proj", "project", "projects"])
_SYSTEMS = frozenset(["gpfs", "lustre", "ceph", "cephfs", "beegfs", "weka", "wekafs", "vast", "nfs", "bgfs"])
_BETWEEN = _HOMES | frozenset(["staff", "student", "students", "people", "local", "group", "groups", "shared"])
"""Folders that stand between a root and the name."""
_DEEPEST = 3


def owners(text: str) -> Iterator[tuple[str, str]]:
    """Kind (user, project) and name. Whether a name is one that every machine has, the caller knows."""
    for found in _PATH.finditer(text):
        parts = [part for part in _SIGN.made.split(found[0]) if part and not part.endswith(":")]
        if text[max(0, found.start() - 2) : found.start()] == ":/" and is_public(parts[0]):
            continue  # a page that everybody can read
        kind, place = _root(parts)
        if 0 < place < len(parts) and _root_name(parts[place - 1]) in _SYSTEMS:
            place += parts[place].lower() in FOLDERS - _BETWEEN
        while kind and place < len(parts) and _is_between(parts[place]):
            kind, place = "user" if _root_name(parts[place]) in _HOMES else kind, place + 1
        if kind and place < len(parts):
            yield kind, parts[place]


def _root(parts: Sequence[str]) -> tuple[str, int]:
    """What is looked for, and from where on; "" where the path has no root of people's folders."""
    for place, part in enumerate(parts[:_DEEPEST]):
        name = _root_name(part)
        if name in _HOMES and name != "user":
            return "user", place + 1
        if name in _SHARED and (name != "work" or (place < 2 and len(parts) > place + 2)):
            return "project", place + 1
        if name in _SYSTEMS and name != "nfs":
            return "project", place + 1
    return "", 0


def _root_name(part: str) -> str:
    return part.lower().rstrip("0123456789")


def _is_between(part: str) -> bool:
    name = _root_name(part)
    return len(name) < 2 or name in _BETWEEN or name in _SYSTEMS or name in _SHARED
