"""A project's own list of packages (pyproject.toml, uv.lock, a conda environment) -> what an install takes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement

from doctor.errors import ParserError
from doctor.parsers.container import yaml_tree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"}
_MOST = 2000


def requirement(text: str, extra: str = "") -> Requirement | None:
    """None for what is none, or not for Linux on x86-64.

    >>> requirement("torch==2.9.0; sys_platform == 'darwin'"), str(requirement("torch == 2.9.0"))
    (None, 'torch==2.9.0')
    """
    try:
        found = Requirement(text[:500])
        return found if found.marker is None or found.marker.evaluate({**_LINUX, "extra": extra}) else None
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
        return None


def words(wanted: Requirement) -> str:
    """As a command would have it; `torch @ URL` keeps the mark of an exact one."""
    return f"{wanted.name}[{','.join(wanted.extras)}]{f'@{wanted.url}' if wanted.url else wanted.specifier}"


def table(text: str | None) -> dict[str, Any]:
    """{} where it is no TOML."""
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def at(held: Any, *path: str) -> Any:
    for key in path:
        held = held.get(key) if isinstance(held, dict) else None
    return held


def texts(rows: Any) -> list[str]:
    return [row for row in rows if isinstance(row, str)][:_MOST] if isinstance(rows, list) else []


def asked(project: dict[str, Any], extras: Sequence[str], groups: Sequence[str]) -> Iterator[Requirement]:
    """What [project] asks for on Linux, with these extras and dependency groups."""
    lists = [("", at(project, "project", "dependencies"))]
    lists += [(extra, at(project, "project", "optional-dependencies", extra)) for extra in extras]
    lists += [("", at(project, "dependency-groups", group)) for group in groups]
    for extra, rows in lists:
        yield from (found for row in texts(rows) if (found := requirement(row, extra)))


def index_of(project: dict[str, Any], name: str, extras: Sequence[str]) -> tuple[str | None, bool]:
    """The address that [tool.uv.sources] takes a package from, and whether that is known; of a path it is not."""
    rows = at(project, "tool", "uv", "sources", name)
    named = at(project, "tool", "uv", "index")
    indexes = [row for row in named if isinstance(row, dict)] if isinstance(named, list) else []
    if rows is None:
        first = [str(row.get("url")) for row in indexes if not row.get("explicit")]
        return (first[0] if first else None), len(first) < 2 and not at(project, "tool", "uv", "extra-index-url")
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict) or "index" not in row:
            return None, False
        marker = requirement(f"x; {row['marker']}") if isinstance(row.get("marker"), str) else True
        if marker and row.get("extra") in (None, *extras) and "group" not in row:
            return next((str(i.get("url")) for i in indexes if i.get("name") == row["index"]), None), True
    return None, False


def locked(lock: dict[str, Any], name: str) -> tuple[str, str] | None:
    """Version and index that uv.lock has of a package; None of none or several."""
    packages = lock.get("package")
    rows = [row for row in packages if at(row, "name") == name] if isinstance(packages, list) else []
    if len(rows) != 1:
        return None
    version, index = rows[0].get("version"), at(rows[0], "source", "registry")
    return (version, index) if isinstance(version, str) and isinstance(index, str) else None


def conda(text: str) -> tuple[list[str], list[str], list[str]]:
    """Channels, packages of conda and packages of pip that an environment's file names; nothing of another file."""
    try:
        roots = yaml_tree.roots(text)
    except ParserError:
        return [], [], []
    items = [item for root in roots for item in root.at("dependencies").items]
    channels = [item.text for root in roots for item in root.at("channels").items if item.text]
    pips = [row.text for item in items for row in item.at("pip").items if row.text]
    return channels, [item.text for item in items if item.text], pips
