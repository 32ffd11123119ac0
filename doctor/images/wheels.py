"""Python packages -> the wheels of the target, by hash. uv resolves for the target's Python and platform.

Each package with an index of its own may come from that index alone, and no other package from it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from doctor.errors import InputError, ToolError
from doctor.images.lockfile import Wheel, WheelLock
from doctor.images.recipe import asked, plain
from doctor.profiles.parts import Pip
from doctor.versions import Dotted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DEADLINE_S = 600.0
_OLDEST, _NEWEST = 17, 40
"""glibc 2.17 to 2.40: the platforms that uv knows by name."""
_MACHINE = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}


def lock(
    packages: Sequence[Pip],
    needs: Sequence[str],
    python: str,
    glibc: str,
    platform: str,
    folder: Path | None = None,
) -> WheelLock:
    """`needs`: further requirements, as pip writes it. Raises InputError without uv, ToolError with uv's
    last line where nothing resolves."""
    named = (*(asked(p) for p in packages), *needs)
    also = list(served_beside(packages))
    indexed = [*packages, *also]
    wanted = [*(plain(p) for p in packages), *(p.name for p in also), *needs]
    wheels = _resolve(_project(indexed, wanted, python), python, glibc, platform, indexed, folder) if wanted else ()
    return WheelLock(asked=named, python=python, glibc=glibc, wheels=wheels)


def served_beside(packages: Sequence[Pip]) -> Iterator[Pip]:
    """What a package asks for that its index alone has. uv takes a dependency from an index of its own only where it is
    asked for by name. https://download.pytorch.org/whl/rocm7.1: METADATA of torch 2.10.0 and newer asks for triton-rocm
    (2.13.0: ==3.7.1), that of 2.1 to 2.9 for pytorch-triton-rocm. ROCm of TheRock's numbering is not known."""
    for package in packages:
        local, version = package.local or "", package.version
        if package.name != "torch" or not (package.index and version and local.startswith("rocm")):
            continue
        if Dotted("2.1").numbers <= Dotted(version).numbers and Dotted(local[4:]).numbers < Dotted("7.10").numbers:
            name = "triton-rocm" if Dotted(version).numbers >= Dotted("2.10").numbers else "pytorch-triton-rocm"
            yield package.model_copy(update={"name": name})


def _project(packages: Sequence[Pip], wanted: list[str], python: str) -> str:
    """JSON strings are TOML strings. What is compiled is not built to learn what it needs, since that takes torch: its
    needs are known (doctor.images.sources)."""
    indexes = {p.index: (f"index-{n}", p.links) for n, p in enumerate(packages) if p.index}
    rows = []
    for url, (name, links) in indexes.items():
        rows += ["[[tool.uv.index]]", f"name = {json.dumps(name)}", f"url = {json.dumps(url)}", "explicit = true"]
        rows += ['format = "flat"'] if links else []
    for package in packages:
        if package.compile:
            rows += ["[[tool.uv.dependency-metadata]]", f"name = {json.dumps(package.name)}", "requires-dist = []"]
    sources = {p.name: indexes[p.index][0] for p in packages if p.index}
    if sources:
        rows += ["[tool.uv.sources]", *(f"{json.dumps(p)} = {{ index = {json.dumps(i)} }}" for p, i in sources.items())]
    return _toml(wanted, python, rows)


def _toml(needs: list[str], python: str, rest: Sequence[str] = ()) -> str:
    rows = ["[project]", 'name = "stack"', 'version = "0"', f"requires-python = {json.dumps(f'=={python}.*')}"]
    return "\n".join([*rows, f"dependencies = {json.dumps(needs)}", *rest]) + "\n"


def _uv() -> str:
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise InputError("locking Python packages needs uv: pip install 'rocm-cuda-doctor[image]'")
    return found


def _resolve(
    project: str, python: str, glibc: str, platform: str, packages: Sequence[Pip], folder: Path | None = None
) -> tuple[Wheel, ...]:
    minor = min(max(int(glibc.split(".")[1]), _OLDEST), _NEWEST)
    with tempfile.TemporaryDirectory() as held:
        path = Path(held) / "pyproject.toml"
        path.write_text(project, encoding="utf-8")
        words = [_uv(), "pip", "compile", str(path), "--quiet", "--no-header", "--no-annotate", "--format=pylock.toml"]
        words += [f"--python-version={python}", f"--python-platform={_MACHINE[platform]}-manylinux_2_{minor}"]
        words += ["--no-python-downloads", "--no-progress", *([f"--find-links={folder.resolve()}"] if folder else [])]
        compiled = [p.name for p in packages if p.compile]
        words += ["--only-binary=:all:", *(f"--no-binary={name}" for name in compiled)]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=_DEADLINE_S, cwd=held, check=False
            )
        except (subprocess.TimeoutExpired, OSError) as error:
            raise InputError(f"uv: {error}") from error
    if done.returncode:
        message = " ".join(line.strip(" ╰─▶│×") for line in done.stderr.splitlines() if line.strip())
        raise _Unresolved(words, done.returncode, message)
    tags = ranked_tags(python, minor, _MACHINE[platform])
    return tuple(_wheels(tomllib.loads(done.stdout), {p.name: p.index for p in packages if p.index}, tags))


def ranked_tags(python: str, minor: int, machine: str) -> dict[Tag, int]:
    """Tag → rank, the lower the better, of a CPython on a glibc: pip's own order.

    >>> tags = ranked_tags("3.12", 39, "x86_64")
    >>> tags[Tag("cp312", "cp312", "manylinux_2_28_x86_64")] < tags[Tag("cp312", "cp312", "manylinux2014_x86_64")]
    True
    """
    platforms = [f"manylinux_2_{n}_{machine}" for n in range(minor, 4, -1)]
    for name, n in (("manylinux2014", 17), ("manylinux2010", 12), ("manylinux1", 5)):
        platforms.insert(platforms.index(f"manylinux_2_{n}_{machine}") + 1, f"{name}_{machine}")
    version = tuple(int(n) for n in python.split("."))
    rows = [
        *cpython_tags(version, platforms=platforms),
        *compatible_tags(version, f"cp{''.join(python.split('.'))}", platforms),
    ]
    return {tag: n for n, tag in reversed(list(enumerate(rows)))}


def _best(rows: list[dict[str, Any]], tags: dict[Tag, int]) -> dict[str, Any] | None:
    """The wheel that pip would take for the target; the one source archive where there is one."""

    def rank(row: dict[str, Any]) -> int:
        file = _file(row)
        if not file.endswith(".whl"):
            return len(tags)
        try:
            return min((tags[tag] for tag in parse_wheel_filename(file)[3] if tag in tags), default=1 << 30)
        except InvalidWheelFilename:
            return 1 << 30

    found = sorted(((rank(row), row) for row in rows), key=lambda pair: pair[0])
    return found[0][1] if found and found[0][0] < 1 << 30 else None


def _file(row: dict[str, Any]) -> str:
    url = str(row.get("url") or row.get("path", ""))
    return unquote(str(row.get("name") or url.rpartition("/")[2].partition("#")[0]))


class _Unresolved(ToolError):
    def __init__(self, argv: Sequence[str], code: int, message: str) -> None:
        super().__init__(argv, code, "", message)
        self.args = (f"the Python packages can't be locked: {message[:500]}",)


def _wheels(pylock: dict[str, Any], indexes: dict[str, str], tags: dict[Tag, int]) -> Iterator[Wheel]:
    for package in sorted(pylock.get("packages", ()), key=lambda p: str(p["name"])):
        rows = package.get("wheels") or ([package["sdist"]] if "sdist" in package else [])
        row, name = _best(rows, tags), str(package["name"])
        if row is None or "sha256" not in row.get("hashes", {}):
            raise InputError(
                f"{name} {package.get('version')}: none of {len(rows)} files is for the target and has a hash"
            )
        url = str(row.get("url") or row.get("path", ""))
        yield Wheel(
            name=name,
            version=str(package["version"]),
            file=_file(row),
            sha256=str(row["hashes"]["sha256"]),
            size=row.get("size"),
            url=url if url.startswith("https://") and re.fullmatch(r"[\x21-\x7e]{1,300}", url) else None,
            index=indexes.get(name),
        )
