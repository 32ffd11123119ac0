"""What Python takes in the place of an installed package or of its own standard library: files and folders of the same
name in the working directory or in an earlier folder of sys.path.

Part of python_integrity. Cost: the listings of those folders; a file is read only where it has such a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.parsers.python import dist_info
from doctor.probes.lib.python_installed import Owned, row
from doctor.system.base import System

IMPORTED = frozenset({
    "argparse", "ast", "asyncio", "base64", "bisect", "bz2", "calendar", "collections", "concurrent", "contextlib",
    "contextvars", "copy", "copyreg", "csv", "ctypes", "dataclasses", "datetime", "difflib", "dis", "email", "enum",
    "fnmatch", "functools", "gettext", "glob", "gzip", "hashlib", "heapq", "http", "inspect", "ipaddress", "json",
    "keyword", "linecache", "locale", "logging", "lzma", "multiprocessing", "numbers", "opcode", "operator", "pathlib",
    "pickle", "pickletools", "pkgutil", "platform", "pprint", "queue", "quopri", "random", "re", "reprlib", "selectors",
    "shutil", "signal", "socket", "ssl", "string", "struct", "subprocess", "tarfile", "tempfile", "textwrap",
    "threading", "timeit", "token", "tokenize", "traceback", "types", "typing", "unittest", "urllib", "uuid",
    "warnings", "weakref", "zipfile",
})  # fmt: skip
"""Modules of the standard library that `import numpy, torch` loads and that a file can hide: not what is compiled into
the interpreter or loaded before sys.path counts (sys.modules of torch 2.13.0 and numpy 2.4.6 on Python 3.11)."""
_NAMED = re.compile(
    r"^from[ \t]{1,4}([A-Za-z_]\w{0,60})[ \t]{1,4}import[ \t]{1,4}(\(.{1,4000}?\)|[^\n(]{1,400})", re.M | re.S
)
_WORD = re.compile(r"(?:^|[,(])\s{0,80}([A-Za-z_]\w{0,80})", re.M)
_IMPORT = re.compile(r"^(?:from|import)[ \t]{1,4}([A-Za-z_]\w{0,60})\b", re.M)
_MOST_BYTES = 512 << 10


def hidden(
    system: System,
    folders: Mapping[str, Sequence[str]],
    owned: Sequence[Owned],
    cwd: str,
    named: Sequence[str],
    inits: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """`folders`: those of sys.path in their order, with the names in each; `named`: those of PYTHONPATH, which come
    before the standard library; `inits`: package → the text of its __init__.py."""
    before: list[tuple[str, Sequence[str]]] = []
    cwd = "" if cwd in folders else cwd
    if cwd:
        before.append((cwd, system.list_dir(cwd).value or ()))
    yield from _standard(before + [(folder, folders[folder]) for folder in named if folder in folders], system, cwd)
    for site, names in folders.items():
        for one in (o for o in owned if o.site == site and before):
            start = f"{site}/"
            modules = [f"{one.folder}/{f.path}" for f in one.files]
            modules = [path[len(start) :] for path in modules if path.startswith(start)]
            for folder, held in before:
                if found := _part_of(system, folder, held, one.package, modules):
                    yield _row(one.package, one.version, f"/{folder}/{found}", folder == cwd)
                    break
        for folder, held in before:
            yield from _lacking(system, folder, held, set(names), inits, folder == cwd)
        before.append((site, names))


def imports(text: str) -> set[str]:
    """Modules that a text imports when it is run, wherever else it imports them."""
    return set(_IMPORT.findall(text))


def _standard(places: Sequence[tuple[str, Sequence[str]]], system: System, cwd: str) -> Iterator[dict[str, Any]]:
    for folder, names in places:
        if {"os.py", "site.py"} <= set(names):  # a standard library itself
            continue
        for name in sorted(names):
            module = name.removesuffix(".py")
            if module not in IMPORTED or (module == name and not system.stat(f"{folder}/{name}/__init__.py").known):
                continue
            yield _row(module, None, f"/{folder}/{name}", folder == cwd)


def _lacking(
    system: System,
    folder: str,
    names: Sequence[str],
    installed: set[str],
    inits: Mapping[str, str],
    in_cwd: bool,
) -> Iterator[dict[str, Any]]:
    """A module in one file that hides an installed one and lacks a name that a package imports from it at once."""
    singles = {name.removesuffix(".py") for name in names if name.endswith(".py") and name in installed}
    for text in inits.values() if singles else ():
        for match in _NAMED.finditer(text):
            if match[1] not in singles:
                continue
            wanted = _WORD.findall(match[2])
            held = system.read_text(f"{folder}/{match[1]}.py", limit=_MOST_BYTES).value
            lost = [word for word in wanted if held is not None and not re.search(rf"\b{word}\b", held)]
            if lost:
                singles.discard(match[1])
                yield {**_row(match[1], None, f"/{folder}/{match[1]}.py", in_cwd)}


def _row(package: str, version: str | None, path: str, in_cwd: bool) -> dict[str, Any]:
    return row(package, version, "hidden", [path], "the working directory" if in_cwd else "sys.path")


def _part_of(system: System, folder: str, names: Sequence[str], package: str, modules: Sequence[str]) -> str | None:
    """A file or folder there that Python takes for the package, and that is not the whole of it: a folder without the
    compiled modules, or a script of that name."""
    tops = {path.split("/")[0] for path in modules if path.endswith("/__init__.py") and path.count("/") == 1}
    taken = {name.removesuffix(".py") for name in names} & tops
    if not taken or any((found := dist_info.read(name)) and found.name == package for name in names):
        return None
    for top in sorted(taken):
        if top not in names:
            return f"{top}.py"
        inner = system.list_dir(f"{folder}/{top}").value or ()
        parts = {p.split("/")[1].partition(".")[0] for p in modules if p.startswith(f"{top}/")}
        direct = [p.split("/") for p in modules if p.startswith(f"{top}/") and p.count("/") == 1]
        compiled = {name.partition(".")[0] for _, name in direct if name.endswith(".so")}
        there = {name.partition(".")[0] for name in inner if name.endswith(".so")}
        most = 2 * len(parts & {name.partition(".")[0] for name in inner}) > len(parts)
        if "__init__.py" in inner and ((compiled and not compiled & there) or not most):
            return top
    return None
