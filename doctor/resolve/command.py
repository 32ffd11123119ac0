"""A chosen stack -> the commands that install it, as argvs in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from packaging.requirements import Requirement

from doctor.resolve.model import Build, Pick, Target
from doctor.resolve.packages import FAMILY

Tool = Literal["pip", "uv"]
INDEX = "https://download.pytorch.org/whl"
"""PyTorch's own index of builds, as its installation page names it (pytorch.org, 2026-11-20)."""
_UV_ONLY = ("--index-strategy",)


def commands(target: Target, build: Build | None, picks: Sequence[Pick], tool: Tool) -> tuple[tuple[str, ...], ...]:
    """torch and its family first, from the index of the build; then what lies on the Python package index, with torch
    held where it is; then what is compiled against the torch that is there."""
    begin = start(target, tool)
    ours = [p for p in picks if p.package in FAMILY or p.from_torch]
    others = [p for p in picks if p not in ours]
    if build is None or build.bundled_by:
        return tuple(_other(begin, p, tool, ()) for p in others)
    other = has_another_build(target, build)
    if other and build.plain:  # the release is there already, so that pip and uv would leave it
        begin = (*begin, *_REINSTALL[tool])
    if build.plain and not any(p.index or p.options or p.from_torch for p in picks):
        together = [f"torch=={build.version}", *(p.requirement for p in picks)]
        return ((*begin, *together),)
    torch = f"torch=={build.version}" + (f"+{build.tag}" if other and not build.plain else "")
    first = (*begin, torch, *(p.requirement for p in ours), *family(picks), "--index-url", f"{INDEX}/{build.tag}")
    if build.plain and not any(p.from_torch for p in ours):
        first = (*begin, torch, *(p.requirement for p in ours))
    held = f"torch=={build.version}" if build.plain else f"torch=={build.version}+{build.tag}"
    plain = [p for p in others if not p.index and not p.options]
    rest = [(*begin, *(p.requirement for p in plain), held)] if plain else []
    return (first, *rest, *(_other(begin, p, tool, (held,)) for p in others if p.index or p.options))


_REINSTALL: dict[Tool, tuple[str, ...]] = {"pip": ("--force-reinstall",), "uv": ("--reinstall-package", "torch")}


def has_another_build(target: Target, build: Build) -> bool:
    """Whether that release of torch is installed as a build for something else: `2.15.0+cpu`."""
    installed = next((version for name, version in target.installed if name == "torch"), "")
    release, _, tag = installed.partition("+")
    return release == build.version and tag not in (build.tag, *([""] if build.plain else []))


def family(picks: Sequence[Pick]) -> tuple[str, ...]:
    """torchvision and torchaudio that packages ask for and nobody named: those of the Python package index are built
    for another CUDA than a torch of another index."""
    named = {p.package for p in picks}
    wanted = [text for p in picks for text in p.family]
    return tuple(dict.fromkeys(w for w in wanted if Requirement(w).name not in named))


def start(target: Target, tool: Tool) -> tuple[str, ...]:
    """How an install command of the tool begins, for the described Python."""
    python = target.interpreter or (f"python{target.python}" if target.python else "python3")
    if tool == "uv":
        return ("uv", "pip", "install", "--python", target.interpreter or target.python or "3")
    return (python, "-m", "pip", "install")


def _other(start: tuple[str, ...], pick: Pick, tool: Tool, held: Sequence[str]) -> tuple[str, ...]:
    indexes = [word for url in pick.index for word in ("--extra-index-url", url)]
    return (*start, *pick.requirement.split(), *held, *indexes, *_options(pick.options, tool))


def _options(options: Sequence[str], tool: Tool) -> Iterator[str]:
    """Without those that only uv knows, and their values, where pip is the tool."""
    skip = False
    for option in options:
        if skip:
            skip = False
        elif tool == "pip" and option in _UV_ONLY:
            skip = True
        else:
            yield option
