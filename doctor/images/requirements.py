"""Recipe -> lists of Python packages, one for each index, so that no other index can replace what comes from one."""

from __future__ import annotations

import re

from doctor.images.lockfile import Wheel
from doctor.images.recipe import DOCTOR_NEEDS, Recipe, plain

_HEAD = "# Written by `doctor image emit`; an edit is lost.\n"


def lists(recipe: Recipe) -> dict[str, str]:
    """File name → text. torch's index comes first, so that the others find it there."""
    compiled = {b.name for b in recipe.builds}
    files = {}
    ordinary = [p for p in recipe.pip if p.name not in compiled]
    wheels = None if recipe.wheels is None else [w for w in recipe.wheels if w.name not in compiled]
    wanted = [p.index for p in ordinary] if wheels is None else [w.index for w in wheels]
    wanted += [None] if recipe.compile_needs else []
    links = {p.index for p in ordinary if p.links}
    for index in sorted(set(wanted), key=lambda i: (i is None, i)):
        if wheels is None:
            rows = [plain(p) for p in ordinary if p.index == index] + ([] if index else list(recipe.compile_needs))
            text = "".join(f"{row}\n" for row in rows)
        else:
            text = "--require-hashes\n" + "".join(hashed(w) for w in wheels if w.index == index)
        place = "" if index is None else f"--find-links {index}\n" if index in links else f"--index-url {index}\n"
        files[f"requirements{_slug(index)}.txt"] = _HEAD + place + text
    files |= {f"compiled-{b.name}.txt": _compiled(recipe, b.name) for b in recipe.builds}
    return files


def of_doctor(recipe: Recipe) -> dict[str, str]:
    """File name → text: what the doctor inside needs, and itself; {} where there is none."""
    if recipe.doctor is None:
        return {}
    ours = recipe.doctor_wheels
    text = (
        "".join(f"{n}\n" for n in DOCTOR_NEEDS) if ours is None else "--require-hashes\n" + "".join(map(hashed, ours))
    )
    itself = f"--require-hashes\n/run/doctor/{recipe.doctor.file} --hash=sha256:{recipe.doctor.sha256}\n"
    return {"needs.txt": _HEAD + text, "doctor.txt": _HEAD + itself}


def constraints(recipe: Recipe) -> str:
    """What later installs are held to: what the profile names, and torch's own part of the stack."""
    head = _HEAD + "# Obeyed by pip and uv in the image (PIP_CONSTRAINT, UV_CONSTRAINT): torch is not to be swapped.\n"
    rows = [f"{plain(p, extras=False)}\n" for p in recipe.pip if p.full]
    return head + "".join(rows)


def hashed(wheel: Wheel) -> str:
    return f"{wheel.name}=={wheel.version} \\\n    --hash=sha256:{wheel.sha256}\n"


def _compiled(recipe: Recipe, name: str) -> str:
    locked = next((w for w in recipe.wheels or () if w.name == name), None)
    package = next(p for p in recipe.pip if p.name == name)
    return _HEAD + (f"--require-hashes\n{hashed(locked)}" if locked else f"{plain(package)}\n")


def _slug(index: str | None) -> str:
    """An index in a file's name.

    >>> _slug("https://download.pytorch.org/whl/rocm7.2"), _slug(None)
    ('.whl-rocm7.2', '')
    """
    if index is None:
        return ""
    path = index.partition("//")[2].partition("/")[2].rstrip("/")
    return "." + (re.sub(r"[^A-Za-z0-9.]+", "-", path)[-40:].strip("-.") or "index")
