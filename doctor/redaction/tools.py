"""Arguments that are passwords though no name says so: `mysql -pSECRET`, `ipmitool -P SECRET`, `curl -u me:SECRET`.

Each row is what the line must hold, and a pattern whose last group is the secret.
"""

# ruff: noqa: E501 -- a table
from __future__ import annotations

import re

from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import MASK, Tally

_V = r"(?!\[secret)(?:'([^'\n]{1,500})'|\\{0,7}\"([^\"\\\n]{1,500})\\{0,7}\"|([^\s'\"\\;|&]{1,500}))"
_MOST_IN_ONE = 3
"""Secrets of a kind in one command."""
_MORE = r"[^\n;|&]{0,400}?"
_READERS = "cryptsetup|kinit|vncpasswd|passwd|gh|docker|podman|vault|gpg|openssl|base64|realm"
_OPTIONS = r"""
mysql mysqldump mysqladmin mariadb: -p(?=\S)
sshpass racadm mongo mongosh mongodump mongorestore mongoimport: -p
ipmitool ipmi[a-z-]{1,20} bmc-[a-z]{1,20}: -[Pp]
mosquitto_pub mosquitto_sub sqlcmd bcp: -P
redis-cli: (?:-a|--pass)
ldap[a-z]{1,12}: -w
openssl: -k(?=\s)
snmp[a-z]{1,12}: -[cAX]
docker podman nerdctl skopeo buildah helm oras crane az oc cf ibmcloud vault wandb huggingface-cli hf npm kaggle ngc: login\b[^\n;|&]{0,160}?\s(?:-p|--password|--token|-t|--apikey)(?:=|(?=\s))
curl wget http https lftp: (?:-u|--user|-U|--proxy-user)[\s=]{0,3}['\"]?[^\s:,'\"]{0,100}[:,]
curl: -b\s{0,3}(?=[^\s]{0,200}=)
smbclient rpcclient net: -U\s{0,3}['\"]?[^\s%'\"]{1,100}%
rabbitmqctl: (?:add_user|change_password|authenticate_user)\s{1,3}\S{1,80}(?=\s)
htpasswd: -[a-zB]{0,6}b[a-zB]{0,6}\s{1,3}(?:\S{1,200}\s{1,3})?\S{1,100}(?=\s)
mc: (?:alias\s{1,3}set|config\s{1,3}host\s{1,3}add)\s{1,3}\S{1,80}\s{1,3}\S{1,200}\s{1,3}\S{1,80}(?=\s)
wpa_passphrase: \S{1,60}(?=\s)
createUser: \S{1,60}\s{1,3}(?:MD5|SHA\S{0,6})(?=\s)
"""
"""Programs, and what stands before the secret among their arguments."""
_PLACES: tuple[tuple[str, str], ...] = (
    ("-u --user", rf"\s(?:-u|--user)[\s=]{{1,3}}['\"]?[A-Za-z0-9._@-]{{1,100}}:(?!\d{{1,7}}(?:\s|$)){_V}"),
    (":", r"(?m)^[\w.*-]{1,100}:(?:\d{1,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:()()([^\s:]{6,200})$"),
    ("chpasswd", rf"\bchpasswd\s{{0,3}}<<<\s{{0,3}}['\"]?[\w.-]{{1,40}}:{_V}"),
    (
        "echo printf",
        r"\b(?:echo|printf)\s{1,3}(?:-[ne]{1,2}\s{1,3}|['\"]%s(?:\n)?['\"]\s{1,3})?"
        rf"{_V}\s{{0,3}}\|[^\n|]{{0,60}}(?:sudo|passwd|kinit|cryptsetup|realm|gpg|-stdin|with-token)\b",
    ),
    ("stats auth", r"\bstats\s{1,3}auth\s{1,3}[\w.-]{1,60}:()()(\S{4,200})"),
    (
        "@",
        r"(?m)^(?:\[?[\w.-]{1,80}\]?(?::\d{1,5})?[ \t]{1,20})?"
        r"[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}:()()([^\s:@/]{8,200})$",
    ),
    ("lautet", rf"(?i:(?:passwo?r[td]|kennwort)\slautet\s{{1,3}}){_V}"),
    ("community", r"(?m)^[ \t]*r[ow]community6?\s{1,4}()()(\S{3,60})"),
    ("PASSWORD password", rf"(?i:(?<![\w/.-])(?:password|passphrase)\s{{1,3}})(?=['\"]){_V}"),
    ("ommunity", r"(?i:community (?:string|name))\s{0,6}[:=]\s{1,4}()()([^\s]{4,100})"),
    (
        "chpasswd",
        r"\bchpasswd:\s{1,20}(?:expire:[^\n]{0,40}\s{1,20})?list:\s{0,3}\|?-?\s{1,20}[\w.-]{1,40}:()()(\S{6,200})",
    ),
    ("from-literal", rf"--from-literal[=\s]{{1,2}}['\"]?[\w.-]{{1,80}}={_V}"),
    ("IDENTIFIED identified", rf"(?i:\bidentified\s{{1,3}}(?:with\s\S{{1,40}}\s)?(?:by|as)\s{{1,3}}){_V}"),
    ("PSK psk", r"\b(?i:psk)\s{1,3}\"([^\"\n]{1,200})\"()()"),
    ("<<<", rf"\b(?:{_READERS})\b[^\n<]{{0,200}}<<<\s{{0,3}}{_V}"),
    ("set password", rf"\bset\s{{1,3}}password\s{{1,3}}\d{{1,3}}\s{{1,3}}{_V}"),
)


def _of_programs(row: str) -> tuple[list[str], Lazy]:
    programs, _, before = row.partition(": ")
    hints = [program.partition("[")[0] for program in programs.split()]
    return hints, Lazy(rf"\b(?:{programs.replace(' ', '|')})\b{_MORE}\s{before}\s{{0,3}}{_V}")


_ROWS = (
    *map(_of_programs, _OPTIONS.strip().split("\n")),
    *((hints.split(), Lazy(text)) for hints, text in _PLACES),
)


def arguments(text: str, tally: Tally) -> str:
    """With each such argument masked."""
    for hints, pattern in _ROWS:
        if any(hint in text for hint in hints):
            for _ in range(_MOST_IN_ONE):
                text, before = pattern.sub(lambda m: _without(m, tally), text), text
                if text == before:
                    break
    return text


def _without(found: re.Match[str], tally: Tally) -> str:
    group = next((n for n in range(len(found.groups()), 0, -1) if found[n]), 0)
    value = found[group]
    if not group or value.startswith((MASK[:-1], "$", "-")):
        return found[0]
    start = found.start(group) - found.start()
    return found[0][:start] + tally.hit("argument", value) + found[0][start + len(value) :]
