"""Recipe -> the files of dockerfiles/NAME/; written, or compared with those that are there."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from doctor.errors import InputError
from doctor.images import lockfile
from doctor.images.dockerfile import SECRET_LIKE, VENV, dockerfile
from doctor.images.lockfile import AptLock, BaseLock, Deb, WheelLock
from doctor.images.quoting import one_line
from doctor.images.recipe import Recipe, Wanted
from doctor.images.requirements import constraints, lists, of_doctor
from doctor.images.sources import Build

RECORD = "record.json"
_STATIC = ("apt/install.sh", "python/install.sh", "image/entrypoint.sh", "image/layer")


def emitted(recipe: Recipe) -> dict[str, str]:
    """Path in the folder → text. Depends on the profile and the lock alone."""
    static = [*_STATIC, *(["python/compile.sh"] if recipe.builds else [])]
    static += ["image/keep-targets.sh"] if recipe.vendor == "amd" else []
    static += ["image/assert-torch"] if recipe.torch else []
    static += ["image/doctor.sh"] if recipe.doctor else []
    there = resources("doctor.images") / "context"
    found = {path: there.joinpath(path).read_text(encoding="utf-8") for path in static}
    runtime, build = recipe.debs or (None, None)
    found |= {
        "Dockerfile": dockerfile(recipe),
        ".dockerignore": "*\n!apt\n!python\n!image\n" + ("!doctor\n" if recipe.doctor else ""),
        "apt/runtime.txt": _packages(recipe.runtime_packages, runtime),
        "apt/build.txt": _packages(recipe.build_packages, build),
        "python/constraints.txt": constraints(recipe),
        "image/image.conf": _conf(recipe),
        "image/environment": _environment(recipe),
    }
    if recipe.snapshot:
        found["apt/sources.list"] = recipe.base.sources(recipe.snapshot)
    found |= {f"python/{name}": text for name, text in lists(recipe).items()}
    found |= {f"doctor/{name}": text for name, text in of_doctor(recipe).items()}
    written = {**record(recipe), "files": sorted([*found, RECORD, *_wheels(recipe)])}
    found[RECORD] = json.dumps(written, indent=1, ensure_ascii=False) + "\n"
    return dict(sorted(found.items()))


def _wheels(recipe: Recipe) -> dict[str, bytes]:
    """Path in the folder → content of what is no text."""
    return {f"doctor/{recipe.doctor.file}": recipe.doctor.content} if recipe.doctor else {}


def write(recipe: Recipe, folder: Path) -> None:
    """All files of the recipe, into a folder that may hold others. Raises OSError."""
    texts = {path: text.encode() for path, text in emitted(recipe).items()}
    for path, content in {**texts, **_wheels(recipe)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        (folder / path).chmod(0o755 if path.endswith(".sh") else 0o644)


def _packages(wanted: tuple[Wanted, ...], locked: tuple[Deb, ...] | None) -> str:
    rows = [p.asked for p in wanted] if locked is None else [f"{d.name}={d.version}" for d in locked]
    return "# Written by `doctor image emit`; an edit is lost.\n" + "".join(f"{row}\n" for row in rows)


def _conf(recipe: Recipe) -> str:
    torch = recipe.torch
    rows = {
        "profile": recipe.name,
        "vendor": recipe.vendor or "",
        "torch": (torch.full if torch else None) or "",
        "runtime": recipe.torch_runtime or "",
        "site": f"{VENV}/lib/python{recipe.python}/site-packages",
        "python": recipe.interpreter,
    }
    return "".join(f"{name}={value}\n" for name, value in rows.items())


def _environment(recipe: Recipe) -> str:
    """Safe defaults that the entrypoint sets where they are not set: those whose name looks like that of a secret."""
    head = "# Written by `doctor image emit`; set by the entrypoint where a variable is not set.\n"
    rows = [f for f in recipe.flags if SECRET_LIKE.search(f.name)]
    return head + "".join(f"# {one_line(f.why)} {one_line(f.source.url)}\n{f.name}={f.value}\n" for f in rows)


def record(recipe: Recipe) -> dict[str, Any]:
    """`doctor.image-recipe/1`: what was chosen, why, from which profile and lock."""
    wish = recipe.profile.image
    return {
        "schema": "doctor.image-recipe/1",
        "profile": {"name": recipe.name, "status": recipe.profile.status, "about": recipe.profile.about},
        "state": "UNLOCKED, never built" if recipe.unlocked else "locked",
        "not_locked": list(recipe.unlocked),
        "lock": recipe.lock.digest() if recipe.lock else None,
        "epoch": recipe.epoch,
        "base": {"name": recipe.image, "digest": recipe.digest, "os": recipe.base.words, "snapshot": recipe.snapshot},
        "python": recipe.python,
        "vendor": recipe.vendor,
        "targets": list(recipe.targets),
        "torch_runtime": recipe.torch_runtime,
        "doctor": {"file": recipe.doctor.file, "sha256": recipe.doctor.sha256} if recipe.doctor else None,
        "observed": {name: _observed(part) for name, part in recipe.parts.items() if part},
        "chosen": [_plain(row) for row in (*recipe.pip, *(wish.apt if wish else ()))],
        "added": [_plain(row) for row in (*recipe.runtime_packages, *recipe.build_packages)],
        "compiled": [_plain(build) for build in recipe.builds],
        "flags": [_plain(flag) for flag in recipe.profile.flag],
    }


def _plain(row: BaseModel | Wanted | Build) -> dict[str, Any]:
    """What is not empty of it, as JSON has it."""
    fields = row.model_dump(mode="json") if isinstance(row, BaseModel) else asdict(row)
    return {key: value for key, value in fields.items() if value}


def _observed(part: BaseLock | AptLock | WheelLock) -> str:
    """`resolved-here 2026-11-23`, and what else its wheels say of their hashes."""
    others = {w.observed for w in part.wheels if w.observed} if isinstance(part, WheelLock) else set()
    return f"{', '.join(sorted({part.observed or 'unknown', *others}))} {part.as_of or ''}".strip()


def wrote(recipe: Recipe, folder: Path, lock: bool = False) -> None:
    """All files or, where the disk is full, none; `lock`: its lock too. Of an earlier emission what is emitted no more
    goes; files of others stay. Raises InputError."""
    before, new = set(_record_of(folder).get("files") or ()), not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".emit-") as held:
            write(recipe, Path(held))
            if lock and recipe.lock:
                (Path(held) / lockfile.NAME).write_text(recipe.lock.text(), encoding="utf-8")
            for path in [p for p in Path(held).rglob("*") if p.is_file()]:
                place = folder / path.relative_to(held)
                place.parent.mkdir(parents=True, exist_ok=True)
                path.replace(place)
        for old in sorted(before & stale(recipe, folder)):
            (folder / old).unlink()
    except OSError as error:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise InputError(f"{folder}: {error.strerror or error}") from error


def stale(recipe: Recipe, folder: Path) -> set[str]:
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    return there - set(emitted(recipe)) - set(_wheels(recipe)) - {lockfile.NAME}


def differences(recipe: Recipe, folder: Path) -> list[str]:
    """Of what is there from what would be emitted; [] where nothing."""
    found = []
    for path, text in emitted(recipe).items():
        if not (folder / path).is_file():
            found.append(f"{path} is missing")
        elif (there := (folder / path).read_bytes().decode("utf-8", "replace")) != text:
            pairs = zip(there.splitlines(), text.splitlines(), strict=False)
            line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
            found.append(f"{path} differs{f' from line {line}' if line else ' in length'}")
    for path, content in _wheels(recipe).items():
        if not (folder / path).is_file():
            found.append(f"{path} is missing")
        elif (folder / path).read_bytes() != content:
            found.append(f"{path} is of another doctor")
    return found + [f"{path} is no file of this recipe" for path in sorted(stale(recipe, folder))]


def has_doctor(folder: Path) -> bool:
    """Whether the folder was emitted with the doctor last, so that it is emitted the same way again."""
    return _record_of(folder).get("doctor", "") is not None


def _record_of(folder: Path) -> dict[str, Any]:
    """The record of the last emission; {} if unreadable."""
    try:
        kept = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}
