"""What builds: `docker buildx`, its progress step by step, and each of its failures in one line.

Only argv lists; secrets are handed over as files, a proxy by the name of its variable, so that neither stands in a
command line, a layer or a history. All that is no build is asked of the engine's API (doctor.system.engine_api).
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.errors import InputError, ToolError
from doctor.images.progress import Progress, Step, Steps
from doctor.parsers.lib.printable import clean
from doctor.system.engine_api import FULL, Api
from doctor.system.engine_sockets import Name
from doctor.versions import Dotted

LEAST_BUILDKIT = "0.13"
"""rewrite-timestamp: BuildKit's docs/build-repro.md."""
LEAST_BUILDX = "0.10"
LEAST_PODMAN = "4.2"
"""Named build contexts: podman-build(1)."""
_FULL = re.compile(r"(?i)no space left on device|disk quota exceeded")
_UNTRUSTED = re.compile(
    r"(?i)certificate[ _]verify[ _]failed|certificate verification failed|self.signed certificate|x509: certificate"
)
_FAILED = ("ERROR", "Error: building at STEP", "Error: error building at STEP")
"""How BuildKit and buildah say which step it was."""
_ERROR = re.compile(r"(?i)error: ")
_CONTAINERD = ["driver-type", "io.containerd.snapshotter.v1"]
CLASSIC = (
    "Docker's classic image store can't export an image with fixed times; with a builder of its own it can: "
    "docker buildx create --use --driver docker-container"
)


class BuildFailed(ToolError):
    """A step failed: which, and its last lines."""

    def __init__(self, argv: Sequence[str], code: int, step: Step | None, output: str, why: str) -> None:
        super().__init__(argv, code, "", output)
        self.step = step
        self.args = (why,)


@dataclass(frozen=True)
class Builder:
    """What builds here. `exports`: it writes an OCI archive whose files bear a given time."""

    name: Name
    engine: str
    tool: str
    exports: bool = True

    @property
    def versions(self) -> dict[str, str]:
        return {"name": self.name, "engine": self.engine, "buildx" if self.name == "docker" else "buildah": self.tool}


def chosen(name: str | None) -> Name:
    """The engine that is asked for, else the one that is here. Raises InputError."""
    if name not in (None, "docker", "podman"):
        raise InputError(f"invalid --engine {name!r} (choose from docker, podman)")
    if name is not None:
        return "podman" if name == "podman" else "docker"
    if shutil.which("docker") or os.environ.get("DOCKER_HOST") or Path("/var/run/docker.sock").is_socket():
        return "docker"
    if shutil.which("podman"):
        return "podman"
    raise InputError("neither docker nor podman is here; `doctor image emit` and `doctor image lint` need none")


def builder(api: Api) -> Builder:
    """Raises InputError where what builds is not there or too old."""
    release = str(api.version().get("Version") or "")
    if not shutil.which(api.name):
        raise InputError(f"the program `{api.name}` is not installed: images are built by it")
    if api.name == "podman":
        found = re.match(r"\d+\.\d+(?:\.\d+)?", release)
        if found and Dotted(found[0]).numbers < Dotted(LEAST_PODMAN).numbers:
            raise InputError(f"podman {found[0]} is too old: {LEAST_PODMAN} or newer knows named build contexts")
        return Builder("podman", f"podman {release}", str(api.info().get("BuildahVersion") or "unknown"))
    plugin = _buildx("version")
    known = re.search(r"v?(\d+\.\d+\.\d+)", plugin)
    if not known:
        raise InputError("docker has no buildx plugin: install docker-buildx or docker-buildx-plugin")
    if Dotted(known[1]).numbers < Dotted(LEAST_BUILDX).numbers:
        raise InputError(
            f"buildx {known[1]} is too old: {LEAST_BUILDX} or newer hands a build's time on to every stage"
        )
    kit = _buildx("inspect")
    version = re.search(r"Build[Kk]it(?: version)?:\s+v?(\d+\.\d+(?:\.\d+)?)", kit)
    # Debian's builds say 0.0.0: no version is known then.
    if version and version[1] != "0.0.0" and Dotted(version[1]).numbers < Dotted(LEAST_BUILDKIT).numbers:
        raise InputError(f"BuildKit {version[1]} is too old: {LEAST_BUILDKIT} writes layers that bear a given time")
    driver = re.search(r"(?m)^Driver:\s+(\S+)", kit)
    own = driver is not None and driver[1] != "docker"
    return Builder(
        "docker", f"docker {release}", known[1], own or _CONTAINERD in (api.info().get("DriverStatus") or ())
    )


def _buildx(word: str) -> str:
    """What a subcommand prints; "" where there is no such plugin or it does not answer."""
    try:
        done = subprocess.run(("docker", "buildx", word), capture_output=True, text=True, timeout=30, errors="replace")
    except (subprocess.TimeoutExpired, OSError):
        return ""
    return "" if done.returncode else done.stdout


@dataclass(frozen=True)
class Request:
    """`contexts`: name → folder; `secrets`: id → file; `arguments` may stand in the history, so none is secret."""

    folder: Path
    output: Path
    tag: str
    epoch: int
    platform: str = "linux/amd64"
    contexts: Mapping[str, Path] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    """An image's name in the Dockerfile → where it is pulled from instead."""
    secrets: Mapping[str, Path] = field(default_factory=dict)
    cache: bool = True
    network: str | None = None
    compression: str = "gzip"
    """`zstd` is several times quicker and smaller; engines before Docker 23 and containerd 1.5 can't load it."""
    engine: Name = "docker"
    exports: bool = True
    """The builder writes the archive. Where it can't, the image goes into the engine and is saved from there."""


PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def argv(request: Request) -> list[str]:
    """Provenance would bear the time of the build; the record beside the image says the same and more."""
    words = ["docker", "buildx", "build", "--progress=plain", "--provenance=false", "--sbom=false"]
    words += [f"--platform={request.platform}", f"--build-arg=SOURCE_DATE_EPOCH={request.epoch}"]
    squeezed = f"compression={request.compression}" + (",oci-mediatypes=true" if request.compression == "zstd" else "")
    if request.exports:
        words += [f"--output=type=oci,dest={request.output},rewrite-timestamp=true,name={request.tag},{squeezed}"]
    else:
        words += ["--load", f"--tag={request.tag}"]
    words += [f"--build-context={name}={path}" for name, path in sorted(request.contexts.items())]
    words += [f"--build-context={name}=docker-image://{place}" for name, place in sorted(request.images.items())]
    words += [f"--secret=id={name},src={path}" for name, path in sorted(request.secrets.items())]
    # By name alone: the value comes from the environment, and BuildKit keeps these out of the history.
    words += [f"--build-arg={name}" for name in PROXIES if os.environ.get(name)]
    words += [] if request.cache else ["--no-cache"]
    words += [f"--network={request.network}"] if request.network else []
    return [*words, str(request.folder)]


def build(request: Request, progress: Progress | None = None) -> list[Step]:
    """The image lies at request.output, as an OCI archive, or in the engine (`exports`). Raises BuildFailed."""
    unquotable(request)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(request.epoch), "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    steps = Steps()
    return followed(argv(request), environment, steps, steps.buildkit, request.output, progress)


def unquotable(request: Request) -> None:
    """buildx and podman read their options as CSV. Raises InputError."""
    for path in (request.output, *request.contexts.values(), *request.secrets.values()):
        if "," in str(path) or "\n" in str(path):
            raise InputError(f"{path}: expected a path without commas")


def followed(
    words: Sequence[str],
    environment: Mapping[str, str],
    steps: Steps,
    read: Callable[[str, float], tuple[Step, ...]],
    output: Path,
    progress: Progress | None,
) -> list[Step]:
    """Runs a builder to its end, progress of each step and each second. Raises BuildFailed."""
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment))
    tail: list[str] = []
    try:
        for text in _lines(started):
            now = time.monotonic()
            changed: tuple[Step | None, ...] = (None,)
            if text is not None:
                tail = [*tail[-60:], text]
                changed = read(text, now)
            if progress:
                for step in changed:
                    progress(step, output.stat().st_size if output.is_file() else 0)
        code = started.wait()
    except BaseException:  # Ctrl-C: the build does not go on behind its user's back
        started.terminate()
        started.wait(10)
        raise
    finally:
        if started.stdout:
            started.stdout.close()
    steps.end(time.monotonic())
    if code:
        output.unlink(missing_ok=True)
        raise _failure(words, code, steps.rows, tail)
    return list(steps.rows.values())


def _lines(started: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """Lines as they come; None for each second without one."""
    stream = started.stdout
    if stream is None:
        return
    held = b""
    with selectors.DefaultSelector() as ready:
        ready.register(stream, selectors.EVENT_READ)
        while True:
            if not ready.select(1.0):
                yield None
                continue
            more = os.read(stream.fileno(), 1 << 16)
            *whole, held = (held + more).split(b"\n")
            yield from (line.decode("utf-8", "replace").rstrip("\r")[:2000] for line in whole)
            held = held[-4000:]
            if not more:
                if held:
                    yield held.decode("utf-8", "replace")[:2000]
                return


def _failure(words: Sequence[str], code: int, steps: Mapping[str, Step], tail: Sequence[str]) -> BuildFailed:
    output = "\n".join(tail)
    failed = [s for s in steps.values() if any(line.startswith(_FAILED) for line in s.lines)]
    step = failed[-1] if failed else None
    last = [line for line in tail if _ERROR.match(line)][-1:] or list(tail[-1:]) or ["no output"]
    if _FULL.search(output):
        return BuildFailed(words, code, step, output, FULL.format(engine=words[0]))
    if step is not None and _UNTRUSTED.search("\n".join(step.lines)):
        why = (
            f"step {step.name[:80]} failed: a TLS certificate is not trusted there, as behind a proxy that opens TLS; "
        )
        return BuildFailed(words, code, step, output, why + "name the authority's file: --secret ca=FILE")
    if step is None:
        return BuildFailed(words, code, None, output, f"the build failed: {_ERROR.sub('', last[0])[:300]}")
    lines = [line for line in step.lines if line.strip() and not line.startswith(_FAILED)][-6:]
    shown = " | ".join(clean(line, 240).strip() for line in lines) or last[0][:300]
    return BuildFailed(words, code, step, output, f"step {step.name[:160]} failed: {shown}")
