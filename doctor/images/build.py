"""A recipe -> an image in the engine, its digest, and a record with an SBOM beside it."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import doctor
from doctor.errors import InputError, ToolError
from doctor.images import engine, inside, oci, podman
from doctor.images.debs import unfit
from doctor.images.emit import emitted
from doctor.images.engine import Request
from doctor.images.progress import Progress, Step, Steps, earlier, guessed
from doctor.images.provenance import statement
from doctor.images.recipe import Recipe
from doctor.images.sbom import sbom
from doctor.images.scan import Findings, scan

SECRETS = ("ca", "pip_conf", "netrc", "apt_conf", "apt_sources")
_ROOM = 2 << 30


@dataclass(frozen=True)
class Options:
    """`secrets`: id → file. `wheels`: folder with wheels that need no index. `offline`: no network in any step."""

    secrets: Mapping[str, Path] = field(default_factory=dict)
    wheels: Path | None = None
    base: str | None = None
    """Where the base is pulled from instead (a mirror, without the digest)."""
    offline: bool = False
    cache: bool = True
    unlocked: bool = False
    verify: bool = False
    load: bool = True
    compression: str = "gzip"
    engine: str = "docker"


@dataclass(frozen=True)
class Built:
    tag: str
    image: oci.Image
    steps: tuple[Step, ...]
    found: Findings
    doctor_digest: str
    record: Path
    bom: Path
    verified: bool | None = None
    differences: tuple[str, ...] = ()


def tag(recipe: Recipe) -> str:
    """As `doctor run NAME` looks for it."""
    return f"doctor/{recipe.name}:latest"


def build(recipe: Recipe, output: Path, options: Options, told: Progress | None = None) -> Built:
    """Raises InputError (not locked, no engine, bad option), BuildFailed (a step, the disk)."""
    _allowed(recipe, options)
    make = podman.build if options.engine == "podman" else engine.build
    if options.engine == "podman":
        podman.require()
    else:
        engine.require()
    output.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(output).free
    if room < _ROOM:
        raise InputError(f"{output}: {room >> 20} MiB are free; an image needs 2 GiB at least: give another --records")
    with tempfile.TemporaryDirectory(dir=output, prefix=".build-") as held:
        work = Path(held)
        request, told_digest = _request(recipe, work, options)
        steps = make(request, told, _expected(recipe, output, options))
        image = oci.read(request.output)
        differences: tuple[str, ...] | None = None
        if options.verify:
            again = replace(request, output=work / "again.tar", cache=False)
            make(again, told, Steps(earlier(steps), whole=True))
            other = oci.read(again.output)
            differences = tuple(oci.differences(image, other)) if image.digest != other.digest else ()
            again.output.unlink()
        found = scan(image)
        if options.load and options.engine == "docker":  # podman built it where its images are
            engine.load(request.output)
        verified = None if differences is None else not differences
        stem = output / f"{recipe.name}"
        record, bom = Path(f"{stem}.build.json"), Path(f"{stem}.cdx.json")
        bom.write_text(sbom(recipe.name, image, found, recipe.epoch), encoding="utf-8")
        inner = {"version": doctor.__version__, "sha256": told_digest}
        Path(f"{stem}.provenance.json").write_text(
            statement(recipe, image, inner, builder(options.engine)), encoding="utf-8"
        )
        image = replace(image, path=Path(f"{stem}.oci.tar"))
        built = Built(tag(recipe), image, tuple(steps), found, told_digest, record, bom, verified, differences or ())
        record.write_text(json.dumps(_record(recipe, built, options), indent=1) + "\n", encoding="utf-8")
        if not options.load:
            shutil.move(request.output, image.path)
        return built


def _expected(recipe: Recipe, output: Path, options: Options) -> Steps:
    """How long each step took the last time, by the record; for a first build, a guess from the lock's sizes."""
    try:
        kept = json.loads((output / f"{recipe.name}.build.json").read_text(encoding="utf-8"))
        rows = [Step(str(s["name"]), float(s["seconds"] or 0), bool(s["cached"])) for s in kept["steps"]]
        if rows and kept.get("builder", {}).get("name") == options.engine:
            return Steps(earlier(rows), whole=True)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or one of another version: it is a guess that is lost
    sizes = sum(w.size or 0 for w in recipe.wheels or ())
    guess = guessed(sizes, options.compression)
    if options.engine == "podman":  # it is saved when its steps are over
        del guess["exporting"]
    return Steps(guess, whole=False)


def _allowed(recipe: Recipe, options: Options) -> None:
    if recipe.unlocked and not options.unlocked:
        raise InputError(
            f"{recipe.name} is UNLOCKED (not locked: {', '.join(recipe.unlocked)}): `doctor image lock {recipe.name}` "
            "locks it; --unlocked builds it all the same, from whatever the tags and indexes mean today"
        )
    if options.offline and options.wheels is None:
        raise InputError(
            "--offline needs --wheels: a folder with the files of the lock; "
            f"`doctor image fetch {recipe.name} FOLDER` fills one"
        )
    if options.compression not in ("gzip", "zstd"):
        raise InputError(f"--compression {options.compression}: gzip or zstd is wanted")
    if options.engine not in ("docker", "podman"):
        raise InputError(f"--engine {options.engine}: docker or podman is wanted")
    for name, path in options.secrets.items():
        if name not in SECRETS:
            raise InputError(f"--secret {name}: one of {', '.join(SECRETS)} is wanted")
        if not path.is_file():
            raise InputError(f"--secret {name}={path}: no such file")


def _request(recipe: Recipe, work: Path, options: Options) -> tuple[Request, str]:
    """The context is written anew from the recipe: an edited folder is not what gets built."""
    context, contexts = work / "context", {"doctor": work / "doctor"}
    for path, text in emitted(recipe).items():
        (context / path).parent.mkdir(parents=True, exist_ok=True)
        (context / path).write_text(text, encoding="utf-8")
    inside.settle(context, recipe.epoch)
    digest = inside.write(work / "doctor", recipe.epoch)
    if options.wheels:
        if not options.wheels.is_dir():
            raise InputError(f"--wheels {options.wheels}: no such folder")
        _debs_fit(recipe, options.wheels)
        contexts["wheels"] = options.wheels
    secrets = dict(options.secrets)
    if options.offline:
        (work / "pip.conf").write_text("[global]\nno-index = true\n", encoding="utf-8")
        secrets["pip_conf"] = work / "pip.conf"
    request = Request(
        folder=context,
        output=work / "image.tar",
        tag=tag(recipe),
        epoch=recipe.epoch,
        platform=recipe.lock.platform if recipe.lock else "linux/amd64",
        contexts=contexts,
        images={recipe.reference: f"{options.base}@{recipe.digest}"} if options.base and recipe.digest else {},
        secrets=secrets,
        cache=options.cache and not options.verify,
        network="none" if options.offline else None,
        compression=options.compression,
    )
    return request, digest


def _debs_fit(recipe: Recipe, folder: Path) -> None:
    """pip holds wheels to their hashes in the build; apt installs a .deb at hand as it is: it is looked at before."""
    if not any(folder.glob("*.deb")):
        return
    wrong = [why for _, why in unfit(folder, (d for part in recipe.debs or () for d in part))]
    if wrong:
        more = f", and {len(wrong) - 1} more packages do not fit" if wrong[1:] else ""
        raise InputError(f"--wheels {folder}: {wrong[0]}{more}; `doctor image fetch {recipe.name} {folder}` mends it")


def _record(recipe: Recipe, built: Built, options: Options) -> dict[str, Any]:
    """`doctor.image-build/1`: where the image came from. No path, proxy or host name of the machine that built it."""
    return {
        "schema": "doctor.image-build/1",
        "profile": recipe.name,
        "tag": built.tag,
        "digest": built.image.digest,
        "layers": list(built.image.layers),
        "compressed_bytes": built.image.size,
        "bytes": built.found.bytes,
        "platform": recipe.lock.platform if recipe.lock else "linux/amd64",
        "epoch": recipe.epoch,
        "lock": recipe.lock.digest() if recipe.lock else None,
        "locked": not recipe.unlocked,
        "base": {"name": recipe.image, "digest": recipe.digest},
        "doctor": {"version": doctor.__version__, "sha256": built.doctor_digest},
        "builder": builder(options.engine),
        "secrets": sorted(options.secrets),
        "offline": options.offline,
        "rebuilt_to_the_same_digest": built.verified,
        "differences": list(built.differences),
        "steps": [
            {"name": _unmirrored(s.name, recipe, options), "seconds": s.seconds, "cached": s.cached, "moved": s.moved}
            for s in built.steps
        ],
        "packages": {kind: len(rows) for kind, rows in (("apt", built.found.debs), ("python", built.found.wheels))},
        "setuid": sorted(built.found.setuid),
        "secrets_found": sorted(built.found.secrets),
    }


def _unmirrored(name: str, recipe: Recipe, options: Options) -> str:
    """A mirror's name is of the site that built it."""
    return name.replace(options.base, recipe.image.partition("@")[0]) if options.base else name


def builder(name: str = "docker") -> dict[str, str]:
    """The engine and its versions."""
    if name == "podman":
        said = json.loads(engine.ask(("podman", "info", "--format", "json"))).get("host", {})
        return {"name": name, "engine": f"podman {podman.require()}", "buildah": str(said.get("buildahVersion"))}
    server = engine.ask(("docker", "version", "--format", "{{.Server.Version}}")).strip()
    return {
        "name": name,
        "engine": f"docker {server}",
        "buildx": engine.ask(("docker", "buildx", "version")).split()[1],
    }


_NOT_THERE = re.compile(r"no such image|image not known|invalid reference", re.IGNORECASE)


@contextmanager
def saved(reference: str, work: Path, name: str = "docker") -> Iterator[oci.Image]:
    """An image of the engine as an archive, for as long as it is looked at."""
    path = work / f"saved-{os.getpid()}.tar"
    try:
        _save(reference, path, name)
        yield oci.read(path)
    finally:
        path.unlink(missing_ok=True)


def _save(reference: str, path: Path, name: str) -> None:
    try:
        if name == "podman":
            podman.save(reference, path)
        else:
            engine.ask(("docker", "save", "--output", str(path), reference), timeout_s=1800)
    except ToolError as error:
        if _NOT_THERE.search(str(error)):
            raise InputError(f"{reference[:100]}: {name} has no image of this name; build or pull it first") from error
        raise
