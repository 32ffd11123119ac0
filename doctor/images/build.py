"""A recipe -> an image in the engine, its digest, and a record with an SBOM beside it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import doctor
from doctor.errors import InputError
from doctor.images import engine, inside, oci
from doctor.images.emit import emitted
from doctor.images.engine import Progress, Request, Step
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
    engine.require()
    output.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(output).free
    if room < _ROOM:
        raise InputError(f"{output}: {room >> 20} MiB are free; an image needs 2 GiB at least: give another --records")
    with tempfile.TemporaryDirectory(dir=output, prefix=".build-") as held:
        work = Path(held)
        request, told_digest = _request(recipe, work, options)
        steps = engine.build(request, told)
        image = oci.read(request.output)
        differences: tuple[str, ...] | None = None
        if options.verify:
            again = replace(request, output=work / "again.tar", cache=False)
            engine.build(again, told)
            other = oci.read(again.output)
            differences = tuple(oci.differences(image, other)) if image.digest != other.digest else ()
            again.output.unlink()
        found = scan(image)
        if options.load:
            engine.load(request.output)
        verified = None if differences is None else not differences
        stem = output / f"{recipe.name}"
        record, bom = Path(f"{stem}.build.json"), Path(f"{stem}.cdx.json")
        bom.write_text(sbom(recipe.name, image, found, recipe.epoch), encoding="utf-8")
        image = replace(image, path=Path(f"{stem}.oci.tar"))
        built = Built(tag(recipe), image, tuple(steps), found, told_digest, record, bom, verified, differences or ())
        record.write_text(json.dumps(_record(recipe, built, options), indent=1) + "\n", encoding="utf-8")
        if not options.load:
            shutil.move(request.output, image.path)
        return built


def _allowed(recipe: Recipe, options: Options) -> None:
    if recipe.unlocked and not options.unlocked:
        raise InputError(
            f"{recipe.name} is UNLOCKED (not locked: {', '.join(recipe.unlocked)}): `doctor image lock {recipe.name}` "
            "locks it; --unlocked builds it all the same, from whatever the tags and indexes mean today"
        )
    if options.offline and options.wheels is None:
        raise InputError("--offline needs --wheels: a folder with the wheels of the lock")
    if options.compression not in ("gzip", "zstd"):
        raise InputError(f"--compression {options.compression}: gzip or zstd is wanted")
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
        "builder": builder(),
        "secrets": sorted(options.secrets),
        "offline": options.offline,
        "rebuilt_to_the_same_digest": built.verified,
        "differences": list(built.differences),
        "steps": [{"name": s.name, "seconds": s.seconds, "cached": s.cached} for s in built.steps],
        "packages": {kind: len(rows) for kind, rows in (("apt", built.found.debs), ("python", built.found.wheels))},
        "setuid": sorted(built.found.setuid),
        "secrets_found": sorted(built.found.secrets),
    }


def builder() -> dict[str, str]:
    """Versions of engine and buildx."""
    server = engine.ask(("docker", "version", "--format", "{{.Server.Version}}")).strip()
    return {"engine": f"docker {server}", "buildx": engine.ask(("docker", "buildx", "version")).split()[1]}


@contextmanager
def saved(reference: str, work: Path) -> Iterator[oci.Image]:
    """An image of the engine as an archive, for as long as it is looked at."""
    path = work / f"saved-{os.getpid()}.tar"
    engine.ask(("docker", "save", "--output", str(path), reference), timeout_s=1800)
    try:
        yield oci.read(path)
    finally:
        path.unlink(missing_ok=True)
