"""What only the operator knows of the names in a text: words, domains, and the key that machines of a site share."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """`key` makes the pseudonyms of all machines that have it; None is the machine's own."""

    hide: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    key: bytes | None = None
