"""What nvidia-smi says where NVML gave nothing: one `nvidia-smi -q -x` with a deadline. No root is needed.

It is not run where no module is loaded or every GPU is suspended, and not where NVML answered: the tool would say the
same, and be slower.
"""

from __future__ import annotations

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.system.base import Output, System

READS = ("command:nvidia-smi -q -x serial",)
ARGV = ("nvidia-smi", "-q", "-x")
DEADLINE_S = 8.0
AFTER_NVML_HUNG_S = 5.0
"""Both waits together must fit into the time that all probes have."""


def ask(system: System, sheet: FactSheet, deadline_s: float = DEADLINE_S) -> None:
    """For the NVIDIA probe, which knows whether the driver may be asked and that NVML gave nothing."""
    reading = system.run(ARGV, deadline_s=deadline_s)
    if reading.state is State.TIMED_OUT:
        sheet.put("nvidia_driver.smi_seconds", deadline_s, reading.source, reading.detail)
        sheet.put("nvidia_driver.smi_error", f"no answer within {deadline_s:g} s", reading.source, reading.detail)
        return
    if reading.value is None:
        sheet.miss("nvidia_driver.smi_error", reading.state, reading.source, reading.detail)
        return
    sheet.put("nvidia_driver.smi_seconds", round(reading.value.seconds, 2), reading.source)
    _read(reading.value, sheet, reading.source)


def _read(output: Output, sheet: FactSheet, source: str) -> None:
    from doctor.parsers.nvidia import nvidia_smi_xml  # with its parser, which a machine without the driver never needs

    try:
        found = nvidia_smi_xml.read(output.stdout)
    except ParserError:
        found = _message(output.stdout + output.stderr)
    for entry in found:
        if entry.value is not None:
            sheet.put(entry.name, entry.value, source)
    if output.code and not sheet.get("nvidia_driver.smi_error"):
        last = (output.stderr or output.stdout).strip().splitlines()[-1:] or ["no output"]
        sheet.put("nvidia_driver.smi_error", f"exit {output.code}: {last[0][:200]}", source)


def _message(text: str) -> FactSheet:
    from doctor.parsers.nvidia import nvidia_smi_table

    try:
        return nvidia_smi_table.read(text)
    except ParserError:
        return FactSheet()
