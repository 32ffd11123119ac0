"""What a run line may hold: names and values from outside are refused where no engine could take them.

>>> image("rocm/pytorch:latest")
'rocm/pytorch:latest'
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from doctor.errors import InputError

# The grammar of references: https://pkg.go.dev/github.com/distribution/reference
_WORD = r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*"
_HOST = rf"(?:{_WORD}(?:\.{_WORD})*|\[[0-9a-fA-F:]{{2,39}}\])(?::\d{{1,5}})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:{_HOST})/)?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?", re.ASCII
)
_PLAIN_PATH = r"/[^\x00-\x1f\x7f:,\"'`$\\;\u0085\u2028\u2029]{0,1024}"
_VOLUME = r"[A-Za-z0-9][A-Za-z0-9_.-]{1,127}"
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
Origin = Literal["registry", "sif", "library", "oras", "sqsh", "docker-archive"]
_FILE = r"(?!-)[A-Za-z0-9_./+@-]{1,400}"
_ORIGINS: Mapping[Origin, re.Pattern[str]] = {
    "sif": re.compile(rf"{_FILE}\.sif"),
    "sqsh": re.compile(rf"{_FILE}\.sqsh"),
    "library": re.compile(r"library://[A-Za-z0-9_./:+@-]{1,400}"),
    "oras": re.compile(r"oras://[A-Za-z0-9_./:+@-]{1,400}"),
    "docker-archive": re.compile(rf"docker-archive:{_FILE}"),
}
_LAST_ID = (1 << 32) - 2
_USER = re.compile(r"[0-9]{1,10}(?::[0-9]{1,10})?")


class Port(NamedTuple):
    """A published port. `address` is the host's; None: all of them."""

    address: str | None
    host: int | None
    inside: int
    protocol: str


def origin(image: str) -> Origin:
    """Where an image comes from: a registry or the engine's own store, a file, or a library of Apptainer's.

    >>> origin("rocm/pytorch:latest"), origin("./torch.sif"), origin("docker-archive:/tmp/a.tar")
    ('registry', 'sif', 'docker-archive')
    """
    return next((found for found, pattern in _ORIGINS.items() if pattern.fullmatch(image)), "registry")


def image(text: str) -> str:
    """An image reference, the id of an image (`sha256:…`), a .sif or .sqsh file, `library://…`, `oras://…` or
    `docker-archive:PATH`. Raises InputError."""
    if len(text) <= 512 and origin(text) != "registry":
        return text
    if len(text) <= 512 and (_IMAGE.fullmatch(text) or re.fullmatch(r"sha256:[0-9a-f]{12,64}", text)):
        return text
    raise InputError(f"{_shown(text)}: not an image reference (NAME[:TAG][@sha256:DIGEST])")


def env(text: str) -> str:
    """NAME=VALUE. Raises InputError on a name that is none or a NUL."""
    name, equals, value = text.partition("=")
    if not _ENV_NAME.fullmatch(name) or "\0" in value:
        raise InputError(f"{_shown(text)}: not NAME=VALUE of an environment variable")
    if not equals:
        raise InputError(f"{_shown(text)}: give NAME=VALUE")
    return text


def env_name(text: str) -> str:
    """NAME, whose value is the caller's. Raises InputError."""
    if not _ENV_NAME.fullmatch(text):
        raise InputError(f"{_shown(text)}: not the NAME of an environment variable")
    return text


def mount(text: str, cwd: str | None = None) -> str:
    """SOURCE:CONTAINER[:ro|rw][,z|Z]. SOURCE is a named volume, an absolute path or, where `cwd` is known, one that
    starts with `.`, which is made absolute. Paths hold no `..`, comma, colon, quote, `$` or control character."""
    source, colon, rest = text.partition(":")
    if cwd is not None and re.match(r"\.{1,2}(?:/|$)", source):
        source = posixpath.normpath(posixpath.join(cwd, source))
    named = rf"(?:{_PLAIN_PATH}|{_VOLUME})"
    option = r"(?:ro|rw|z|Z)"
    whole = f"{source}{colon}{rest}"
    bad = not re.fullmatch(rf"{named}:{_PLAIN_PATH}(?::{option}(?:,{option})?)?", whole)
    if bad or ".." in re.split("[/:]", whole):
        raise InputError(f"{_shown(text)}: not HOST:CONTAINER[:ro], where HOST is a path or a volume's name")
    return whole


def file(text: str, cwd: str | None) -> str:
    """A file of this machine as an absolute path. Raises InputError."""
    if not text or text.startswith("-") or (cwd is None and not text.startswith("/")):
        raise InputError(f"--env-file {_shown(text)}: not the path of a file")
    path = posixpath.normpath(posixpath.join(cwd or "/", text))
    if not re.fullmatch(_PLAIN_PATH, path):
        raise InputError(f"--env-file {_shown(text)}: not a plain path (no quotes, `$`, commas or colons)")
    return path


def publish(text: str) -> str:
    """[[IP:]HOST:]CONTAINER[/tcp|/udp]; ports are single numbers. Raises InputError."""
    try:
        port(text)
    except ValueError as error:
        raise InputError(f"{_shown(text)}: not [[IP:]HOSTPORT:]PORT[/tcp|udp]") from error
    return text


def port(text: str) -> Port:
    """Raises ValueError. `host` None: any free port of the host.

    >>> port("127.0.0.1:8080:8000/tcp")
    Port(address='127.0.0.1', host=8080, inside=8000, protocol='tcp')
    """
    ports, slash, protocol = text.partition("/")
    match = re.fullmatch(r"(?:(?:(\[[0-9a-fA-F:.]{2,45}\]|[0-9.]{7,15}):)?(\d{0,5}):)?(\d{1,5})", ports, re.ASCII)
    if match is None or (protocol or "tcp") not in ("tcp", "udp") or (slash and not protocol):
        raise ValueError(text)
    address = match[1]
    if address:
        ipaddress.ip_address(address.strip("[]"))
    host, inside = int(match[2]) if match[2] else None, int(match[3])
    if not 0 < inside < 1 << 16 or (host is not None and not 0 < host < 1 << 16):
        raise ValueError(text)
    return Port(address, host, inside, protocol or "tcp")


def network(text: str) -> str:
    """host, none, bridge, container:NAME, or a network's name, with docker's or podman's options behind a colon."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,127}(?::[\w.,=:/-]{1,200})?", text, re.ASCII):
        raise InputError(f"--network {_shown(text)}: not the name of a network")
    return text


def container(text: str) -> str:
    """A container's name, as docker and podman take it. Raises InputError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{1,62}", text):
        raise InputError(f"--name {_shown(text)}: not a container's name (letters, digits, `_`, `.`, `-`)")
    return text


def workdir(text: str) -> str:
    """An absolute path in the container. Raises InputError."""
    if not re.fullmatch(_PLAIN_PATH, text):
        raise InputError(f"--workdir {_shown(text)}: not an absolute, plain path in the container")
    return text


def entrypoint(text: str) -> str:
    """A program in the image, or nothing: the image's own is not used then. Raises InputError."""
    if text.startswith("-") or len(text) > 1024 or re.search(r"[\x00-\x1f\x7f]", text):
        raise InputError(f"--entrypoint {_shown(text)}: not the path or name of a program")
    return text


def engine_arg(text: str) -> str:
    """One option of docker's or podman's own, such as `--restart=always`. Raises InputError on a word that is no
    option: the engine would take it for the image."""
    if not re.fullmatch(r"--?[A-Za-z0-9][^\x00-\x1f\x7f]{0,1024}", text):
        raise InputError(
            f"--engine-arg {_shown(text)}: not an option; write it as one word: --engine-arg=--restart=always"
        )
    return text


def size(text: str) -> int:
    """Bytes of `8g`, `512m`, or a number. Raises InputError."""
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "b")
    factor = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(unit)
    if factor is None or not number.isdecimal() or not 0 < int(number) * factor < 1 << 50:
        raise InputError(f"invalid --shm {text[:40]!r} (a size such as 8g or 512m)")
    return int(number) * factor


def user(text: str) -> str:
    """UID[:GID], numbers only: names resolve inside the image."""
    if not _USER.fullmatch(text):
        raise InputError(f"{_shown(text)}: not UID[:GID]; a name would be looked up inside the image")
    if any(int(number) > _LAST_ID for number in text.split(":")):
        raise InputError(f"{_shown(text)}: the highest UID and GID is {_LAST_ID}")
    return text


def command(words: tuple[str, ...]) -> tuple[str, ...]:
    """No word may hold a NUL: no program could be given it."""
    for word in words:
        if "\0" in word:
            raise InputError(f"{_shown(word)}: a NUL in the command")
    return words


def label(text: str) -> str:
    """A DNS label made of any text (RFC 1123): for object names of Kubernetes and services of compose.

    >>> label("rocm/PyTorch:latest"), label("…")
    ('rocm-pytorch-latest', 'gpu-job')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-")
    return plain if plain and plain[0].isalpha() else f"gpu-{plain}".rstrip("-") if plain else "gpu-job"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
