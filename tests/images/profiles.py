"""Profiles for these tests, as data of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from doctor.profiles import Profile

SOURCE = {"url": "https://example.org/stack", "as_of": "2026-11-21", "status": "community"}


def package(name: str, version: str | None, **more: Any) -> dict[str, Any]:
    return {"name": name, "version": version, "why": f"{name} is wanted.", "source": SOURCE, **more}


def flag(name: str, value: str, kind: str = "safe-default", **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "kind": kind, "why": f"{name} is right.", "source": SOURCE, **more}


def profile(**more: Any) -> Profile:
    """MI300X with a ROCm torch on Ubuntu 24.04."""
    image = {
        "base": "ubuntu:24.04",
        "python": "3.12",
        "targets": ["gfx942"],
        "pip": [package("torch", "2.13.0", local="rocm7.2", index="https://download.pytorch.org/whl/rocm7.2")],
        **more.pop("image", {}),
    }
    data = {
        "schema": 1,
        "name": "test",
        "about": "A test's stack",
        "status": "community",
        "hardware": {"vendor": "amd", "arch": ["gfx942"]},
        **more,
        "image": image,
    }
    return Profile.model_validate_json(json.dumps(data))


def nvidia(cuda: str | None = None, **image: Any) -> Profile:
    """`cuda`: what torch is expected to be built for."""
    stack = {"targets": ["sm_90"], "pip": [package("torch", "2.15.0")], **image}
    row = {"fact": "torch.cuda", "severity": "info", "series": cuda, "why": "It is.", "source": SOURCE}
    return profile(hardware={"vendor": "nvidia", "arch": ["sm_90"]}, image=stack, expect=[row] if cuda else [])


def text_of(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")
