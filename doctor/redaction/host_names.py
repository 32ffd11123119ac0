"""Names of hosts in text: in URLs, with a domain, in a registry's image. All but public ones (`public_hosts`).

>>> replaced("https://pypi.org/simple http://wheels.acme.io:80/x a.b.acme.io", lambda kind, name: kind)
'https://pypi.org/simple http://host.site:80/x host.site'
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.redaction.identifiers import MADE
from doctor.redaction.lazy import Lazy
from doctor.redaction.public_hosts import OF_TENANTS, SECOND_LEVELS, is_host, is_public
from doctor.redaction.vocabulary import listed

Named = Callable[[str, str], str]
"""Kind and name → stand-in."""

_URL = Lazy(
    r"(?i)\b((?:https?|ftps?|sftp|ssh|git|git\+ssh|git\+https|rsync|tcp|udp|tls|grpcs?|wss?|ldaps?|nfs|smb|cifs|redis|rediss|amqps?|mqtt|postgres|postgresql|mysql|mongodb|kafka|nats|socks5h?|rabbit|s3a?|gs|abfss?|wasbs?)(?:\+\w{1,12})?(?:://|%3A%2F%2F))((?:[^\s/@\"'<>]{1,200}@)?)([A-Za-z0-9](?:[A-Za-z0-9._-]{0,250}[A-Za-z0-9])?)"
)
_DOTTED = Lazy(
    r"(?<![\w/\\.-])(?:(?<=%2F)|(?<=%40)|(?<=%3A)|\.|//(?=\w))?((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,12})(?![\w-]|\((?!r[ow]\b)|\.[A-Za-z_])"
)
_ENCODED = Lazy(r"(?<=%2F|%40|%3A)((?:[A-Za-z0-9-]{1,62}\.){1,8}[A-Za-z]{2,12})(?=%|\b)")
_CODE = Lazy(r"(?i)\b(?:import|from|module|class|self|File|in|named|attribute)\s[\"']?\Z")
_MODULES = frozenset(
    "self model module layer layers scipy skimage pandas torchvision torchaudio plotly astropy socket keras system torch numpy asp geopandas "  # noqa: SIM905
    "policy actor critic generator discriminator encoder decoder network backbone".split()
)
_FIRM = Lazy(r"/\w|:\d")
_PLAIN = Lazy(r"\d{1,3}(?:\.\d{1,3}){3}|[\d.]+")


def replaced(text: str, named: Named) -> str:
    if "://" in text or "%2F" in text:
        text = _URL.sub(lambda m: m[1] + m[2] + _of_url(m[3], named), text)
    if "." not in text:
        return text
    if "%" in text:
        text = _ENCODED.sub(lambda m: _of_dotted(m, named), text)
    return _DOTTED.sub(lambda m: _of_dotted(m, named), text)


def hosts(text: str) -> Iterator[str]:
    """Names with a domain that is not public, in small letters."""
    if "." in text:
        for found in _DOTTED.finditer(text):
            host = found[1].lower()
            if found[1] in (host, host.upper()) and is_host(host) and not is_public(host) and not MADE.search(host):
                yield host


def domain_of(host: str) -> str:
    """`acme.co.uk` of `a.b.acme.co.uk`: what somebody registered."""
    labels = host.split(".")
    second = len(labels) > 2 and labels[-2] in SECOND_LEVELS
    return ".".join(labels[-3 if second else -2 :])


def _of_url(host: str, named: Named) -> str:
    if "." not in host:
        low = host.lower()
        if low in listed("ordinary") or len(low) < 3 or MADE.fullmatch(host) or host.isdigit():
            return host
        return named("host", host)
    if _PLAIN.fullmatch(host) or is_public(host) or MADE.fullmatch(host):
        return host
    return stand_in(host, named)


def _of_dotted(found: re.Match[str], named: Named) -> str:
    host = found[1]
    low = host.lower()
    firm = found.string[found.end() : found.end() + 2]
    if (
        host not in (low, host.upper())
        or not is_host(host, firm=firm[:1] if _FIRM.match(firm) else "")
        or is_public(host)
        or low in OF_TENANTS
        or MADE.fullmatch(host)
    ):
        return found[0]
    first, _, rest = low.partition(".")
    if "." not in rest and (
        first in _MODULES or _CODE.search(found.string[max(0, found.start() - 12) : found.start()])
    ):
        return found[0]
    return found[0][: found.start(1) - found.start()] + stand_in(host, named)


def stand_in(host: str, named: Named) -> str:
    """`host-1a2b3c4d.site-5e6f7a8b`: the host's own name and its domain each for itself."""
    first, _, domain = host.lower().partition(".")
    for cloud in OF_TENANTS:
        if domain.endswith(cloud):
            return f"{named('host', host.lower().removesuffix(cloud).rstrip('.'))}.{cloud}"
    if "." not in domain:
        return named("site", host.lower())
    return f"{named('host', first)}.{named('site', domain)}"
