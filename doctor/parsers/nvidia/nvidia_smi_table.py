"""The table that plain `nvidia-smi` prints, or the message that it prints instead -> facts.

Names of drivers up to 515 or so are cut with dots in this table; a cut name is not put. The `ERR!` of a GPU in trouble
is kept as `lost`. A table may be followed by a warning and a non-zero exit; the warning is `nvidia_driver.smi_error`.
"""

from __future__ import annotations

import io
import re

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = (
    {
        "trust": 30,
        "words": (
            "| nvidia-smi",
            "|  nvidia-smi",
            "mib /",
            "no devices were found",
            "nvidia-smi has failed",
            "failed to initialize nvml",
            "determine the device handle",
            "| 0000",
        ),
    },
)

MIB = 1 << 20
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_HEAD = re.compile(
    r"NVIDIA-SMI\s+(?P<smi>\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)\s+(?:Driver|KMD) Version:\s*(?P<driver>\S{1,20})"
    r"(?:\s+CUDA (?:UMD )?Version:\s*(?P<cuda>[\w./]{1,12}))?"
)
_GPU = re.compile(
    r"^\s*\|?\s*(?P<index>\d{1,3})\s+(?P<name>\S.{0,60}?)\s+(?P<mode>On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s*\|"
    r"\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+(?P<display>\S{1,8})\s*"
    r"\|\s*(?P<ecc>\S{1,12})\s*\|?"
)
_NUMBERS = re.compile(
    r"^\s*\|?\s*(?P<fan>\S{1,5})\s+(?P<temp>\d{1,3}C|N/A|ERR!)\s+(?P<perf>\S{1,5})\s+"
    r"(?P<draw>\S{1,6})\s*/\s*(?P<cap>\S{1,6})\s*\|"
    r"\s*(?:(?P<used>\d{1,9})MiB\s*/\s*(?P<total>\d{1,9})MiB|Not Supported|\S.{0,30}?)\s*\|"
    r"\s*(?P<util>\S{1,5})\s+(?P<mode>\S.{0,16}?)\s*\|?$"
)
_MIG_LINE = re.compile(r"^\s*\|(?:[^|]*\|){2}\s*(?P<mig>Enabled\*?|Disabled\*?|N/A)\s*\|?$")
_INSTANCE = re.compile(
    r"^\s*\|?\s*(?P<gpu>\d{1,3})\s+(?P<gi>\d{1,3})\s+(?P<ci>\d{1,3})\s+(?P<dev>\d{1,3})\s*\|\s*\d{1,9}MiB\s*/\s*(?P<total>\d{1,9})MiB"
)
_MESSAGES = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    "Failed to initialize NVML:",
    "Unable to determine the device handle for",
    "NVIDIA-SMI couldn't find libnvidia-ml.so",
    "No devices were found",
    "No devices found",
    "WARNING: infoROM is corrupted",
)
_NVML_NAMES = {
    "driver/library version mismatch": "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
    "driver not loaded": "NVML_ERROR_DRIVER_NOT_LOADED",
    "unknown error": "NVML_ERROR_UNKNOWN",
    "insufficient permissions": "NVML_ERROR_NO_PERMISSION",
    "gpu access blocked by the operating system": "NVML_ERROR_OPERATING_SYSTEM",
    "gpu is lost": "NVML_ERROR_GPU_IS_LOST",
}
_LIBRARY = re.compile(r"^\s*NVML library version:\s*(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")


def read(text: str, source: str = "text") -> FactSheet:
    """ParserError where there is neither a table's head, nor a row of a GPU, nor one of the tool's messages."""
    sheet = FactSheet()
    table = _Table(sheet, source)
    for number, raw in enumerate(io.StringIO(text, newline=None), 1):
        table.take(_CONTROL.sub("", raw[:400]).rstrip(), number)
    if not len(sheet):
        raise ParserError("no nvidia-smi table and none of its messages")
    return sheet


class _Table:
    def __init__(self, sheet: FactSheet, source: str) -> None:
        self.sheet, self.source = sheet, source
        self.key: str | None = None
        self.keys: dict[str, str] = {}

    def take(self, line: str, number: int) -> None:
        if not line.strip(" |+-="):
            if "+" in line:
                self.key = None
            return
        at = f"{self.source}:{number}"
        if match := _HEAD.search(line):
            self._head(match, at)
        elif match := _GPU.match(line):
            self._gpu(match, at)
        elif (match := _NUMBERS.match(line)) and self._row():
            self._numbers(match, at)
        elif self.key and (match := _MIG_LINE.match(line)):
            mig = match["mig"].rstrip("*").lower()
            if mig != "n/a":
                self.sheet.put(f"gpus[{self.key}].mig_mode", mig, at)
        elif match := _INSTANCE.match(line):
            self._instance(match, at)
        elif "No MIG devices found" in line:
            for key in self.keys.values():
                if self.sheet.get(f"gpus[{key}].mig_mode") == "enabled":
                    self.sheet.put(f"gpus[{key}].partitions", [], at)
        else:
            self._message(line, at)

    def _row(self) -> bool:
        """Whether numbers belong to a GPU: to the row above, or, where none was pasted, to the first GPU."""
        if self.key is None and not self.keys:
            self.key = self.keys["0"] = "#0"
            self.sheet.put("gpus[#0].vendor", "nvidia", self.source)
        return self.key is not None

    def _head(self, match: re.Match[str], at: str) -> None:
        if re.match(r"\d", match["driver"]):
            self.sheet.put("nvidia_driver.version", match["driver"].rstrip("|"), at)
        if match["cuda"] and re.match(r"\d", match["cuda"]):
            self.sheet.put("nvidia_driver.cuda_version", match["cuda"], at)

    def _gpu(self, match: re.Match[str], at: str) -> None:
        if len(self.keys) >= 256:
            return
        self.key = key = address(match["bus"]) or f"#{match['index']}"
        self.keys[match["index"]] = key
        put = self.sheet.put
        put(f"gpus[{key}].vendor", "nvidia", at)
        if not key.startswith("#"):
            put(f"gpus[{key}].pci_address", key, at)
        put(f"gpus[{key}].index.smi", int(match["index"]), at)
        name = match["name"].strip()
        if name.endswith("..."):
            self.sheet.miss(f"gpus[{key}].name", State.UNREADABLE, at, f"cut in the table: {name}")
        elif name != "ERR!":
            put(f"gpus[{key}].name", name, at)
        if match["mode"] in ("On", "Off"):
            put(f"gpus[{key}].persistence_mode", match["mode"] == "On", at)
        if match["ecc"].isdecimal():
            put(f"gpus[{key}].errors.ecc_enabled", True, at)
            put(f"gpus[{key}].errors.uncorrected", int(match["ecc"][:12]), at)
        elif match["ecc"] == "Off":
            put(f"gpus[{key}].errors.ecc_enabled", False, at)
        if name == "ERR!" or match["ecc"] == "ERR!" or match["mode"] == "ERR!":
            put(f"gpus[{key}].lost", True, at)

    def _numbers(self, match: re.Match[str], at: str) -> None:
        base = f"gpus[{self.key}]"
        if match["total"]:
            self.sheet.put(f"{base}.memory_bytes", int(match["total"]) * MIB, at)
            self.sheet.put(f"{base}.memory_used_bytes", int(match["used"]) * MIB, at)
        for fact, text in (
            ("sensors.temperature_c", match["temp"].rstrip("C")),
            ("sensors.power_w", match["draw"].rstrip("W")),
            ("sensors.power_limit_w", match["cap"].rstrip("W")),
            ("sensors.utilisation_percent", match["util"].rstrip("%")),
        ):
            if text.isdecimal():
                self.sheet.put(f"{base}.{fact}", float(text), at)
        if match["mode"].strip() not in ("N/A", "ERR!"):
            self.sheet.put(f"{base}.compute_mode", match["mode"].strip(), at)
        # a broken fan alone reads ERR!, too
        if [match["temp"], match["perf"], match["draw"], match["util"]].count("ERR!") >= 2:
            self.sheet.put(f"{base}.lost", True, at)

    def _instance(self, match: re.Match[str], at: str) -> None:
        key = self.keys.get(match["gpu"])
        if key:
            base = f"gpus[{key}].partitions[mig{int(match['dev'])}]"
            self.sheet.put(f"{base}.kind", "mig", at)
            self.sheet.put(f"{base}.memory_bytes", int(match["total"]) * MIB, at)

    def _message(self, line: str, at: str) -> None:
        text = line.strip()
        if self.sheet.get("nvidia_driver.nvml_error") and (match := _LIBRARY.match(line)):
            series = match[1]
            if series.count(".") > 1:
                self.sheet.put("nvidia_driver.user_version", series, at)
            return
        found = next((m for m in _MESSAGES if m in text), None)
        if not found:
            return
        text = text[text.index(found) :][:300].rstrip("`'\")*")
        if found.startswith("No devices"):
            if text.rstrip(".!").lower() not in ("no devices were found", "no devices found"):
                return
            self.sheet.put("gpus", [], at)
        self.sheet.put("nvidia_driver.smi_error", text, at)
        if found.startswith("Failed to initialize NVML"):
            reason = text.partition(":")[2].strip().rstrip(".").lower()
            name = next((n for words, n in _NVML_NAMES.items() if reason.startswith(words)), None)
            if name:
                self.sheet.put("nvidia_driver.nvml_error", name, at)
        if found.startswith("Unable to determine the device handle") and "lost" in text.lower():
            bus = re.search(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", text)
            key = address(bus[1]) if bus else None
            if key:
                self.sheet.put(f"gpus[{key}].vendor", "nvidia", at)
                self.sheet.put(f"gpus[{key}].lost", True, at)
