"""Lines about a kernel driver that tools, packages and kernels print -> facts: the banner of NVIDIA's module, packages
with their versions as dpkg, rpm and pacman list them, `dkms status`, the kernel's line for a GPU that KFD takes.

>>> sheet = read("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build")
>>> sheet.get("nvidia_driver.version"), sheet.get("nvidia_driver.flavour")
('575.57.08', 'open')
>>> read("nvidia/535.129.03, 6.2.0-39-generic, x86_64: installed").get("nvidia_driver.built_for")
['6.2.0-39-generic']
>>> read("ii  amdgpu-dkms  1:6.16.13.30300400-2341068.24.04").get("amdgpu_driver.release")
'30.30.4'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 194,
        "words": (
            "nvidia unix",
            "dso version",
            "reported version is",
            "libcuda",
            "libnvidia-ml.so",
            "nvidia",
            ": added",
            ": installed",
            "amdgpu-dkms",
            "rock module version",
            "amdgpu version: ",
            "kfd kfd:",
        ),
    },
)

_LINE_LIMIT = 400
_KERNELS_LIMIT = 16
_OF_NVIDIA = r"\d{3}\.\d{1,3}(?:\.\d{1,3})?"
_BANNER = re.compile(
    r"NVIDIA UNIX (?P<open>Open )?(?:\S{1,12} )?Kernel Module(?: for \S{1,12})?\s{1,8}" rf"(?P<version>{_OF_NVIDIA})"
)
_DSO = re.compile(rf"kernel version ({_OF_NVIDIA}) does not match DSO version ({_OF_NVIDIA})")
_REPORTED = re.compile(rf"(libcuda|kernel) reported version is: ({_OF_NVIDIA})")
_LIBRARY = re.compile(rf"\blib(?:cuda|nvidia-ml)\.so\.({_OF_NVIDIA})\b")
_INSTALLED = re.compile(
    r"\b(?:nvidia-(?:smi|utils|driver|driver-libs|driver-cuda|driver-cuda-libs|libs|headless)|lib(?:nvidia-ml1|cuda1)|"
    r"libnvidia-compute|nvidia-compute-utils)(?:-\d{3})?(?:-server)?(?:-open)?(?::\w{2,8})?(?:\s{1,60}|-)\(?(?:\d:)?"
    rf"({_OF_NVIDIA})-\d[\w.~+]{{0,40}}(?:, (?:\d:)?({_OF_NVIDIA})-)?"
)
"""A package of the libraries with its version, as dpkg, rpm, pacman and apt's history print it: there, old and new."""
_GONE = re.compile(r"\s{0,8}(?:rc|un|pn|pi)\s|.{0,80}\b(?:Remove|Purge|removed?|candidate)\b", re.IGNORECASE)
_DKMS = re.compile(
    r"(?<![\w./])(?P<module>nvidia|amdgpu)(?:-[\w-]{1,20})?(?:/|, ?)"
    r"(?P<release>\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)[\w.~:-]{0,40}"
    r"(?:, (?P<kernel>\d[\w.+-]{2,60}), [\w-]{1,12})?: (?P<state>added|built|installed)\b"
)
_DKMS_BUILDS = re.compile(
    rf"\bmodule nvidia/({_OF_NVIDIA}) for kernel|"
    rf"\bdkms (?:add|build|install) .{{0,40}}-m nvidia(?: -v |/)({_OF_NVIDIA})"
)
_FABRIC = re.compile(rf"\bnvidia-fabricmanager(?:-\d{{3}})?\s{{1,8}}({_OF_NVIDIA})")
_NO_FABRIC = re.compile(r"nvidia-fabricmanager(?:\.service)? (?:could not be found|not found|is not installed)")
_AMDGPU_DKMS = re.compile(r"\bamdgpu-dkms[ _:/]{1,24}(?:1:)?(\d{1,2}\.\d{1,3}\.\d{1,3})(?:\.([0-9]{5,8}))?\b")
_AMDGPU_MODULE = re.compile(
    r"ROCk module version (\d{1,2}\.\d{1,3}\.\d{1,3}) is loaded|\[drm\] amdgpu version: (\d{1,2}\.\d{1,3}\.\d{1,3})"
)
_KFD_ADDED = re.compile(r"\bkfd kfd: (?:amdgpu: )?added device 1002:[0-9a-f]{4}\b")
"""The kernel's line for each GPU that KFD takes (drivers/gpu/drm/amd/amdkfd/kfd_device.c)."""


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without any of it."""
    reader = _Reader()
    for where, line in source_lines(text, source):
        if len(line) < _LINE_LIMIT:
            reader.nvidia(where, line)
            reader.amd(where, line)
    reader.close()
    if not len(reader.sheet):
        raise ParserError("no line about a kernel driver")
    return reader.sheet


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.sources: dict[str, tuple[str, list[str]]] = {}
        self.built: dict[str, tuple[str, list[str]]] = {}

    def nvidia(self, where: str, line: str) -> None:
        if found := _BANNER.search(line):
            self.sheet.put("nvidia_driver.version", found["version"], where)
            self.sheet.put("nvidia_driver.flavour", "open" if found["open"] else "proprietary", where)
        self.versions(where, line)
        for found in _DKMS.finditer(line):
            self.dkms(where, found)
        if found := _DKMS_BUILDS.search(line):
            self.sources.setdefault(f"nvidia/{found[1] or found[2]}", (where, []))
        if (found := _FABRIC.search(line)) and not _GONE.match(line):
            self.sheet.put("nvidia_driver.fabric_manager.installed", True, where)
            self.sheet.put("nvidia_driver.fabric_manager.version", found[1], where)
        elif _NO_FABRIC.search(line):
            self.sheet.put("nvidia_driver.fabric_manager.installed", False, where)

    def versions(self, where: str, line: str) -> None:
        """Of the module and of the library that a line names side by side, or of the library alone."""
        if found := _DSO.search(line):
            self.sheet.put("nvidia_driver.version", found[1], where)
            self.sheet.put("nvidia_driver.user_version", found[2], where)
        elif found := _REPORTED.search(line):
            name = "user_version" if found[1] == "libcuda" else "version"
            self.sheet.put(f"nvidia_driver.{name}", found[2], where)
        elif "compat" not in line and (found := _LIBRARY.search(line)):
            self.sheet.put("nvidia_driver.user_version", found[1], where)
        elif not _GONE.match(line) and (found := _INSTALLED.search(line)):
            self.sheet.put("nvidia_driver.user_version", found[2] or found[1], where)

    def dkms(self, where: str, found: re.Match[str]) -> None:
        """Of amdgpu the number is that of the module; NVIDIA's is the driver's release, loaded or not."""
        module, kernel = found["module"], found["kernel"]
        if module == "amdgpu":
            self.sheet.put("amdgpu_driver.version", found["release"], where)
        else:
            self.sources.setdefault(f"nvidia/{found['release']}", (where, []))
        if kernel and found["state"] == "installed":
            for kernels in (
                self.built.setdefault(module, (where, []))[1],
                self.sources.get(f"{module}/{found['release']}", ("", []))[1],
            ):
                if kernel not in kernels and len(kernels) < _KERNELS_LIMIT:
                    kernels.append(kernel)

    def amd(self, where: str, line: str) -> None:
        if found := _AMDGPU_DKMS.search(line):
            self.sheet.put("amdgpu_driver.version", found[1], where)
            if release := _release(found[2] or ""):
                self.sheet.put("amdgpu_driver.release", release, where)
        elif found := _AMDGPU_MODULE.search(line):
            self.sheet.put("amdgpu_driver.version", found[1] or found[2], where)
            self.sheet.put("amdgpu_driver.source", "dkms", where)
        if _KFD_ADDED.search(line):
            self.sheet.put("kfd.present", True, where)
            self.sheet.put("amdgpu_driver.loaded", True, where)

    def close(self) -> None:
        for module, (where, kernels) in self.built.items():
            self.sheet.put(f"{module}_driver.built_for", kernels, where)
        rows = [{"key": key, "built_for": kernels} for key, (_, kernels) in self.sources.items()]
        if rows:
            self.sheet.put("kernel.dkms", rows, next(iter(self.sources.values()))[0])


def _release(digits: str) -> str | None:
    """`30.30.4` of 30300400, `6.4.1` of 60401: how AMD's packages write the driver's release into their version."""
    if len(digits) == 8:
        numbers = [int(digits[at : at + 2]) for at in (0, 2, 4)]
    elif len(digits) == 5:
        numbers = [int(digits[0]), int(digits[1:3]), int(digits[3:5])]
    else:
        return None
    return ".".join(map(str, numbers))
