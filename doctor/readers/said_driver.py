"""What a text says in passing of the kernel drivers: module banners, packages, libraries, `dkms status` -> facts.

>>> read("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  555.42.02").get("nvidia_driver.flavour")
'open'
>>> read("dkms status: nvidia/535.129.03, 6.2.0-39-generic, x86_64: installed").get("nvidia_driver.built_for")
['6.2.0-39-generic']
>>> read("ii amdgpu-dkms 1:6.16.13.30300400-2341068.24.04").get("amdgpu_driver.release")
'30.30.4'
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_LINE_LIMIT = 600
_KERNELS_LIMIT = 16
_BANNER = re.compile(
    r"NVIDIA UNIX (?P<open>Open )?(?:\S{1,12} )?Kernel Module(?: for \S{1,12})?\s{1,8}"
    r"(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)"
)
_TYPE = re.compile(r"kernel_?module_?type[\"']?\s{0,4}[:=]\s{0,4}[\"']?(open|proprietary)\b", re.IGNORECASE)
_MODULES_ALONE = re.compile(
    r"\s{0,8}(?:the )?(?:nvidia(?:['’]s)? )?(?P<flavour>open|proprietary)(?:[- ]source)?(?: gpu)? kernel modules?"
    r"(?: (?:are |is )?(?:loaded|installed|used|in use))?\s{0,8}\.?$",
    re.IGNORECASE,
)
"""The flavour as the whole of a line: in a sentence it may be what somebody would take, or took before."""
_LICENSE = re.compile(r"\blicense:\s{0,16}(Dual MIT/GPL|NVIDIA)\b")
_NOT = re.compile(r"\bnot \S{1,60}|\bno \S{1,60}")
_PACKAGE = re.compile(
    r"\bnvidia-(?:(?:driver|dkms|headless|kernel-source)-\d{3}(?:-server)?(?P<open>-open)?|(?P<named>open-kernel-dkms|open-dkms|"
    r"kernel-dkms))\b"
)
_MANAGER = (
    r"\s{0,8}(?:(?:local|extra|core)/|(?:driver|pacman|apt|dpkg|dnf|rpm|packages?|kernel modules?|installed)"
    r"(?: package)?(?: -Qs?)?:? )?"
)
"""What stands before a package's name: the repository that pacman prints, or who lists it."""
_PACKAGE_ALONE = re.compile(
    rf"{_MANAGER}nvidia-(?:driver|dkms|headless)-\d{{3}}(?:-server)?(?P<open>-open)?"
    r"(?:[ /:]\S{1,30})?\s{0,8}$|"
    r"\s{0,8}(?:siderolabs/)?(?:nonfree-kmod-nvidia|(?P<talos>nvidia-open-gpu-kernel-modules))(?:-(?:lts|production))?"
    r"(?:[ :]\S{1,40})?\s{0,8}$|"
    rf"{_MANAGER}(?P<arch>nvidia-open)(?:-dkms|-lts)?(?: \d{{3}}\.\S{{1,20}})?"
    r"(?: (?:is )?installed| \[installed\])?\s{0,8}$|"
    r".{0,120}\breplaced (?:by|with) nvidia-(?P<now>open)(?:-dkms)?\s{0,8}$"
)
"""The driver's package as the whole of a line (Talos's and Arch's have their own names), or as what an upgrade put in
another's place."""
_LIBRARY = re.compile(
    r"\blib(?:cuda|nvidia-ml)\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b|\blibnvidia-compute-\d{3}\S{0,12}\s{1,8}(\d{3}\.\d{1,3}\.\d{1,3})"
)
_INSTALLED = re.compile(
    r"\b(?:nvidia-(?:smi|utils|driver|driver-libs|driver-cuda|driver-cuda-libs|libs|headless)|lib(?:nvidia-ml1|cuda1)|"
    r"libnvidia-compute|nvidia-compute-utils)(?:-\d{3})?(?:-server)?(?:-open)?(?::\w{2,8})?(?:\s{1,60}|-)\(?(?:\d:)?"
    r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)-\d[\w.~+]{0,40}(?:, (?:\d:)?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)-)?"
)
"""A package of the libraries with its version, as dpkg, rpm, pacman and apt's history print it: there, old and new."""
_GONE = re.compile(r"\s{0,8}(?:rc|un|pn|pi)\s|.{0,80}\b(?:Remove|Purge|removed?|candidate)\b", re.IGNORECASE)
_DSO = re.compile(r"kernel version (\d{3}\.[\d.]{1,12}) does not match DSO version (\d{3}\.[\d.]{1,12})")
_SIDE_BY_SIDE = re.compile(
    r"\bkernel module (?:version )?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b.{1,24}?"
    r"\b(?:librar(?:y|ies)|user ?-?space|nvml)(?: (?:version|driver))? (\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"(libcuda|kernel) reported version is: (\d{3}\.\d{1,3}(?:\.\d{1,3})?)")
_DKMS = re.compile(r"\b(nvidia|amdgpu)[\w-]{0,20}[/,] ?[\w.:~+-]{1,60}, (\d[\w.+-]{2,60}), [\w-]{1,12}: installed")
_DKMS_SOURCE = re.compile(
    r"(?<![\w./])(?P<module>nvidia|amdgpu)(?:/|, )(?P<release>\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)[\w.~-]{0,30}"
    r"(?:, (?P<kernel>\d[\w.+-]{2,60}), [\w-]{1,12})?: (?:added|built|installed)\b"
)
"""A line of `dkms status`: a module's source, and one kernel that it is built for."""
_FABRIC = re.compile(
    r"\bnvidia-fabricmanager(?:-\d{3})?\s{1,8}(\d{3}\.\d{1,3}\.\d{1,3})"
    r"|\b(?:nv-|nvidia[ -])?fabric[ -]?manager(?: version)?(?: is(?: at)?|:| =) ?v?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b",
    re.IGNORECASE | re.ASCII,
)
_NO_FABRIC = re.compile(r"nvidia-fabricmanager(?:\.service)? (?:could not be found|not found|is not installed)")
_AMDGPU_DKMS = re.compile(r"\bamdgpu-dkms[ _:/]{1,3}(?:1:)?(\d{1,2}\.\d{1,3}\.\d{1,3})(?:\.([0-9]{5,8}))?\b")
_AMDGPU_MODULE = re.compile(
    r"ROCk module version (\d{1,2}\.\d{1,3}\.\d{1,3}) is loaded|\[drm\] amdgpu version: (\d{1,2}\.\d{1,3}\.\d{1,3})"
)
_OF_ROCM = re.compile(
    r"\bamdgpu(?:-dkms)?(?: kernel)?(?: driver)? (?:of|from) ROCm (\d\.\d{1,2}(?:\.\d{1,2})?) ?\((?=\d)"
)
"""`amdgpu driver of ROCm 5.3 (5.18.13)`: the release, and the number that its module shows."""
_MODINFO = re.compile(r"modinfo amdgpu\b.{0,30}?\bversion\b\W{1,16}(\d{1,2}\.\d{1,3}\.\d{1,3})\b")
_MES = re.compile(r"\bMES\b.{0,60}?(?:version:? |firmware )0x0{0,6}([0-9a-f]{2,6})\b", re.IGNORECASE)
_KFD_THERE = re.compile(
    r"/dev/kfd[`'\"]? (?:is )?(?:present|there|exists|accessible|available|readable)\b", re.IGNORECASE
)
_KFD_ADDED = re.compile(r"\bkfd kfd: (?:amdgpu: )?added device 1002:[0-9a-f]{4}\b", re.IGNORECASE)
"""The kernel's line for each GPU that KFD takes (drivers/gpu/drm/amd/amdkfd/kfd_device.c)."""
_AMDGPU_THERE = re.compile(
    r"\bamdgpu[`'\"]?(?: driver| module| kernel module)? (?:is )?(?:loaded|built[- ]in(?:to the kernel)?|compiled in"
    r"|built into the kernel)\b",
    re.IGNORECASE,
)
_WORKS = re.compile(
    r"\bnvidia-smi\b[`'\"]?(?: \w{1,12}){0,5}? (?:works?|working|is fine|looks? (?:fine|good|ok)|runs? fine|"
    r"(?:shows?|sees?|lists?|detects?|reports?) (?:the |my |our |all |both |\d )?(?:\w{1,12} )?(?:gpus?|cards?))\b"
    r"(?! only (?:when|if|after))",
    re.IGNORECASE,
)
_NOT_NOW = re.compile(
    r"n[o']t\b|\bnever\b|\buntil\b|\bunless\b|\bused to\b|\bno longer\b|\bbefore\b|\bif\b|\bno\b", re.IGNORECASE
)
"""`nvidia-smi works` said of another time, or of a wish."""
_WORDS = (
    *("nvidia", "amdgpu", "license", "libcuda", "kernel", "mes", "/dev/kfd", "moduletype", "rock module", "kfd kfd"),
    "fabric",
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without any of it."""
    reader = _Reader("nvidia" in text.lower())
    for where, line in source_lines(text, source):
        low = line.lower()
        if len(line) < _LINE_LIMIT and any(word in low for word in _WORDS):
            reader.nvidia(where, line)
            reader.amd(where, line)
    reader.close()
    if not len(reader.sheet):
        raise ReaderError("nothing said of a kernel driver")
    return reader.sheet


_ASKED = re.compile(
    r"(?:sudo )?(?:cat /sys/module/(?P<shown>amdgpu|nvidia)/version"
    r"|modinfo (?:-F ?|--field[= ])version (?P<field>amdgpu|nvidia))$"
)
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,4}$")
_ASKED_LICENSE = re.compile(
    r"(?:sudo )?modinfo (?:nvidia {0,2}\| {0,2}grep (?:-\w{1,3} )?[\"']?\^?license:?[\"']?"
    r"|(?:-F ?|--field[= ])license nvidia)$"
)
_LICENSE_OF = re.compile(r"(?:license:\s{0,16})?(Dual MIT/GPL|NVIDIA)$")
"""The open modules are under two licences (NVIDIA/open-gpu-kernel-modules kernel-open/nvidia/nv.c: MODULE_LICENSE)."""


def read_version(text: str, source: str = "text", command: str = "") -> FactSheet:
    """The version that the module itself, or its file, says it has, or its license, which tells the flavour. Raises
    ReaderError where something else was asked for, or none came."""
    sheet = FactSheet()
    asked = _ASKED.match(command.strip()[:200])
    where, line = next(source_lines(text, source), ("", ""))
    if asked and _NUMBER.match(line.strip()):
        module = asked["shown"] or asked["field"]
        sheet.put(f"{module}_driver.version", line.strip(), where)
        if asked["shown"]:
            sheet.put(f"{module}_driver.loaded", True, where)
        if module == "amdgpu":  # the kernel's own has no version there
            sheet.put("amdgpu_driver.source", "dkms", where)
    if _ASKED_LICENSE.match(command.strip()[:200]) and (license_of := _LICENSE_OF.match(line.strip())):
        sheet.put("nvidia_driver.flavour", "proprietary" if license_of[1] == "NVIDIA" else "open", where)
    if not len(sheet):
        raise ReaderError("no module was asked for its version")
    return sheet


class _Reader:
    def __init__(self, of_nvidia: bool) -> None:
        self.sheet = FactSheet()
        self.of_nvidia = of_nvidia
        self.built: dict[str, tuple[str, list[str]]] = {}
        self.sources: dict[str, tuple[str, list[str]]] = {}

    def nvidia(self, where: str, line: str) -> None:
        if found := _BANNER.search(line):
            self.sheet.put("nvidia_driver.version", found["version"], where)
            self.sheet.put("nvidia_driver.flavour", "open" if found["open"] else "proprietary", where)
        self.flavour(where, line)
        self.versions(where, line)
        for found in _DKMS.finditer(line):
            kernels = self.built.setdefault(found[1], (where, []))[1]
            if found[2] not in kernels and len(kernels) < _KERNELS_LIMIT:
                kernels.append(found[2])
        for found in _DKMS_SOURCE.finditer(line):
            self.source(where, found)
        if (
            (found := _WORKS.search(line))
            and not _NOT_NOW.search(found[0])
            and not _NOT_NOW.search(line[: found.start()])
        ):
            self.sheet.put("nvidia_driver.loaded", True, where)
        if (found := _FABRIC.search(line)) and not _GONE.match(line):
            self.sheet.put("nvidia_driver.fabric_manager.installed", True, where)
            self.sheet.put("nvidia_driver.fabric_manager.version", found[1] or found[2], where)
        elif _NO_FABRIC.search(line):
            self.sheet.put("nvidia_driver.fabric_manager.installed", False, where)

    def source(self, where: str, found: re.Match[str]) -> None:
        """Of amdgpu the number is that of the module; NVIDIA's is the driver's release, loaded or not."""
        if found["module"] == "amdgpu":
            self.sheet.put("amdgpu_driver.version", found["release"], where)
            return
        kernels = self.sources.setdefault(f"nvidia/{found['release']}", (where, []))[1]
        if found["kernel"] and found["kernel"] not in kernels and len(kernels) < _KERNELS_LIMIT:
            kernels.append(found["kernel"])

    def flavour(self, where: str, line: str) -> None:
        if found := _TYPE.search(line):
            self.sheet.put("nvidia_driver.flavour", found[1].lower(), where)
        elif found := _MODULES_ALONE.match(line):
            self.sheet.put("nvidia_driver.flavour", found["flavour"].lower(), where)
        elif (found := _LICENSE.search(line)) and self.of_nvidia:
            self.sheet.put("nvidia_driver.flavour", "open" if found[1] != "NVIDIA" else "proprietary", where)
        elif alone := _PACKAGE_ALONE.match(line):
            self.sheet.put("nvidia_driver.flavour", "open" if any(alone.groupdict().values()) else "proprietary", where)
        elif "installed" in line or line.lstrip().startswith("ii "):
            named = [m["open"] or m["named"] or "" for m in _PACKAGE.finditer(_NOT.sub("", line))]
            if named and len({"open" in name for name in named}) == 1:
                self.sheet.put("nvidia_driver.flavour", "open" if "open" in named[0] else "proprietary", where)

    def versions(self, where: str, line: str) -> None:
        """Of the module and of the library that a line names side by side, or of the library alone."""
        if found := _DSO.search(line) or _SIDE_BY_SIDE.search(line):
            self.sheet.put("nvidia_driver.version", found[1], where)
            self.sheet.put("nvidia_driver.user_version", found[2].rstrip("."), where)
        elif found := _REPORTED.search(line):
            name = "user_version" if found[1] == "libcuda" else "version"
            self.sheet.put(f"nvidia_driver.{name}", found[2], where)
        elif "compat" not in line and (found := _LIBRARY.search(line)):
            self.sheet.put("nvidia_driver.user_version", found[1] or found[2], where)
        elif not _GONE.match(line) and (found := _INSTALLED.search(line)):
            self.sheet.put("nvidia_driver.user_version", found[2] or found[1], where)

    def amd(self, where: str, line: str) -> None:
        if found := _AMDGPU_DKMS.search(line):
            self.sheet.put("amdgpu_driver.version", found[1], where)
            if release := _release(found[2] or ""):
                self.sheet.put("amdgpu_driver.release", release, where)
        elif found := _OF_ROCM.search(line):
            self.sheet.put("amdgpu_driver.release", found[1], where)
        elif found := _MODINFO.search(line):
            self.sheet.put("amdgpu_driver.version", found[1], where)
        elif found := _AMDGPU_MODULE.search(line):
            self.sheet.put("amdgpu_driver.version", found[1] or found[2], where)
            self.sheet.put("amdgpu_driver.source", "dkms", where)
        if (found := _KFD_THERE.search(line)) and not _NOT_NOW.search(line):
            self.sheet.put("kfd.present", True, where)
        if _KFD_ADDED.search(line):
            self.sheet.put("kfd.present", True, where)
            self.sheet.put("amdgpu_driver.loaded", True, where)
        if (found := _AMDGPU_THERE.search(line)) and not _NOT_NOW.search(line):
            self.sheet.put("amdgpu_driver.loaded", True, where)
        if found := _MES.search(line):
            self.sheet.put("gpus[#0].vendor", "amd", where)
            self.sheet.put("gpus[#0].firmware", {"mes": f"0x{found[1].lower()}"}, where)

    def close(self) -> None:
        for module, (where, kernels) in self.built.items():
            driver = "nvidia_driver" if module == "nvidia" else "amdgpu_driver"
            self.sheet.put(f"{driver}.built_for", kernels, where)
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
