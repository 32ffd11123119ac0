"""Secrets by name, by shape and by place (URLs, headers, flags), plain, URL-encoded, in base64. Linear patterns only.

>>> masked("curl -H 'Authorization: Bearer abcdefghijklmnop' https://me:pw@host/")
"curl -H 'Authorization: [secret]' https://[secret]@host/"
>>> masked("token: true, HIP_VISIBLE_DEVICES=0,1 --api-key=k3yk3y")
'token: true, HIP_VISIBLE_DEVICES=0,1 --api-key=[secret]'
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from functools import partial

from doctor.redaction.lazy import Lazy
from doctor.redaction.shapes import SHAPES

MASK = "[secret]"

_CAMEL = Lazy(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME = Lazy(
    r"(?:^|_)(?:[A-Z]{0,20}(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY)|TOKEN"
    r"|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PWD|PW|CREDENTIALS?|CREDS?|COOKIES?|AUTH|AUTHORIZATION"
    r"|APIKEYS?|DSN|PAT|JWT|BEARER|PSK|SIG|SIGNATURE|WEBHOOK|SESSIONID"
    r"|(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|SSH|LICENSE|ACCOUNT|STORAGE|MASTER|SHARED|CLIENT|AUTH|DEPLOY"
    r"|SERVICE|APP|WRITE|HMAC|AES|SAS|ENCRYPT|WANDB|SUBSCRIPTION)_?KEYS?|CONNECTION_?STRING|CONN_?STR"
    r"|(?:PROXY|PG|MYSQL|DB|REDIS|REQUIRE|SMTP|SUDO|ROOT|USER|SSH|KEYSTORE)_?PASS(?:WORD|WD)?)(?:$|_|\d)"
)
_VARIABLE_KEY = Lazy(r"_KEY(?:$|_|\d)")
_NO_SECRET_NAMES = frozenset({
    "PWD", "OLDPWD", "TOKEN_TYPE", "PASS_THROUGH", "SSH_AUTH_SOCK", "KEY", "AUTH_TYPE", "TOKEN_COUNT", "PAT",
    "PRIMARY_KEY", "FOREIGN_KEY", "COOKIE_NAME",
})  # fmt: skip
_PLAIN_VALUES = Lazy(r"(?i)(?:true|false|yes|no|on|off|none|null|nil|unset|default|\d{1,5}|)")

_NAMED = r"[A-Za-z_][A-Za-z0-9_.-]{1,80}"
_QUOTE = r"\\{0,4}[\"']"
_ASSIGNED = Lazy(
    rf"(?<![A-Za-z0-9_])(-{{0,2}}{_NAMED})(?P<q>{_QUOTE})?([ \t]{{0,4}}(?:=>|:=|=|:)[ \t]{{0,4}})"
    rf"(?:(?P<open>{_QUOTE})(?P<quoted>(?:(?!(?P=open))[^\n]){{0,4000}})(?P=open)|(?P<bare>[^\s'\",;&<>\\)}}\]]{{1,4000}}))"
)
_FLAG = Lazy(rf"(?<![\w-])(--?{_NAMED})((?:\s{{1,3}}|[\"'],\s{{0,3}}[\"']))([\"']?)([^\s'\"-][^\s'\"]{{0,2000}})")
_XML = Lazy(rf"<({_NAMED})>([^<>\n]{{1,4000}})</")
_URL = Lazy(r"(?i)\b([a-z][a-z0-9+.-]{0,20}:(?:\\?/){2})(?!\[secret\]@)[^\s/@\"'<>]{1,400}@(?=[^\s@])")
_NAMES_USER = Lazy(r"(?i)\b((?:ssh|git\+ssh)://)git@")
_HEADER = Lazy(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,30}(?:key|token|auth|secret)[a-z-]{0,20})"
    r"(\s{0,3}:\s{0,3})([^\r\n\"']{1,4000})"
)
_BEARER = Lazy(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.~=-]{8,4000}")
_NETRC = Lazy(
    r"(?i)(?<!\w)(login\s+\S{1,200}\s+password\s+|sshpass\s+-p\s*|(?:-u|--user)\s+[^\s:]{1,100}:)"
    r"[\"']?[^\s\"']{1,500}"
)
_BASE64 = Lazy(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,200000}={0,2}")
_WORD = Lazy(r"[^\s\"'<>]+")
_OPAQUE = Lazy(r"[A-Za-z0-9+/_=-]{20,512}")


def is_secret_name(name: str, *, variable: bool = False) -> bool:
    """Whether something of that name is taken to hold a secret; a `variable` of any `_KEY` is."""
    plain = _CAMEL.sub("_", name.lstrip("-")).upper().replace("-", "_").replace(".", "_")
    if plain in _NO_SECRET_NAMES:
        return False
    return bool(_NAME.search(plain)) or (variable and bool(_VARIABLE_KEY.search(plain)))


def is_opaque(value: str) -> bool:
    """Whether a whole value looks random: letters of both cases and digits, without words, paths or hex alone."""
    if (
        value.startswith(("GPU-", "MIG-"))
        or not _OPAQUE.fullmatch(value)
        or value.count("/") > 2
        or value.count("-") > 3
    ):
        return False
    kinds = sum(any(test(c) for c in value) for test in (str.isdigit, str.islower, str.isupper))
    share = [n / len(value) for n in Counter(value).values()]
    return kinds == 3 and -sum(p * math.log2(p) for p in share) >= 3.7


def masked(text: str, counts: Counter[str] | None = None) -> str:
    """The text with every token, key and credential replaced; `counts` counts what, by kind."""
    if "\0" in text:
        return "\0".join(_variable_line(part, counts) for part in text.split("\0"))
    return _plain(_decoded(text, counts), counts)


def _variable_line(line: str, counts: Counter[str] | None) -> str:
    name, sign, value = line.partition("=")
    if sign and re.fullmatch(_NAMED, name):
        return f"{name}={variable(name, value, counts)}"
    return masked(line, counts)


def variable(name: str, value: str, counts: Counter[str] | None = None) -> str:
    """The value of an environment variable, as it may be seen."""
    if value and ((is_secret_name(name, variable=True) and not _PLAIN_VALUES.fullmatch(value)) or is_opaque(value)):
        return _count(counts, "variable")
    return masked(value, counts)


def _count(counts: Counter[str] | None, kind: str) -> str:
    if counts is not None:
        counts[kind] += 1
    return MASK


def _shaped(kind: str, counts: Counter[str] | None, _match: re.Match[str]) -> str:
    return _count(counts, kind)


def _plain(text: str, counts: Counter[str] | None) -> str:
    low = text.lower()
    for shape in SHAPES:
        if any(hint in low for hint in shape.hints):
            text = shape.pattern.sub(partial(_shaped, shape.kind, counts), text)
    if "://" in text or ":\\/\\/" in text:
        kept = _NAMES_USER.sub(r"\1git\0", text)
        text = _URL.sub(lambda m: m[1] + _count(counts, "url") + "@", kept).replace("git\0", "git@")
    if ":" in text and any(word in low for word in ("authorization", "cookie", "x-")):
        text = _HEADER.sub(lambda m: m[1] + m[2] + _count(counts, "header"), text)
    if "bearer" in low or "basic" in low:
        text = _BEARER.sub(lambda m: f"{m[1]} " + _count(counts, "header"), text)
    if "login" in low or "sshpass" in low or "-u" in low:
        text = _NETRC.sub(lambda m: m[1] + _count(counts, "password"), text)
    if not _may_name(low):
        return text
    text = _ASSIGNED.sub(lambda m: _assigned(m, counts), text)
    text = _FLAG.sub(lambda m: _flag(m, counts), text)
    if "</" in text:
        text = _XML.sub(lambda m: f"<{m[1]}>{_count(counts, 'named')}</" if _holds(m[1], m[2]) else m[0], text)
    return text


_NAME_PARTS = (
    "secret", "passw", "passphrase", "token", "pass", "pwd", "pw", "cred", "cookie", "auth", "key", "dsn", "pat",
    "jwt", "bearer", "psk", "sig", "webhook", "session", "conn",
)  # fmt: skip
"""Each name that `is_secret_name` takes for a secret's holds one of these."""


def _may_name(low: str) -> bool:
    """Whether a text (in lower case) may name a secret and give it: cheap, and never wrong when it says no."""
    return ("=" in low or ":" in low or "-" in low or "</" in low) and any(part in low for part in _NAME_PARTS)


def _holds(name: str, value: str) -> bool:
    return is_secret_name(name) and not _PLAIN_VALUES.fullmatch(value) and not value.startswith(MASK[:-1])


def _assigned(match: re.Match[str], counts: Counter[str] | None) -> str:
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if not _holds(match[1], value):
        if match["quoted"] is None:
            return match[0]
        inner = _plain(value, counts) if "=" in value or ":" in value else value
    else:
        inner = _count(counts, "named")
    around = match["open"] or ""
    return f"{match[1]}{match['q'] or ''}{match[3]}{around}{inner}{around}"


def _flag(match: re.Match[str], counts: Counter[str] | None) -> str:
    if not _holds(match[1], match[4]):
        return match[0]
    return f"{match[1]}{match[2]}{match[3]}{_count(counts, 'flag')}"


def _decoded(text: str, counts: Counter[str] | None) -> str:
    """Runs of base64 and of URL encoding that hide a secret, replaced as a whole."""
    if len(text) < 16:
        return text
    if "%" in text:
        from urllib.parse import unquote

        text = _WORD.sub(lambda m: _hidden(m[0], unquote(m[0]), counts) if "%" in m[0] else m[0], text)
    return _BASE64.sub(lambda m: _hidden(m[0], _from_base64(m[0]), counts), text)


def _hidden(run: str, inner: str | None, counts: Counter[str] | None) -> str:
    if inner is None or inner == run:
        return run
    return _count(counts, "encoded") if _plain(inner, None) != inner and MASK not in run else run


def _from_base64(run: str) -> str | None:
    """What the run says when it is base64 of a printable text."""
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(body + "=" * (-len(body) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if not all(c.isprintable() or c in "\r\n\t\0" for c in text):
        return None
    return text if not re.fullmatch(r"[\w.+-]{1,64}:[^\s:]{6,}", text) else f"https://{text}@x/"
