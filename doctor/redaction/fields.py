"""Names that the structure of a text tells: values under keys, cells of tables, folders of paths, places in lines of a known
form, and hosts where an address stands.

>>> sorted(named("uid=1009(mia.k) gid=44(video)\\nAccount=fusion2 UserId=mia.k(1009)"))
[('group', 'fusion2'), ('user', 'mia.k')]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator

from doctor.redaction import lines, paths, tables
from doctor.redaction.identifiers import UUID
from doctor.redaction.keys import kind_of, words_of
from doctor.redaction.lazy import Lazy
from doctor.redaction.nodes import Node, nodes
from doctor.redaction.public_hosts import is_public
from doctor.redaction.stand_ins import MADE
from doctor.redaction.unknown import is_strange, unknown
from doctor.redaction.vocabulary import is_ordinary

_N = r"[A-Za-z_][\w-]{1,62}"
_PERSON = Lazy(
    r"[A-ZÀ-Þ][\w'’-]{1,24}(?: (?:v[ao]n|de[rnlia]?|d[aio]|l[ae]|bin|al|ter)){0,2}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){1,3}"
)
_PLACES: tuple[tuple[str, str, Lazy], ...] = tuple(
    (kinds, hint, Lazy(pattern))
    for kinds, hint, pattern in (
        ("user host", "@", rf"(?<![\w/.@:+(-])([A-Za-z_][\w.-]{{1,62}})@({_N})(?=[:\s\])>%,'\"]|$)"),
        ("user site", "@", r"(?<![\w/.@:+=-])([A-Za-z_][\w.-]{1,62})@([A-Z][A-Z0-9-]{1,30}(?:\.[A-Z][A-Z0-9-]{1,30}){1,4})(?![\w-])"),
        ("user", "@", r"(?<![\w.+%(-])([A-Za-z][\w.-]{2,40})@(?![\w.-]{0,80}(?:debian|ubuntu|kernel|redhat|fedoraproject|nvidia|amd|python|lists?|sourceforge)\.)[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6}(?![\w-])"),
        ("host", ":", rf"(?<![\w/.@$=-])(?=[a-z]*[-_0-9])({_N}):(?:22|53|80|443|\d{{4,5}})(?![\w.:-])"),
        ("host project", "//", r"(?:(?<=[\s\"'=(])|^)//([A-Za-z][\w-]{2,62})/([A-Za-z][\w$-]{1,62})"),
        ("host project", "\\\\", r"(?<![\w\\:])\\\\([A-Za-z][\w-]{2,62})\\([\w$-]{2,62})"),
        ("host project", ":/", r"(?<![\w/.:@$}{-])([A-Za-z_][\w.-]{1,80}):/(?:[\w.-]{1,40}/){0,4}([A-Za-z][\w.-]{1,63}),?\s(?:on\s|[\d.]{1,8}[KMGTP]\s[^\n]{0,60}?)?/"),
        ("host project", "@", rf"(?:^|[\s,:])({_N}|[\d.]{{7,15}})@(?:o2ib|tcp)\d{{0,3}}:/(?:[\w.-]{{1,40}}/){{0,3}}([A-Za-z][\w.-]{{1,63}})"),
        ("host", "[", r"(?<![\w.$-])([A-Za-z][\w-]{1,40}?)-?\[\d{2,6}(?:[,-]\d{2,6}){1,40}\](?![\w.])"),
        ("host", ":", rf"(?<=://)({_N})(?=[:/,])"),
        ("group project", "git", r"(?:git@[\w.-]{1,100}:|ssh://(?:\w{1,30}@)?[\w.-]{1,100}(?::\d{2,5})?/)([\w.-]{2,60})/([\w.-]{2,60}?)(?:\.git)?(?=[@\s\"'#]|$)"),
        ("site user", "\\", r"(?<![\w\\/:.-])([A-Z][A-Z0-9-]{2,14})\\(?![nrtbfvxu0\\\"'])([A-Za-z_][\w.-]{1,62})\b"),
        ("user", "+", r"(?<=\s)([a-z_][a-z0-9_.-]{5,6}\+)(?=\s)"),
        ("user", "@", r"(?:^|[\s(,])@([A-Za-z]\w{1,30}-[\w-]{1,30})(?![\w./@])"),
        ("user", "Uid: (", r"Uid: \(\s{0,6}\d{4,10}/\s{0,12}([A-Za-z_][\w.-]{1,62})\)"), ("group", "Gid: (", r"Gid: \(\s{0,6}\d{4,10}/\s{0,12}([A-Za-z_][\w.-]{1,62})\)"),
        ("user", "~", r"(?<![\w/~=])~([A-Za-z_][\w.-]{1,62})/"),
        ("site", "wandb.ai/", r"wandb\.ai/([\w-]{3,60})/"), ("project", "wandb.ai/", r"wandb\.ai/[\w-]{3,60}/([\w-]{3,60})"),
        ("machine", " ", r"\b(?:[Nn]ode|[Hh]ost|[Mm]achine|[Ss]erver)(?: name)?[: ] ?'?(?=[a-z-]{2,40}\d|[a-z]{3,20}-[a-z])([a-z][\w-]{3,60})(?![\w./=-]|:\S)"),
        ("host group", "/", r"(?:\bimage\\{0,3}[\"']?:\s{0,3}\\{0,3}[\"']?|\bFROM |[Ff]rom:? |\bpull )(?!(?:nvcr|ghcr|quay|docker|gcr)\.io|mcr\.|registry\.(?:k8s|redhat|access)|public\.ecr)([\w-]{1,60}(?:\.[\w-]{1,60}){1,5})(?::\d{2,5})?/(?:([\w.-]{2,60})/)?"),
        ("project", "/", r"(?<![\w./-])(?:pod|deployment|statefulset|daemonset|job|namespace|secret|configmap)s?(?:\.apps|\.batch)?/([a-z][\w.-]{2,62})(?![\w/])"),
        ("host", "(", r"(?<![\w./-])([a-z][\w-]{2,62}) \((?:\d{1,3}\.){3}\d{1,3}\)"),
        ("group project", ".git", r"https?://(?:[^\s/@]{1,300}@)?(?!github\.com|gitlab\.com|huggingface\.co|bitbucket\.org|codeberg\.org)[\w.:-]{4,100}/([\w.-]{2,60})/([\w.-]{2,60}?)\.git\b"),
        ("machine", "-", r"(?<![\w./$-])([a-z]{3,20}-(?:gpu|dgx|hgx|node|login|nas|srv|hpc|cn|bmc|mi|[abh])-?\d{1,4}x?)(?![\w.=/-]|:\d)"),
        ("user", "", rf"(?i:owner|maintainer|author|contact|vendor|name|reporter|submitter|admin|assignee|creator)s?\\{{0,3}}[\"']?[ \t]{{0,2}}[=:][ \t]{{0,4}}\\{{0,3}}[\"']?({_PERSON.text})"),
        ("host", "-", r"\s-[Hw] ([a-z][\w-]{2,60})(?![\w./])"), ("user", "-", r"(?<!ctl)\s-[Uu] ([A-Za-z][\w-]{2,60})(?![\w./=])"),
        ("host", "i-", r"\b(i-[0-9a-f]{17})\b"), ("host", "ip=", r"\bip=[\d.]*(?::[^:\s]*){3}:([A-Za-z][\w-]{2,60}):"),
    )
)  # fmt: skip
_OF_TWO = Lazy(r"[\w-]{2,60}/[\w-]{2,60}")
_SCHEME = Lazy(r"^(?:tcp|udp|ssl|tls|np):")
_TOKEN = Lazy(r"(?<![\w.])[A-Za-z_][\w.+-]*")
_ONE = Lazy(r"[\"']?@?[\w.@+:\\$()/*-]{2,100}(?:\[[\d,-]{1,80}\])?[\"']?,?")
_MANY = Lazy(r"@?[\w.-]{2,60}(?:\[[\d,-]{1,80}\])?(?:, ?@?[\w.-]{2,60}(?:\[[\d,-]{1,80}\])?){1,60}")
_LIKE_HOST = Lazy(r"(?=[^\d_-]{0,60}[\d_-])[a-z][\w-]{2,62}|[A-Z][A-Z0-9-]{2,15}")
_NUMBERED = Lazy(r"(?:[a-z]{2,12}-){0,3}(?:node|host|compute|server|login|head|worker|dgx|hgx|mgmt)[_-]?\d{1,4}")
"""Names that a machine has, though all words in it are ordinary: `gpu-node-17`, `node07`."""
_SHORT_NUMBER = 7
_NO_VALUES = frozenset(
    "true false yes no on off auto default enabled disabled int str string bool null none self other others unknown error is was not the this that value name id"
    " host hosts file script static dynamic dhcp nvidia amd intel arch mint manjaro proxmox unraid truenas synology gentoo".split()
)
_PUBLISHED = Lazy(
    r"(?m)^(?:Package: [^\n]{1,200}\nStatus: |Package: [^\n]{1,200}\nVersion: |Metadata-Version: \d)[^\n]{0,200}\n(?:[^\n]{1,8000}\n){1,300}"
)
"""The paragraph of a package, as dpkg, apt and pip keep it: it names people who published it."""
_NO_NAMES = frozenset(
    {"NT", "BUILTIN", "HKLM", "HKCU", "SOFTWARE", "SYSTEM", "ERROR", "INFO", "WARNING", "DEBUG", "NULL", "AUTHORITY"}
)


def named(text: str) -> list[tuple[str, str]]:
    """Kind and name of each that a field tells, without those that every machine has."""
    if "Package: " in text or "Metadata-Version: " in text:
        text = _PUBLISHED.sub("\n", text)
    found = (("host" if kind == "machine" else kind, name) for kind, name in _all(text) if _is_name(kind, name))
    return list(dict.fromkeys(found))  # what a structure says of a name is before what a lone word says


def _all(text: str) -> Iterator[tuple[str, str]]:
    for node in nodes(text):
        yield from _of_node(node)
    if "/" in text or "\\" in text:
        yield from paths.owners(text)
    for kind, cell in tables.cells(text):
        yield from _of_value(kind, cell)
    yield from ((kind, name.rstrip(".-" if kind != "user" else ".")) for kind, name in lines.rows(text))
    for kinds, hint, pattern in _PLACES:
        if hint in text:
            for found in pattern.finditer(text):
                yield from ((kind, found[n]) for n, kind in enumerate(kinds.split(), 1) if found[n])
    yield from unknown(text)


def _of_node(node: Node) -> Iterator[tuple[str, str]]:
    kind = kind_of(node.key, node.above)
    value = node.value.strip()
    if node.key in ("Name", "name") and value[:1] == "/" and value.count("/") == 1:
        kind, value = "project", value[1:]  # of a container
    if "/" in node.key and node.key.count("/") == value.count("/"):
        for key, part in zip(node.key.split("/"), value.split("/"), strict=True):
            if kind_of(key):
                yield from _of_value(kind_of(key), part)
        return
    if kind == "project" and node.key.isupper() and _OF_TWO.fullmatch(value):
        yield from (("project", part) for part in value.split("/"))
    if not kind or "://" in value or "{{" in value or "$" in value or value[:1] in "<%*":
        return
    if (
        kind in ("user", "group")
        and (person := _PERSON.match(value))
        and (person[0] == value or value[person.end() :].lstrip()[:1] in ("<", ",", "("))
    ):
        yield kind, person[0]
        yield from (
            (kind, found[0])
            for found in _TOKEN.finditer(value, person.end())
            if value[found.start() - 1] in "(<" and "@" not in value
        )
        return
    value = value.partition(" (")[0]
    one = _ONE.fullmatch(value) or (kind != "serial" and node.firm and _MANY.fullmatch(value))
    if not one or value.lower().strip("\"'") in _NO_VALUES:
        return
    single = len(words_of(node.key)) == 1 and kind != "user" and node.key.lower() != "hostname"
    if single and not node.firm and not node.above and not _LIKE_HOST.fullmatch(value):
        return  # a word behind a word
    yield from _of_value(kind, value)


def _of_value(kind: str, value: str) -> Iterator[tuple[str, str]]:
    """The names in a value: of a list, of `me@realm`, of `DOMAIN\\\\me`, of `name(1009)`, of `host:port`, of `n[01-07]`."""
    value = _SCHEME.sub("", value.strip("\"',;@*"))
    if "/" in value and kind != "host":
        return
    if kind == "user":
        site, slash, user = value.replace("\\\\", "\\").rpartition("\\")
        if slash:
            yield "site", site
        value = user if slash else value.rpartition("+")[2] or value
    for found in _TOKEN.finditer(value):
        if found.start() and value[found.start() - 1] in "@:/([":
            continue
        name = found[0]
        if kind == "user" and value.endswith("+"):
            name += "+"
        yield kind, name.rstrip(".-" if kind != "user" else ".")


def _is_name(kind: str, name: str) -> bool:
    low = name.lower().rstrip("+")
    if kind == "host" and _NUMBERED.fullmatch(low):
        return True
    if (
        len(low) < 3
        or low[0] == "."
        or low in _NO_VALUES
        or name in _NO_NAMES
        or is_ordinary(low)
        or MADE.fullmatch(name)
    ):
        return False
    if (
        (name.isdigit() and not (kind == "serial" and len(name) > _SHORT_NUMBER))
        or UUID.fullmatch(name)
        or low.startswith(("systemd", "user-", "host-", "project-", "group-", "site-"))
    ):
        return False
    if kind == "serial" and not any(c.isdigit() for c in name):
        return False
    if " " in name:
        return any(map(is_strange, name.split()))
    if kind == "host" and "." in name:
        return not is_public(name)
    return True
