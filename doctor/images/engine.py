"""The engine that builds: `docker buildx`, its progress step by step, and each of its failures in one line.

Only argv lists; secrets are handed over as files, a proxy by the name of its variable, so that neither stands in a
command line, a layer or a history.
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
from doctor.versions import Dotted

LEAST_BUILDKIT = "0.13"
"""rewrite-timestamp: BuildKit's docs/build-repro.md."""
_FULL = re.compile(r"(?i)no space left on device|disk quota exceeded")
FULL = "the disk is full: `{engine} system df` shows what images and caches take"
_FAILED = ("ERROR", "Error: building at STEP", "Error: error building at STEP")
"""How BuildKit and buildah say which step it was."""
_ERROR = re.compile(r"(?i)error: ")


class BuildFailed(ToolError):
    """A step failed: which, and its last lines."""

    def __init__(self, argv: Sequence[str], code: int, step: Step | None, output: str, why: str) -> None:
        super().__init__(argv, code, "", output)
        self.step = step
        self.args = (why,)


def require(name: str = "docker", version_of: str = "{{.Server.Version}}") -> None:
    """Raises InputError where the engine is not there, does not answer, or is too old."""
    if not shutil.which(name):
        other = "docker" if name == "podman" else "podman"
        hint = f"; {other} is here: --engine {other}" if shutil.which(other) else ""
        raise InputError(
            f"{name} is not installed: images are built with it; `doctor image emit` needs no engine{hint}"
        )
    answer = _ask((name, "version", "--format", version_of))
    if answer.returncode:
        last = (answer.stderr or answer.stdout).strip().splitlines()[-1:] or ["no answer"]
        raise InputError(f"{name} does not answer: {last[0][:200]}; start it, or get the right to use it")
    if name != "docker":
        return
    plugin = _ask((name, "buildx", "version"))
    found = re.search(r"v?(\d+\.\d+\.\d+)", plugin.stdout)
    if plugin.returncode or not found:
        raise InputError("docker has no buildx plugin: install docker-buildx or docker-buildx-plugin")
    if Dotted(found[1]).numbers < Dotted("0.10").numbers:
        raise InputError(f"buildx {found[1]} is too old: 0.10 or newer hands the time of a build on to every stage")
    kit = _ask((name, "buildx", "inspect"))
    version = re.search(r"Build[Kk]it(?: version)?:\s+v?(\d+\.\d+(?:\.\d+)?)", kit.stdout)
    # Debian's builds say 0.0.0: no version is known then.
    if version and version[1] != "0.0.0" and Dotted(version[1]).numbers < Dotted(LEAST_BUILDKIT).numbers:
        raise InputError(f"BuildKit {version[1]} is too old: {LEAST_BUILDKIT} writes layers that bear a given time")


def _ask(argv: Sequence[str], timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {timeout_s:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(argv, 127, "", str(error))


def ask(argv: Sequence[str], timeout_s: float = 60) -> str:
    """stdout of a command of the engine. Raises ToolError."""
    done = _ask(argv, timeout_s)
    if done.returncode:
        raise ToolError(argv, done.returncode, done.stdout, done.stderr)
    return done.stdout


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


PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def argv(request: Request) -> list[str]:
    """Provenance would bear the time of the build; the record beside the image says the same and more."""
    words = ["docker", "buildx", "build", "--progress=plain", "--provenance=false", "--sbom=false"]
    words += [f"--platform={request.platform}", f"--build-arg=SOURCE_DATE_EPOCH={request.epoch}"]
    squeezed = f"compression={request.compression}" + (",oci-mediatypes=true" if request.compression == "zstd" else "")
    words += [f"--output=type=oci,dest={request.output},rewrite-timestamp=true,name={request.tag},{squeezed}"]
    words += [f"--build-context={name}={path}" for name, path in sorted(request.contexts.items())]
    words += [f"--build-context={name}=docker-image://{place}" for name, place in sorted(request.images.items())]
    words += [f"--secret=id={name},src={path}" for name, path in sorted(request.secrets.items())]
    # By name alone: the value comes from the environment, and BuildKit keeps these out of the history.
    words += [f"--build-arg={name}" for name in PROXIES if os.environ.get(name)]
    words += [] if request.cache else ["--no-cache"]
    words += [f"--network={request.network}"] if request.network else []
    return [*words, str(request.folder)]


def build(request: Request, told: Progress | None = None, expected: Steps | None = None) -> list[Step]:
    """The image lies at request.output, as an OCI archive. Raises BuildFailed."""
    unquotable(request)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(request.epoch), "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    steps = expected or Steps({}, whole=False)
    return followed(argv(request), environment, steps, steps.buildkit, request.output, told)


def unquotable(request: Request) -> None:
    """buildx and podman read their options as CSV. Raises InputError."""
    for path in (request.output, *request.contexts.values(), *request.secrets.values()):
        if "," in str(path) or "\n" in str(path):
            raise InputError(f"{path}: a path without commas is wanted here")


def followed(
    words: Sequence[str],
    environment: Mapping[str, str],
    steps: Steps,
    read: Callable[[str, float], tuple[Step, ...]],
    output: Path,
    told: Progress | None,
) -> list[Step]:
    """Runs a builder to its end, told of each step and each second. Raises BuildFailed."""
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment))
    tail: list[str] = []
    try:
        for text in _lines(started):
            now = time.monotonic()
            changed: tuple[Step | None, ...] = (None,)
            if text is not None:
                tail = [*tail[-60:], text]
                changed = read(text, now)
            if told:
                for step in changed:
                    told(step, steps.outlook(now, output.stat().st_size if output.is_file() else 0))
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
    if step is None:
        return BuildFailed(words, code, None, output, f"the build failed: {_ERROR.sub('', last[0])[:300]}")
    lines = [line for line in step.lines if line.strip() and not line.startswith(_FAILED)][-6:]
    said = " | ".join(_short(line) for line in lines) or last[0][:300]
    return BuildFailed(words, code, step, output, f"step {step.name[:160]} failed: {said}")


def _short(line: str) -> str:
    return "".join(c if c.isprintable() else " " for c in line).strip()[:240]


def load(archive: Path, name: str = "docker") -> str:
    """The engine has the image; what it said. Raises ToolError."""
    return ask((name, "load", "--input", str(archive)), timeout_s=1800)
