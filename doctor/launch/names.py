"""What may stand in a run line: names and values from outside are refused where no engine could take them.

>>> image("rocm/pytorch:latest")
'rocm/pytorch:latest'
"""

from __future__ import annotations

import re

from doctor.errors import InputError

# The grammar of references: https://pkg.go.dev/github.com/distribution/reference
_WORD = r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*"
_HOST = rf"(?:{_WORD}(?:\.{_WORD})*|\[[0-9a-fA-F:]{{2,39}}\])(?::\d{{1,5}})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:{_HOST})/)?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?", re.ASCII
)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_USER = re.compile(r"[0-9]{1,10}(?::[0-9]{1,10})?")


def image(text: str) -> str:
    """An image reference, or the id of an image (`sha256:…`). Raises InputError."""
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


def mount(text: str) -> str:
    """HOST:CONTAINER[:ro], absolute paths without `..`, commas, colons, quotes, `$` or control characters."""
    part = r"/[^\x00-\x1f\x7f:,\"'`$\\;\u0085\u2028\u2029]{0,1024}"
    if not re.fullmatch(rf"{part}:{part}(?::ro|:rw)?", text) or ".." in re.split("[/:]", text):
        raise InputError(f"{_shown(text)}: not HOST:CONTAINER[:ro] with absolute, plain paths")
    return text


def user(text: str) -> str:
    """UID[:GID], numbers only: names resolve inside the image."""
    if not _USER.fullmatch(text):
        raise InputError(f"{_shown(text)}: not UID[:GID]; a name would be looked up inside the image")
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
