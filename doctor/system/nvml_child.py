"""Prints NVML's inventory of this machine as one JSON object, whose shape docs/captures.md gives.

Runs in a child with a deadline (`python -I -m doctor.system.nvml_child [LIBRARY]`), because NVML loads the driver's
library and hangs where the driver does.
Each call is guarded by itself: what a GPU does not support is listed as that, what the driver's library is too old for
is left out, other errors are listed by key.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

LOST = 15
"""NVML_ERROR_GPU_IS_LOST"""
UNSUPPORTED = 3
"""NVML_ERROR_NOT_SUPPORTED: the GPU has no such thing."""
INVALID_ARGUMENT = 2
NO_FUNCTION = 13
"""NVML_ERROR_FUNCTION_NOT_FOUND: a driver older than the call. The GPU may have what it asks for."""
LINKS_AT_MOST = 36
_NO_UNIT_VALUE = 0xFFFFFFFF
_COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")
_FABRIC_STATES = ("not-supported", "not-started", "in-progress", "completed")


class Asker:
    """Calls NVML functions by name; keeps the errors."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.errors: dict[str, str] = {}
        self.unsupported: list[str] = []
        self.lost = False
        self.code = 0
        """The last error."""

    def __call__(self, key: str, function: str, *arguments: Any) -> Any:
        """The value, or None with the error kept under `key`; "not supported" is kept apart."""
        try:
            return getattr(self.nvml, function)(*arguments)
        except AttributeError:
            return None  # a pynvml older than the call
        except self.nvml.NVMLError as error:
            self.code = error.value
            self.lost = self.lost or error.value == LOST
            if error.value == UNSUPPORTED:
                self.unsupported.append(key)
            elif error.value != NO_FUNCTION:
                self.errors[key] = error_name(self.nvml, error.value)
        except Exception as error:  # noqa: BLE001  pynvml has errors that are no NVMLError; each costs its fact alone
            if type(error).__name__ != "NVMLLibraryMismatchError":  # a library older than the call
                self.errors[key] = type(error).__name__
        return None

    def first(self, key: str, functions: Sequence[str], *arguments: Any) -> Any:
        """The answer of the first function that this library has: the newest one is named first."""
        answers = (self(key, function, *arguments) for function in functions)
        return next((answer for answer in answers if answer is not None), None)


def error_name(nvml: Any, code: int) -> str:
    names = (n for n in dir(nvml) if n.startswith("NVML_ERROR_") and getattr(nvml, n) == code)
    return next(names, f"NVML_ERROR_{code}")


def collect(nvml: Any) -> dict[str, Any]:
    """The whole inventory; `nvml` is the pynvml module or something that answers like it."""
    ask = Asker(nvml)
    answer: dict[str, Any] = {"error": None, "gpus": []}
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        answer["error"] = {"code": error.value, "name": error_name(nvml, error.value)}
        answer["nvml_version"] = text(ask("nvml_version", "nvmlSystemGetNVMLVersion"))
        return _known(answer)
    cuda = ask("cuda_driver_version", "nvmlSystemGetCudaDriverVersion_v2")
    answer |= {
        "driver_version": text(ask("driver_version", "nvmlSystemGetDriverVersion")),
        "nvml_version": text(ask("nvml_version", "nvmlSystemGetNVMLVersion")),
        "cuda_driver_version": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        "count": ask("count", "nvmlDeviceGetCount"),
    }
    answer["gpus"] = [gpu(nvml, index) for index in range(min(answer["count"] or 0, 256))]
    answer["errors"] = ask.errors
    return _known(answer)


def gpu(nvml: Any, index: int) -> dict[str, Any]:
    ask = Asker(nvml)
    handle = ask("handle", "nvmlDeviceGetHandleByIndex", index)
    facts: dict[str, Any] = {"index": index}
    if handle is not None:
        for part in (_identity, _memory, _health, _power, _pcie, _modes, _nvlinks):
            facts |= part(ask, handle)
    unsupported = [key for key in dict.fromkeys(ask.unsupported) if facts.get(key) is None]
    return _known({**facts, "lost": ask.lost, "unsupported": unsupported or None, "errors": ask.errors})


def _identity(ask: Asker, handle: Any) -> dict[str, Any]:
    pci = ask("pci_address", "nvmlDeviceGetPciInfo", handle)
    capability = ask("compute_capability", "nvmlDeviceGetCudaComputeCapability", handle)
    return {
        "name": text(ask("name", "nvmlDeviceGetName", handle)),
        "uuid": text(ask("uuid", "nvmlDeviceGetUUID", handle)),
        "serial": text(ask("serial", "nvmlDeviceGetSerial", handle)),
        "minor": ask("minor", "nvmlDeviceGetMinorNumber", handle),
        "vbios": text(ask("vbios", "nvmlDeviceGetVbiosVersion", handle)),
        "brand": _constant(ask, "NVML_BRAND_", ask("brand", "nvmlDeviceGetBrand", handle)),
        "architecture": _constant(ask, "NVML_DEVICE_ARCH_", ask("architecture", "nvmlDeviceGetArchitecture", handle)),
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "pci_address": pci_address(text(pci.busId)) if pci else None,
        "pci_id": pci_id(pci.pciDeviceId) if pci else None,
        "subsystem_id": pci_id(pci.pciSubSystemId) if pci else None,
    }


def pci_address(bus_id: str | None) -> str | None:
    """Lower case, with the domain in four digits where it fits.

    >>> pci_address("00000000:C1:00.0"), pci_address("00010000:01:00.0")
    ('0000:c1:00.0', '10000:01:00.0')
    """
    domain, _, rest = (bus_id or "").partition(":")
    try:
        return f"{int(domain, 16):04x}:{rest.lower()}"
    except ValueError:
        return None


def pci_id(packed: int) -> str:
    """NVML packs device and vendor as device << 16 | vendor.

    >>> pci_id(0x233010DE)
    '10de:2330'
    """
    return f"{packed & 0xFFFF:04x}:{packed >> 16 & 0xFFFF:04x}"


def _memory(ask: Asker, handle: Any) -> dict[str, Any]:
    memory = ask("memory_total", "nvmlDeviceGetMemoryInfo", handle)
    bar1 = ask("bar1_total", "nvmlDeviceGetBAR1MemoryInfo", handle)
    return {
        "memory_total": memory.total if memory else None,
        "memory_used": memory.used if memory else None,
        "bar1_total": bar1.bar1Total if bar1 else None,
    }


def _health(ask: Asker, handle: Any) -> dict[str, Any]:
    ecc = ask("ecc_current", "nvmlDeviceGetEccMode", handle)
    facts: dict[str, Any] = {"ecc_current": bool(ecc[0]), "ecc_pending": bool(ecc[1])} if ecc else {}
    for error, kind in (("corrected", 0), ("uncorrected", 1)):
        for counter, period in (("volatile", 0), ("aggregate", 1)):
            key = f"ecc_{error}_{counter}"
            facts[key] = ask(key, "nvmlDeviceGetTotalEccErrors", handle, kind, period)
    rows = ask("remapped_rows", "nvmlDeviceGetRemappedRows", handle)
    if rows:
        counts = {"correctable": rows[0], "uncorrectable": rows[1]}
        facts["remapped_rows"] = {**counts, "pending": bool(rows[2]), "failure": bool(rows[3])}
    retired = [ask("retired_pages", "nvmlDeviceGetRetiredPages", handle, cause) for cause in (0, 1)]
    if None not in retired:
        facts["retired_pages"] = {"single_bit": len(retired[0]), "double_bit": len(retired[1])}
    pending = ask("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", handle)
    facts["retired_pages_pending"] = None if pending is None else bool(pending)
    return facts


_CLOCK_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
_PROCESSES = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2")
"""Before 535, and before 510, a library has the second alone."""


def _power(ask: Asker, handle: Any) -> dict[str, Any]:
    load = ask("utilisation", "nvmlDeviceGetUtilizationRates", handle)
    reasons = ask.first("clock_event_reasons", _CLOCK_REASONS, handle)
    clocks = {
        "sm": ask("clocks.sm", "nvmlDeviceGetClockInfo", handle, 1),
        "sm_max": ask("clocks.sm_max", "nvmlDeviceGetMaxClockInfo", handle, 1),
    }
    return {
        "clock_event_reasons": None if reasons is None else clock_reasons(ask.nvml, reasons),
        "power_w": _watts(ask("power_w", "nvmlDeviceGetPowerUsage", handle)),
        "power_limit_w": _watts(ask("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", handle)),
        "power_limit_default_w": _watts(ask("power_limit_w", "nvmlDeviceGetPowerManagementDefaultLimit", handle)),
        "temperature_c": ask("temperature_c", "nvmlDeviceGetTemperature", handle, 0),
        "clocks": _known(clocks) or None,
        "utilisation": load.gpu if load else None,
    }


def clock_reasons(nvml: Any, mask: int) -> list[str]:
    """NVML's names without their prefix, by bit: `SwPowerCap`, `HwThermalSlowdown` … Unknown bits stay numbers."""
    names: dict[int, str] = {}
    for name in dir(nvml):  # the newer names are sorted first, and win
        for prefix in ("nvmlClocksEventReason", "nvmlClocksThrottleReason"):
            word = name[len(prefix) :]
            if name.startswith(prefix) and word not in ("All", "None", "UserDefinedClocks"):
                names.setdefault(int(getattr(nvml, name)), word)
    return [names.get(1 << bit, hex(1 << bit)) for bit in range(64) if mask >> bit & 1]


def _pcie(ask: Asker, handle: Any) -> dict[str, Any]:
    pcie = {
        "gen": ask("pcie.gen", "nvmlDeviceGetCurrPcieLinkGeneration", handle),
        "gen_max": ask("pcie.gen_max", "nvmlDeviceGetMaxPcieLinkGeneration", handle),
        "width": ask("pcie.width", "nvmlDeviceGetCurrPcieLinkWidth", handle),
        "width_max": ask("pcie.width_max", "nvmlDeviceGetMaxPcieLinkWidth", handle),
    }
    return {"pcie": _known(pcie) or None}


_VM = "NVML_GPU_VIRTUALIZATION_MODE_"


def _modes(ask: Asker, handle: Any) -> dict[str, Any]:
    compute = ask("compute_mode", "nvmlDeviceGetComputeMode", handle)
    persistence = ask("persistence_mode", "nvmlDeviceGetPersistenceMode", handle)
    running = ask.first("processes", _PROCESSES, handle)
    mig = ask("mig_mode", "nvmlDeviceGetMigMode", handle)
    return {
        "compute_mode": _word(_COMPUTE_MODES, compute),
        "persistence_mode": None if persistence is None else bool(persistence),
        "processes": None if running is None else len(running),
        "mig_mode": bool(mig[0]) if mig else None,
        "mig_mode_pending": bool(mig[1]) if mig else None,
        "mig_devices": _mig_devices(ask, handle) if mig and mig[0] else None,
        "fabric": _fabric(ask, handle),
        "virtualization": _constant(ask, _VM, ask("virtualization", "nvmlDeviceGetVirtualizationMode", handle)),
    }


def _mig_devices(ask: Asker, handle: Any) -> list[dict[str, Any]]:
    found = []
    for number in range(ask("mig_devices", "nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        slot = Asker(ask.nvml)  # an empty slot answers NOT_FOUND, which is no error
        device = slot("mig", "nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
        if device is None:
            continue
        memory = ask("mig_devices", "nvmlDeviceGetMemoryInfo", device)
        facts = {
            "uuid": text(ask("mig_devices", "nvmlDeviceGetUUID", device)),
            "name": text(ask("mig_devices", "nvmlDeviceGetName", device)),
            "memory": memory.total if memory else None,
            "gpu_instance": ask("mig_devices", "nvmlDeviceGetGpuInstanceId", device),
            "compute_instance": ask("mig_devices", "nvmlDeviceGetComputeInstanceId", device),
        }
        found.append(_known(facts))
    return found


def _fabric(ask: Asker, handle: Any) -> dict[str, Any] | None:
    """State of the NVLink fabric; the cluster's UUID is left out."""
    try:
        fabric = ask.nvml.c_nvmlGpuFabricInfo_v2_t()
    except AttributeError:
        return None
    if ask("fabric", "nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(fabric)) is None:
        return None
    status = "ok" if fabric.status == 0 else error_name(ask.nvml, fabric.status)
    return {"state": _word(_FABRIC_STATES, fabric.state), "status": status, "clique": fabric.cliqueId}


def _nvlinks(ask: Asker, handle: Any) -> dict[str, Any]:
    """The links that the GPU has; ends at the first number that is none."""
    links: list[dict[str, Any]] = []
    for number in range(LINKS_AT_MOST):
        one = Asker(ask.nvml)  # past the last link the answer is INVALID_ARGUMENT, which is no error
        state = one("state", "nvmlDeviceGetNvLinkState", handle, number)
        if state is None:
            if not links and (one.unsupported or one.code == INVALID_ARGUMENT):
                ask.unsupported.append("nvlinks")
            break
        remote = one("remote", "nvmlDeviceGetNvLinkRemotePciInfo", handle, number) if state else None
        address = pci_address(text(remote.busId)) if remote else None
        links.append(_known({"link": number, "state": bool(state), "remote_pci": address}))
    return {"nvlinks": links or None}


def text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.rstrip("\0") or None if isinstance(value, str) else None


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None or milliwatts == _NO_UNIT_VALUE else milliwatts / 1000


def _word(words: tuple[str, ...], number: int | None) -> str | None:
    if number is None:
        return None
    return words[number] if 0 <= number < len(words) else str(number)


def _constant(ask: Asker, prefix: str, number: int | None) -> str | None:
    """The word of a pynvml constant in lower case: `hopper` of NVML_DEVICE_ARCH_HOPPER."""
    if number is None:
        return None
    names = (n for n in dir(ask.nvml) if n.startswith(prefix) and getattr(ask.nvml, n) == number)
    return next(names, f"{prefix}{number}")[len(prefix) :].lower().replace("_", "-")


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    """Without what is not known. `error` stays, for its null says that NVML came up; so do empty lists."""
    return {k: v for k, v in facts.items() if (v is not None or k == "error") and not (k == "errors" and not v)}


def main(library: str | None = None) -> None:
    """`library` is loaded by its path first, for folders that the loader does not search."""
    try:
        if library and "/" in library:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        print(f"{library}: {error}", file=sys.stderr)  # noqa: T201  the parent reads it
    pynvml = importlib.import_module("pynvml")
    json.dump(collect(pynvml), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:2])
