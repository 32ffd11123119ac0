"""Names in the folders of a path: whose home, scratch, work or project folder it is, on storage of whatever name.

>>> sorted(owners("/mnt/beegfs/users/ehaugland/x C:\\\\Users\\\\Mia /gpfs/data/reefsim/a /bulk3/okonkwo/data"))
[('project', 'okonkwo'), ('project', 'reefsim'), ('user', 'Mia'), ('user', 'ehaugland')]
>>> list(owners("https://rocm.docs.amd.com/projects/install-on-linux/ /opt/rocm/lib /data/models/Llama-3-8B"))
[]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from doctor.redaction.lazy import Lazy
from doctor.redaction.public_hosts import is_public
from doctor.redaction.unknown import is_strange
from doctor.redaction.vocabulary import is_ordinary

_PATH = Lazy(r"(?:~/[\w.@+-]{3,80}|(?:(?<![\w.@-])(?:[A-Za-z]:|~)?|(?<=[=\s]-)|(?<=:\d{4})|(?<=\.\.\.)[\w-]{0,20})(?:(?:[/\\]|\\\\)[\w.@+~=-]{1,80}){2,12})")
_SHORT = Lazy(r"\b(?:gdata|scratch|nobackup|massdata)/([a-z][a-z0-9]{2,12})\b(?![/.])")
_SIGN = Lazy(r"[/\\]+")
_HOMES = frozenset(
    ("home", "homes", "users", "user", "people", "staff", "students", "student", "u", "members", "accounts", "usr_home")
)
_ROOT = Lazy(
    r"(?i)(?:\w{0,5}(?:scratch|home|data|work|nobackup|store|storage|lustre|gpfs|ceph(?:fs)?|beegfs|weka|nfs|zfs|vol|cluster|disk)|vast|raid|fsx|efs|tank|bulk|bigdata|ptmp"
    r"|proj|lab|archive|export|share|shared|group|mnt|srv|media|net|ifs|g|p|d|local|lus|ccs|orange|blue|pool|cvol|apps|software|research|beeond|hpc|nvme|ssd|datalake|vault|wrk|projappl|auto|flash|build)s?\d{0,4}|projects?\d{0,2}"
)
_BETWEEN = Lazy(
    r"(?i)(?:scratch|data|work|proj|storage|store|nfs|gpfs|lustre|ceph(?:fs)?|beegfs|weka|vast|vol|volume|export|share|shared|proj-shared|group|local|archive|nvme|ssd|disk|raid|pool|tank|bulk|fs|lv|hpc|mnt|[a-z]|[a-z]{0,6}-ssd)s?\d{0,3}|projects?\d{0,2}|repos?|\d{1,8}"
)
_STOPS = frozenset(
    (
        "models model checkpoints hub datasets site-packages dist-packages envs env venv .venv lib lib64 bin share src include"
        " build dist csrc tests blobs docker overlay2 containers snapshots pkgs miniconda3 anaconda3 mambaforge miniforge3 spack"
        " opt .cache .local .conda conda dev test images sif"
    ).split()
)
"""Folders below which a path names software, data or models, and nobody."""
_IN_HOMES = frozenset(
    "envs miniconda3 anaconda3 mambaforge miniforge3 miniconda anaconda .conda .cache .local .venv venv .ssh .bashrc .nv .triton .config .pyenv .vscode-server".split()
)
"""What lies in somebody's own folder, wherever that is."""
_SYSTEM = frozenset(
    (
        "usr etc lib lib64 bin sbin dev proc sys boot run snap nix var opt root app workspace library applications frameworks private system kaggle content models"
    ).split()
)
_OF_SYSTEM = frozenset("usr lib lib64 bin sbin dev proc sys boot run snap nix system library applications frameworks private kaggle".split())
_SOFTWARE = frozenset("site-packages dist-packages include csrc pkgs overlay2 blobs snapshots".split())
_MARKS = frozenset(("home", "homes", "users", "project", "projects", "proj", "scratch"))
_FILE = Lazy(r".{1,80}\.[A-Za-z][A-Za-z0-9]{0,7}")
_DEEPEST = 5
_MOST = 3


def owners(text: str) -> Iterator[tuple[str, str]]:
    """Kind (user, project) and name. Whether a name is one that every machine has, the caller knows as well."""
    for found in _PATH.finditer(text):
        parts = [part for part in _SIGN.made.split(found[0]) if part not in ("", "~") and not part.endswith(":")]
        if text[max(0, found.start() - 2) : found.start()] == ":/" and (not parts or is_public(parts[0])):
            continue  # a page that everybody can read
        yield from _strange(parts)
        windows = found[0][1:2] == ":" or found[0][:1] == "\\"
        yield from _of(parts, cut=text[max(0, found.start() - 3) : found.start()].endswith("..."), windows=windows)
    if "data/" in text or "scratch/" in text or "nobackup/" in text:
        yield from (("project", found[1]) for found in _SHORT.finditer(text))


def _strange(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Folders and files that no documentation names, up to where a path goes into software."""
    if parts and parts[0].lower() in _OF_SYSTEM:
        return
    for part in parts:
        if part in _SOFTWARE:
            return
        stem = part.lstrip(".").partition(".")[0]
        if is_strange(stem) and stem.count("_") < 2 and stem[:1].isalpha():
            yield "project", stem


def _of(parts: Sequence[str], *, cut: bool, windows: bool) -> Iterator[tuple[str, str]]:
    if len(parts) > 1 and parts[0] == "cvmfs":
        yield "host", parts[1]
    if len(parts) > 2 and parts[:2] == ["dev", "mapper"]:
        yield "project", parts[2].replace("--", "\0").partition("-")[0].replace("\0", "-")
    if not parts or parts[0].lower() in _SYSTEM:
        return
    for part, below in pairwise(parts[:_DEEPEST]):
        if below in _IN_HOMES and (cut or part is not parts[0]) and not _is_between(part):
            yield "user", part
    marks = [n for n, part in enumerate(parts[:_DEEPEST]) if _plain(part) in _MARKS]
    unknown = len(parts) > 2 and parts[0] != parts[1] and not is_ordinary(parts[0]) and "." not in parts[0]
    start = 0 if windows or unknown or _is_root(parts[0]) else marks[0] if marks else len(parts)
    yield from _below(parts[start:], windows=windows)


def _below(parts: Sequence[str], *, windows: bool) -> Iterator[tuple[str, str]]:
    """The first two names below a root; the first below a folder of homes."""
    kind, found = "project", 0
    for place, part in enumerate(parts[:_DEEPEST]):
        if _plain(part) in _HOMES:
            kind = "user"
            continue
        if _is_between(part) or (place == 0 and not windows):
            continue
        if (windows and kind != "user") or part.lower() in _STOPS or part[:1] in ".-" or is_ordinary(part):
            return
        if place == len(parts) - 1 and kind != "user" and _FILE.fullmatch(part):
            return
        yield kind, part
        found += 1
        if found == _MOST or kind == "user":
            return


def _plain(part: str) -> str:
    low = part.lower()
    bare = low.rstrip("0123456789")
    return bare if len(low) - len(bare) < 4 else low


def _is_between(part: str) -> bool:
    return _plain(part) in _HOMES or bool(_BETWEEN.fullmatch(part))


def _is_root(part: str) -> bool:
    return _plain(part) in _HOMES or bool(_ROOT.fullmatch(part))
