"""The NVIDIA kernel module, its user-space libraries, fabric manager and IMEX, and NVML's inventory of the GPUs.

Small files and folders; NVML in a child with a deadline, and not where no module is loaded or every GPU is suspended.
No root is needed. Costs a few ms without NVML, 100 ms to 2 s with it.
"""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.nvidia import (
    nvml_inventory,
    proc_driver_nvidia_gpu,
    proc_driver_nvidia_params,
    proc_driver_nvidia_version,
)
from doctor.probes.lib import driver_library, nvidia_tools
from doctor.system.base import System

READS = (
    "file:proc/driver/nvidia/version public",
    "file:proc/driver/nvidia/params public",
    "file:proc/driver/nvidia/gpus/*/information serial",
    "dir:sys/module public",
    "file:sys/module/nvidia/version public",
    "file:sys/bus/pci/devices/*/power/runtime_status public",
    "dir:usr/lib/* public",
    "dir:var/lib/dkms/nvidia public",
    "file:proc/sys/kernel/osrelease public",
    "command:modinfo -F version nvidia public",
    "command:nv-fabricmanager --version public",
    "file:proc/*/comm name",
    "stat:usr/bin/nvidia-imex public",
    "dir:dev/nvidia-caps-imex-channels public",
    "nvml serial",
    *nvidia_tools.READS,
    *driver_library.READS,
)
VERSION_FILE = "proc/driver/nvidia/version"
DRIVER_FOLDER = "sys/bus/pci/drivers/nvidia"
LIBRARY_FOLDERS = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/lib/wsl/lib",
    "usr/local/nvidia/lib64",
    "usr/local/nvidia/lib",
    "run/opengl-driver/lib",
)
"""In the loader's usual order; the last three are where WSL, cluster plugins and NixOS put the driver's libraries."""
_LIBRARY = re.compile(r"^(libnvidia-ml|libcuda|libnvidia-ptxjitcompiler)\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)$")
_ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_VERSION = re.compile(r"\d{2,4}\.\d{1,4}(?:\.\d{1,4})?")
_FABRIC_FILES = (
    "usr/bin/nv-fabricmanager",
    "usr/lib/systemd/system/nvidia-fabricmanager.service",
    "lib/systemd/system/nvidia-fabricmanager.service",
    "etc/systemd/system/nvidia-fabricmanager.service",
)
_FABRIC_COMM = "nv-fabricmanage"
"""The kernel keeps 15 characters of a process's name."""
_IMEX_COMM = "nvidia-imex"
_IMEX_NODES = "dev/nvidia-caps-imex-channels"
_PROCESSES_AT_MOST = 20_000


def probe(system: System, sheet: FactSheet) -> None:
    loaded = _module(system, sheet)
    _libraries(system, sheet)
    _module_on_disk(system, sheet)
    driver_library.look(system, sheet)
    if loaded is not False:
        _proc(system, sheet)
        _fabric_manager(system, sheet)
    _nvml(system, sheet, loaded)


def may_ask(system: System) -> str | None:
    """Why the driver must not be asked (it would wake a suspended GPU, or there is none), or None when it may be."""
    if is_loaded(system) is False:
        return "no NVIDIA kernel module is loaded"
    bound = [n for n in system.list_dir(DRIVER_FOLDER).value or () if _ADDRESS.match(n)]
    states = [system.read_text(f"sys/bus/pci/devices/{a}/power/runtime_status").value or "" for a in bound[:64]]
    if states and all(s.strip() == "suspended" for s in states):
        return "every NVIDIA GPU is suspended; asking would wake it"
    return None


def is_loaded(system: System) -> bool | None:
    """Whether the kernel module is loaded. Unknown where /sys/module can't be listed (gVisor), and on WSL, where the
    driver is on the Windows side."""
    if system.stat(VERSION_FILE).known or system.list_dir("proc/driver/nvidia/gpus").value:
        return True
    modules = system.list_dir("sys/module")
    if "nvidia" in (modules.value or ()):
        return True
    if not modules.known or not modules.value or system.stat("dev/dxg").known:
        return None
    return False if system.stat(VERSION_FILE).is_absent else None


def _module(system: System, sheet: FactSheet) -> bool | None:
    loaded = is_loaded(system)
    modules = system.list_dir("sys/module")
    if loaded is None:
        state = State.NOT_ASKED if system.stat("dev/dxg").known else modules.state
        state = _not_shown(system, state)
        sheet.miss("nvidia_driver.loaded", state, modules.source, "the kernel's list of modules can't be seen")
    else:
        sheet.put("nvidia_driver.loaded", loaded, f"file:/{VERSION_FILE}" if loaded else modules.source)
    if modules.known and modules.value and loaded is not None:
        for fact, name in (("uvm", "nvidia_uvm"), ("modeset", "nvidia_modeset"), ("peermem", "nvidia_peermem")):
            sheet.put(f"nvidia_driver.{fact}_loaded", name in modules.value, modules.source)
    return loaded


def _not_shown(system: System, state: State) -> State:
    """Of a listing that was answered and does not hold what every machine has: hidden here, or not in the tree."""
    if state not in (State.VALUE, State.ABSENT):
        return state
    return State.NOT_RECORDED if system.kind == "tree" else State.UNREADABLE


def _proc(system: System, sheet: FactSheet) -> None:
    module = system.read_text(VERSION_FILE).then(proc_driver_nvidia_version.read)
    if module.value:
        sheet.put("nvidia_driver.version", module.value.version, module.source)
        sheet.put("nvidia_driver.flavour", module.value.flavour, module.source)
    else:
        version = system.read_text("sys/module/nvidia/version")
        found = _VERSION.match((version.value or "").strip())
        if found:
            sheet.put("nvidia_driver.version", found[0], version.source)
        else:
            sheet.miss("nvidia_driver.version", module.state, module.source, module.detail)
        sheet.miss("nvidia_driver.flavour", module.state, module.source, module.detail)
    params = system.read_text("proc/driver/nvidia/params").then(proc_driver_nvidia_params.read)
    params.into(sheet, "nvidia_driver.params")
    folder = system.list_dir("proc/driver/nvidia/gpus")
    names = [n for n in folder.value or () if _ADDRESS.match(n)]
    if not folder.known:
        sheet.miss("nvidia_driver.proc_gpus", folder.state, folder.source, folder.detail)
        return
    sheet.put("nvidia_driver.proc_gpus", names, folder.source)
    for name in names[:64]:
        _proc_gpu(system, sheet, name)


def _proc_gpu(system: System, sheet: FactSheet, name: str) -> None:
    reading = system.read_text(f"proc/driver/nvidia/gpus/{name}/information").then(proc_driver_nvidia_gpu.read)
    gpu = reading.value
    if gpu is None:  # no more than its place, by its folder
        sheet.put(f"gpus[{name}].vendor", "nvidia", reading.source)
        sheet.put(f"gpus[{name}].pci_address", name, reading.source)
        return
    base, source = f"gpus[{gpu.address or name}]", reading.source
    sheet.put(f"{base}.vendor", "nvidia", source)
    sheet.put(f"{base}.pci_address", gpu.address or name, source)
    for fact, value in (("name", gpu.model), ("uuid", gpu.uuid), ("minor", gpu.minor), ("vbios", gpu.vbios)):
        if value is not None:
            sheet.put(f"{base}.{fact}", value, source)
    if gpu.minor is not None:
        sheet.put(f"{base}.device_node", f"nvidia{gpu.minor}", source)


def libraries(system: System, sheet: FactSheet) -> None:
    """Those of one root alone: of a container, seen from its host."""
    _libraries(system, sheet)
    driver_library.look(system, sheet)


def _libraries(system: System, sheet: FactSheet) -> None:
    found: list[dict[str, str]] = []
    linked: tuple[str, str] | None = None
    seen: set[str] = set()
    for folder in LIBRARY_FOLDERS:
        real = system.real(folder).value or folder
        names = system.list_dir(folder)
        if real in seen or not names.known:
            continue
        seen.add(real)
        held = [n for n in names.value or () if n.startswith(("libnvidia-ml.so.", "libcuda.so.", "libnvidia-ptxjit"))]
        found += [{"path": f"/{folder}/{n}", "version": m[2]} for n in held if (m := _LIBRARY.match(n))]
        for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
            if linked is None and soname in held:
                target = _LIBRARY.match((system.link(f"{folder}/{soname}").value or "").rpartition("/")[2])
                linked = (target[2], f"file:/{folder}/{soname}") if target else None
    if not seen:  # a tree of sys alone has no folder of libraries, and proves nothing of them
        for fact in ("libraries", "user_version"):
            state = State.NOT_RECORDED if system.kind == "tree" else State.FAILED
            sheet.miss(f"nvidia_driver.{fact}", state, "file:/usr/lib", "no folder of libraries is shown")
        return
    sheet.put("nvidia_driver.libraries", found[:32], "file:/usr/lib")
    if linked:
        sheet.put("nvidia_driver.user_version", *linked)
    elif not found:
        sheet.absent(
            "nvidia_driver.user_version", "file:/usr/lib", None, "no libnvidia-ml or libcuda in the usual folders"
        )
    else:
        sheet.miss("nvidia_driver.user_version", State.UNREADABLE, "file:/usr/lib", "no .so.1 link names a version")


def _module_on_disk(system: System, sheet: FactSheet) -> None:
    fact = "nvidia_driver.module_on_disk"
    reading = system.read_text("proc/sys/kernel/osrelease")
    release = (reading.value or "").strip()
    if not re.fullmatch(r"[\w.+~-]{1,100}", release):
        sheet.miss(fact, State.NOT_ASKED if reading.known else reading.state, reading.source, reading.detail)
        return
    for tree in ("nvidia", "nvidia-open"):
        folder = system.list_dir(f"var/lib/dkms/{tree}")
        for version in folder.value or ():
            if _VERSION.fullmatch(version) and system.stat(f"var/lib/dkms/{tree}/{version}/{release}").known:
                sheet.put(fact, version, folder.source)
                return
    modules = system.stat(f"lib/modules/{release}")
    if not modules.known:
        sheet.miss(fact, State.UNREADABLE if modules.is_absent else modules.state, modules.source,
                   "the modules of the running kernel are not visible here")  # fmt: skip
        return
    answer = system.run(("modinfo", "-F", "version", "nvidia"))
    output = answer.value
    if output and output.code == 0 and (match := _VERSION.match(output.stdout.strip())):
        sheet.put(fact, match[0], answer.source)
    elif output and output.code != 0 and "not found" in output.stderr:
        sheet.absent(fact, answer.source, None, "no module file for the running kernel")
    else:
        sheet.miss(fact, State.FAILED if output else answer.state, answer.source, answer.detail)


def _fabric_manager(system: System, sheet: FactSheet) -> None:
    base = "nvidia_driver.fabric_manager"
    files = [system.stat(path) for path in _FABRIC_FILES]
    there = next((f for f in files if f.known), None)
    if there:
        sheet.put(f"{base}.installed", True, there.source)
        output = system.run(("nv-fabricmanager", "--version"))
        if output.value and (match := _VERSION.search(output.value.stdout)):
            sheet.put(f"{base}.version", match[0], output.source)
    elif all(f.is_absent for f in files):
        sheet.put(f"{base}.installed", False, files[0].source)
    else:
        sheet.miss(f"{base}.installed", next(f.state for f in files if not f.is_absent), files[0].source)
    _imex(system, sheet)
    names = {_FABRIC_COMM: f"{base}.running"}
    if sheet.get("nvidia_driver.imex.installed"):
        names[_IMEX_COMM] = "nvidia_driver.imex.running"
    _processes(system, sheet, names)


def _imex(system: System, sheet: FactSheet) -> None:
    """The service that racks of one NVLink fabric need, and the channels that this node has."""
    program = system.stat("usr/bin/nvidia-imex")
    if program.known or program.is_absent:
        sheet.put("nvidia_driver.imex.installed", program.known, program.source)
    channels = system.list_dir(_IMEX_NODES)
    channels.then(lambda names: sum(n.startswith("channel") for n in names)).into(
        sheet, "nvidia_driver.imex.channels", absent=0
    )


def _processes(system: System, sheet: FactSheet, facts: dict[str, str]) -> None:
    """Looks for processes by name. Without the kernel's own thread 2 in sight, other processes are hidden too."""
    wanted = dict(facts)
    listing = system.list_dir("proc")
    pids = [n for n in listing.value or () if n.isdigit()][:_PROCESSES_AT_MOST]
    for pid in pids:
        name = system.read_text(f"proc/{pid}/comm", limit=64)
        if fact := wanted.pop((name.value or "").strip(), None):
            sheet.put(fact, True, name.source)
        if not wanted:
            return
    whole = (system.read_text("proc/2/comm", limit=64).value or "").strip() == "kthreadd"
    for fact in wanted.values():
        if whole:
            sheet.put(fact, False, listing.source)
        else:
            state = _not_shown(system, listing.state)
            sheet.miss(fact, state, listing.source, "the processes of the host are not visible here")


def _nvml(system: System, sheet: FactSheet, loaded: bool | None) -> None:
    reason = may_ask(system)
    if reason:
        sheet.miss("nvidia_driver.cuda_version", State.NOT_ASKED, "nvml", reason)
        sheet.miss("nvidia_driver.smi_seconds", State.NOT_ASKED, "command:nvidia-smi", reason)
        return
    reading = system.nvml()
    sheet_of_nvml = reading.then(nvml_inventory.read)
    if sheet_of_nvml.value is None:
        sheet.miss("nvidia_driver.cuda_version", sheet_of_nvml.state, sheet_of_nvml.source, sheet_of_nvml.detail)
        if sheet_of_nvml.state in (State.TIMED_OUT, State.FAILED):
            sheet.miss("nvidia_driver.nvml_error", sheet_of_nvml.state, sheet_of_nvml.source, sheet_of_nvml.detail)
        elif sheet_of_nvml.is_absent and loaded:
            sheet.put("nvidia_driver.nvml_error", "NVML_ERROR_LIBRARY_NOT_FOUND", sheet_of_nvml.source)
    for name, value, state, _, detail in sheet_of_nvml.value or ():
        if state is State.ABSENT:
            sheet.absent(name, sheet_of_nvml.source, value, detail)
        else:
            sheet.put(name, value, sheet_of_nvml.source, detail)
    if reading.value and not reading.value.get("error") and reading.value.get("gpus"):
        sheet.miss("nvidia_driver.smi_seconds", State.NOT_ASKED, "command:nvidia-smi", "NVML answered")
        return
    hung = sheet_of_nvml.state is State.TIMED_OUT
    nvidia_tools.ask(system, sheet, nvidia_tools.AFTER_NVML_HUNG_S if hung else nvidia_tools.DEADLINE_S)
