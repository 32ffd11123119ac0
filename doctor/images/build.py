"""A recipe -> an image in the engine, its digest, and a record with an SBOM beside it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import doctor
from doctor.errors import DoctorError, InputError, writing
from doctor.images import engine, inside, oci, podman
from doctor.images.debs import unfit
from doctor.images.emit import write
from doctor.images.engine import Builder, Request
from doctor.images.progress import Progress, Step
from doctor.images.provenance import statement
from doctor.images.recipe import Recipe
from doctor.images.sbom import sbom
from doctor.images.scan import Findings, scan
from doctor.system.engine_api import Api, connected
from doctor.system.engine_sockets import Name

SECRETS = ("ca", "pip_conf", "netrc", "apt_conf", "apt_sources")
_ROOM = 2e9
_ARCHIVE, _CACHE = 0.5, 2.5
"""Of an image's bytes: its archive, and what a build leaves in the engine; by the log of docs/images.md."""
Note = Callable[[str], None]


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
    engine: Name = "docker"
    push: str | None = None
    """The name under which the image is pushed too."""


@dataclass(frozen=True)
class Built:
    tag: str
    image: oci.Image
    steps: tuple[Step, ...]
    found: Findings
    doctor_digest: str | None
    builder: Builder
    record: Path
    bom: Path
    verified: bool | None = None
    differences: tuple[str, ...] = ()


def tag(recipe: Recipe) -> str:
    """As `doctor run NAME` looks for it."""
    return f"{recipe.profile.image_name}:latest"


def build(recipe: Recipe, output: Path, options: Options, progress: Progress | None, note: Note) -> Built:
    """Raises InputError (not locked, no engine, bad option), BuildFailed (a step, the disk), EngineError."""
    _allowed(recipe, options)
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    with (
        writing(output),
        connected(options.engine) as api,
        tempfile.TemporaryDirectory(dir=output, prefix=".build-") as held,
    ):
        builder = engine.builder(api)
        if not builder.exports:
            if options.verify:
                raise InputError(f"--verify: {engine.CLASSIC}")
            note(f"this image will not rebuild to the same digest. {engine.CLASSIC}")
        _room(recipe, output, options, api, note)
        request = _request(recipe, Path(held), options, builder)
        inner = recipe.doctor.sha256 if recipe.doctor else None
        steps = _made(request, progress)
        if not builder.exports:
            api.save(request.tag, request.output)
        image = oci.read(request.output)
        differences = _again(request, image, output / f"{recipe.name}.oci.tar", progress) if options.verify else None
        found = scan(image)
        if builder.name == "docker" and builder.exports and (options.load or options.push):
            api.load(request.output, note)  # podman and the classic store built it where their images are
        verified = None if differences is None else not differences
        record, bom = output / f"{recipe.name}.build.json", output / f"{recipe.name}.cdx.json"
        bom.write_text(sbom(recipe, image, found), encoding="utf-8")
        provenance = statement(recipe, image, doctor.__version__, builder.versions)
        (output / f"{recipe.name}.provenance.json").write_text(provenance, encoding="utf-8")
        image = replace(image, path=output / f"{recipe.name}.oci.tar")
        shown = (verified, tuple(differences or ()))
        built = Built(tag(recipe), image, tuple(steps), found, inner, builder, record, bom, *shown)
        record.write_text(json.dumps(_record(recipe, built, options), indent=1) + "\n", encoding="utf-8")
        if options.push:
            api.tag(built.tag, options.push)
            api.push(options.push, note)
        if not options.load:
            shutil.move(request.output, image.path)
        return built


def _made(request: Request, progress: Progress | None) -> list[Step]:
    return (podman.build if request.engine == "podman" else engine.build)(request, progress)


def _again(request: Request, first: oci.Image, kept: Path, progress: Progress | None) -> list[str]:
    """What a second build differs in. Where it fails, the archive of the first is kept."""
    again = replace(request, output=request.output.with_name("again.tar"), cache=False)
    try:
        _made(again, progress)
        other = oci.read(again.output)
        return oci.differences(first, other) if first.digest != other.digest else []
    except DoctorError as error:
        shutil.move(first.path, kept)
        error.args = (f"{error}; the first of the two builds is kept: {kept}",)
        raise
    finally:
        again.output.unlink(missing_ok=True)


def _room(recipe: Recipe, output: Path, options: Options, api: Api, note: Note) -> None:
    """Raises InputError where the archives do not fit; what the engine needs depends on its cache, and is noted."""
    times = 2 if options.verify else 1
    image = 200e6 + 2.1 * sum(w.size or 0 for w in recipe.wheels or ())  # unpacked, on a plain base
    archives = max(_ROOM, times * _ARCHIVE * image)
    free = shutil.disk_usage(output).free
    if free < archives:
        needs = f"{free / 1e9:.1f} GB are free and the archives need about {archives / 1e9:.1f}"
        raise InputError(f"{output}: {needs}: name a folder with more room by --records")
    root = Path(str(api.info().get("DockerRootDir") or "/nonexistent"))
    if not (api.where.is_local and root.is_dir()):
        return
    shared = root.stat().st_dev == output.stat().st_dev
    needed, free = times * _CACHE * image + (archives if shared else 0), shutil.disk_usage(root).free
    if free < needed:
        note(f"{root}: {free / 1e9:.1f} GB are free; a build without cache needs about {needed / 1e9:.1f}")


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
        raise InputError(f"invalid --compression {options.compression!r} (choose from gzip, zstd)")
    for name, path in options.secrets.items():
        if name not in SECRETS:
            raise InputError(f"invalid --secret {name!r} (choose from {', '.join(SECRETS)})")
        if not path.is_file():
            raise InputError(f"--secret {name}={path}: no such file")


def _request(recipe: Recipe, work: Path, options: Options, builder: Builder) -> Request:
    """The context is written anew from the recipe: an edited folder is not what gets built."""
    context, contexts = work / "context", dict[str, Path]()
    write(recipe, context)
    inside.settle(context, recipe.epoch)
    inside.tell_apart(context / "doctor", recipe.epoch)
    if options.wheels:
        if not options.wheels.is_dir():
            raise InputError(f"--wheels {options.wheels}: no such folder")
        _debs_fit(recipe, options.wheels)
        contexts["wheels"] = options.wheels
    secrets = dict(options.secrets)
    if options.offline:
        (work / "pip.conf").write_text("[global]\nno-index = true\n", encoding="utf-8")
        secrets["pip_conf"] = work / "pip.conf"
    return Request(
        folder=context,
        output=work / "image.tar",
        tag=tag(recipe),
        epoch=recipe.epoch,
        platform=recipe.platform,
        contexts=contexts,
        images={recipe.reference: f"{options.base}@{recipe.digest}"} if options.base and recipe.digest else {},
        secrets=secrets,
        cache=options.cache and not options.verify,
        network="none" if options.offline else None,
        compression=options.compression,
        exports=builder.exports,
        engine=builder.name,
    )


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
        "platform": recipe.platform,
        "epoch": recipe.epoch,
        "lock": recipe.lock.digest() if recipe.lock else None,
        "locked": not recipe.unlocked,
        "base": {"name": recipe.image, "digest": recipe.digest},
        "doctor": {"version": doctor.__version__, "sha256": built.doctor_digest},
        "builder": built.builder.versions,
        "fixed_times": built.builder.exports,
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
