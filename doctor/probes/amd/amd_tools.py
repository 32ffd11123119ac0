"""What amd-smi, or else rocm-smi, says of AMD's GPUs, how long it took and how it failed.

One or two commands, only where the amdgpu driver is loaded and none of its GPUs is suspended (a tool would wake it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.amd import amd_smi_json, rocm_smi_json
from doctor.parsers.kernel import pci_ids
from doctor.system.base import RUN_DEADLINE_S, System

READS: tuple[str, ...] = (
    "dir:sys/module/amdgpu public",
    "dir:sys/bus/pci/drivers/amdgpu public",
    "file:sys/bus/pci/devices/*/power/runtime_status public",
    "command:amd-smi static --json serial",
    "command:amd-smi version --json public",
    "command:rocm-smi --showid --showproductname --showbus --showmeminfo vram --json serial",
)

_AMD_SMI = ("amd-smi", "static", "--json")
_ROCM_SMI = ("rocm-smi", "--showid", "--showproductname", "--showbus", "--showmeminfo", "vram", "--json")
_FACTS = ("smi_seconds", "smi_error")


def probe(system: System, sheet: FactSheet) -> None:
    module = system.stat("sys/module/amdgpu")
    if not module.known:
        return
    asleep = _suspended(system)
    if asleep:
        for fact in _FACTS:
            sheet.miss(f"amdgpu_driver.{fact}", State.NOT_ASKED, "command:amd-smi", f"{asleep} is suspended")
        return
    if _ask(system, sheet, _AMD_SMI, amd_smi_json.read):
        version = system.run(("amd-smi", "version", "--json"))
        if version.value is not None and version.value.code == 0:
            _take(sheet, version.value.stdout, version.source, amd_smi_json.read)
        return
    _ask(system, sheet, _ROCM_SMI, rocm_smi_json.read)


def _suspended(system: System) -> str | None:
    for name in (system.list_dir("sys/bus/pci/drivers/amdgpu").value or ())[:256]:
        address = pci_ids.address(name)
        status = system.read_text(f"sys/bus/pci/devices/{address}/power/runtime_status").value if address else None
        if status and status.strip().startswith("suspend"):
            return address
    return None


def _ask(system: System, sheet: FactSheet, argv: Sequence[str], parse: Callable[[str, str], FactSheet]) -> bool:
    """Run one tool and keep what it says; True when it answered as it should."""
    if sheet.get("amdgpu_driver.smi_seconds") == RUN_DEADLINE_S:
        return False  # the other tool asks the same driver, and would hang on it too
    reading = system.run(argv, deadline_s=RUN_DEADLINE_S)
    output = reading.value
    if reading.state is State.TIMED_OUT:
        sheet.put("amdgpu_driver.smi_seconds", RUN_DEADLINE_S, reading.source, reading.detail)
        sheet.put("amdgpu_driver.smi_error", f"no answer within {RUN_DEADLINE_S:g} s", reading.source, reading.detail)
        return False
    if output is None:
        if not reading.is_absent:
            for fact in _FACTS:
                sheet.miss(f"amdgpu_driver.{fact}", reading.state, reading.source, reading.detail)
        return False
    sheet.put("amdgpu_driver.smi_seconds", round(output.seconds, 3), reading.source)
    fault = _take(sheet, output.stdout, reading.source, parse)
    if output.code == 0 and fault is None:
        return True
    last = [line for line in (output.stderr or output.stdout).splitlines() if line.strip()][-1:]
    message = pci_ids.clean(last[0], 200) if last else ""
    sheet.put("amdgpu_driver.smi_error", message or fault or f"{argv[0]} exited with {output.code}", reading.source)
    return False


def _take(sheet: FactSheet, text: str, source: str, parse: Callable[[str, str], FactSheet]) -> str | None:
    """Copy a parser's facts; the fault where it can't read. The driver's version stays sysfs's word: both tools print
    the kernel's where the in-tree driver has none."""
    try:
        facts = parse(text, source)
    except ParserError as error:
        return str(error)[:200]
    for entry in facts:
        if entry.value is not None and entry.name != "amdgpu_driver.version":
            sheet.put(entry.name, entry.value, entry.source, entry.detail)
    return None
