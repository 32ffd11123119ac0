"""Secrets by the place where they are: a value after a name, a flag's argument, a URL, a header, XML, netrc."""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.redaction.lazy import Lazy
from doctor.redaction.names import holds, is_mixed, is_path, is_secret_name, is_strong_name
from doctor.redaction.randomness import is_random
from doctor.redaction.tally import MASK, Tally, masked
from doctor.redaction.values import Span, closing, spans

NAMED = r"[A-Za-z_][A-Za-z0-9_.-]{1,80}"
_QUOTE = r"\\{0,15}[\"'`]"
KEYWORD = Lazy(
    r"secret|passw|passphrase|pass|token|p[sw]?wd|pw|psk|cred|cookie|auth|key|dsn|pat|jwt|bearer|sig|webhook|session|conn"
    r"|csrf|xsrf|otp|mfa|salt|pepper|sasl|pin|url|seed|license|code|community|identified|login|net use|stringdata|[\w.] / "
)
"""Each name that `names.holds` takes for a secret's has one of these in it, in small letters."""
_SIGN = Lazy(rf"([A-Za-z0-9_.-]{{0,80}})({_QUOTE}\]?)?([ \t]{{0,40}}(?:=>|:=|\?=|=|::(?=[ \t])|:)[ \t]{{0,40}})(?!=)")
_NO_VALUE = Lazy(r"(?:amd64|arm64|i386|all|any|native|ppc64el)\b|[x*!]:\d")
NAME_BEFORE = Lazy(r"-{0,2}[A-Za-z0-9_.-]{0,80}\Z")
_ESCAPE = Lazy(r"(?:[nrtbfv0]|x[0-9a-f]{2}|u00[0-9a-f]{2})(?=[A-Za-z_])")
_COLOUR = Lazy(r"\d{0,3}[mK](?=[A-Za-z_])")
_FLAG = Lazy(
    rf"(?<![\w-])(--?{NAMED}|/(?:p|pass|password|token|key):)((?:(?:\n|\\{{1,7}}n)[ \t]{{0,40}}-[ \t]{{1,4}}|\s{{1,3}}|{_QUOTE},\s{{0,3}})?)(?=[^\s=])"
)
_SPACED = Lazy(
    r"(?i)(?:(?<=\s)|\A)(?:key|token|secret|passwo?r?[dt]|kennwort|pw|passphrase|code|pass)(?: (?:for|f[üu]r) [^\n:]{1,60}?)?(\s{0,3}(?:[:=]|is(?: now)?|was|to|ist|lautet)[ \t]{1,3}|[:=])(?=\S)"
)
_OF = Lazy(
    r"(?i)(?:^|[^a-z])(?:api|access|secret(?: access)?|private|auth(?:entication)?|security|bearer|refresh|encryption|account"
    r"|shared|master|license|client|session|signing|service|personal access|pre-?shared|recovery|database|root|admin|user|the|das|munge|routing|wifi|wireguard)\Z"
)
_BEHIND = Lazy(
    r"(?i)((?:secret_access_key|token|password|passwd|passphrase|secret|api_?key|auth_?key|requirepass|masterauth|(?:bind|root)_?pw"
    r"|identified by|(?:password|passphrase|token|secret) is|r[ow]community6?)[ \t]{1,3}\\{0,7}[\"']?)"
    r"([^\s\"'\\=:;,()\[\]{}<>-][^\s\"'\\;,<>]{5,500})"
)
_WORD_LIKE = Lazy(
    r"[A-Za-z]{1,30}[.:!?]?|[a-z]+(?:[-_/.][a-z]+){1,6}|\d{1,6}|v?(?:\d+:)?\d+(?:\.\d+){1,4}(?:[-+~.][\w.+~-]*)?|\d+:\d.*"
)
_VARIABLE = Lazy(r"[A-Za-z_]\w*=")
_ARGUMENT = Lazy(r"\s(?:[A-Za-z_][\w.-]{0,60}=|--?[a-z])")
_XML = Lazy(rf"<({NAMED})(?:\s[^<>\n]{{0,200}})?>([^<>\n]{{1,4000}})</")
_PAIR = Lazy(
    rf"(?i)({_QUOTE})?\b(name|key|variable|parameter(?:key|name)|property)({_QUOTE})?(\s{{0,4}}[:=>]\s{{0,4}}{_QUOTE}?)({NAMED})"
    rf"({_QUOTE}|</name>)?([,;\s\\n]{{0,60}}(?:-\s)?{_QUOTE}?<?(?:parameter)?value{_QUOTE}?\s{{0,4}}[:=>]\s{{0,4}})"
)
_URL = Lazy(r"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,20}:(?:\\{0,3}/){2})([^\s\"'<>`]{1,1000})")
_LOGIN_AT = Lazy(
    r"(?<![\w/:.@-])(?!(?:mailto|acct|sip|xmpp|from|to|cc|image):)((?://)?[A-Za-z][\w.;-]{0,60}:)(?=[^\s@]{0,60}\d)([^\s:@/\"'<>]{6,200})@(?!sha\d)(?=[\[A-Za-z0-9])"
)
_COLUMN = Lazy(rf"(?m)^([ \t]{{0,20}}(?:setenv[ \t]{{1,8}})?({NAMED})([ \t]{{1,40}}))(\S{{4,300}})[ \t]{{0,20}}$")
_TWO_WORDS = Lazy(r"[ \t]{0,20}[A-Za-z][\w.-]{1,60}[ \t]{1,40}\S{1,300}[ \t\r]{0,20}")
_LOGIN = Lazy(
    r"(?i)\b(login\s+\S{1,200}\s+password\s+|(?:login|user(?:name)?|credentials|ssh|log ?in)\b(?: with| as| is| are)?[: ]{1,2}[\w.@-]{2,40} ?/ ?|\snet use\s[^\n]{0,200}/user:\S{1,80} {1,3})"
    r"((?=\S{0,40}[\d#!@$%&*?])[^\s/,;)]{6,500})"
)


_SECRET_KIND = Lazy(r"(?m)(?:^|[{,])\s{0,40}\\{0,7}\"?kind\\{0,7}\"?\s{0,4}:\s{0,4}\\{0,7}[\"']?Secret\b")
_SECRET_YAML = Lazy(r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n((?:\1[ \t]+[^\n]*(?:\n|$)|[ \t]*\n)+)")
_SECRET_ROW = Lazy(r"(?m)^([ \t]*[\w.\"'/-]{1,200}:[ \t]*)([^\s|>][^\n]{0,20000})$")
_SECRET_JSON = Lazy(r"(\\{0,7}\"(?:data|stringData)\\{0,7}\"\s{0,4}:\s{0,4}\{)([^{}]{0,200000})\}")
_SECRET_MEMBER = Lazy(r"(:\s{0,4}\\{0,7}\")([^\"\\\n]{1,100000})")
_LONG_VALUE = 6


class _Named(NamedTuple):
    """A name with the sign behind it."""

    name: str
    start: int
    quote: str | None
    sign: str
    end: int
    """Where the value begins."""


def assigned(text: str, tally: Tally) -> str:
    """`NAME=value`, `name: value`, `"name": "value"`, headers and the like."""

    def values() -> Iterator[Span]:
        end = 0  # of the value before: what stands in it is part of it
        for found in KEYWORD.made.finditer(lowered(text)):
            named = _named(text, found) if found.start() >= end else None
            for span in _values(text, named) if named else ():
                end = span[1]
                yield span

    return masked(text, values(), "named", tally)


def lowered(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _named(text: str, found: re.Match[str]) -> _Named | None:
    """The whole name around a word of it, when a sign of assignment follows."""
    behind = _SIGN.made.match(text, found.end())
    if not behind:
        return None
    before = NAME_BEFORE.search(text[max(0, found.start() - 80) : found.start()])
    start = found.start() - len(before[0] if before else "")
    cut = None
    if text[start - 1 : start] == "\\":
        cut = _ESCAPE.made.match(text, start)
    elif text[start - 1 : start] in ("[", ";"):
        cut = _COLOUR.made.match(text, start)
    start = cut.end() if cut and cut.end() <= found.start() else start
    return _Named(text[start : behind.end(1)], start, behind[2], behind[3], behind.end())


def _values(text: str, named: _Named) -> list[tuple[int, int]]:
    name, quote, sign = named.name, named.quote, named.sign
    if sign == ":" and text[named.start - 1 : named.start] in ("/", "("):
        return []  # the end of a path, a service of PAM
    if sign == ":" and _NO_VALUE.made.match(text, named.end):
        return []  # a package's architecture, a line of etc/passwd
    if sign[0] == ":" and quote is None and name.lower() == "key":
        return []  # "kernel key: " of a certificate
    if name.endswith((".service", ".socket", ".target", ".path", ".timer", ".mount", ".slice")):
        return []
    if quote is None and ":" in sign and _is_header(name):
        end = _end_of_header(text, named)
        return [(named.end, end)] if holds("token", text[named.end : end]) else []
    quoted = _element(text, named) if quote is None and "=" in sign else []
    line = text.rfind("\n", 0, named.start) + 1
    lead = text[max(line, named.start - 40) : named.start].strip(" \t-#").lower()
    at_start = lead in ("", "export", "set", "env", "declare -x", "setenv", "+", ">")
    where = quoted or spans(text, named.end, at_line_start=at_start, sign=sign)
    return [(start, end) for start, end in where if _secret(name, text[start:end], quote, sign)]


def _is_header(name: str) -> bool:
    low = name.lower()
    return low.endswith(("authorization", "cookie", "cookie2")) or ("-" in low[1:-1] and is_secret_name(name))


def _secret(name: str, value: str, quote: str | None, sign: str) -> bool:
    if holds(name, value, variable=name.isupper() and "_" in name):
        plain_words = value.replace(" ", "").replace("-", "").isalpha() and value.islower()
        return is_strong_name(name) or quote is not None or "=" in sign or not plain_words
    return False


def _element(text: str, named: _Named) -> list[tuple[int, int]]:
    """The value of an element of a list that is quoted as a whole: `"NAME=a value"`."""
    quote = text[named.start - 1 : named.start]
    if quote not in ('"', "'") or named.sign.strip() != "=" or text[named.end : named.end + 1] in ('"', "'", "\\"):
        return []
    slashes = named.start - 1
    while slashes > 0 and text[slashes - 1] == "\\":
        slashes -= 1
    end = closing(text, named.end, quote, named.start - 1 - slashes)
    inner = text[named.end : end] if end > named.end else "\n"
    if "\n" in inner or "&" in inner:
        return []
    another = _ARGUMENT.search(inner)  # of a kernel's command line, say
    return [(named.end, named.end + another.start() if another else end)]


def spaced(text: str, tally: Tally) -> str:
    """`API key: value`, `password is value`, `set aws_secret_access_key value`."""

    def called() -> Iterator[Span]:
        for found in _SPACED.made.finditer(text):
            if " for " in found[0] or _OF.search(text[max(0, found.start() - 24) : found.start()].rstrip(" ")):
                where = spans(text, found.end(), at_line_start=False, sign=found[1])
                yield from (
                    (s, e) for s, e in where if holds("secret", text[s:e]) and not _WORD_LIKE.fullmatch(text[s:e])
                )

    def behind(found: re.Match[str]) -> str:
        value = found[2]
        if found.string[found.start() - 1 : found.start()] == "/" or _VARIABLE.match(value):
            return found[0]  # the end of a path, and what follows it
        if value.startswith(MASK[:-1]) or _WORD_LIKE.fullmatch(value) or is_path(value) or not is_mixed(value):
            return found[0]
        return found[1] + tally.hit("named", value)

    return _BEHIND.sub(behind, masked(text, called(), "named", tally))


def flags(text: str, tally: Tally) -> str:
    """`--password value`, `"--token", "value"`, `/p:value`."""

    def given() -> Iterator[Span]:
        end = 0
        for found in _FLAG.made.finditer(text):
            if found.start() < end or (not found[2] and found[1][0] == "-") or text[found.end()] == "-":
                continue
            name = found[1].strip("/:") if found[1][0] == "/" else found[1]
            name = "password" if name == "p" else name
            where = spans(text, found.end(), at_line_start=False, sign=" ")
            for s, e in where:
                if holds(name, text[s:e]) or (name[0] == "-" and is_random(text[s:e])):
                    end = e
                    yield s, e

    return masked(text, given(), "flag", tally)


def pairs(text: str, tally: Tally) -> str:
    """`{"name": "DB_PASSWORD", "value": "..."}`, in JSON, YAML, HCL and XML."""
    valued = (
        (found[5], span)
        for found in _PAIR.made.finditer(text)
        for span in spans(text, found.end(), at_line_start=True, sign=": ")
    )
    return masked(text, ((s, e) for name, (s, e) in valued if holds(name, text[s:e], variable=True)), "named", tally)


def xml(text: str, tally: Tally) -> str:
    """`<password>value</password>`."""
    return _XML.sub(
        lambda m: m[0][: m.start(2) - m.start()] + tally.hit("named", m[2]) + "</" if holds(m[1], m[2]) else m[0], text
    )


def urls(text: str, tally: Tally) -> str:
    """Credentials before a host."""
    return _URL.sub(lambda m: _url(m, tally), text)


def accounts(text: str, tally: Tally) -> str:
    """`me:secret@host` without a scheme."""
    return _LOGIN_AT.sub(lambda m: m[1] + (tally.hit("url", m[2]) if is_mixed(m[2]) else m[2]) + "@", text)


def _url(found: re.Match[str], tally: Tally) -> str:
    rest = found[2]
    ends = [n for n in map(rest.find, "/?#\\") if n >= 0]
    host = rest[: min(ends, default=len(rest))]
    at = host.rfind("@")
    if at < 0 and ":" in host and not host.rpartition(":")[2].isdigit() and not host.startswith("["):
        at = rest.rfind("@")  # a password with a slash in it
    user = rest[:at] if at > 0 else ""
    if not user or user.startswith(MASK[:-1]) or (user == "git" and "ssh" in found[1]):
        return found[0]
    _, colon, password = user.partition(":")
    return found[1] + tally.hit("url", password if colon else user) + rest[at:]


def _end_of_header(text: str, named: _Named) -> int:
    """The end of its line, or of the quotes around it."""
    line = text.find("\n", named.end)
    line = len(text) if line < 0 else line
    quote = text[named.start - 1 : named.start] if named.start else ""
    if quote in ('"', "'"):
        end = text.find(quote, named.end, line)
    else:
        inside = text.count('"', text.rfind("\n", 0, named.start) + 1, named.start) % 2
        signs = ("\\n", "\\r", '\\"', *['"'] * inside)
        end = min((n for n in (text.find(sign, named.end, line) for sign in signs) if n >= 0), default=-1)
    return len(text[:line].rstrip()) if end < 0 else end


def _is_setting(found: re.Match[str]) -> bool:
    """Whether a line of two words is a secret's name and its value, and no heading: a word alone is one in a row of such
    lines."""
    name, value = found[2], found[4]
    if not holds(name, value):
        return False
    if found[1].lstrip().startswith("setenv ") or (is_mixed(value) and len(value) >= _LONG_VALUE and found[3] != " "):
        return True
    if not is_secret_name(name) or not is_strong_name(name):
        return False
    before, after = found.string[: found.start()].rpartition("\n")[0], found.string[found.end() + 1 :]
    beside = (before.rpartition("\n")[2], after.partition("\n")[0])
    return any(map(_TWO_WORDS.fullmatch, beside)) and value[-1] not in ".:,;!?"


def logins(text: str, tally: Tally) -> str:
    """netrc and its like."""
    text = _COLUMN.sub(lambda m: m[1] + tally.hit("column", m[4]) if _is_setting(m) else m[0], text)
    return _LOGIN.sub(lambda m: m[1] + (m[2] if m[2].startswith(MASK[:-1]) else tally.hit("password", m[2])), text)


def of_kubernetes(text: str, tally: Tally) -> str:
    """A Kubernetes Secret: every value of its `data` and `stringData`, whatever its name is, in YAML and in JSON."""
    if "stringData" not in text and not _SECRET_KIND.search(text):
        return text

    def masked(row: re.Match[str]) -> str:
        return row[1] + (row[2] if MASK in row[2] else tally.hit("kubernetes", row[2].strip("\"'")))

    text = _SECRET_YAML.sub(lambda m: m[0][: m.start(2) - m.start()] + _SECRET_ROW.sub(masked, m[2]), text)
    return _SECRET_JSON.sub(
        lambda m: m[1] + _SECRET_MEMBER.sub(lambda v: v[1] + tally.hit("kubernetes", v[2]), m[2]) + "}", text
    )
