"""Credentials in data source names and logins that are no URLs: `me:secret@tcp(host)/db`, `//me:secret@host/share`."""

from __future__ import annotations

from doctor.redaction.lazy import Lazy
from doctor.redaction.names import is_mixed
from doctor.redaction.tally import Tally

_DRIVER_DSN = Lazy(r"(?<![\w/@])([\w.-]{1,64}):([^\s\"'@/]{1,200})@(tcp|udp|unix)\(")
_ORACLE = Lazy(r"(?i)\b(jdbc:oracle:\w{1,10}:|sqlplus\s+(?:-\w\s+){0,4}|userid=)([\w.-]{1,64})/([^\s\"'@]{1,100})(?=@)")
_SHARE = Lazy(r"(?<![:\w])(//)([\w.;-]{1,64}:[^\s\"'@/]{1,200})@(?=[\w\[])")
_PROXY = Lazy(r"(?i)(proxy[\w.-]{0,20}[\"']?\s{0,3}[=:]\s{0,3}[\"']?[\w.-]{1,64}:)([^\s@/\"']{1,200})(?=@[\w\[])")
_LOGIN_AT = Lazy(
    r"(?<![\w/:.@-])(?!(?:mailto|acct|sip|xmpp|from|to|cc|image):)([A-Za-z][\w.-]{0,40}:)(?=[^\s@]{0,60}\d)([^\s:@/\"'<>]{6,200})@(?!sha\d)(?=[A-Za-z0-9])"
)


def connections(text: str, tally: Tally) -> str:
    """Data source names that are no URLs."""
    if "roxy" in text or "ROXY" in text:
        text = _PROXY.sub(lambda m: m[1] + tally.hit("url", m[2]), text)
    if "@tcp(" in text or "@unix(" in text or "@udp(" in text:
        text = _DRIVER_DSN.sub(lambda m: f"{m[1]}:{tally.hit('url', m[2])}@{m[3]}(", text)
    text = _ORACLE.sub(lambda m: f"{m[1]}{m[2]}/{tally.hit('url', m[3])}", text)
    text = _LOGIN_AT.sub(lambda m: m[1] + (tally.hit("url", m[2]) if is_mixed(m[2]) else m[2]) + "@", text)
    return _SHARE.sub(lambda m: m[1] + tally.hit("url", m[2].partition(":")[2]) + "@", text)
