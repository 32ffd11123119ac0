"""An archive of an image -> its digest, config and files, layer by layer; what two differ in.

Read as a stream of tars; nothing is unpacked to disk. An archive is an OCI layout (index.json and blobs), of a build or
of Docker 25 and newer, or Docker's older form (manifest.json), which podman's API and older engines save in.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import zstandard

from doctor.errors import InputError

_JSON_LIMIT = 16 << 20
_HEAD = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A file of a layer. `content`: sha256 of a regular file's bytes."""

    path: str
    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: int
    link: str
    content: str | None


@dataclass(frozen=True)
class Image:
    """`digest`: of the manifest, in Docker's older form of the config; `size`: of the layers as they lie there;
    `config`: user, labels, environment, history …; `layers`: digests, in the older form names in the archive."""

    path: Path
    digest: str
    config: dict[str, Any]
    layers: tuple[str, ...]
    size: int


Looked = Callable[[Entry, "bytes | None"], None]
"""Is given each file, and its first MiB where it is a regular file."""


def read(path: Path) -> Image:
    """Raises InputError where it is no such archive."""
    try:
        with tarfile.open(path) as archive:
            if "index.json" not in archive.getnames():
                return _older(path, archive)
            found = _json(archive, "index.json")["manifests"][0]
            digest = str(found["digest"])
            manifest = _json(archive, _blob(digest))
            while "manifests" in manifest:  # an index of platforms: attestations aside, ours has one
                inner = next(m for m in manifest["manifests"] if m.get("platform", {}).get("os") != "unknown")
                digest = str(inner["digest"])
                manifest = _json(archive, _blob(digest))
            layers = tuple(str(layer["digest"]) for layer in manifest["layers"])
            size = sum(int(layer["size"]) for layer in manifest["layers"])
            return Image(path, digest, _json(archive, _blob(str(manifest["config"]["digest"]))), layers, size)
    except (OSError, tarfile.TarError, KeyError, ValueError, StopIteration, IndexError, TypeError) as error:
        raise InputError(
            f"{path}: no OCI archive that can be read ({type(error).__name__}: {str(error)[:80]})"
        ) from error


def _older(path: Path, archive: tarfile.TarFile) -> Image:
    """https://github.com/moby/docker-image-spec/blob/v1.2.0/v1.2.md"""
    listed = json.loads(_bytes(archive, "manifest.json"))[0]
    config = _bytes(archive, str(listed["Config"]))
    layers = tuple(str(name) for name in listed["Layers"])
    size = sum(archive.getmember(name).size for name in layers)
    return Image(path, f"sha256:{hashlib.sha256(config).hexdigest()}", json.loads(config), layers, size)


def _blob(layer: str) -> str:
    """Where a digest lies in an OCI layout; a name is itself."""
    return f"blobs/{layer.replace(':', '/')}" if layer.startswith("sha256:") else layer


def _bytes(archive: tarfile.TarFile, name: str) -> bytes:
    held = archive.extractfile(name)
    if held is None:
        raise KeyError(name)
    return held.read(_JSON_LIMIT)


def _json(archive: tarfile.TarFile, name: str) -> dict[str, Any]:
    loaded = json.loads(_bytes(archive, name))
    if not isinstance(loaded, dict):
        raise ValueError(f"{name} is no table")
    return loaded


def walk(image: Image, layer: str, looked: Looked) -> None:
    """Each entry of a layer, in its order."""
    with tarfile.open(image.path) as archive:
        held = archive.extractfile(_blob(layer))
        if held is None:
            raise InputError(f"{image.path}: {layer} is no file")
        with _plain(held) as stream, tarfile.open(fileobj=stream, mode="r|") as files:
            for member in files:
                head, content = _content(files, member)
                kind = member.type.decode("latin-1")
                entry = Entry(
                    member.name.removeprefix("./").rstrip("/"),
                    kind,
                    member.mode,
                    member.uid,
                    member.gid,
                    member.size,
                    int(member.mtime),
                    member.linkname,
                    content,
                )
                looked(entry, head)


def _content(files: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[bytes | None, str | None]:
    held = files.extractfile(member) if member.isreg() else None
    if held is None:
        return None, None
    summed = hashlib.sha256()
    head = held.read(_HEAD)
    summed.update(head)
    while more := held.read(_HEAD):
        summed.update(more)
    return head, summed.hexdigest()


@contextmanager
def _plain(held: IO[bytes]) -> Iterator[IO[bytes]]:
    start = held.read(4)
    held.seek(0)
    if start[:2] == b"\x1f\x8b":
        yield io.BufferedReader(gzip.GzipFile(fileobj=held))
    elif start == b"\x28\xb5\x2f\xfd":
        with zstandard.ZstdDecompressor().stream_reader(held) as plain:
            yield plain
    else:
        yield held


def entries(image: Image, layer: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    walk(image, layer, lambda entry, _: found.__setitem__(entry.path, entry))
    return found


def differences(one: Image, other: Image, limit: int = 200) -> list[str]:
    """Files and settings that two images differ in, in words."""
    changes: list[str] = []
    for number, (a, b) in enumerate(zip(one.layers, other.layers, strict=False)):
        if a == b:
            continue
        left, right = entries(one, a), entries(other, b)
        before = len(changes)
        paths = [p for p in sorted(left.keys() | right.keys()) if left.get(p) != right.get(p)]
        changes += [f"layer {number}: /{path}: {_how(left.get(path), right.get(path))}" for path in paths]
        if len(changes) == before:
            changes.append(f"layer {number}: the same files in another order or compression")
    if len(one.layers) != len(other.layers):
        changes.append(f"{len(one.layers)} layers against {len(other.layers)}")
    keys = sorted(set(one.config) | set(other.config))
    changes += [f"config: {k}" for k in keys if k != "rootfs" and one.config.get(k) != other.config.get(k)]
    return changes[:limit] + ([f"and {len(changes) - limit} more"] if len(changes) > limit else [])


def _how(one: Entry | None, other: Entry | None) -> str:
    if one is None or other is None:
        return "only in the " + ("second" if one is None else "first")
    names = [
        n
        for n in ("kind", "mode", "uid", "gid", "size", "mtime", "link", "content")
        if getattr(one, n) != getattr(other, n)
    ]
    return f"{', '.join(names)} differ"
