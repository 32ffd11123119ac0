"""How tokens look: kind, a literal that a text must hold for it, and a linear pattern. A new kind of token is a line.

Shapes are those that the issuers publish, or that secret scanners of the field (gitleaks, detect-secrets) list.
"""

# ruff: noqa: E501 -- a table
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import Tally, masked


class Shape(NamedTuple):
    """A kind of secret. The pattern is tried only where one of `hints` is in the text."""

    kind: str
    hints: tuple[str, ...]
    pattern: Lazy


A = "[A-Za-z0-9]"
W = "[A-Za-z0-9_-]"
H = "[a-f0-9]"
_ESCAPE_BEFORE = Lazy(
    r"(?:\\[nrtbfv0]|\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[(?:\d{1,3};){0,5}\d{0,3}[mK])\Z"
)


def begins(text: str, place: int) -> bool:
    """Whether a word begins there: after no letter or digit, unless these end an escape (`\\n`, `%3D`, a colour)."""
    before = text[place - 1 : place]
    if not (before.isascii() and before.isalnum()):
        return True
    return bool(_ESCAPE_BEFORE.search(text[max(0, place - 24) : place]))


_TABLE: tuple[tuple[str, str, str], ...] = (
    ("well known", "hf_ gh github_pat_ glpat- nvapi- xox sk-", rf"(?:hf_|gh[pousr]_|github_pat_|glpat-|nvapi-|xox[a-z]-|sk-){W}{{20,256}}"),
    ("aws", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("ansible vault", "$ANSIBLE_VAULT", r"\$ANSIBLE_VAULT;[\d.]{1,8};[A-Z0-9;]{3,40}(?:(?:\s|\\n){1,20}[0-9a-f]{2,100}){0,400}"),
    ("openshift", "sha256~", rf"sha256~{W}{{43}}"),
    ("password hash", "$", r"\$(?:[1567y]|apr1|2[abxy]|argon2(?:id|i|d)|gy|scrypt|sha1|pbkdf2-sha\d{3})\$[A-Za-z0-9./$=,+]{20,300}"),
    ("password hash", "{SSHA {SHA {SMD5 {MD5 {CRYPT", r"\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/$.]{16,200}=*"),
    ("password hash", "pbkdf2 SCRAM-SHA", r"(?:grub\.pbkdf2\.sha512\.\d{1,9}\.[A-F0-9.]{32,600}|pbkdf2_sha\d{1,3}\$\d{1,9}\$[^\s\"']{20,200}|SCRAM-SHA-\d{1,3}\$[^\s\"']{20,300})"),
    ("private key", "MII b3BlbnNzaC1rZXktdjE", r"(?:MIIE(?:v|p|o)[A-Za-z0-9+/]{60,20000}=*|MIIJ[A-Za-z0-9+/]{60,20000}=*|MIIC[Xd][A-Za-z0-9+/]{60,20000}=*|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{20,20000}=*)"),
    ("conda token", "/t/", rf"(?<=/t/)(?=[A-Za-z0-9_-]{{0,80}}\d){W}{{10,100}}(?=/)"),
    ("cloudsmith", "dl.cloudsmith.io", rf"(?<=dl\.cloudsmith\.io/)(?!public/|basic/){A}{{8,64}}(?=/)"),
    ("webhook", "hook ping logic. /bot open-apis /spaces/ /send", r"(?:hooks\.(?:slack(?:-gov)?|zapier)\.com/[a-z]{3,12}(?:/catch)?|/api/(?:v\d{1,2}/)?webhooks|(?:webhook\.office|logic\.azure)\.com(?::443)?|open-apis/bot/v2/hook|chat\.googleapis\.com/v1/spaces|(?:hc-ping\.com|healthchecks\.io/ping)|/(?:webhook|robot)/send\?(?:key|access_token))[/=][^\s\"'<>]{6,500}"),
    ("telegram", ":AA", rf"\d{{8,10}}:AA{W}{{32,34}}(?![A-Za-z0-9_-])"),
    ("issued as a UUID", "sdk- api- mob- HRKU- access- -us ::server:", rf"(?:(?:sdk|api|mob|HRKU|access-[a-z]{{4,12}})-{H}{{8}}-(?:{H}{{4}}-){{3}}{H}{{12}}|{H}{{32}}-us\d{{1,2}}(?!\w)|K10{H}{{64}}::[A-Za-z0-9:_-]{{8,120}})"),
)  # fmt: skip
_ANYWHERE = ("conda token", "cloudsmith", "private key", "telegram", "webhook")

_PRIVATE = r"(?:[A-Z0-9]{1,20}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?"
_PEM = Lazy(
    rf"-----?[ ]?BEGIN[ +]{_PRIVATE}[ ]?-----?(?:(?:(?!-----?[ ]?(?:END|BEGIN))[\s\S]){{0,20000}}-----?[ ]?END[ +]{_PRIVATE}[ ]?-----?"
    r"|(?:(?:\s|\\[nr]|[|>#\"'+,])*(?:[A-Za-z0-9+/=_-]{1,4000}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,200})){0,400})"
)
_PUTTY = Lazy(
    r"Private-Lines:\s{0,4}\d{1,4}(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{1,80}){1,200}|Private-MAC:\s{0,4}[0-9a-f]{20,80}"
)

SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("PRIVATE KEY", "PRIVATE+KEY"), _PEM),
    Shape("private key", ("Private-Lines", "Private-MAC"), _PUTTY),
    *(Shape(kind, tuple(hints.split()), Lazy(text)) for kind, hints, text in _TABLE),
)


def without(text: str, shape: Shape, tally: Tally) -> str:
    """The text with what has that shape masked."""

    def spans() -> Iterator[tuple[int, int]]:
        place = 0
        while found := shape.pattern.made.search(text, place):
            fits = shape.kind in _ANYWHERE or begins(text, found.start())
            place = found.end() if fits else found.start() + 1
            if fits:
                yield found.span()

    return masked(text, spans(), shape.kind, tally)
