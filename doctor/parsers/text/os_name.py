"""An operating system as people and tools name it in one line -> facts `os.*` and `host.wsl`.

>>> os_facts("Ubuntu 22.04.5 LTS (x86_64)")
{'os.name': 'Ubuntu 22.04.5 LTS (x86_64)', 'os.id': 'ubuntu', 'os.version': '22.04.5', 'host.machine': 'x86_64'}
>>> os_facts("WSL2")["host.wsl"], os_facts("Ubuntu 2204")["os.version"]
(True, '22.04')
"""

from __future__ import annotations

import re

from doctor.parsers.lib.source_lines import kept

_IDS = (
    ("ubuntu", "ubuntu"),
    ("linux mint", "linuxmint"),
    ("pop!_os", "pop"),
    ("debian", "debian"),
    ("red hat", "rhel"),
    ("rhel", "rhel"),
    ("rocky", "rocky"),
    ("alma", "almalinux"),
    ("centos", "centos"),
    ("oracle linux", "ol"),
    ("amazon linux", "amzn"),
    ("fedora", "fedora"),
    ("bazzite", "bazzite"),
    ("opensuse tumbleweed", "opensuse-tumbleweed"),
    ("opensuse", "opensuse-leap"),
    ("suse linux enterprise", "sles"),
    ("sles", "sles"),
    ("manjaro", "manjaro"),
    ("endeavouros", "endeavouros"),
    ("cachyos", "cachyos"),
    ("arch", "arch"),
    ("gentoo", "gentoo"),
    ("nixos", "nixos"),
    ("azure linux", "azurelinux"),
    ("mariner", "mariner"),
    ("tencentos", "tencentos"),
    ("openeuler", "openeuler"),
    ("truenas", "truenas"),
    ("unraid", "unraid"),
    ("jetpack", "l4t"),
    ("l4t", "l4t"),
    ("alpine", "alpine"),
    ("windows", "windows"),
    ("win10", "windows"),
    ("win11", "windows"),
    ("win 1", "windows"),
    ("macos", "macos"),
)
_VERSION = re.compile(r"(?<![\w.-])(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w-])")
_GLUED = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)(?![\w.-])")
"""`CentOS7`"""
_KERNEL = re.compile(r"(?:^|,)\s{0,4}(?:linux )?kernel v?(\d\.\d{1,2}\.\d{1,3}[\w.+-]{0,60})", re.IGNORECASE)
"""`Arch Linux, kernel 6.16.10-arch1-1`: its number is none of the system's."""
_MACHINE = re.compile(r"\b(x86_64|aarch64|arm64|ppc64le|amd64)\b")


def os_facts(text: str) -> dict[str, str | bool]:
    """What the line says; WSL alone says nothing of the distribution. Windows as such is `os.id` windows."""
    text = kept(text, 120)
    kernel = _KERNEL.search(text)
    text = text[: kernel.start()] if kernel and kernel.start() else text
    low = text.lower()
    facts: dict[str, str | bool] = {"os.name": text} if text else {}
    wsl = "wsl" in low
    for word, name in _IDS:
        at = low.find(word)
        if at < 0 or (wsl and name == "windows") or (name == "arch" and low[at : at + 5].strip(" ,") != "arch"):
            continue
        facts["os.id"] = name
        facts["os.name"] = text if "," in text[: at + 1] else text.partition(",")[0]
        at += len(word)
        if found := (
            _GLUED.match(text, at)
            or _VERSION.search(text, at)
            or re.search(r"[RrVv](\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", text)
        ):
            joined = name == "ubuntu" and re.fullmatch(r"(\d\d)(04|10)", found[1])  # people write 2204
            facts["os.version"] = f"{joined[1]}.{joined[2]}" if joined else found[1]
        break
    if kernel:
        facts["kernel.release"] = kernel[1]
    if found := _MACHINE.search(low):
        facts["host.machine"] = {"amd64": "x86_64", "arm64": "aarch64"}.get(found[1], found[1])
    if wsl or "microsoft-standard" in low:
        facts["host.wsl"] = True
    return facts
