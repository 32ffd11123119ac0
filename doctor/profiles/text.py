"""The kinds of text that a profile may hold: each is inert in a shell, a Dockerfile, YAML and a terminal.

A profile may come from somebody else, and its values reach Dockerfiles, run lines and reports.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from doctor.errors import InputError

_OWN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,79}")
_PART = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,79}(?:/[a-z0-9][a-z0-9.+_-]{0,79}){0,3}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~:_-]{0,63}")
_VALUE = re.compile(r"[A-Za-z0-9 ,.:;=+/@%_\[\]{}<>~*-]{0,400}")
_URL = re.compile(r"https://[A-Za-z0-9._~:/?#@!&*+,=%()-]{3,300}")
_IMAGE = re.compile(
    r"(?:[a-z0-9][a-z0-9.-]{0,80}:[0-9]{2,5}/)?[a-z0-9][a-z0-9./_-]{0,120}(?::[A-Za-z0-9._-]{1,120})?(?:@sha256:[0-9a-f]{64})?"
)
_PCI_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
_REVISION = re.compile(r"[0-9a-f]{2}")
_ARCH = re.compile(r"gfx[0-9a-f]{3,6}|sm_[0-9]{2,3}")


def _line(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; expected one line of text")
    if len(text) > 600 or not all(c.isprintable() for c in text):
        raise ValueError("expected one line of at most 600 printable characters")
    return text


def _of(pattern: re.Pattern[str], wanted: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{text[:60]!r} is not right; {wanted}")
        return text

    return AfterValidator(check)


Line = Annotated[str, AfterValidator(_line)]
"""Prose for people."""
Name = Annotated[str, _of(_NAME, "expected small letters, digits, '.', '+', '_' and '-', such as mi300x+rocm7.2")]
PartName = Annotated[str, _of(_PART, "expected the name of a part without .toml, such as boards/mi300x")]
Variable = Annotated[str, _of(_VARIABLE, "expected a variable's name, such as HSA_NO_SCRATCH_RECLAIM")]
Value = Annotated[str, _of(_VALUE, "expected one line of letters, digits and , . : ; = + / @ % [ ] { } < > ~ * _ -")]
Package = Annotated[str, _of(_PACKAGE, "expected the name of a package, such as torch or librocblas0")]
Version = Annotated[str, _of(_VERSION, "expected a version that starts with a digit, such as 2.13.0")]
Url = Annotated[str, _of(_URL, "expected an https:// address")]
Image = Annotated[str, _of(_IMAGE, "expected a reference such as ubuntu:24.04 or debian:13@sha256:…")]
PciId = Annotated[str, _of(_PCI_ID, "expected vendor:device in small hex digits, such as 1002:74a1")]
Revision = Annotated[str, _of(_REVISION, "expected two small hex digits, such as c8")]
Arch = Annotated[str, _of(_ARCH, "expected a target such as gfx942 or sm_90")]


def checked_name(name: str) -> str:
    """The name of a new profile that a user types; `+` is between a board and a stack. Raises InputError."""
    if not _OWN_NAME.fullmatch(name):
        raise InputError(f"{name[:60]!r} is not a name for a profile; expected small letters, digits, '.', '_' and '-'")
    return name
