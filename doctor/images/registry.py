"""A tag -> its digest, asked of the registry by the OCI distribution API. Anonymous, or with the token that
the registry itself hands out for pulling; no login is read from this machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from doctor.errors import InputError

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
_LIMIT = 4 << 20


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
        name, _, tag = path.partition(":")
        return cls(host, name, tag or "latest")

    @property
    def address(self) -> str:
        """Plain http on loopback only, as the engine does."""
        local = re.match(r"(?:localhost|127\.[0-9.]+)(?::|$)", self.host)
        return f"{'http' if local else 'https'}://{self.host}/v2/{self.name}/manifests/{self.tag}"


def resolve(image: str, platform: str) -> tuple[str, str | None]:
    """The digest that the tag stands for now, and that of the platform's manifest where the first is an index. What the
    registry says is not believed: the digest is computed over the manifest's bytes. Raises InputError."""
    try:
        import httpx
    except ImportError as error:
        raise InputError("asking a registry needs the extra: pip install 'rocm-cuda-doctor[image]'") from error
    reference = Reference.of(image)
    try:
        with httpx.Client(timeout=_TIMEOUT_S, follow_redirects=True) as client:
            answer = client.get(reference.address, headers={"Accept": _ACCEPT})
            if answer.status_code == 401:
                token = _token(client, answer.headers.get("www-authenticate", ""), reference)
                answer = client.get(reference.address, headers={"Accept": _ACCEPT, "Authorization": f"Bearer {token}"})
            if answer.status_code != 200:
                raise InputError(f"{image}: {reference.host} answers {answer.status_code} {answer.reason_phrase}")
            if len(answer.content) > _LIMIT:
                raise InputError(f"{image}: {reference.host} answers with more than a manifest can be")
            manifest: Any = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise InputError(
            f"{image}: {reference.host} can't be asked: {type(error).__name__}: {str(error)[:120]}"
        ) from error
    digest = f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
    said = answer.headers.get("docker-content-digest")
    if said and said != digest:
        raise InputError(f"{image}: {reference.host} says {said[:80]}, and what it sent is {digest}")
    return digest, _of_platform(manifest, image, platform)


def _of_platform(manifest: Any, image: str, platform: str) -> str | None:
    rows = manifest.get("manifests") if isinstance(manifest, dict) else None
    if rows is None:
        return None
    os, _, machine = platform.partition("/")
    for row in rows:
        told = row.get("platform") or {}
        if (told.get("os"), told.get("architecture")) == (os, machine):
            return str(row["digest"])
    raise InputError(f"{image}: has no {platform}")


def _token(client: Any, challenge: str, reference: Reference) -> str:
    words = dict(re.findall(r'(\w{1,20})="([^"]{1,300})"', challenge))
    realm = words.get("realm", "")
    if not challenge.lower().startswith("bearer") or not realm.startswith("https://"):
        raise InputError(f"{reference.host} wants a login: pull the image with the engine, then lock by it")
    scope = f"repository:{reference.name}:pull"
    answer = client.get(realm, params={"service": words.get("service", ""), "scope": scope})
    told: Any = answer.json() if answer.status_code == 200 else {}
    token = told.get("token") or told.get("access_token")
    if not token:
        raise InputError(f"{reference.host}: no token for pulling {reference.name} ({answer.status_code})")
    return str(token)
