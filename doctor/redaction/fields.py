"""Names that the structure of a text tells: values under keys, cells of tables, folders of paths, places in lines of a known
form, and hosts where an address stands.

>>> sorted(named("uid=1009(mia.k) gid=44(video)\\nAccount=fusion2 UserId=mia.k(1009)")[0])
[('group', 'fusion2'), ('user', 'mia.k')]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator

from doctor.redaction import paths, tables
from doctor.redaction.identifiers import MADE, UUID
from doctor.redaction.keys import kind_of, words_of
from doctor.redaction.lazy import Lazy
from doctor.redaction.nodes import Node, nodes
from doctor.redaction.public_hosts import is_public
from doctor.redaction.unknown import is_strange, unknown
from doctor.redaction.vocabulary import is_ordinary, listed

_N = r"[A-Za-z_][\w-]{1,62}"
_PERSON = Lazy(
    r"[A-ZÀ-Þ][\w'’-]{1,24}(?: (?:v[ao]n|de[rnlia]?|d[aio]|l[ae]|bin|al|ter)){0,2}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){1,3}"
)
_START = r"(?<![\w.-])"
_USER = r"(?:[A-Z][A-Z0-9-]{1,14}(?:\\{1,2}|\+))?([A-Za-z_][\w.-]{1,62}\$?)"
_WORD_OF = r"(?:[A-Z][A-Z0-9-]{1,14}(?:\\{1,2}|\+))?([A-Za-z_][\w.-]{1,62}?)(?=[^\w.-]|[.-](?:\W|\Z)|\Z)"
_LINE = r"(?m:^)[ \t]{0,12}"
_S = r"[ \t]{1,30}"
_MODE = r"[-dlcbps](?:[r-][w-][xsS-]){2}[r-][w-][xtT-][.+@]?"
_DATE = r"(?:\d{4}-\d\d-\d\d[T ][\d:.,]{8,15}(?:Z|[+-][\d:]{4,5})?|[A-Z][a-z]{2} [ \d]\d [\d:]{8}(?:\.\d{1,6})?)"
_IP = r"(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\da-f.:]))"
_PLACES: tuple[tuple[str, str, Lazy], ...] = tuple(
    (kinds, hint, Lazy(pattern))
    for kinds, hint, pattern in (
        ("user!", "uid=", rf"uid=\d{{1,10}}\({_USER}"), ("group!", "(", rf"(?:gid=|groups=|,)\d{{1,10}}\({_WORD_OF}"),
        ("user! user", ":x:", rf"{_LINE}{_USER}:x:\d{{4,10}}:\d{{1,10}}:({_PERSON.text})?[^:\n]{{0,80}}:/"),
        ("group! user!", ":x:", rf"{_LINE}{_WORD_OF}:x:\d{{1,10}}:({_N}(?:,[\w.-]{{2,63}}){{0,40}})"),
        ("host", "", rf"{_LINE}{_IP}{_S}{_WORD_OF}"), ("host", ",", rf"{_LINE}{_WORD_OF},{_IP}{_S}(?:sk-)?(?:ssh|ecdsa)-"),
        ("user! group!", "-", rf"{_MODE}{_S}\d{{1,10}}{_S}{_USER}{_S}{_WORD_OF}{_S}"), ("user group", "-", rf"{_MODE}{_S}{_USER}/{_WORD_OF}{_S}\d"),
        ("user", "", rf"{_LINE}({_N}\+?){_S}\d{{1,10}}{_S}\d{{1,4}}\.\d{_S}\d{{1,4}}\.\d{_S}\d"), ("user", "+ ", rf"{_LINE}({_N}\+){_S}\d{{1,10}}{_S}\d{{1,4}}\.\d"), ("user!", "pts/", rf"{_START}{_USER}{_S}pts/\d"),
        ("host user", ":~ ", rf"{_LINE}{_WORD_OF}:~ {_USER}\$"), ("host project", "]$", rf"@{_WORD_OF} {_WORD_OF}\]\$"), ("user host", " in ~", rf"{_START}{_USER} at {_WORD_OF} in ~"),
        ("project group project", "Syncing run ", rf"Syncing run {_WORD_OF} to {_WORD_OF}/{_WORD_OF}"), ("user!", " is not in the sudoers", rf"{_START}{_USER} is not in the sudoers"),
        ("user!", " : TTY=", rf"{_START}{_USER} : TTY="), ("user!", " for ", rf"(?:Accepted|Failed) [^\s,]{{1,60}} for {_USER} from"), ("user!", "user ", rf" user [\"'`]?{_USER}\(uid|of user {_USER}\."),
        ("host", "Linux ", rf"Linux {_WORD_OF} \d{{1,10}}\.\d"), ("host", ":", rf"{_LINE}{_DATE} {_WORD_OF} [^\s,]{{1,60}}:{_S}"), ("host!", "]:", rf"{_LINE}{_DATE}{_S}{_WORD_OF} [^\s,]{{1,60}}\[\d{{1,10}}\]:{_S}"),
        ("host!", "Host", rf"{_LINE}Host{_S}{_WORD_OF}\n"), ("user!", "User", rf"{_LINE}User{_S}{_USER}(?=[\s,;.)'\"]|\Z)"), ("user", "@", rf"\[{_USER}@\d{{1,10}}-\d{{1,10}}-\d{{1,10}}T"),
        ("host", "Node:", rf"Node:{_S}{_WORD_OF}/"), ("user", "@", rf"({_PERSON.text})[\"'`]? <[^\s,]{{1,60}}@"), ("group!", "#SBATCH", rf"\#SBATCH{_S}[^\n]{{0,200}}?-A{_S}{_WORD_OF}"),
        ("host", "srun: error: ", rf"srun: error: {_WORD_OF}: task"),
        ("user host", "@", rf"(?<![\w/.@:+(-])([A-Za-z_][\w.-]{{1,62}})@({_N})(?=[:\s\])>%,'\"]|$)"),
        ("user site", "@", r"(?<![\w/.@:+=-])([A-Za-z_][\w.-]{1,62})@([A-Z][A-Z0-9-]{1,30}(?:\.[A-Z][A-Z0-9-]{1,30}){1,4})(?![\w-])"),
        ("user", "@", r"(?<![\w.+%(-])([A-Za-z][\w.-]{2,40})@(?![\w.-]{0,80}(?:debian|ubuntu|kernel|redhat|fedoraproject|nvidia|amd|python|lists?|sourceforge)\.)[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6}(?![\w-])"),
        ("host", ":", rf"(?<![\w/.@$=-])(?=[a-z]*[-_0-9])({_N}):(?:22|53|80|443|\d{{4,5}})(?![\w.:-])"),
        ("host project", "//", r"(?:(?<=[\s\"'=(])|^)//([A-Za-z][\w-]{2,62})/([A-Za-z][\w$-]{1,62})"),
        ("host project", "\\\\", r"(?<![\w\\:])\\\\([A-Za-z][\w-]{2,62})\\([\w$-]{2,62})"),
        ("host! project", ":/", r"(?<![\w/.:@$}{-])(?<!-v )(?<!volume )([A-Za-z_][\w.-]{1,80}):/(?:[\w.-]{1,40}/){0,4}([A-Za-z][\w.-]{1,63}),?\s{1,40}(?:(?:on\s|[\d.]{1,8}[KMGTP]\s[^\n]{0,60}?)?/|(?:nfs4?|ceph|cifs|lustre)\s)"),
        ("host project", "@", rf"(?:^|[\s,:])({_N}|[\d.]{{7,15}})@(?:o2ib|tcp)\d{{0,3}}:/(?:[\w.-]{{1,40}}/){{0,3}}([A-Za-z][\w.-]{{1,63}})"),
        ("host!", "-t", r"\s-t (?:ceph|nfs4?|lustre|beegfs) (?:-o \S{1,200} )?([A-Za-z][\w.-]{1,62})[:,]"),
        ("project!", "-", r"(?<![\w.-])([a-z][\w]{1,7})-(?:OST|MDT|MGS)[0-9a-f]{4}"),
        ("user! host! project!", "://", r"(?m)\w(?<!http)(?<!https)://(?:\[secret\]|([\w.%+-]{2,60}):(?:\[secret\]|[^\s:@/\"']{0,200}))@([A-Za-z][\w-]{1,60}(?=[:/,]))?(?:[\w.:,-]{0,80}/([\w-]{2,60})(?=[\s\"'?]|$))?"),
        ("group! project!", "@", r"https?://[^\s/@\"']{1,300}@[\w.:-]{3,100}/([\w.-]{2,60})/([\w.-]{2,60}?)(?:\.git)?(?=[\s\"'/]|$)"),
        ("group! project!", "git@", r"git@(?!github\.|gitlab\.com|bitbucket\.org|ssh\.)[\w.-]{1,100}:([\w.-]{2,60})/([\w.-]{2,60}?)(?:\.git)?(?=[@\s\"'#]|$)"),
        ("user!", "%[secret", r"([A-Za-z][\w.-]{1,40})%\[secret\]"), ("user!", "=", r"(?i:\buser ?id ?= ?)([A-Za-z][\w.-]{1,40})(?=;)"), ("user!", "(uid ", r"([A-Za-z_][\w.-]{1,40}) \(uid \d"),
        ("project!", "jdbc:", r"jdbc:\w{2,20}://[\w.:,-]{2,100}/([\w-]{2,60})"), ("host!", "> ", r"(?m:^<)([A-Za-z][\w.-]{1,60})> (?:ESTABLISH|SSH:|EXEC|PUT|FETCH|\()"),
        ("host!", ":/", r"(?<![\w/.:@$}{-])(?<!- )([A-Za-z][\w-]{1,62}):/(?:exports?|vol(?:ume)?\d{0,3}|ifs|nfs)/"),
        ("user!", "'@'", r"'([\w.-]{2,60})'@'"), ("user!", "/ ", r"\b(?:user|login|as) ([\w.-]{2,40}) ?/ ?(?:password:? )?\[secret"),
        ("group!", "aws_", r"(?m)^\[(?:profile )?([\w-]{3,60})\]\n(?:[^\n\[]{1,200}\n){0,3}aws_"),
        ("user! host!", "@", r"(?:^|[\s(\[])([a-z_][\w.-]{1,40})@([A-Za-z][\w-]{1,60})(?::[~/][^\s$#]{0,200}[$#]|\s[~/][^\s\]]{0,80}\][$#])(?=\s|$)"),
        ("user!", "", r"(?i:\b(?:create|alter|drop) (?:user|role) (?:if (?:not )?exists )?)[`'\"]?([A-Za-z_][\w.-]{1,60})"),
        ("user!", "-", r"\s-[uU][ =]?([A-Za-z][\w.-]{1,60})\s{1,3}-[pP]"), ("user! host! project", "::", r"(?:^|\s)([\w.-]{2,60})@([A-Za-z][\w.-]{1,60})::([\w-]{2,60})"),
        ("host!", " -", r"\b(?:mysql\w{0,8}|mariadb|psql|pg_\w{2,12}|redis-cli|mongo\w{0,6}|ldap\w{3,8})\b[^\n;|&]{0,120}?\s-[hH] ?([A-Za-z][\w-]{1,60})"),
        ("host!", "commands on ", r" commands on ([A-Za-z][\w-]{1,60}):"), ("host!", ": [", r"(?m:^(?:ok|changed|fatal|skipping|failed|unreachable|included|rescued): \[)([A-Za-z][\w-]{1,60})[\] ]"), ("host!", " : ok=", r"(?m:^)([A-Za-z][\w-]{1,60}) {1,40}: ok=\d"),
        ("project", "--name", r"\b(?:docker|podman|nerdctl|run|create)\s[^\n]{0,400}?\s--name[ =]([A-Za-z][\w.-]{1,60})"),
        ("host", "[", r"(?<![\w.$-])([A-Za-z][\w-]{1,40}?)-?\[\d{2,6}(?:[,-]\d{2,6}){1,40}\](?![\w.])"),
        ("host", ":", rf"(?<=://)({_N})(?=[:/,])"),
        ("group project", "git", r"(?:git@[\w.-]{1,100}:|ssh://(?:\w{1,30}@)?[\w.-]{1,100}(?::\d{2,5})?/)([\w.-]{2,60})/([\w.-]{2,60}?)(?:\.git)?(?=[@\s\"'#]|$)"),
        ("site user", "\\", r"(?<![\w\\/:.-])([A-Z][A-Z0-9-]{2,14})\\(?![nrtbfvxu0\\\"'])([A-Za-z_][\w.-]{1,62})\b"),
        ("user", "+", r"(?<=\s)([a-z_][a-z0-9_.-]{5,6}\+)(?=\s)"),
        ("user", "@", r"(?:^|[\s(,])@([A-Za-z]\w{1,30}-[\w-]{1,30})(?![\w./@])"),
        ("user", "Uid: (", r"Uid: \(\s{0,6}\d{4,10}/\s{0,12}([A-Za-z_][\w.-]{1,62})\)"), ("group", "Gid: (", r"Gid: \(\s{0,6}\d{4,10}/\s{0,12}([A-Za-z_][\w.-]{1,62})\)"),
        ("user", "~", r"(?<![\w/~=])~([A-Za-z_][\w.-]{1,62})/"),
        ("site", "wandb.ai/", r"wandb\.ai/([\w-]{3,60})/"), ("project", "wandb.ai/", r"wandb\.ai/[\w-]{3,60}/([\w-]{3,60})"),
        ("machine", " ", r"\b(?:[Nn]ode|[Hh]ost|[Mm]achine|[Ss]erver)(?: name)?[: ] ?'?(?=[a-z-]{2,40}\d)([a-z][\w-]{3,60})(?![\w./=-]|:\S)"),
        ("host group", "/", r"(?:\bimage\\{0,3}[\"']?:\s{0,3}\\{0,3}[\"']?|\bFROM |[Ff]rom:? |\bpull )(?!(?:nvcr|ghcr|quay|docker|gcr)\.io|mcr\.|registry\.(?:k8s|redhat|access)|public\.ecr)([\w-]{1,60}(?:\.[\w-]{1,60}){1,5})(?::\d{2,5})?/(?:([\w.-]{2,60})/)?"),
        ("project", "/", r"(?<![\w./-])(?:pod|deployment|statefulset|daemonset|job|namespace|secret|configmap)s?(?:\.apps|\.batch)?/([a-z][\w.-]{2,62})(?![\w/])"),
        ("host", "(", r"(?<![\w./-])([a-z][\w-]{2,62}) \((?:\d{1,3}\.){3}\d{1,3}\)"),
        ("group project", ".git", r"https?://(?:[^\s/@]{1,300}@)?(?!github\.com|gitlab\.com|huggingface\.co|bitbucket\.org|codeberg\.org)[\w.:-]{4,100}/([\w.-]{2,60})/([\w.-]{2,60}?)\.git\b"),
        ("machine", "-", r"(?<![\w./$-])([a-z]{3,20}-(?:gpu|dgx|hgx|node|login|nas|srv|hpc|cn|bmc|mi|[abh])-?\d{1,4}x?)(?![\w=/-]|\.[a-z]|:\d)"),
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
_CERTAIN = (
    "user",
    "users",
    "username",
    "userid",
    "login",
    "logname",
    "owner",
    "owners",
    "submitter",
    "creator",
    "account",
    "accounts",
    "hostname",
    "nodename",
    "batchhost",
)
_WORD = Lazy(r"[a-z_][\w.+-]*(?:\(\d+\))?")
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


def named(text: str) -> tuple[list[tuple[str, str]], list[tuple[int, int, str]]]:
    """Kind and name of each that a field tells, without those that every machine has; and where an ordinary word stands
    that is certainly a name there, with its kind."""
    if "Package: " in text or "Metadata-Version: " in text:
        text = _PUBLISHED.sub(lambda m: "\n" * len(m[0]), text)
    names: dict[tuple[str, str], None] = {}  # what a structure says of a name stands before what a lone word says
    places = []
    for kind, name, place in _all(text):
        certain, kind = kind[-1:] == "!", kind.rstrip("!")
        kind = "host" if kind == "machine" else kind
        if not _may_be_name(kind, name):
            continue
        if _is_telling(kind, name):
            names.setdefault((kind, name))
        elif certain and name.lower() not in listed("accounts"):
            at = text.find(name, place, place + len(name) + 100)
            places += [(at, at + len(name), kind)] * (at >= 0)
    return list(names), places


def _all(text: str) -> Iterator[tuple[str, str, int]]:
    for node in nodes(text):
        certain = _is_certain(node)
        yield from ((kind + certain, name, node.at) for kind, name in _of_node(node))
    if "/" in text or "\\" in text:
        yield from ((kind, name, -1) for kind, name in paths.owners(text))
    for kind, cell, place in tables.cells(text):
        certain = kind[-1:] if kind[-1:] == "!" else ""
        yield from ((found + certain, name, place) for found, name in _of_value(kind.rstrip("!"), cell))
    for kinds, hint, pattern in _PLACES:
        if hint in text:
            for found in pattern.finditer(text):
                for n, kind in enumerate(kinds.split(), 1):
                    for name in (found[n] or "").split(","):
                        yield kind, name.rstrip(".-" if kind[:4] != "user" else "."), found.start(n)
    yield from ((kind, name, -1) for kind, name in unknown(text))


def _is_certain(node: Node) -> str:
    """`!` where a word that stands alone under that key is a name whatever word it is."""
    key = "".join(words_of(node.key)[-2:])
    return "!" * (node.firm and key.endswith(_CERTAIN) and bool(_WORD.fullmatch(node.value.strip("\"' "))))


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
    if (
        not kind
        or (node.key == "SKU" and not node.firm)
        or "://" in value
        or "{{" in value
        or "$" in value
        or value[:1] in "<%*"
    ):
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


def _may_be_name(kind: str, name: str) -> bool:
    low = name.lower().rstrip("+")
    if kind == "host" and _NUMBERED.fullmatch(low):
        return True
    if len(low) < 2 or low[0] == "." or low in _NO_VALUES or name in _NO_NAMES or MADE.fullmatch(name):
        return False
    if (
        (name.isdigit() and not (kind == "serial" and len(name) > _SHORT_NUMBER))
        or UUID.fullmatch(name)
        or low.startswith(("systemd", "tty", "pts", "user-", "host-", "project-", "group-", "site-"))
    ):
        return False
    return kind != "serial" or any(c.isdigit() for c in name)


def _is_telling(kind: str, name: str) -> bool:
    """Whether it is a name wherever it stands."""
    if kind == "host" and _NUMBERED.fullmatch(name.lower()):
        return True
    if len(name.rstrip("+")) < 3 or is_ordinary(name.rstrip("+")):
        return False
    if " " in name:
        return any(map(is_strange, name.split()))
    return kind != "host" or "." not in name or not is_public(name)
