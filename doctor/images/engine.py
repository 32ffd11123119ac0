"""The engine that builds: `docker buildx`, its progress step by step, and each of its failures in one line.

Only argv lists; secrets are handed over as files, a proxy by the name of its variable, so that neither stands in a
command line, a layer or a history.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.errors import InputError, ToolError
from doctor.versions import Dotted

LEAST_BUILDKIT = "0.13"
"""rewrite-timestamp: BuildKit's docs/build-repro.md."""
_STEP = re.compile(r"#(\d{1,5}) (\[.{1,300}\].*|(?:exporting|importing|sending|writing).{0,200})$")
_DONE = re.compile(r"#(\d{1,5}) DONE (\d{1,6}\.\d)s$")
_CACHED = re.compile(r"#(\d{1,5}) CACHED$")
_LINE = re.compile(r"#(\d{1,5}) (?:\d{1,6}\.\d{1,4} )?(.*)$")
_FULL = re.compile(r"(?i)no space left on device|disk quota exceeded")
FULL = "the disk is full: `docker system df` shows what images and caches take"
_KEPT = 25


@dataclass
class Step:
    """`seconds` None while it runs; `lines`: its last ones."""

    name: str
    seconds: float | None = None
    cached: bool = False
    lines: list[str] = field(default_factory=list)


Progress = Callable[[Step], None]


class BuildFailed(ToolError):
    """A step failed: which, and its last lines."""

    def __init__(self, argv: Sequence[str], code: int, step: Step | None, output: str, why: str) -> None:
        super().__init__(argv, code, "", output)
        self.step = step
        self.args = (why,)


def require(name: str = "docker") -> None:
    """Raises InputError where the engine is not there, does not answer, or is too old."""
    if not shutil.which(name):
        raise InputError(f"{name} is not installed: images are built with it; `doctor image emit` needs no engine")
    answer = _ask((name, "version", "--format", "{{.Server.Version}}"))
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


_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


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
    words += [f"--build-arg={name}" for name in _PROXIES if os.environ.get(name)]
    words += [] if request.cache else ["--no-cache"]
    words += [f"--network={request.network}"] if request.network else []
    return [*words, str(request.folder)]


def build(request: Request, told: Progress | None = None) -> list[Step]:
    """The image lies at request.output, as an OCI archive. Raises BuildFailed."""
    for path in (request.output, *request.contexts.values(), *request.secrets.values()):
        if "," in str(path) or "\n" in str(path):  # buildx reads its options as CSV
            raise InputError(f"{path}: a path without commas is wanted here")
    words = argv(request)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(request.epoch), "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    started = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    )
    steps: dict[str, Step] = {}
    tail: list[str] = []
    try:
        for line in started.stderr or ():
            text = line.rstrip("\n")[:2000]
            tail = [*tail[-60:], text]
            step = _took(steps, text)
            if step and told:
                told(step)
        code = started.wait()
    except BaseException:  # Ctrl-C: the build does not go on behind its user's back
        started.terminate()
        started.wait(10)
        raise
    if code:
        request.output.unlink(missing_ok=True)
        raise _failure(words, code, steps, tail)
    return list(steps.values())


def _took(steps: dict[str, Step], text: str) -> Step | None:
    """The step that begins or ends with a line; None for a line of its output."""
    if done := _DONE.match(text):
        step = steps.get(done[1])
        if step:
            step.seconds = float(done[2])
        return step
    if cached := _CACHED.match(text):
        step = steps.get(cached[1])
        if step:
            step.cached, step.seconds = True, 0.0
        return step
    if (begun := _STEP.match(text)) and begun[1] not in steps:
        steps[begun[1]] = Step(begun[2])
        return steps[begun[1]]
    if (line := _LINE.match(text)) and line[1] in steps:
        kept = steps[line[1]].lines
        kept.append(line[2])
        del kept[:-_KEPT]
    return None


def _failure(words: Sequence[str], code: int, steps: Mapping[str, Step], tail: Sequence[str]) -> BuildFailed:
    output = "\n".join(tail)
    failed = [s for s in steps.values() if any(line.startswith("ERROR") for line in s.lines)]
    step = failed[-1] if failed else None
    last = [line for line in tail if line.startswith("ERROR:")][-1:] or list(tail[-1:]) or ["no output"]
    if _FULL.search(output):
        return BuildFailed(words, code, step, output, FULL)
    if step is None:
        return BuildFailed(words, code, None, output, f"the build failed: {last[0].removeprefix('ERROR: ')[:300]}")
    lines = [line for line in step.lines if line.strip() and not line.startswith("ERROR")][-6:]
    said = " | ".join(_short(line) for line in lines) or last[0][:300]
    return BuildFailed(words, code, step, output, f"step {step.name[:160]} failed: {said}")


def _short(line: str) -> str:
    return "".join(c if c.isprintable() else " " for c in line).strip()[:240]


def load(archive: Path, name: str = "docker") -> str:
    """The engine has the image; what it said. Raises ToolError."""
    return ask((name, "load", "--input", str(archive)), timeout_s=1800)


def shown(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        time_text = "cached" if step.cached else f"{step.seconds or 0:.1f} s"
        yield f"{time_text:>9}  {step.name}"


def clock() -> float:
    return time.monotonic()
