"""Names in the folders of a path: whose home, scratch, work or project folder it is, on storage of whatever name.

>>> list(owners("/mnt/beegfs/users/ehaugland/x C:\\\\Users\\\\Mia /gpfs/data/reefsim/a"))
[('user', 'ehaugland'), ('project', 'ehaugland'), ('user', 'Mia'), ('project', 'reefsim'), ('project', 'reefsim')]
>>> list(owners("https://rocm.docs.amd.com/projects/install-on-linux/ /opt/rocm/lib /data/models/Llama-3-8B"))
[]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.redaction.lazy import Lazy
from doctor.redaction.public_hosts import is_public
from doctor.redaction.unknown import is_strange
from doctor.redaction.vocabulary import is_ordinary

_PATH = Lazy(
    r"(?:(?:~|\$\w{2,30})/[\w.@+-]{3,80}|(?:(?<![\w.@-])(?:[A-Za-z]:|~)?|(?<=[=\s]-)|(?<=:\d{4})|(?<=\.\.\.)[\w-]{0,20})(?:(?:[/\\]|\\\\)[\w.@+~=-]{1,80}){2,12})"
)
_SIGN = Lazy(r"[/\\]+")
_HOLDS = {
    folder: kind
    for kind, folders in {
        "user": "home homes users user people staff students student u members accounts usr_home",
        "project": "scratch data work nobackup store storage lustre gpfs ceph cephfs beegfs weka nfs zfs vol volume cluster disk vast raid fsx efs tank bulk"
        " proj projects project lab archive export share shared group mnt srv media net local pool vault wrk code src repos bigdata ptmp massdata gdata p g lus orange blue",
    }.items()
    for folder in folders.split()
}
"""Folders whose folders are named after somebody or something of a site, however a number follows them."""
_STOPS = frozenset(
    (
        "models model checkpoints hub datasets site-packages dist-packages envs env venv .venv lib lib64 bin include"
        " build dist csrc tests blobs docker overlay2 containers snapshots pkgs miniconda3 anaconda3 mambaforge miniforge3 spack"
        " opt .cache .local .conda conda dev test images sif"
    ).split()
)
"""Folders below which a path names software, data or models, and nobody."""
_SYSTEM = frozenset(
    "usr lib lib64 bin sbin dev devices proc sys boot run snap nix system library applications frameworks private kaggle".split()
)
_OF_PROGRAMS = frozenset("var etc opt root app workspace content models tmp".split())
_FILE = Lazy(r".{1,80}\.[A-Za-z][A-Za-z0-9]{0,7}")
_DEEPEST = 6
_MOST = 3


def owners(text: str) -> Iterator[tuple[str, str]]:
    """Kind (user, project) and name. Whether a name is one that every machine has, the caller knows as well."""
    for found in _PATH.finditer(text):
        parts = [part for part in _SIGN.made.split(found[0]) if part not in ("", "~") and not part.endswith(":")]
        if text[max(0, found.start() - 2) : found.start()] == ":/" and (not parts or is_public(parts[0])):
            continue  # a page that everybody can read
        if parts and (parts[0].lower() not in _SYSTEM or parts[:2] == ["dev", "mapper"]):
            yield from _held(parts) if parts[0] not in _OF_PROGRAMS else ()
            yield from _strange(parts)


def _strange(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Folders and files that no documentation names, up to where a path goes into software."""
    for part in parts:
        if part in _STOPS and part.endswith(("-packages", "include", "csrc", "pkgs", "overlay2", "blobs", "snapshots")):
            return
        if parts[0] == "tmp" and _FILE.fullmatch(part):
            return  # a program's own
        stem = part.lstrip(".").partition(".")[0]
        if is_strange(stem) and stem.count("_") < 2 and stem[:1].isalpha():
            yield "project", stem


def _held(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those in a folder that holds people's or projects' folders; of a home its owner alone."""
    kind, found = "", 0
    for place, part in enumerate(parts[:_DEEPEST]):
        low = part.lower()
        holds = _HOLDS.get(low) or _HOLDS.get(low.rstrip("0123456789"), "")
        if holds:
            kind = holds
        elif kind and (
            low in _STOPS
            or part[:1] in ".-"
            or is_ordinary(part)
            or (_FILE.fullmatch(part) and kind != "user" and place == len(parts) - 1)
        ):
            return
        elif kind:
            yield kind, part
            found += 1
            if found == _MOST or kind == "user":
                return
