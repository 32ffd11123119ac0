"""Recipe -> the files of dockerfiles/NAME/; written, or compared with those that are there."""

from __future__ import annotations

import json
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from doctor.errors import InputError
from doctor.images import lockfile
from doctor.images.dockerfile import SECRET_LIKE, VENV, dockerfile
from doctor.images.lockfile import Deb
from doctor.images.quoting import hcl, one_line
from doctor.images.recipe import Recipe, Wanted, asked
from doctor.images.requirements import constraints, lists, of_doctor
from doctor.profiles.expectation import Source

RECORD = "record.json"
_STATIC = ("apt/install.sh", "python/install.sh", "image/entrypoint.sh")


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
        "docker-bake.hcl": bake(recipe),
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


def bake(recipe: Recipe) -> str:
    """For `docker buildx bake`; `doctor image build` does the same and more."""
    lines = [
        "# Written by `doctor image emit`; an edit is lost. The output is a file: `docker load` keeps its digest.",
        *(["# !!! UNLOCKED, never built."] if recipe.unlocked else []),
        f"target {hcl(_target(recipe))} {{",
        '  context = "."',
        f"  args = {{ SOURCE_DATE_EPOCH = {hcl(str(recipe.epoch))} }}",
        f"  tags = [{hcl(recipe.profile.image_name)}]",
        f"  platforms = [{hcl(recipe.lock.platform if recipe.lock else 'linux/amd64')}]",
        f"  output = [{hcl(f'type=docker,dest={recipe.profile.plain_name}.tar,rewrite-timestamp=true')}]",
        "  attest = []",
        "}",
        f'group "default" {{ targets = [{hcl(_target(recipe))}] }}',
    ]
    return "\n".join(lines) + "\n"


def _target(recipe: Recipe) -> str:
    return recipe.profile.plain_name.replace(".", "-")


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
        "healthcheck": recipe.healthcheck,
        "doctor": {"file": recipe.doctor.file, "sha256": recipe.doctor.sha256} if recipe.doctor else None,
        "chosen": [
            *(_chosen(asked(p), p.why, p.source) for p in (wish.pip if wish else ())),
            *(_chosen(f"{a.name} {a.version or ''}".strip(), a.why, a.source) for a in (wish.apt if wish else ())),
        ],
        "added": [{"what": p.asked, "why": p.why} for p in (*recipe.runtime_packages, *recipe.build_packages)],
        "compiled": [
            {"what": b.name, "environment": dict(b.environment), "job_gib": b.job_gib, "source": b.source}
            for b in recipe.builds
        ],
        "flags": [{"name": f.name, "value": f.value, "why": f.why, "versions": f.versions} for f in recipe.flags],
        "flags_left_to_the_run": [
            {"name": f.name, "value": f.value, "kind": f.kind, "only": f.only}
            for f in recipe.profile.flag
            if f.kind != "safe-default"
        ],
    }


def _chosen(what: str, why: str, source: Source) -> dict[str, str]:
    return {"what": what, "why": why, "source": source.url, "as_of": source.as_of.isoformat()}


def wrote(recipe: Recipe, folder: Path) -> None:
    """Of an earlier emission what is emitted no more goes; files of others stay. Raises InputError."""
    before = set(_record_of(folder).get("files") or ())
    try:
        write(recipe, folder)
        for old in sorted(before & stale(recipe, folder)):
            (folder / old).unlink()
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error


def stale(recipe: Recipe, folder: Path) -> set[str]:
    """Files in the folder that are not emitted."""
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    return there - set(emitted(recipe)) - set(_wheels(recipe)) - {lockfile.NAME}


def differences(recipe: Recipe, folder: Path) -> list[str]:
    """Of what is there from what would be emitted; [] where nothing."""
    found = []
    for path, text in emitted(recipe).items():
        if not (folder / path).is_file():
            found.append(f"{path} is missing")
        elif (there := _read(folder / path)) != text:
            pairs = zip(there.splitlines(), text.splitlines(), strict=False)
            line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
            found.append(f"{path} differs{f' from line {line}' if line else ' in length'}")
    for path, content in _wheels(recipe).items():
        if not (folder / path).is_file():
            found.append(f"{path} is missing")
        elif (folder / path).read_bytes() != content:
            found.append(f"{path} is of another doctor")
    return found + [f"{path} is no file of this recipe" for path in sorted(stale(recipe, folder))]


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def options_of(folder: Path) -> dict[str, bool]:
    """How the folder was emitted last, so that it is emitted the same way again."""
    kept = _record_of(folder)
    return {"healthcheck": bool(kept.get("healthcheck")), "doctor": kept.get("doctor", "") is not None} if kept else {}


def _record_of(folder: Path) -> dict[str, Any]:
    """What the last emission said of itself; {} where nothing can be read."""
    try:
        kept = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}
