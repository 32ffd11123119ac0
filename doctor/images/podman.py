"""The second engine: podman (buildah) builds the same context.

It can't leave the times of a layer's older files as they are and bring only newer ones down to the given time, as
BuildKit does: with --timestamp everything in the new layers bears that time, so that two of its builds have one digest
with each other, and another than BuildKit's.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from doctor.errors import InputError, ToolError
from doctor.images import engine
from doctor.images.engine import PROXIES, Request
from doctor.images.progress import Progress, Step, Steps

_SAVE_S = 1800
_LOCAL = re.compile(r"(?:localhost|127\.[0-9.]+)(?::|/|$)")


def adapted(dockerfile: str, images: Sequence[tuple[str, str]]) -> str:
    """The Dockerfile as buildah takes it: `sharing=locked` of a cache makes 1.28 wait for itself, and its stages run
    one after another, so that nobody shares. It knows no RUN --network, which keeps the assertion on torch to itself
    where BuildKit builds. A mirror of the base is named in the file, since it takes no other."""
    text = dockerfile.replace(",sharing=locked", "").replace("RUN --network=none ", "RUN ")
    for name, place in images:
        text = text.replace(f"FROM {name} AS", f"FROM {place} AS")
    # Named contexts stand in for these stages; buildah would build the empty ones and fail to mount them.
    return re.sub(r"(?m)^FROM scratch AS (?:doctor|wheels)\n", "", text)


def argv(request: Request) -> list[str]:
    words = ["podman", "build", "--format=oci", f"--timestamp={request.epoch}", f"--platform={request.platform}"]
    words += [f"--build-arg=SOURCE_DATE_EPOCH={request.epoch}", f"--tag={request.tag}", "--layers"]
    words += [f"--build-context={name}={path}" for name, path in sorted(request.contexts.items())]
    words += [f"--secret=id={name},src={path}" for name, path in sorted(request.secrets.items())]
    words += [f"--build-arg={name}" for name in PROXIES if os.environ.get(name)]
    words += [] if request.cache else ["--no-cache"]
    words += [f"--network={request.network}"] if request.network else []
    base = re.search(r"(?m)^FROM (\S+) AS os$", (request.folder / "Dockerfile").read_text(encoding="utf-8"))
    words += ["--tls-verify=false"] if base and _LOCAL.match(base[1]) else []
    return [*words, str(request.folder)]


def build(request: Request, progress: Progress | None = None) -> list[Step]:
    """The image is in podman's storage and lies at request.output, as an OCI archive. Raises BuildFailed."""
    engine.unquotable(request)
    if request.compression != "gzip":
        raise InputError(f"--compression {request.compression}: podman writes gzip only")
    empty = request.folder.parent / "empty"
    empty.mkdir(exist_ok=True)
    contexts = {"wheels": empty, **request.contexts}
    path = request.folder / "Dockerfile"
    path.write_text(adapted(path.read_text(encoding="utf-8"), tuple(request.images.items())), encoding="utf-8")
    request = replace(request, contexts=contexts)
    steps = Steps()
    rows = engine.followed(argv(request), os.environ, steps, steps.buildah, request.output, progress)
    # Its API saves in Docker's older form alone, which has no digest.
    request.output.unlink(missing_ok=True)
    save = ("podman", "save", "--quiet", "--format=oci-archive", f"--output={request.output}", request.tag)
    done = subprocess.run(save, capture_output=True, text=True, errors="replace", timeout=_SAVE_S, check=False)
    if done.returncode:
        raise ToolError(save, done.returncode, done.stdout, done.stderr)
    return rows
