"""Packages that those of the GPU stack require and that are not installed.

Part of python_integrity. What names of metadata don't say is looked for as a module: a distribution may leave metadata
out, and a .pth file may lead to other folders. Cost: nothing more where all are installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from doctor.parsers.python import dist_info
from doctor.probes.lib import python_metadata
from doctor.probes.lib.python_installed import row
from doctor.probes.lib.python_shadows import imports
from doctor.system.base import System
from doctor.versions import Dotted

_EGG = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._]{0,100})(?:-\d[^/]{0,100})?\.(?:egg|egg-link|egg-info)$")
_MOST_PTH, _MOST_FOLDERS = 40, 40

Asking = Sequence[tuple[Mapping[str, Any], tuple[str, ...]]]
"""A package of the stack, or one that these need, and what it requires."""


def lacking(
    system: System,
    folders: Mapping[str, Sequence[str]],
    packages: Iterable[Mapping[str, Any]],
    asking: Asking,
    inits: Mapping[str, str],
    python: str | None,
) -> Iterator[dict[str, Any]]:
    """One row a requirement. `files` has the package's __init__.py where that imports it, so that nothing works."""
    held = {p["name"] for p in packages} | {name for names in folders.values() for name in _eggs(names)}
    also: list[Sequence[str]] | None = None
    for package, lines in asking:
        for line in lines:
            name = python_metadata.named(line)
            if not name or name in held or python_metadata.OTHERS_SAY.match(name) or not _counts(line, python):
                continue
            also = _by_pth(system, folders) if also is None else also
            module = name.replace("-", "_")
            if any(_has(names, name, module) for names in (*folders.values(), *also)) and not _left(
                system, folders, module
            ):
                continue
            text = inits.get(package["name"], "")
            if package["name"] not in python_metadata.STACK and not _imported_somewhere(module, text):
                continue  # what the stack's packages need may go without a part of what it names in turn
            start = [f"{package['location']}/{_top(package['name'])}/__init__.py"] if module in imports(text) else []
            found = row(package["name"], package["version"], "not-installed", start, line[:200], 1)
            yield {**found, "key": f"{package['name']} not-installed {name}"}


def _imported_somewhere(module: str, text: str) -> bool:
    return re.search(rf"^[ \t]{{0,40}}(?:from|import)[ \t]{{1,4}}{re.escape(module)}\b", text, re.M) is not None


def _counts(line: str, python: str | None) -> bool:
    if ";" not in line:
        return True
    if python and (older := _OLDER.search(line)):  # the usual marker: the parser of the whole grammar is slow to load
        return Dotted(python) < older[1]
    from doctor.knowledge.requirements import holds

    return holds(line, python)


_OLDER = re.compile(r""";[ \t]{0,4}python_version[ \t]{0,4}<[ \t]{0,4}["'](3\.\d{1,2})["'][ \t]{0,4}$""")


def texts(system: System, asking: Asking) -> dict[str, str]:
    """Package → the text of its __init__.py."""
    found = {}
    for package, _ in asking:
        path = f"{package['location'].strip('/')}/{_top(package['name'])}/__init__.py"
        if (text := system.read_text(path, limit=512 << 10).value) is not None:
            found[package["name"]] = text
    return found


def _top(package: str) -> str:
    return package.replace("-", "_")


def _eggs(names: Iterable[str]) -> Iterator[str]:
    """What setup.py installs, or leads to."""
    return (dist_info.normal(m[1]) for name in names if ".egg" in name and (m := _EGG.match(name[:250])))


def _by_pth(system: System, folders: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    found: list[Sequence[str]] = []
    for folder, names in folders.items():
        for name in [n for n in names if n.endswith(".pth")][:_MOST_PTH]:
            for line in (system.read_text(f"{folder}/{name}", limit=1 << 16).value or "").splitlines():
                place = line.strip()
                if place and not place.startswith(("#", "import ", "import\t")) and len(found) < _MOST_FOLDERS:
                    path = place.strip("/") if place.startswith("/") else f"{folder}/{place}"
                    found.append(system.list_dir(path).value or ())
    return found


def _left(system: System, folders: Mapping[str, Sequence[str]], module: str) -> bool:
    """A folder without a module in it, as an uninstall leaves it."""
    places = [folder for folder, names in folders.items() if module in names]
    held = [system.list_dir(f"{folder}/{module}").value for folder in places]
    return bool(held) and all(names is not None and not _MODULE.search("\n".join(names)) for names in held)


_MODULE = re.compile(r"\.(?:py|pyc|so)$", re.M)


def _has(names: Sequence[str], name: str, module: str) -> bool:
    """As a module, or by its metadata."""
    if any(one == module or one.startswith(f"{module}.") for one in names):
        return True
    return name in _eggs(names) or any((found := dist_info.read(one)) and found.name == name for one in names)
