"""What labelled lines say of the kernel driver: NVIDIA's version, flavour and libraries, amdgpu's module and package.

>>> labels = DriverLabels()
>>> labels.driver("text:1", "amdgpu 6.12.12"), labels.nvidia_driver("text:2", "570.86.15 (open)"), labels.close_driver()
(None, None, None)
>>> [labels.sheet.get(name) for name in ("amdgpu_driver.version", "nvidia_driver.version", "nvidia_driver.flavour")]
['6.12.12', '570.86.15', 'open']
"""

from __future__ import annotations

import re

from doctor.facts.sheet import FactSheet

_SMI = re.compile(r"NVIDIA-SMI (\d{3}\.[\d.]{2,12}).{0,60}?Driver Version: (\d{3}\.[\d.]{2,12})")
_SMI_CUDA = re.compile(r"CUDA Version: (\d{1,2}\.\d{1,2})\b")
VERSION = re.compile(r"(?:.{0,60}?[^\w.])?v?(\d{1,3}(?:\.\d{1,4}){0,3})\b")
_AMDGPU_NUMBER = re.compile(
    r"(?<![\w.])(?<!\d\d:)(?<!ROCm )(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:-\d{5,8})?)(?=\.x\b|(?![\w.]*[a-z]))"
)
_FIRST_PACKAGE_RELEASE = 20
"""AMD numbers the driver apart from ROCm since 30.10; module numbers and ROCm's are below."""

_OF_ROCM_5 = re.compile(r"5(?:\.\d{1,2}){4}")
"""amdgpu-dkms of ROCm 5.0 to 5.4 (repo.radeon.com/amdgpu): `5.13.20.5.0`, `5.18.2.22.40`."""


class DriverLabels:
    """A method takes the value of a label, and where it is."""

    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.module: tuple[str, str] | None = None
        self.driver_said: tuple[str, str] | None = None

    def smi(self, where: str, line: str) -> None:
        if found := _SMI.search(line):
            self.sheet.put("nvidia_driver.version", found[2], where)
            self.sheet.put("nvidia_driver.loaded", True, where)
        if found := _SMI_CUDA.search(line):
            self.sheet.put("nvidia_driver.cuda_version", found[1], where)

    def smi_cuda(self, where: str, value: str) -> None:
        if found := VERSION.match(value):
            self.sheet.put("nvidia_driver.cuda_version", found[1], where)

    def nvidia_driver(self, where: str, value: str) -> None:
        if found := re.search(r"\b(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b", value):
            self.driver_said = self.driver_said or (found[1], where)
        if found := re.search(r"\d[\d.]{4,12}[ ,]{0,3}\(?(?:nvidia[ -])?(open|proprietary)\b", value.lower()):
            self.sheet.put("nvidia_driver.flavour", found[1], where)

    def driver(self, where: str, value: str) -> None:
        """A bare "Driver": NVIDIA's numbers are of three digits and a dot; amdgpu's are not. A branch alone is NVIDIA's
        where its package is named."""
        if "amdgpu" in value.lower() or _OF_ROCM_5.fullmatch(value.strip()):
            self.amdgpu(where, value)
        elif "nvidia" in value.lower() or re.search(r"\d\.", value):
            self.nvidia_driver(where, value)

    def module_version(self, where: str, value: str) -> None:
        if found := re.search(r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)", value):
            self.module = (found[1], where)

    def flavour(self, where: str, value: str) -> None:
        if found := re.search(r"\b(?<!not )(?<!non-)(open|proprietary|closed|non-?free)\b", value.lower()):
            self.sheet.put("nvidia_driver.flavour", "open" if found[1] == "open" else "proprietary", where)

    def nvml(self, where: str, value: str) -> None:
        if found := re.match(r"(\d{3}\.[\d.]{1,12})", value):
            self.sheet.put("nvidia_driver.user_version", found[1], where)

    def amdgpu(self, where: str, value: str) -> None:
        """The module's number, or the release of the driver package: 30.10 and newer are never a module's."""
        if re.search(r"in-tree|inbox|in-box|kernel", value.lower()):
            self.sheet.put("amdgpu_driver.source", "in-tree", where)
            return
        if release := re.search(r"(?:of|for|from|\() ?ROCm (\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", value):
            self.sheet.put("amdgpu_driver.release", release[1], where)
        for found in _AMDGPU_NUMBER.finditer(value[:200]):
            is_release = int(found[1].partition(".")[0]) >= _FIRST_PACKAGE_RELEASE
            self.sheet.put(f"amdgpu_driver.{'release' if is_release else 'version'}", found[1], where)

    def close_driver(self) -> None:
        """A module's version beside a driver's: the driver's is then that of the user space."""
        if self.module:
            self.sheet.put("nvidia_driver.version", *self.module)
            self.sheet.put("nvidia_driver.loaded", True, self.module[1])
        if self.driver_said:
            name = "user_version" if self.module and self.module[0] != self.driver_said[0] else "version"
            self.sheet.put(f"nvidia_driver.{name}", *self.driver_said)
