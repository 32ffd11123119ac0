"""Settings of container engines and NVIDIA's toolkit (daemon.json, `docker info`, config.toml, containerd's config, CDI
specs) -> the engine's runtimes, cgroup handling and the driver of a CDI spec.

>>> read("no-cgroups = true").get("container.no_cgroups")
True
>>> read(" Runtimes: io.containerd.runc.v2 runc\\n Default Runtime: runc").get("container.runtimes")
['io.containerd.runc.v2', 'runc']
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 510,
        "words": (
            "no-cgroups",
            "runtimes",
            "default runtime",
            "default_runtime",
            "cgroup driver",
            "context:",
            "cgroupdriver",
            "docker root dir",
            "rootless",
            "/cdi/",
            "hostpath",
            "config.toml",
            "context ls",
            "docker desktop",
            "docker/desktop",
            "snap/",
            "container-toolkit",
            "container toolkit",
            "nvidia-ctk",
            "cli-version:",
            "snap install docker",
            "snap list",
            "snap services",
            "docker.dockerd",
            "latest/stable",
            "docker snap",
            "docker (snap",
        ),
    },
)

_NO_CGROUPS = re.compile(r"(?P<off>\s{0,8}#)?.{0,80}?\bno-cgroups\s{0,3}=\s{0,3}(?P<value>true|false)\b", re.IGNORECASE)
_RUNTIMES = re.compile(r".{0,40}?\bRuntimes:\s{1,4}(?P<names>[\w./ -]{1,300})$")
_DEFAULT = re.compile(
    r".{0,80}?(?:Default Runtime:|default[_-]runtime(?:[_-]name)?\"?\s{0,2}[=:])\s{0,4}[\"']?(?P<name>[\w.-]{1,60})",
    re.IGNORECASE,
)
_CGROUP = re.compile(r".{0,60}?cgroup ?driver[:\s]{1,4}(?P<name>systemd|cgroupfs)", re.IGNORECASE)
_CONTEXT = re.compile(
    r".{0,60}?(?:Context:|docker context(?: ls| show)?:?|endpoint:)\s{1,8}(?P<name>\S{1,60})", re.IGNORECASE
)
_ROOT = re.compile(r".{0,40}?Docker Root Dir:\s{1,4}(?P<path>\S{1,120})")
_APART = re.compile(
    r"(?!.{0,200}\b(?:not|without|instead of|WSL|Windows)\b).{0,80}?"
    r"(?P<name>\bDocker Desktop\b|/\.docker/desktop/docker\.sock|/snap/bin/docker\b|/snap/docker/"
    r"|\bsnap (?:install|list|services|info|connections):? docker\b|\bdocker \(?snap\b"
    r"|(?<![\w./-])docker\.dockerd\s{1,20}(?:enabled|disabled)\b"
    r"|(?<![\w/-])docker\s{1,20}\d[\w.+]{1,16}\s{1,12}\d{2,6}\s{1,12}(?:latest|core\d\d|\d[\d.]*)/(?:stable|edge|candidate|beta))",
    re.IGNORECASE,
)
_APART_WORDS = ("esktop", "snap", "docker.dockerd", "/stable", "/edge", "/candidate", "/beta")
_TOOLKIT = re.compile(
    r".{0,200}?(?:nvidia-container-toolkit(?:-base)?(?::\w{2,8})?|container toolkit(?: cli)?|nvidia-ctk"
    r"|container runtime hook)`?(?: version)?[\s:=@v-]{1,40}(1\.\d{1,2}\.\d{1,2})\b",
    re.IGNORECASE,
)
_CLI = re.compile(r"\s{0,8}(?:cli-version|lib-version): (1\.\d{1,2}\.\d{1,2})\b")
"""What `nvidia-ctk --version`, `nvidia-container-cli -V`, dpkg and people say of the toolkit's release."""
_CHANGED = re.compile(
    r"\b(?:from|to|upgrad\w*|downgrad\w*|updat\w*|install\w* of|works? with|fixed in|since|before)\b", re.IGNORECASE
)
_CDI_FILE = re.compile(r"(?:cdi|hostPath|containerPath).{0,200}?\.so\.(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")


def read(text: str, source: str = "text") -> FactSheet:
    """A commented line of config.toml is the default, which is false. Raises ParserError without such a line."""
    sheet = FactSheet()
    lines = list(source_lines(text, source))
    for position, (where, line) in enumerate(lines):
        if len(line) < 600:
            _one(sheet, where, line)
            if '"runtimes"' in line:
                _runtimes(sheet, where, [rest for _, rest in lines[position : position + 40]])
    if where := _daemon_json(lines):
        if sheet.get("container.runtimes") is None:
            sheet.put("container.runtimes", ["runc"], where, "daemon.json names no other")
        if sheet.get("container.default_runtime") is None:
            sheet.put("container.default_runtime", "runc", where, "daemon.json names no other")
    if not len(sheet):
        raise ParserError("no setting of a container engine in the text")
    return sheet


def _one(sheet: FactSheet, where: str, line: str) -> None:
    if "no-cgroups" in line and (found := _NO_CGROUPS.match(line)):
        sheet.put("container.no_cgroups", found["value"].lower() == "true" and not found["off"], where)
    if "untimes:" in line and (found := _RUNTIMES.match(line)):
        sheet.put("container.runtimes", found["names"].split()[:40], where)
    if "efault" in line and (found := _DEFAULT.match(line)):
        sheet.put("container.default_runtime", kept(found["name"], 60), where)
    if "river" in line and (found := _CGROUP.match(line)):
        sheet.put("container.cgroup_driver", found["name"].lower(), where)
    if "ontext" in line and (found := _CONTEXT.match(line)) and "desktop" in found["name"]:
        sheet.put("container.engine_text", "docker desktop", where)
    if "Root Dir" in line and (found := _ROOT.match(line)) and "snap" in found["path"]:
        sheet.put("container.engine_text", "docker snap", where)
    # A row of `snap list` has no word of snap's own but its channel.
    if any(word in line for word in _APART_WORDS) and (found := _APART.match(line)):
        sheet.put("container.engine_text", f"docker {'desktop' if 'esktop' in found['name'] else 'snap'}", where)
    if "rootless" in line.lower() and re.match(r"\s{0,8}rootless:?\s{0,3}(?:true|yes)?$", line.lower()):
        sheet.put("container.rootless", True, where)
    if "oolkit" in line or "nvidia-ctk" in line or "-version: 1" in line or "Hook" in line:
        found = _CLI.match(line) or (None if _CHANGED.search(line) else _TOOLKIT.match(line))
        if found:
            sheet.put("container.toolkit_version", found[1], where)
    if ".so." in line and (found := _CDI_FILE.search(line)):
        sheet.put("container.cdi_driver", found["version"], where)


def _runtimes(sheet: FactSheet, where: str, lines: list[str]) -> None:
    """Keys of the object after `"runtimes":` in daemon.json."""
    names = ["runc"]
    for line in lines:
        keys = re.findall(r'"([\w.-]{1,40})"\s{0,3}:\s{0,3}\{', line[:600])
        names += [key for key in keys if key != "runtimes"]
    sheet.put("container.runtimes", names[:40], where)


_KEYS = (
    *('"log-driver"', '"storage-driver"', '"registry-mirrors"', '"insecure-registries"', '"data-root"', '"dns"'),
    *('"runtimes"', '"exec-opts"', '"live-restore"', '"default-runtime"'),
)


def _daemon_json(lines: list[tuple[str, str]]) -> str:
    """Where a whole object begins that is the engine's file by its keys; "" without one."""
    first = next((n for n, (_, line) in enumerate(lines[:200]) if line.strip() == "{"), None)
    if first is None:
        return ""
    depth, text = 0, ""
    for _, line in lines[first : first + 80]:
        text += line[:600]
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            break
    return lines[first][0] if depth == 0 and any(key in text for key in _KEYS) else ""
