"""`--hide`, `--domain` and `--key`: the same for every command that writes what people send."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from doctor.redaction.pseudonyms import Site

Hide = Annotated[
    list[str] | None,
    typer.Option(
        "--hide", metavar="WORD", help="Replace this word (a site, a project, a person), or each line of @FILE."
    ),
]
Domain = Annotated[
    list[str] | None, typer.Option("--domain", metavar="NAME", help="Replace this domain, or each line of @FILE.")
]
Key = Annotated[
    Path | None,
    typer.Option("--key", help="File that your machines share, so that a name has one pseudonym on all of them."),
]


class Destination(NamedTuple):
    """Where output goes (None: stdout), and what the site hides from it."""

    path: Path | None
    site: Site | None = None

    def write(self, text: str, *, prose: bool = False) -> None:
        from doctor.cli.output import deliver

        deliver(redacted(text, self.site), self.path, prose=prose)


_SHORTEST_WORD = 3
_SHORTEST_KEY = 16


def site_of(hide: Sequence[str] | None, domain: Sequence[str] | None, key: Path | None) -> Site | None:
    """None where no option was given. InputError for a word or key that is too short, or a file that can't be read."""
    from doctor.redaction.pseudonyms import Site

    if not (hide or domain or key):
        return None
    return Site(_words("--hide", hide), _words("--domain", domain), _key(key))


def without_names(text: str, site: Site | None) -> str:
    """Text of which nothing is known but what the site says of itself: for output that was redacted where it was made,
    or that nobody redacts."""
    if site is None:
        return text
    from doctor.report.key import redactor_for

    return redactor_for(site=site).hidden(text)


def redacted(text: str, site: Site | None) -> str:
    """Output that quotes this machine, and that is redacted only where the site's options ask for it."""
    import json

    from doctor.report.key import redactor_for

    if site is None:
        return text
    redactor = redactor_for(site=site)
    if text.startswith("{"):
        data = json.loads(text)
        redactor.learn(data)
        return json.dumps(redactor.data(data), indent=1) + "\n"
    redactor.meet(text)
    return redactor.text(text)


def _words(option: str, given: Sequence[str] | None) -> tuple[str, ...]:
    """The words themselves, and those of each line of a file that `@FILE` names."""
    from doctor.errors import InputError
    from doctor.system.given import read_given

    words: list[str] = []
    for word in given or ():
        lines = read_given(Path(word[1:])).splitlines() if word.startswith("@") else [word]
        words += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for word in words:
        if len(word) < _SHORTEST_WORD:
            raise InputError(f"{option} {word}: shorter than {_SHORTEST_WORD} letters, it would be replaced everywhere")
    return tuple(words)


def _key(path: Path | None) -> bytes | None:
    import hashlib

    from doctor.errors import InputError
    from doctor.system.given import read_given_bytes

    if path is None:
        return None
    content = read_given_bytes(path, 1 << 16).strip()
    if len(content) < _SHORTEST_KEY:
        raise InputError(f"--key {path}: shorter than {_SHORTEST_KEY} bytes; `openssl rand -hex 32` makes one")
    return hashlib.sha256(b"doctor.pseudonyms/1" + content).digest()
