"""Logs of package managers -> changes of packages: dpkg.log, dnf.rpm.log, zypp/history, pacman.log.

>>> read("2026-11-20 06:12:01 upgrade nvidia-utils-570:amd64 570.124.06-0ubuntu1 570.133.20-0ubuntu1")[0].new
'570.133.20-0ubuntu1'
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"(?P<name>[A-Za-z0-9][\w.+-]{0,99}?)"
_WHEN = r"(?P<when>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[+-]\d{4})?)"
_OLD, _NEW = r"(?P<old>\S{1,80})", r"(?P<new>\S{1,80})"
_DPKG = re.compile(
    rf"^{_WHEN} (?P<action>install|upgrade|remove) {_NAME}(?::[a-z0-9]{{2,12}})? {_OLD} {_NEW}$", re.ASCII
)
_DNF = re.compile(
    rf"^{_WHEN} [A-Z]{{3,10}} (?P<action>Installed|Upgraded?|Erased?|Removed): {_NAME}"
    r"-(?P<new>(?:\d{1,3}:)?\d[^-\s]{0,60}-[^-\s]{1,60})\.(?:x86_64|aarch64|noarch)$",
    re.ASCII,
)
_ZYPP = re.compile(rf"^{_WHEN}\|(?P<action>install|remove ?)\|{_NAME}\|(?P<new>[^|\s]{{1,80}})\|", re.ASCII)
_PACMAN = re.compile(
    rf"^\[{_WHEN}\] \[ALPM\] (?P<action>installed|upgraded|removed) {_NAME} "
    rf"\((?:{_OLD} -> )?(?P<new>[^\s)]{{1,80}})\)$",
    re.ASCII,
)
_ACTION = re.compile(
    r" (?:install|upgrade|remove) |\|(?:install|remove) ?\||ALPM\] (?:installed|upgraded|removed) "
    r"|(?:Installed|Upgraded?|Erased?|Removed): "
)
_ACTIONS = {"inst": "install", "upgr": "upgrade", "remo": "remove", "eras": "remove"}
GPU_STACK = re.compile(
    r"(?:nvidia|libnvidia|xserver-xorg-video-nvidia|kmod-nvidia|akmod-nvidia|dkms-nvidia|nv-fabricmanager|cuda|libcuda|"
    r"libcudnn|libnccl|libcublas|datacenter-gpu|amdgpu|rocm|hip|hsa|rccl|rocblas|hipblaslt|miopen|linux-firmware|amd-gpu-"
    r"firmware|kernel-firmware|linux-image|linux-modules|kernel(?=-\d|[\s:]|$)|kernel-core|kernel-default|linux(?=[\s:]|$)|linux-lts|mlnx|doca|ofed|"
    r"libibverbs|rdma-core|mesa-|libdrm|docker|containerd|podman|glibc(?=-\d|[\s:]|$)|libc6(?=[\s:]|$))"
)
"""Names of packages whose change can break GPU work."""
_MOST = 2000


class Changed(NamedTuple):
    when: str
    package: str
    action: str
    old: str | None
    new: str | None


def read(text: str) -> list[Changed]:
    """Changes of the GPU stack in the order of the log, the last 2000. A text without any gives an empty list."""
    found = []
    for line in text.split("\n"):
        if line[20:27] == "status ":  # four of five lines of dpkg.log
            continue
        # The package's name follows its action in every format; most packages are not of the GPU stack.
        action = _ACTION.search(line, 0, 90)
        if not action or not GPU_STACK.match(line, action.end()):
            continue
        line = line[:600]
        match = next((m for p in (_DPKG, _DNF, _ZYPP, _PACMAN) if (m := p.match(line))), None)
        if match and GPU_STACK.match(match["name"]):
            held = match.groupdict()
            did = _ACTIONS[held["action"][:4].lower()]
            old = held.get("old") if held.get("old") != "<none>" else None
            new = held["new"] if held["new"] != "<none>" else None
            if did == "remove":
                old, new = old or new, None
            found.append(Changed(held["when"], held["name"], did, old, new))
    return found[-_MOST:]


_UNATTENDED = re.compile(r"^Commandline: .{0,40}unattended-upgrade", re.MULTILINE)
_ROW = re.compile(
    r"(?:^Upgrade: |^Install: |, )([A-Za-z0-9][\w.+-]{0,99}):[a-z0-9]{2,12} \((?:[^,()]{1,80}, )?([^,()\s]{1,80})"
)


def unattended(text: str) -> set[tuple[str, str]]:
    """(package, new version) of what unattended-upgrades did, of an apt history.log."""
    done: set[tuple[str, str]] = set()
    for paragraph in text.split("\n\n"):
        if _UNATTENDED.search(paragraph[:20_000]):
            for line in paragraph.split("\n"):
                if line.startswith(("Upgrade: ", "Install: ")):
                    done.update((m[1], m[2]) for m in _ROW.finditer(line[:100_000]))
    return done
