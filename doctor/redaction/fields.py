"""Names by the field in which they stand: owners in `ls` and `ps`, `uid=1009(name)`, Slurm's jobs and scripts, logs of
logins, mounts, labels of containers, folders of users and projects, prompts.

>>> sorted(named("uid=1009(mia.k) gid=44(video)\\nAccount=fusion2 UserId=mia.k(1009)"))
[('group', 'fusion2'), ('user', 'mia.k')]
"""

# ruff: noqa: E501 -- a table
from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.redaction import keyed, paths
from doctor.redaction.lazy import Lazy
from doctor.redaction.stand_ins import COMMON, FOLDERS, MADE

_N = r"[A-Za-z_][\w.-]{1,63}"
_USER = r"[A-Za-z_][\w.-]{1,62}\$?"
_FOLDER = r"[A-Za-z][\w.-]{1,63}"
_Q = r"\\{0,3}[\"']?"
_PEOPLE = r"(?:users|staff|students?|people|local|home|groups?|u|[a-z])"

_TABLE: tuple[tuple[str, str, str], ...] = (
    # kinds of the groups; a literal that the text must hold; the pattern
    ("user", "uid=", rf"\b[ef]?uid=\d{{1,10}}\((?:[A-Z][\w-]{{0,15}}\\\\?)?({_USER})\)"),
    ("site", "uid=", r"\b[ef]?uid=\d{1,10}\(([A-Z][\w-]{0,15})\\"),
    ("group", "id=", rf"\b[ef]?gid=\d{{1,10}}\(({_N})\)"),
    ("group", "(", rf"(?:\bgroups=|,)\d{{1,10}}\(({_N})\)"),
    ("user", "Uid:", rf"\bUid:\s{{0,3}}\(\s{{0,5}}\d{{1,10}}/\s{{0,12}}({_USER})\)"),
    ("group", "Gid:", rf"\bGid:\s{{0,3}}\(\s{{0,5}}\d{{1,10}}/\s{{0,12}}({_N})\)"),
    ("group", "ccount", rf"(?:--account[= ]|invalid account )({_N})\b"),
    ("group", " -A", rf"(?:#SBATCH|#PBS|\bsrun|\bsalloc|\bsbatch|\bqsub)[^\n]{{0,200}}?\s-[AP]\s{{0,3}}({_N})\b"),
    ("user", " for ", rf"\b(?:Accepted|Failed|Postponed)\s\S{{1,30}}\sfor\s(?:invalid\suser\s)?({_USER})\sfrom\b"),
    ("user", " user ", rf"\b(?:session (?:opened|closed) for user|invalid user|of user|authenticating user|[Ll]ogin failed for user)\s['\"]?({_USER}?)(?=[\s(.,'\"]|$)"),
    ("host", " NCCL ", rf"(?m)^\s{{0,8}}({_N}):\d{{1,8}}:\d{{1,8}}(?:\s\[\d{{1,3}}\])? NCCL "),
    ("user host", ":", rf"(?m)^\s{{0,20}}\d{{1,10}}(?:_\S{{1,20}})?\s{{1,12}}\S{{1,30}}\s{{1,12}}\S{{1,30}}\s{{1,12}}({_USER})\s{{1,8}}(?:R|PD|CG|CD|CF|CA|F|TO|S|NF|OOM)\s{{1,12}}[\d:-]{{3,14}}\s{{1,8}}\d{{1,6}}\s{{1,12}}(?:\(|({_N}?)(?=[\[\s,]|$))"),
    ("user", "CRON", rf"\bCRON\[\d{{1,8}}\]: \(({_USER})\) "),
    ("user group", "ogged in as", rf"\b[Ll]ogged in as:? ['\"]?({_USER}?)(?=[\s.,'\"]|$)['\"]?(?: \(({_N})\))?"),
    ("user", "sudo", rf"\bsudo(?:\[\d+\])?:\s{{1,12}}({_USER})\s:\s(?:TTY|PWD|\d|a\s|command|user)"),
    ("user", "su: ", rf"\bsu: \(to \S{{1,32}}\) ({_USER}) on "),
    ("user group", "r", rf"(?m)^\s{{0,12}}[-dlcbps](?:[r-][w-][xsS-]){{2}}[r-][w-][xtT-][.+@]?\s{{1,6}}\d{{1,6}}\s{{1,6}}({_USER}|\d+)\s{{1,20}}({_N}|\d+)\s"),
    ("user", ".", rf"(?m)^({_USER}\+?)\s{{1,12}}\d{{1,8}}\s{{1,6}}\d{{1,4}}\.\d\s{{1,6}}\d{{1,3}}\.\d\s"),
    ("user", ":", rf"(?m)^({_USER}\+?)\s{{1,12}}\d{{1,8}}\s{{1,8}}\d{{1,8}}\s{{1,4}}\d{{1,3}}\s\S{{1,8}}\s{{1,8}}\S{{1,8}}\s{{1,12}}\d\d:\d\d"),
    ("user", " R ", rf"(?m)^\s{{0,8}}\d{{1,8}}\s({_USER}\+?)\s{{1,12}}(?:rt|-?\d{{1,3}})\s{{1,6}}-?\d{{1,3}}\s{{1,6}}[\d.]+[kmgt]?\s"),
    ("user", " S ", rf"(?m)^\s{{0,8}}\d{{1,8}}\s({_USER}\+?)\s{{1,12}}(?:rt|-?\d{{1,3}})\s{{1,6}}-?\d{{1,3}}\s{{1,6}}[\d.]+[kmgt]?\s"),
    ("user", "+", r"(?<=\s)([a-z_][a-z0-9_.-]{5,6}\+)(?=\s)"),
    ("user", " : ", rf"(?m)^({_USER}) : \1(?=\s|$)"),
    ("user", "~", rf"(?<![\w/~=])~({_USER})/"),
    ("project", "Source", rf"\\{{0,3}}\"Source\\{{0,3}}\":\s{{0,4}}\\{{0,3}}\"/(?:srv|data|mnt|export|media|storage|nfs|pool|tank)\d{{0,2}}/({_FOLDER})"),
    ("host", ":/", rf"(?m)(?:^|[\s\"'])({_N}):/[^\s:]{{0,200}}\s(?:on\s)?/[^\s]{{0,200}}\s(?:type\s)?(?:nfs4?|ceph|glusterfs|fuse\.\w+|beegfs)\b"),
    ("project", ":/", rf"(?m)(?:^|[\s\"'])[\w.:@\[\]-]{{1,80}}:/(?:[\w.-]{{1,40}}/){{0,4}}({_FOLDER})\s(?:on\s)?/[^\s]{{0,200}}\s(?:type\s)?(?:nfs4?|ceph|lustre|glusterfs)\b"),
    ("host project", "//", rf"(?m)(?:^|\s)//({_N})/({_FOLDER})\s(?:on\s)?/\S{{1,200}}\s(?:type\s)?(?:cifs|smb3?)\b"),
    ("host project", "@", rf"(?:^|[\s,:])({_N})@(?:o2ib|tcp)\d{{0,3}}:/(?:[\w.-]{{1,40}}/){{0,3}}({_FOLDER})"),
    ("host", ":", rf"(?m)^(?:\d{{4}}-\d\d-\d\d[T ][\d:.,]{{8,15}}(?:Z|[+-][\d:]{{4,5}})?|[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}}(?:\.\d{{1,6}})?) ({_N}) [\w./()@-]{{1,64}}(?:\[\d{{1,8}}\])?:(?=\s|$)"),
    ("host", "Linux ", rf"\bLinux ({_N}) \d\.\d{{1,2}}[\w.+-]{{0,60}} #"),
    ("user host", "@", rf"(?m)(?:^|\[|\)\s)({_USER})@({_N}):?\s?[~/][^\n$#]{{0,200}}[$#](?:\s|$)"),
    ("user host", "@", rf"(?m)^\[({_USER})@({_N})\s[^\]\n]{{1,100}}\][$#]"),
    ("host", "-", rf"\b(?:srun|salloc|sbatch|scontrol|pdsh|clush|#SBATCH)\b[^\n]{{0,200}}?\s(?:-w|--nodelist)[= ]{{1,2}}({_N}?)(?=[\[\s,]|$)"),
    ("host", "srun: error", rf"\bsrun: error: ({_N}): task"),
    ("host", "Node:", rf"(?m)^\s{{0,8}}Node:\s{{1,20}}({_N})(?:/[\d.]{{7,15}})?\s*$"),
    ("host", "resolve", rf"(?i)(?:could not|can't|cannot) resolve (?:host|hostname|proxy)[: ]{{1,2}}({_N})"),
    ("group", "Namespace", rf"\bNamespace:\s{{1,16}}({_N})"),
    ("group", "kubectl", rf"\b(?:kubectl|helm|oc)\b[^\n]{{0,100}}?\s(?:-n|--namespace)[= ]({_N})"),
    ("user", "", rf"(?i)(?:^|[\s{{,.\"'])(?:owner|team|maintainers?|authors?|contact|department|project|costcenter|tenant|requester|created[_-]?by){_Q}\s?[=:]\s?{_Q}([A-Za-z][\w-]{{2,40}})(?=[\"'\\])"),
    ("user", "", rf"(?:^|[\s{{,.\"'])(?:[Oo]wner|[Mm]aintainer|[Aa]uthors?|[Cc]ontact|[Vv]endor|Name|LABEL author){_Q}\s{{0,2}}[=:]\s{{0,4}}{_Q}([A-Z][a-zà-ÿ-]{{1,20}}(?: [A-Z][a-zà-ÿ'-]{{0,24}}\.?| GmbH| AG| Inc| Ltd){{1,2}})(?=[\"'\s<\\,]|$)"),
    ("user user", ":x:", rf"(?m)^({_USER}):x?:\d{{4,7}}:\d{{1,7}}:([A-Z][^:,\n]{{3,40}} [^:,\n]{{2,40}})?[^:\n]{{0,80}}:/"),
    ("site user", "\\", rf"(?<![\w\\/:.-])([A-Z][A-Z0-9-]{{2,14}})\\(?![nrtbfvxu0\\\"'])({_USER})\b"),
)  # fmt: skip
_ROWS = tuple((kinds.split(), hint, Lazy(pattern)) for kinds, hint, pattern in _TABLE)
_LABELLED = re.compile(
    r"(?i)owner|team|maintainer|author|vendor|contact|department|project|tenant|requester|created|name"
)
_COMPANIES = Lazy(
    r"(?i)\b(?:nvidia|amd|intel|advanced|meta|google|microsoft|pytorch|hugging|red hat|canonical|team|authors?|developers?|contributors?|community|foundation|project|inc|corp(?:oration)?|labs?|instinct|radeon|geforce|graphics|tesla|xeon|epyc|core|ubuntu|debian)\b"
)
_NO_NAMES = frozenset(
    {"NT", "BUILTIN", "HKLM", "HKCU", "SOFTWARE", "SYSTEM", "ERROR", "INFO", "WARNING", "DEBUG", "NULL", "AUTHORITY"}
)


def named(text: str) -> set[tuple[str, str]]:
    """Kind and name of each that a field tells, without those that every machine has."""
    return {(kind, name) for kind, name in _all(text) if _is_name(kind, name)}


def _all(text: str) -> Iterator[tuple[str, str]]:
    if "=" in text or ":" in text:
        yield from keyed.values(text)
    if "/" in text or "\\" in text:
        yield from paths.owners(text)
    low = ""
    for kinds, hint, pattern in _ROWS:
        if hint and hint not in text:
            continue
        if not hint:
            low = low or text.lower()
            if not _LABELLED.search(low):
                continue
        for found in pattern.finditer(text):
            for number, kind in enumerate(kinds, 1):
                if found[number]:
                    yield kind, found[number].rstrip(".-") if kind != "user" else found[number].rstrip(".")


def _is_name(kind: str, name: str) -> bool:
    low = name.lower().rstrip("+")
    if len(low) < 3 or low[0] == "." or low in COMMON or low in FOLDERS or name in _NO_NAMES or MADE.fullmatch(name):
        return False
    if name.isdigit() or low.startswith(("systemd", "user-", "host-", "project-", "group-", "site-")):
        return False
    if " " in name and _COMPANIES.search(name):
        return False
    return (
        kind != "project"
        or "." not in name
        or not name.rpartition(".")[2].isalpha()
        or len(name.rpartition(".")[2]) > 5
    )
