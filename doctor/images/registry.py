"""A tag -> its digest, asked of the registry by the OCI distribution API: with the account's login, where Docker's
configuration has one for that registry, else anonymous. Each name is asked for once."""

from __future__ import annotations

import functools
import hashlib
import re
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.errors import InputError
from doctor.system.engine_api import login

_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_HUB = "registry-1.docker.io"
_TIMEOUT_S = 20.0
_SILENT: dict[str, str] = {}
"""Registries that did not answer, and how."""
_WHY = {401: " (docker login {})", 403: " (docker login {})", 429: ": too many requests; docker login {} allows more"}
_LIMIT = 4 << 20


class Refused(InputError):
    """The registry was reached and does not hand it out."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Reference:
    """Where an image's manifest is.

    >>> Reference.of("ubuntu:24.04")
    Reference(host='registry-1.docker.io', name='library/ubuntu', tag='24.04')
    >>> Reference.of("localhost:5000/team/debian")
    Reference(host='localhost:5000', name='team/debian', tag='latest')
    """

    host: str
    name: str
    tag: str

    @classmethod
    def of(cls, image: str) -> Reference:
        first, slash, rest = image.partition("/")
        if slash and ("." in first or ":" in first or first == "localhost"):
            host, path = first, rest
        else:
            host, path = _HUB, image if slash else f"library/{image}"
        host = _HUB if host in ("docker.io", "index.docker.io") else host
        name, _, digest = path.partition("@")
        name, _, tag = name.partition(":")
        return cls(host, name, digest or tag or "latest")

    @property
    def address(self) -> str:
        """Plain http on loopback only, as the engine does."""
        local = re.match(r"(?:localhost|127\.[0-9.]+)(?::|$)", self.host)
        return f"{'http' if local else 'https'}://{self.host}/v2/{self.name}/manifests/{self.tag}"


@functools.cache
def resolve(image: str, platform: str, ca: Path | None = None) -> str:
    """The digest that a tag stands for now, of an index that has the platform or of one manifest. What the registry
    says is not believed: the digest is computed over the manifest's bytes. Raises InputError, Refused."""
    httpx = http_library()
    reference = Reference.of(image)
    if reference.host in _SILENT:
        raise InputError(f"{image}: {reference.host} can't be asked: {_SILENT[reference.host]}")
    try:
        with httpx.Client(timeout=_TIMEOUT_S, follow_redirects=True, verify=_trusted(ca)) as client:
            answer = _get(client, reference.address, {"Accept": _ACCEPT})
            if answer.status_code == 401:
                given = _authorization(client, answer.headers.get("www-authenticate", ""), reference)
                answer = _get(client, reference.address, {"Accept": _ACCEPT, "Authorization": given})
            if answer.status_code != 200:
                why = _WHY.get(answer.status_code, "").format(reference.host)
                message = f"{image}: {reference.host} answers {answer.status_code} {answer.reason_phrase}{why}"
                raise Refused(message, answer.status_code)
            manifest: Any = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
        why = "its certificate is not trusted here; name the authority's file: --ca FILE" if untrusted else str(error)
        reason = f"{type(error).__name__}: {why[:120]}"
        if isinstance(error, httpx.TransportError):
            _SILENT[reference.host] = reason  # so that eighty profiles do not wait for it eighty times
        raise InputError(f"{image}: {reference.host} can't be asked: {reason}") from error
    digest = f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
    digest_header = answer.headers.get("docker-content-digest")
    wanted = reference.tag if reference.tag.startswith("sha256:") else digest_header or digest
    if wanted != digest:
        raise InputError(f"{image}: {reference.host} says {wanted[:80]}, and what it sent is {digest}")
    rows = manifest.get("manifests") if isinstance(manifest, dict) else None
    which = [row.get("platform") for row in rows or () if isinstance(row, dict)] if isinstance(rows, list) else []
    there = {f"{p.get('os')}/{p.get('architecture')}" for p in which if isinstance(p, dict)}
    if rows is not None and platform not in there:
        raise InputError(f"{image}: has no {platform}")
    return digest


def http_library() -> Any:
    """Raises InputError where it is not installed."""
    try:
        import httpx
    except ImportError as error:
        raise InputError("this asks the network and needs the extra: pip install 'rocm-cuda-doctor[image]'") from error
    return httpx


def _get(client: Any, address: str, headers: dict[str, str]) -> Any:
    """An answer whose body has a limit in bytes and in time, a slow trickle's too. Raises httpx.HTTPError."""
    end = time.monotonic() + _TIMEOUT_S
    with client.stream("GET", address, headers=headers) as answer:
        body = bytearray()
        for chunk in answer.iter_bytes():
            body += chunk
            if len(body) > _LIMIT:
                raise ValueError("more than a manifest can be")
            if time.monotonic() > end:
                raise http_library().ReadTimeout(f"its answer was not complete after {_TIMEOUT_S:.0f} s")
    plain = {k: v for k, v in answer.headers.items() if k not in ("content-encoding", "transfer-encoding")}
    return http_library().Response(answer.status_code, headers=plain, content=bytes(body))


def _trusted(ca: Path | None) -> ssl.SSLContext | bool:
    """The usual authorities, and those of a file. Raises InputError."""
    if ca is None:
        return True
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"--ca {ca}: {error.strerror or error}") from error
    return context


def _authorization(client: Any, challenge: str, reference: Reference) -> str:
    """The header's value that the registry asks for: a token for pulling, or the login itself."""
    import base64

    known = login(None if reference.host == _HUB else reference.host)
    if challenge.lower().startswith("basic") and known:
        return "Basic " + base64.b64encode(":".join(known).encode()).decode()
    words = dict(re.findall(r'(\w{1,20})="([^"]{1,300})"', challenge))
    realm = words.get("realm", "")
    if not challenge.lower().startswith("bearer") or not realm.startswith("https://"):
        raise Refused(f"{reference.host} asks for a login: docker login {reference.host}", 401)
    scope = f"repository:{reference.name}:pull"
    answer = client.get(realm, params={"service": words.get("service", ""), "scope": scope}, auth=known)
    reply: Any = answer.json() if answer.status_code == 200 else {}
    reply = reply if isinstance(reply, dict) else {}
    token = reply.get("token") or reply.get("access_token")
    if not token:
        raise Refused(f"{reference.host}: no token for pulling {reference.name} ({answer.status_code})", 401)
    return f"Bearer {token}"
