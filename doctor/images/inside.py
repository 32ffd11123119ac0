"""The doctor that goes into an image, as a wheel beside the Dockerfile; the same doctor gives the same bytes."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import doctor
from doctor.errors import InputError
from doctor.profiles.places import folder as profiles_folder

_LEFT = ("__pycache__", "_profiles")


@dataclass(frozen=True)
class Inner:
    """A wheel, with the hash that the image's build holds it to."""

    file: str
    sha256: str
    content: bytes = field(repr=False)


@functools.cache
def wheel() -> Inner:
    """Of this very package. Its needs are locked by name beside it (recipe.DOCTOR_NEEDS). Raises InputError."""
    try:
        file, content = packed("rocm-cuda-doctor", doctor.__version__, dict(sorted(_files())))
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror or error}") from error
    return Inner(file, hashlib.sha256(content).hexdigest(), content)


def packed(name: str, version: str, files: dict[str, bytes], needs: str | None = None) -> tuple[str, bytes]:
    """The name of a wheel of these files and its bytes, always the same."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    tags = "Wheel-Version: 1.0\nGenerator: doctor\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    info = f"{stem}.dist-info"
    files = files | {f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": tags.encode()}
    sums = {place: base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode() for place, text in files.items()}
    rows = [f"{place},sha256={sums[place].rstrip('=')},{len(text)}\n" for place, text in files.items()]
    files[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode()
    out = io.BytesIO()
    # Not compressed, since zlib's bytes differ from one release to the next; with the first date that a zip can bear.
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as held:
        for place, text in files.items():
            entry = zipfile.ZipInfo(place)
            entry.external_attr = 0o100644 << 16
            held.writestr(entry, text)
    return f"{stem}-py3-none-any.whl", out.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    for root, place in ((Path(doctor.__file__).parent, "doctor"), (profiles_folder(), "doctor/_profiles")):
        for path in root.rglob("*"):
            name = path.relative_to(root)
            if path.is_file() and path.suffix != ".pyc" and not set(_LEFT) & set(name.parts):
                yield f"{place}/{name.as_posix()}", path.read_bytes()


def settle(folder: Path, epoch: int) -> None:
    """One time and plain modes for all, so that an image does not depend on who checked the files out, and when."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
        os.utime(path, (epoch, epoch))


def tell_apart(folder: Path, epoch: int) -> None:
    """BuildKit takes a file of the same name, size and time as in an earlier build for unchanged. So each file bears a
    time that its bytes decide. For files that are only mounted: what is copied would bring it into the image."""
    for path in folder.glob("*"):
        moment = epoch - int(hashlib.sha256(path.read_bytes()).hexdigest()[:6], 16)
        os.utime(path, (moment, moment))
