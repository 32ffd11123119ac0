"""Text of the kernel log (dmesg, dmesg -T, dmesg -r, journalctl, syslog, /dev/kmsg records, pstore) -> counted events.

Codes are stable:
`xid-N`, `sxid-N`, `nvidia-api-mismatch`, `nvidia-rm-init-failed`, `nvidia-open-module-required`,
`nvidia-open-module-unsupported`, `nvidia-legacy-driver-required`, `nvidia-bound-elsewhere`, `nvidia-no-gpu-found`,
`nvidia-bar-invalid`, `nvidia-probe-failed`, `gpu-fell-off-bus`, `module-key-rejected`, `module-lockdown`,
`module-version-magic`, `module-unknown-symbol`, `nouveau-error`, `amdgpu-ring-timeout`,
`amdgpu-ring-timeout-recovered`, `amdgpu-gpu-reset` (begun), `amdgpu-gpu-reset-succeeded`, `amdgpu-gpu-reset-failed`,
`amdgpu-page-fault`, `amdgpu-ras-uncorrectable`, `amdgpu-bad-pages`, `amdgpu-init-failed`, `amdgpu-probe-failed`,
`amdgpu-firmware-missing`, `amdgpu-smu-hang`, `amdgpu-hws-hang`, `amdgpu-illegal-access`, `amdgpu-vram-lost`,
`amdgpu-oom`, `kfd-no-atomics`, `kfd-device-skipped`, `kfd-iommu-error`, `iommu-fault`, `pcie-aer-uncorrectable`,
`pcie-aer-correctable`, `mce-uncorrectable`, `oom-kill` (of the machine), `oom-kill-cgroup` (of a container or a job),
`nic-link-down`.

IOMMU and AER events are kept only for a device that the same text shows to be a GPU. Lines that look bad and are
not (SMU interface version not matched, optional RAS firmware, the taint notice of an unsigned module) make no event.
One pass, at most 512 kinds of event, 300 characters of each.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet

PASTED = (
    {
        "trust": 60,
        "words": (
            "nvrm:",
            "xid",
            "amdgpu ",
            "[drm",
            "kfd",
            "nouveau ",
            "pcieport",
            "secure boot",
            "killed process",
            "[hardware error]",
            "mlx5_core ",
        ),
        "commands": ("dmesg", "journalctl"),
    },
)

MAX_EVENTS = 512
MAX_TEXT = 300
MAX_PROGRAMS = 8
_MAX_LINE = 2000

_PREFIX = re.compile(
    r"^(?:\d{1,3},\d+,(?P<usec>\d+),[^;]{0,40};"
    r"|(?:<\d{1,3}>)?\[\s*(?P<seconds>\d{1,9}\.\d{1,9})\]\s?(?:\[\s*[TC]\d+\]\s?)?"
    r"|\[(?P<date>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]\s?)"
)
_SYSLOG = re.compile(
    r"^(?P<date>[^\W\d_]{3,5}\.? [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,16}) (?P<host>\S{1,128}) "
    r"(?P<who>[^\s:\[]{1,64})(?:\[\d{1,9}\])?:\s?"
)
_INTERESTING = (
    "nvrm", "xid", "nvidia", "nouveau", "amdgpu", "[drm", "kfd", "amd-vi", "dmar", "aer", "pcie bus error",
    "mlx5_core", "bnxt_en", "ionic",
    "hardware error", "edac", "killed process", "kill process", "ockdown", "ey was rejected", "version magic",
    "unknown symbol",
)  # fmt: skip
_NOTABLE = (
    "error", "fail", "timeout", "reset", "fault", "xid", "correct", "firmware", "mismatch", "requires", "not supported",
    "legacy", "supported through", "bound to", "not called", "invalid", "no nvidia", "reject", "restricted",
    "version magic", "unknown symbol", "lockup", "recovery", "poison", "bad page", "ras record", "fatal", "not done",
    "0xffffffff", "hung", "hang", "unrecoverable", "preemption", "illegal", "lost", "not enough", "atomics", "skipped",
    "event logged", "dmar", "_status", "edac", "killed", "out of memory", "fallen", "link down", "link is down",
)  # fmt: skip
"""A word of every message below, in lower case: most lines of a driver hold none. Looking for each literal is twice
as quick as one regular expression of them all."""
_ADDRESS = re.compile(
    r"\b(?<![0-9a-f]:)(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?(?![0-9a-f:])", re.IGNORECASE
)
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_GPU_LINE = re.compile(r"(?:amdgpu|nvidia|nouveau) (?=[0-9a-f]{4}:[0-9a-f]{2}:)|NVRM: (?:GPU|Xid|The NVIDIA GPU)")
_XID = re.compile(r"NVRM: Xid \(([^)]{1,60})\): (\d{1,5})(?!\d)")
_PROGRAM = (
    r"\bpid='?(?P<pid>\d{1,10})'?, name='?(?P<name>[^,']{1,40})"
    r"|Kill(?:ed)? process (?P<killed>\d{1,10}) \((?P<whose>[^)]{1,40})"
)
_BARE_XID = re.compile(r"(?:NVRM: )?Xid:? (\d{1,3})\b(?!:)")
"""As people cut it down: `Xid 79`."""
_ROW = re.compile(r"[-*#]? ?Xid:? (\d{1,3})\b(:?)", re.IGNORECASE)
_MEANINGS, _CODES_LISTED = 2, 4
"""Rows without a time that begin with a code and its meaning, or with a code: so many different ones are a table of
what Xids mean, or of those that a monitor watches."""
_NEGATED = re.compile(r"\b(?:no|without|neither|nor)\b[^.,;:\n]{0,24}(?:fallen off the bus|GPU is lost)", re.IGNORECASE)
_SXID = re.compile(r"SXid \(([^)]{1,60})\): (\d{1,6})")
_LOADING = re.compile(
    r"NVRM: loading NVIDIA UNIX (?P<open>Open )?(?:\S{1,12} )?Kernel Module(?: for \S{1,12})?\s+"
    r"(?P<version>\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)"
)
_HARMLESS = re.compile(
    r"SMU driver if version not matched|optional ras ta ucode|securedisplay ta ucode|module verification failed"
    r"|Ignoring ACPI CRAT|PSP runtime database doesn't exist|AER: enabled with|MCE: In-kernel MCE decoding"
    r"|detected invalid context, skipping|Correctable Errors? (?:detected|count)"
    r"|insert (?:module )?['\"](?!nvidia|amdgpu|amdkcl|amdttm|amd-sched|nvkm)[\w-]{1,40}['\"]: Key was rejected"
    r"|skipped device 1002:(?:164e|13c0)\b",  # the graphics of a desktop processor, which has no atomics
    re.IGNORECASE,
)
_CODES = (
    ("gpu-fell-off-bus", r"GPU has fallen off the bus|fallen off the bus and is not responding|GPU is lost"),
    ("nvidia-api-mismatch", r"NVRM: API mismatch"),
    ("nvidia-open-module-required", r"requires use of the NVIDIA open kernel modules"),
    ("nvidia-open-module-unsupported", r"not supported by (?:the )?open|requires .{0,40}proprietary kernel module"),
    ("nvidia-legacy-driver-required", r"supported through the NVIDIA|NVIDIA \d+\.xx Legacy"),
    ("nvidia-rm-init-failed", r"(?i)RmInitAdapter failed|rm_init_adapter failed"),
    ("nvidia-bound-elsewhere", r"NVRM: GPU .{0,40} is already bound to|NVIDIA probe routine was not called"),
    ("nvidia-bar-invalid", r"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid"),
    ("nvidia-no-gpu-found", r"NVRM: No NVIDIA (?:GPU|graphics adapter|devices?) (?:found|probed)"),
    ("nvidia-probe-failed", r"nvidia(?: |:).{0,80}probe (?:of .{0,40})?(?:routine )?failed|probe of .{0,30} failed"
                            r".{0,20}nvidia|NVRM: The NVIDIA probe routine failed"),
    ("module-key-rejected", r"Key was rejected by service|Loading of module with unavailable key is rejected"
                            r"|Loading of unsigned module is rejected"),
    ("module-lockdown", r"Lockdown: .{0,60}unsigned module loading is restricted"),
    ("module-version-magic", r"(?:nvidia|amdgpu)\S{0,20}: version magic"),
    # nvidia_peermem asks for symbols of another vendor's RDMA stack, and the driver works without it.
    ("module-unknown-symbol", r"\bnvidia(?:[-_](?:modeset|uvm|drm))?: Unknown symbol"
                              r"|(?:amdgpu|amdkcl|amdttm)\S{0,20}: Unknown symbol"),
    ("nouveau-error", r"nouveau .{0,80}(?:timeout|fifo: fault|GPU lockup|failed)"),
    ("amdgpu-ring-timeout-recovered", r"ring \S{1,24} timeout, but soft recovered"),
    ("amdgpu-ring-timeout", r"ring \S{1,24} timeout"),
    ("amdgpu-gpu-reset-failed", r"GPU reset (?:end with ret = -|failed|begin failed)|GPU reset\(\d+\) failed"
                                r"|GPU Recovery Failed"),
    ("amdgpu-gpu-reset-succeeded", r"GPU reset\(\d+\) succeeded"),
    ("amdgpu-gpu-reset", r"GPU reset begin!"),
    ("amdgpu-page-fault", r"\[(?:gfxhub|mmhub)\d?\].{0,40}page fault|VM_L2_PROTECTION_FAULT|GPU fault detected"
                          r"|\[(?:gfxhub|mmhub)\d?\].{0,20}no-retry"),
    ("amdgpu-ras-uncorrectable", r"amdgpu.{0,120}(?<![1-9])(?<!\d)(?!0 )\d{0,8} ?uncorrectable hardware error"
                                 r"|RAS: ?poison|uncorrectable error.{0,20}detected"),
    ("amdgpu-bad-pages", r"amdgpu.{0,120}(?:bad page threshold|RAS records?.{0,40}exceed|saved bad pages)"),
    ("amdgpu-firmware-missing", r"Direct firmware load for amdgpu/\S{1,60} failed"
                                r"|amdgpu.{0,80}[Ff]ailed to (?:load|get|find) .{0,30}firmware"),
    ("amdgpu-init-failed", r"amdgpu.{0,60}Fatal error during GPU init|amdgpu.{0,60}finishing device"
                           r" failed|hw_init of IP block .{0,30} failed|amdgpu_device_ip_init failed"),
    ("amdgpu-probe-failed", r"amdgpu.{0,40}probe (?:of .{0,40})?(?:with driver amdgpu )?failed"),
    ("amdgpu-smu-hang", r"SMU: I'm not done with your previous command|SMU: response:0xFFFFFFFF"
                        r"|amdgpu.{0,60}Msg issuing pre-check failed|SMU is (?:hung|in hanged state)"),
    ("amdgpu-hws-hang", r"HWS hang|The cp might be in an unrecoverable state|cp queue preemption time out"),
    ("amdgpu-illegal-access", r"Illegal (?:register access|opcode|instruction) in command stream"),
    ("amdgpu-vram-lost", r"VRAM is lost due to GPU reset"),
    ("amdgpu-oom", r"amdgpu.{0,80}Not enough memory for command submission"),
    ("kfd-no-atomics", r"PCI ?[Ee]?(?:xpress)? ?rejects atomics|PCI[eE]? atomics? (?:are )?not supported"
                       r"|needs atomics|rejects atomics"),
    ("kfd-iommu-error", r"(?:kfd|amdgpu).{0,60}error getting iommu"),
    ("kfd-device-skipped", r"kfd.{0,60}skipped device"),
    ("iommu-fault", r"AMD-Vi: Event logged \[(?:IO_PAGE_FAULT|ILLEGAL_DEV|INVALID_DEV|DEV_TAB)"
                    r"|DMAR: \[[^\]]{3,40}\] Request device"),
    ("pcie-aer-uncorrectable", r"PCIe Bus Error: severity=Uncorrect|AER: (?:Multiple )?Uncorrect(?:ed|able)"),
    ("pcie-aer-correctable", r"PCIe Bus Error: severity=Correct|AER: (?:Multiple )?Correct(?:ed|able)"),
    ("mce-uncorrectable", r"\[Hardware Error\].{0,200}(?:Uncorrected|Machine Check Exception)"
                          r"|STATUS\[[^\]]{0,60}\|U[EC]\||EDAC .{0,60}\bUE\b"),
    ("nic-link-down", r"(?:mlx5_core|bnxt_en|ionic) .{0,80}\b(?:NIC )?[Ll]ink (?:is )?[Dd]own\b"),
    ("oom-kill-cgroup", r"Memory cgroup out of memory: Kill(?:ed)? process \d"),
    ("oom-kill", r"Kill(?:ed)? process \d"),
)  # fmt: skip
_GPU_ONLY = ("iommu-fault", "pcie-aer-uncorrectable", "pcie-aer-correctable")


class _Line(NamedTuple):
    number: int
    when: str | None
    text: str


def read(text: str, source: str = "text") -> FactSheet:
    """`kernel_log.events`, and the version of an NVIDIA module that the log shows loading. ParserError where no line is
    of a kernel log; a log without events gives an empty list."""
    log = _Log()
    for line in _lines(text):
        log.take(line)
    log.settle()
    if not log.lines and not log.events:
        raise ParserError("no line of a kernel log")
    sheet = FactSheet()
    kept = log.kept()
    start = min((int(e.pop("line")) for e in kept), default=1)
    sheet.put("kernel_log.events", kept, f"{source}:{start}")
    if log.module:
        number, version, flavour = log.module
        sheet.put("nvidia_driver.version", version, f"{source}:{number}")
        sheet.put("nvidia_driver.flavour", flavour, f"{source}:{number}")
    return sheet


class _Log:
    """What one pass over a log gathers."""

    def __init__(self) -> None:
        self.lines = 0
        self.events: dict[str, dict[str, Any]] = {}
        self.gpus: set[str] = set()
        self.module: tuple[int, str, str] | None = None
        self._nvrm_device: str | None = None
        self._open: dict[str, Any] | None = None
        self._rows: list[_Line] = []

    def take(self, line: _Line) -> None:
        if line.when is not None:
            self.lines += 1
        low = line.text.lower()
        if not any(word in low for word in _INTERESTING):
            return
        if line.when is None and _ROW.match(line.text):
            self._rows.append(line)
            return
        if line.when is None and _NEGATED.search(line.text):
            return
        self._judge(line, low)

    def _judge(self, line: _Line, low: str) -> None:
        device = _device(line.text)
        self._remember(line, device)
        if self._open and line.text.startswith("NVRM:") and "kernel module has the version" in line.text:
            self._open["text"] = f"{self._open['text']} {line.text[5:].strip()}"[:MAX_TEXT]
            self._open = None
            return
        code = _code(line.text) if any(word in low for word in _NOTABLE) else None
        if code is None:
            return
        if device is None and code.startswith("nvidia-open-module"):
            device = self._nvrm_device
        event = self._count(code, device, line)
        self._open = event if code == "nvidia-api-mismatch" else self._open

    def _remember(self, line: _Line, device: str | None) -> None:
        if device and _GPU_LINE.search(line.text) and len(self.gpus) < MAX_EVENTS:
            self.gpus.add(device)
        if "NVRM: The NVIDIA GPU" in line.text:
            self._nvrm_device = device
        if match := _LOADING.search(line.text):
            self.module = (line.number, match["version"], "open" if match["open"] else "proprietary")

    def _count(self, code: str, device: str | None, line: _Line) -> dict[str, Any] | None:
        key = f"{code}@{device}" if device else code
        event = self.events.get(key)
        if event is None:
            if len(self.events) >= MAX_EVENTS:
                return None
            event = self.events[key] = {"key": key, "code": code, "count": 0, "text": line.text[:MAX_TEXT]}
            event["line"] = line.number
            if device:
                event["device"] = device
            if line.when:
                event["first"] = line.when
        event["count"] += 1
        if line.when:
            event["last"] = line.when
        if code.startswith(("xid-", "oom-kill")):
            _programs(event, line.text)
        if code == "xid-154":  # each says from what to what: the last one holds
            event["text"] = line.text[:MAX_TEXT]
        return event

    def settle(self) -> None:
        """Once all is read: rows that are no table are what people cut of a log."""
        rows = [found for line in self._rows if (found := _ROW.match(line.text))]
        codes, meant = {row[1] for row in rows}, {row[1] for row in rows if row[2]}
        if len(codes) < _CODES_LISTED and len(meant) < _MEANINGS:
            for line in self._rows:
                self._judge(line, line.text.lower())

    def kept(self) -> list[dict[str, Any]]:
        """In order of appearance; bus errors only where the log shows a GPU at that address."""
        events = sorted(self.events.values(), key=lambda event: int(event["line"]))
        return [e for e in events if e["code"] not in _GPU_ONLY or e.get("device") in self.gpus]


def _lines(text: str) -> Iterator[_Line]:
    for number, raw in enumerate(io.StringIO(text, newline=None), 1):
        line = raw[:_MAX_LINE].rstrip()
        if not line.isprintable():
            line = _CONTROL.sub("", line).rstrip()
        match = _PREFIX.match(line)
        if match:
            when = match["date"] or match["seconds"] or f"{int(match['usec'][:15]) / 1e6:.6f}"
            yield _Line(number, when, line[match.end() :])
            continue
        syslog = _SYSLOG.match(line)
        if not syslog:
            yield _Line(number, None, line.strip())
        elif syslog["who"] == "kernel":
            message = line[syslog.end() :]
            inner = _PREFIX.match(message)
            yield _Line(number, syslog["date"], message[inner.end() :] if inner else message)


def _programs(event: dict[str, Any], text: str) -> None:
    """The last few processes that the lines name, each once."""
    if match := re.search(_PROGRAM, text):
        name = f"{match['name'] or match['whose']} ({match['pid'] or match['killed']})"
        held = [one for one in event.get("programs", ()) if one != name]
        event["programs"] = [*held[-MAX_PROGRAMS + 1 :], name]


def _code(text: str) -> str | None:
    if match := _XID.search(text):
        return f"xid-{int(match[2])}"
    if match := _BARE_XID.match(text):
        return f"xid-{int(match[1])}"
    if match := _SXID.search(text):
        return f"sxid-{int(match[2])}"
    if _HARMLESS.search(text):
        return None
    return next((code for code, pattern in _patterns() if pattern.search(text)), None)


def _device(text: str) -> str | None:
    """The PCI address that a line names first, as `0000:c1:00.0`."""
    match = _ADDRESS.search(text)
    if not match:
        return None
    domain, bus, slot, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{slot}.{function or 0}".lower()


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled when the first line needs them: the log of a healthy machine holds none."""
    return tuple((code, re.compile(pattern)) for code, pattern in _CODES)
