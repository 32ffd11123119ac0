"""Environments of Python over a base (an overlay, or a copy by hard links), and what may be done to one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BASES: Mapping[str, tuple[str, ...]] = {
    "cuda": ("torch==2.9.1", "torchvision==0.24.1", "numpy"),
    "cuda13": ("torch==2.12.1", "torchvision==0.27.1", "numpy==2.4.6"),
    "cpu": ("torch==2.13.0", "numpy"),
    "bare": ("numpy",),
}
"""What each base is made of; PyPI's torch for Linux is the build for CUDA."""


def run(*argv: object, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    subprocess.run([str(a) for a in argv], check=True, capture_output=True, cwd=cwd, env=environment, timeout=1800)


@dataclass
class Work:
    """The folder of it all: bases, wheels that were fetched once, environments."""

    folder: Path

    def base(self, name: str) -> Path:
        made = self.folder / "bases" / name
        if not (made / "done").exists():
            shutil.rmtree(made, ignore_errors=True)
            run(sys.executable, "-m", "venv", made)
            run(made / "bin/python", "-m", "pip", "install", "-q", *BASES[name])
            (made / "done").touch()
        return made

    def wheel(self, requirement: str) -> Path:
        """A wheel as the index has it, for this Python."""
        place = self.folder / "wheels" / requirement.replace("==", "-")
        if not list(place.glob("*.whl")):
            place.mkdir(parents=True, exist_ok=True)
            run(
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
                "-d",
                place,
                requirement,
            )
        return next(place.glob("*.whl"))

    def environment(self, name: str, base: str) -> Environment:
        place = self.folder / "environments" / re.sub(r"[^\w.-]", "-", name)
        Environment(self, place / base).destroy()
        self.base(base)
        if not self._overlaid(place):
            place.mkdir(parents=True)
            run("cp", "-al", self.base(base), place)
        return Environment(self, place / base)

    def _overlaid(self, place: Path) -> bool:
        """Root makes a copy in no time."""
        parts = {name: place.with_name(f"{place.name}.{name}") for name in ("upper", "work")}
        for folder in (place, *parts.values()):
            folder.mkdir(parents=True)
        layers = f"lowerdir={self.folder}/bases,upperdir={parts['upper']},workdir={parts['work']},redirect_dir=on"
        try:
            run("mount", "-t", "overlay", "overlay", "-o", layers, place)
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(place)
            return False
        return True


@dataclass
class Environment:
    """One copy, alone in its folder. Files may be hard links into the base: they are replaced and never written to."""

    work: Work
    prefix: Path
    environ: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python"

    @property
    def site(self) -> Path:
        return next((self.prefix / "lib").glob("python3*")) / "site-packages"

    def variables(self) -> dict[str, str]:
        """What a shell has in which the environment is active."""
        plain = {"PATH": f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder("home"))}
        here = str(self.cwd or self.folder("cwd"))
        return {**plain, "LANG": "C.UTF-8", "VIRTUAL_ENV": str(self.prefix), "PWD": here, **self.environ}

    def folder(self, name: str) -> Path:
        """An empty folder beside the environment."""
        made = self.prefix.with_name(name)
        made.mkdir(exist_ok=True)
        return made

    def delete(self, *patterns: str) -> None:
        for pattern in patterns:
            found = list(self.site.glob(pattern))
            assert found, f"{pattern} is not in {self.site}"
            for path in found:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def cut(self, pattern: str, size: int = 0) -> None:
        """The first `size` bytes stay, as where a disk was full or a download ended early."""
        path = next(self.site.glob(pattern))
        with path.open("rb") as held:
            content = held.read(size)
        path.unlink()
        path.write_bytes(content)

    def write(self, path: str, text: str = "") -> Path:
        place = self.site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_text(text)
        return place

    def pip(self, *arguments: str) -> None:
        run(self.python, "-m", "pip", "-q", *arguments)

    def install(self, *requirements: str) -> None:
        """Without what they depend on, as `pip install --no-deps` or another tool does."""
        wheels = [str(self.work.wheel(requirement)) for requirement in requirements]
        self.pip("install", "--no-deps", "--no-index", "--force-reinstall", *wheels)

    def unpacked(self, requirement: str, name: str) -> Path:
        """The libraries of a wheel in a folder of their own, as a toolkit's."""
        place = self.folder(name)
        run(sys.executable, "-m", "zipfile", "-e", self.work.wheel(requirement), place)
        return place

    def library(self, path: Path, soname: str, code: str = "int cuInit(int f) { return 34; }") -> Path:
        """A small shared object, as NVIDIA's stubs are."""
        path.parent.mkdir(parents=True, exist_ok=True)
        argv = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-x", "c", "-", "-o", str(path)]
        subprocess.run(argv, input=code, text=True, check=True, timeout=60)
        return path

    def destroy(self) -> None:
        place = self.prefix.parent
        if place.is_mount():
            run("umount", place)
        for path in (place, *place.parent.glob(f"{place.name}.*")):
            shutil.rmtree(path, ignore_errors=True)


def ran(argv: Sequence[str], environment: Environment, timeout_s: float = 120) -> tuple[int, str]:
    """Exit code and output of a program in the environment; 124 where its time was over."""
    variables = {**environment.variables(), "PYTHONDONTWRITEBYTECODE": "1"}
    cwd = environment.cwd or environment.folder("cwd")
    try:
        done = subprocess.run(
            argv, env=variables, cwd=cwd, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return 124, ""
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def own_doctor() -> str:
    return str(Path(sys.executable).with_name("doctor"))
