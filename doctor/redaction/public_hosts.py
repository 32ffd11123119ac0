"""Hosts that everybody knows and that say nothing of a site, and how a name of a host looks."""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from functools import lru_cache

from doctor.redaction.unknown import is_strange
from doctor.redaction.vocabulary import listed

OF_TENANTS = (
    "core.windows.net",
    "amazonaws.com",
    "ingest.sentry.io",
    "azurecr.io",
    "googleusercontent.com",
    "cloudfront.net",
    "mongodb.net",
)
"""Domains of clouds: what is before them names a customer, they themselves nobody."""
NOT_HERE = (
    "localhost",
    "localdomain",
    "example.invalid",
    "host.docker.internal",
    "cluster.local",
    "in-addr.arpa",
    "ip6.arpa",
    "metadata.google.internal",
)
"""Names that mean no machine of a site."""
_ENDS = frozenset(
    (
        "com net org edu gov mil int io ai de fr uk eu ch at be nl dk se no fi es pt it pl cz sk hu ro bg gr ie is lt lv ee lu si hr rs ua "
        "ru by kz tr il ae sa in cn jp kr tw hk sg my th vn id ph au nz ca us mx br ar cl co za eg ng ke ma tn dev cloud tech online site xyz "
        "app space systems science institute email live world zone services solutions software works digital media pro me tv health bio university "
        "biz info example invalid corp lan intra intranet internal local localnet private hpc cluster"
    ).split()
)
_ALSO_WORDS = frozenset(
    "int at be no is it in my to id us me co so rs py sh pl md ps cc info local internal private cluster site dev test il ma th ph gr "
    "app space systems science live world zone services solutions software works digital media pro tv health bio email".split()
)
"""Ends that are also words or endings of files and methods: only a name of three parts with a digit or dash counts."""
_ENDINGS = frozenset(("rs", "sh", "py", "pl", "md", "cc", "ps", "so"))
"""Of files."""
SECOND_LEVELS = ("ac", "co", "gov", "edu", "res", "com", "org", "net", "or", "go")
"""Below a country's end, the level at which nobody is named yet."""


@lru_cache(maxsize=4096)
def is_public(host: str) -> bool:
    low = host.lower().strip(".")
    if low in NOT_HERE or low.endswith(tuple(f".{name}" for name in NOT_HERE)):
        return True
    labels = low.split(".")
    return any(".".join(labels[n:]) in listed("public_hosts") for n in range(len(labels)))


@lru_cache(maxsize=4096)
def is_host(name: str, *, firm: str = "") -> bool:
    """Whether a dotted name can hardly be anything but a host's: by its end; `firm` where a path or a port follows."""
    labels = name.lower().split(".")
    if labels[-1] not in _ENDS or any(
        not label or label[0] == "-" or label[-1] == "-" or "_" in label for label in labels
    ):
        return False
    if labels[-1] in _ALSO_WORDS:
        second = labels[-2] in SECOND_LEVELS
        if len(labels) == 2:
            return labels[-1] in ("local", "internal", "cluster", "private") and is_strange(labels[0])
        return (
            second
            or is_strange(labels[-2])
            or (firm == "/" or (firm and labels[-1] not in _ENDINGS))
            or any("-" in x or any(c.isdigit() for c in x) for x in labels[:-1])
        )
    if len(labels) == 2:
        return len(labels[0]) > 3 and not labels[0].isdigit()
    return not all(label.isdigit() for label in labels[:-1])
