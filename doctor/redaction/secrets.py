"""How secrets look: names of variables that hold them, and shapes of tokens. Linear patterns only."""

from __future__ import annotations

import re

MASK = "[secret]"

_NAME = re.compile(
    r"(?i)(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE|AUTH|APIKEY|DSN"
    r"|(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|SSH|LICENSE|ACCOUNT|STORAGE)_?KEY|KEY)(?:$|_|\d)"
)
_NO_SECRET_NAMES = frozenset({"PWD", "OLDPWD"})

_SHAPES = (
    re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"),
    re.compile(r"\b(?:hf_|api_org_)[A-Za-z0-9]{20,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\bnvapi-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bpypi-[A-Za-z0-9_-]{30,}"),
    re.compile(r"\bdckr_pat_[A-Za-z0-9_-]{16,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^\s/@:]{1,200}(?::[^\s/@]{0,300})?@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.=-]{12,}")
_ASSIGNED = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]{2,80})(\s?[=:]\s?)([^\s'\",;]{4,})")


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name is taken to hold a secret."""
    return name.upper() not in _NO_SECRET_NAMES and bool(_NAME.search(name))


def masked(text: str) -> str:
    """The text with every token, key and credential replaced."""
    for shape in _SHAPES:
        text = shape.sub(MASK, text)
    text = _URL.sub(rf"\1{MASK}@", text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    return _ASSIGNED.sub(lambda m: f"{m[1]}{m[2]}{MASK}" if is_secret_name(m[1]) else m[0], text)
