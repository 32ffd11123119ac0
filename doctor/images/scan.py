"""One pass over an image's layers: packages, set-id programs, secrets, drivers, compatibility libraries, size.

All layers count, what a later one removes too: it is in the image for whoever pulls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from doctor.images import oci
from doctor.parsers.python import dist_info

_SECRET_FILES = re.compile(
    r"(?:^|/)(?:\.netrc|\.git-credentials|\.pypirc|\.npmrc|id_(?:rsa|dsa|ecdsa|ed25519)|\.docker/config\.json|\.aws/credentials|"
    r"auth\.json|pip\.conf|\.env|apt_conf|pip_conf)$|^run/secrets/."
)
_URL_LOGIN = re.compile(rb"[a-z]{3,8}://[^\s/:@'\"<>${}]{1,80}:[^\s/@'\"<>${}]{3,200}@[A-Za-z0-9.-]{3,}")
_KEY = re.compile(rb"-----BEGIN (?:RSA |EC |OPENSSH |DSA |ENCRYPTED )?PRIVATE KEY-----\s+[A-Za-z0-9+/=\s]{200,}")
_TOKEN = re.compile(
    rb"\b(?:ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|hf_[A-Za-z0-9]{34}|AKIA[0-9A-Z]{16}|glpat-[A-Za-z0-9_-]{20}|"
    rb"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,})\b"
)
_TEXT = re.compile(
    r"\.(?:conf|cfg|ini|env|txt|sh|json|ya?ml|toml|list|netrc|npmrc|pypirc|profile|bashrc)$|(?:^|/)\.[a-z]+rc$|^etc/|^root/"
)
_LIBRARY_TESTS = re.compile(r"site-packages/|dist-packages/|/test(?:s|data)?/|usr/share/|opt/doctor/")
"""Where samples of keys and addresses with logins are part of a program; only certain forms of a token count there."""
_COMPAT = re.compile(r"usr/local/cuda[^/]*/compat|cuda-compat")
_DRIVER = re.compile(
    r"lib/modules/.*/(?:nvidia|amdgpu)[^/]*\.ko|usr/src/(?:nvidia|amdgpu)-[0-9]|(?:^|/)libcuda\.so\.[0-9]{3}\.|usr/bin/nvidia-smi$"
)


@dataclass
class Findings:
    """`bytes`: of all files of all layers, uncompressed."""

    debs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name → version and architecture."""
    wheels: dict[str, str] = field(default_factory=dict)
    setuid: set[str] = field(default_factory=set)
    secrets: set[str] = field(default_factory=set)
    drivers: set[str] = field(default_factory=set)
    compat: set[str] = field(default_factory=set)
    bytes: int = 0


def scan(image: oci.Image) -> Findings:
    found = Findings()
    for layer in image.layers:
        oci.walk(image, layer, lambda entry, head: _look(found, entry, head))
    found.secrets |= {f"{where}: a login in an address" for where in _settings(image.config)}
    return found


def _look(found: Findings, entry: oci.Entry, head: bytes | None) -> None:
    path = entry.path
    found.bytes += entry.size
    if path.startswith("opt/venv/") or "site-packages/" in path or "dist-packages/" in path:
        parts = path.split("/")
        known = dist_info.read(parts[-2]) if len(parts) > 1 and parts[-1] == "METADATA" else None
        if known and not path.startswith("opt/doctor/"):
            found.wheels[known.name] = known.version
    if head is None:
        return
    if entry.mode & 0o6000:
        found.setuid.add(f"/{path}")
    if path == "var/lib/dpkg/status" or path.startswith("var/lib/dpkg/status.d/"):
        found.debs |= dict(installed(head, entry.size))
    if _DRIVER.search(path):
        found.drivers.add(f"/{path}")
    if path.startswith("etc/ld.so.conf") and _COMPAT.search(head.decode("latin-1")):
        found.compat.add(f"/{path}")
    found.secrets |= {f"/{path}: {what}" for what in _secrets(path, entry.size, head)}


def _secrets(path: str, size: int, head: bytes) -> Iterator[str]:
    if size and _SECRET_FILES.search(path) and not _LIBRARY_TESTS.search(path):
        yield "a file that holds credentials"
    if size < 1 << 20 and _TOKEN.search(head):
        yield "a token"
    if size < 1 << 20 and _TEXT.search(path) and not _LIBRARY_TESTS.search(path):
        if _URL_LOGIN.search(head):
            yield "a login in an address"
        if _KEY.search(head):
            yield "a private key"


def _settings(config: dict[str, Any]) -> Iterator[str]:
    settings = config.get("config") or {}
    rows = [("environment", text) for text in settings.get("Env") or ()]
    rows += [("label", str(text)) for text in (settings.get("Labels") or {}).values()]
    rows += [("history", str(step.get("created_by", ""))) for step in config.get("history") or ()]
    for where, text in rows:
        raw = text.encode("utf-8", "replace")
        if _URL_LOGIN.search(raw) or _TOKEN.search(raw):
            yield where


_NAME = re.compile(r"^Package: (\S{1,100})$", re.MULTILINE)
_VERSION = re.compile(r"^Version: (\S{1,100})$", re.MULTILINE)
_ARCHITECTURE = re.compile(r"^Architecture: (\S{1,20})$", re.MULTILINE)


def installed(status: bytes, size: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name → version and architecture of what dpkg's status says is installed; of its first MiB (some 900 packages)."""
    for paragraph in status[:size].decode("utf-8", "replace").split("\n\n"):
        name, version = _NAME.search(paragraph), _VERSION.search(paragraph)
        if name and version and "\nStatus: install ok installed" in f"\n{paragraph}":
            built = _ARCHITECTURE.search(paragraph)
            yield name[1], (version[1], built[1] if built else "all")
