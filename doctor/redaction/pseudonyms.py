"""The names that are known, how they are learned, and the stand-in of each."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from doctor.redaction import host_names
from doctor.redaction.fields import named
from doctor.redaction.identifiers import MADE, STAND_IN
from doctor.redaction.public_hosts import is_public
from doctor.redaction.unknown import is_strange
from doctor.redaction.vocabulary import is_ordinary, listed
from doctor.redaction.words import Words

NAME_KEYS = {"user": "user", "hostname": "host"}
NAME_LISTS = {"member_of": "group"}
_NAME_VARIABLES = {
    "USER": "user", "LOGNAME": "user", "SUDO_USER": "user", "USERNAME": "user", "HOSTNAME": "host", "HOST": "host",
    "SLURMD_NODENAME": "host", "SLURM_JOB_USER": "user", "SLURM_SUBMIT_HOST": "host",
}  # fmt: skip
CLEAN: set[str] = set()
"""Short texts that were looked at and hold nothing: reports say the same words (rule ids, reasons) over and over."""
_PUBLIC = ("localdomain", "amazonaws.com", "internal", "cluster.local", "in-addr.arpa")
_DISTINCT = 5
"""Letters of an organisation's name that is learned from its hosts; a shorter one may be a word."""
_SIGNS = re.compile(r"[-_. ]|(?<=[A-Za-z])(?=\d)")
_NO_FIELD = 9
"""Characters in which no name stands beside its field."""


class Site(NamedTuple):
    """What only the operator knows: words, domains, and the key of the pseudonyms that machines of a site share; None
    is the machine's own."""

    hide: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    key: bytes | None = None


class Pseudonyms:
    """The same original gets the same stand-in, whenever the key is the same."""

    def __init__(self, key: bytes) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._words = Words()
        self._hosts: dict[str, set[str]] = {}
        self._public: set[str] = set()
        self._spared: set[str] = set()
        """Texts in which a public word stands where another would be a name."""
        self._met: dict[str, list[tuple[int, int, str]]] = {}
        self._key = key
        self.counts: Counter[str] = Counter()
        """How often each kind of thing was replaced so far."""

    def names(self) -> dict[str, str]:
        """Original → stand-in of names, addresses and serials: for the machine's owner alone."""
        return {original: stand_in for (_, original), stand_in in self._names.items()}

    def learn(self, data: Any, key: str = "") -> None:
        """Takes note of user and host names that stand under their own keys, before anything is written."""
        if isinstance(data, (list, tuple)):
            for item in data:
                if isinstance(item, str) and key in NAME_LISTS:
                    self.know(NAME_LISTS[key], item)
                elif isinstance(item, str):
                    self._meet_once(item)
                else:
                    self.learn(item, key)
        elif isinstance(data, (dict, Mapping)):  # after lists: to ask whether one is any mapping is slow
            kinds = _NAME_VARIABLES if key in ("environment", "environ") else NAME_KEYS
            for name, value in data.items():
                if isinstance(value, str):
                    if name in kinds:
                        self.know(kinds[name], value)
                    elif kinds is _NAME_VARIABLES:
                        self._meet_once(f"{name}={value}")
                    else:
                        self._meet_once(value)
                elif name == "groups" and isinstance(value, Mapping):
                    for group in value:
                        self.know("group", str(group))
                elif value is not None and not isinstance(value, (int, float)):  # which nearly all are
                    self.learn(value, str(name))

    def meet(self, text: str) -> list[tuple[int, int, str]]:
        """Takes note of the names that fields of a text tell (`doctor.redaction.fields`), and of organisations: two
        hosts of one domain that is not public are a site's, whose name stands elsewhere too. Each text once. Returns
        where ordinary words are names, with their kind."""
        if text in self._met:
            return self._met[text]
        for host in host_names.hosts(text):
            domain = host_names.domain_of(host)
            first = host.partition(".")[0]
            if host.count(".") > 1 and any(c in "-0123456789" for c in first) and not is_ordinary(first):
                self.know("host", first)
            seen = self._hosts.setdefault(domain, {host})
            if host not in seen:
                seen.add(host)
                name = domain.partition(".")[0]
                if len(name) >= _DISTINCT and name.rstrip("0123456789") not in listed("ordinary"):
                    self.know("site", name)
        names, self._met[text] = named(text)
        for kind, name in names:
            if name in self._public:
                self._spared.add(text)
                continue
            if kind == "user" and name.endswith("+"):  # cut off by its column
                self._words.add(name, self._name(kind, name))
            elif kind == "host" and "." not in name:
                self.know(kind, name)
                self._know(kind, _parts(name))
            elif kind != "host" or not is_public(name):
                self._know(kind, {name} if kind == "project" or " " in name else {name, *_parts(name)})
        return self._met[text]

    def _in_place(self, text: str) -> str:
        """The text with the ordinary words that are names where they stand."""
        out: list[str] = []
        place = 0
        for start, end, kind in sorted(self.meet(text)):
            if start >= place and text[start:end] not in self._words:
                out += (text[place:start], self._given(kind, text[start:end]))
                place = end
        return "".join(out) + text[place:]

    def hide(self, word: str) -> None:
        """Replaces what only the operator knows to be a name, though it be a word of the field."""
        low = word.lower()
        if ("site", low) not in self._names:
            self._names["site", low] = self._free("site", low)
        self._words.add(word, self._names["site", low], hidden=True)

    def hidden(self, text: str) -> str:
        """The text without hidden words, and otherwise as it is."""
        return self._words.without_hidden(text, lambda stand_in: self._seen(stand_in, "name"))

    def _meet_once(self, text: str) -> None:
        if len(text) > _NO_FIELD and text not in CLEAN:
            self.meet(text)

    def keep(self, words: Iterable[str]) -> None:
        """Words that no sentence makes a name: those of packages."""
        self._public.update(words)

    def know(self, kind: str, name: str) -> None:
        """A `user`, `host` or `site` of that name is replaced wherever it stands as a word."""
        first, _, domain = name.partition(".")
        inner = domain if domain.count(".") and not domain.endswith(_PUBLIC) else ""
        self._know(kind, {name, first, inner} if kind == "host" else {name})

    def _know(self, kind: str, words: Iterable[str]) -> None:
        for word in sorted(words):
            if (
                len(word) >= 3
                and word.lower() not in listed("ordinary")
                and word not in self._words
                and not word.isdigit()
            ):
                dotted = kind == "host" and "." in word
                self._words.add(word, host_names.stand_in(word, self._name) if dotted else self._name(kind, word))

    def _known_words(self, text: str) -> str:
        return self._words.replaced(text, lambda stand_in: self._seen(stand_in, "name")) if self._words else text

    def _name(self, kind: str, name: str) -> str:
        if name.lower() in listed("ordinary") or name in self._taken or MADE.fullmatch(name) or not name.strip("0-:. "):
            return name
        return self._given(kind, name)

    def _given(self, kind: str, name: str) -> str:
        self.counts[kind] += 1
        if (kind, name) not in self._names:
            self._names[kind, name] = self._free(kind, name)
        return self._names[kind, name]

    def _free(self, kind: str, name: str) -> str:
        """A stand-in that the key and the name decide, so that the next report gives the same; the next one where two
        names would share it."""
        number = int.from_bytes(
            hashlib.blake2b(f"{kind}\0{name}".encode(), key=self._key[:64], digest_size=8).digest(), "big"
        )
        while (stand_in := STAND_IN[kind](number)) in self._taken:
            number += 1
        self._taken.add(stand_in)
        return stand_in

    def _seen(self, stand_in: str, kind: str) -> str:
        self.counts[kind] += 1
        return stand_in


def _parts(name: str) -> set[str]:
    """The telling parts of a name: `acmelab` of `acmelab-gpu2`."""
    parts = _SIGNS.split(name)
    return {p for p in parts if len(p) > _DISTINCT and p.isalpha() and is_strange(p)} if len(parts) > 1 else set()
