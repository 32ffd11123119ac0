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

from doctor.errors import InputError, ToolError
from doctor.images.lockfile import Wheel, WheelLock
from doctor.images.recipe import asked
from doctor.profiles.model import Pip

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DEADLINE_S = 600.0
_OLDEST, _NEWEST = 17, 40
"""glibc 2.17 to 2.40: the platforms that uv knows by name."""
_MACHINE = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}


def lock(packages: Sequence[Pip], python: str, glibc: str, platform: str, folder: Path | None = None) -> WheelLock:
    """Raises InputError without uv, ToolError with uv's last line where nothing resolves."""
    named = tuple(asked(p) for p in packages)
    wheels = _resolve(_project(packages, python), python, glibc, platform, packages, folder) if packages else ()
    return WheelLock(asked=named, python=python, glibc=glibc, wheels=wheels)


def lock_names(names: Sequence[str], python: str, glibc: str, platform: str) -> WheelLock:
    """The newest that fit, of the default index."""
    wheels = _resolve(_toml(list(names), python, {}, {}), python, glibc, platform, ())
    return WheelLock(asked=tuple(names), python=python, glibc=glibc, wheels=wheels)


def _project(packages: Sequence[Pip], python: str) -> str:
    indexes = {p.index: f"index-{n}" for n, p in enumerate(packages) if p.index}
    sources = {p.name: indexes[p.index] for p in packages if p.index}
    return _toml([asked(p).partition(" @ ")[0] for p in packages], python, indexes, sources)


def _toml(needs: list[str], python: str, indexes: dict[str, str], sources: dict[str, str]) -> str:
    """JSON strings are TOML strings."""
    rows = ["[project]", 'name = "stack"', 'version = "0"', f"requires-python = {json.dumps(f'=={python}.*')}"]
    rows += [f"dependencies = {json.dumps(needs)}"]
    for url, name in indexes.items():
        rows += ["[[tool.uv.index]]", f"name = {json.dumps(name)}", f"url = {json.dumps(url)}", "explicit = true"]
    if sources:
        rows += ["[tool.uv.sources]", *(f"{json.dumps(p)} = {{ index = {json.dumps(i)} }}" for p, i in sources.items())]
    return "\n".join(rows) + "\n"


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
        said = " ".join(line.strip(" ╰─▶│×") for line in done.stderr.splitlines() if line.strip())
        raise _Unresolved(words, done.returncode, said)
    return tuple(_wheels(tomllib.loads(done.stdout), {p.name: p.index for p in packages if p.index}))


class _Unresolved(ToolError):
    def __init__(self, argv: Sequence[str], code: int, said: str) -> None:
        super().__init__(argv, code, "", said)
        self.args = (f"the Python packages can't be locked: {said[:500]}",)


def _wheels(pylock: dict[str, Any], indexes: dict[str, str]) -> Iterator[Wheel]:
    for package in sorted(pylock.get("packages", ()), key=lambda p: str(p["name"])):
        rows = package.get("wheels") or ([package["sdist"]] if "sdist" in package else [])
        if len(rows) != 1 or "sha256" not in rows[0].get("hashes", {}):
            raise InputError(
                f"{package['name']} {package.get('version')}: {len(rows)} files for the target, not one with a hash"
            )
        row, name = rows[0], str(package["name"])
        url = str(row.get("url") or row.get("path", ""))
        yield Wheel(
            name=name,
            version=str(package["version"]),
            file=unquote(str(row.get("name") or url.rpartition("/")[2].partition("#")[0])),
            sha256=str(row["hashes"]["sha256"]),
            size=row.get("size"),
            url=url if url.startswith("https://") and re.fullmatch(r"[\x21-\x7e]{1,300}", url) else None,
            index=indexes.get(name),
        )
