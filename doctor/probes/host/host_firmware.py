"""What is between the kernel and the board: hypervisor, IOMMU, secure boot, lockdown.

Cost: ten small files and folders, no root. Firmware strings name the maker and the model, never a serial number.
"""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

_FLAGS = re.compile(r"^flags\s{0,20}:(.{0,8000})$", re.MULTILINE)
"""x86 only: elsewhere the flags don't say whether there is a hypervisor."""

READS: tuple[str, ...] = (
    "file:proc/cpuinfo public",
    "file:proc/cmdline secret-bearing",
    "file:sys/class/dmi/id/sys_vendor public",
    "file:sys/class/dmi/id/product_name public",
    "file:sys/hypervisor/type public",
    "dir:sys/class/iommu public",
    "dir:sys/kernel/iommu_groups public",
    "file:sys/kernel/iommu_groups/*/type public",
    "file:sys/kernel/security/lockdown public",
    "dir:sys/firmware/efi public",
    "file:sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c public",
)

_SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_HYPERVISORS = (
    ("amazon ec2", "kvm", "aws"),
    ("google", "kvm", "gcp"),
    ("microsoft corporation virtual machine", "hyperv", None),
    ("qemu", "kvm", None),
    ("kvm", "kvm", None),
    ("vmware", "vmware", None),
    ("virtualbox", "virtualbox", None),
    ("innotek", "virtualbox", None),
    ("xen", "xen", None),
    ("openstack", "kvm", None),
    ("alibaba cloud", "kvm", "alibaba"),
    ("digitalocean", "kvm", "digitalocean"),
    ("oraclecloud", "kvm", "oracle"),
    ("firecracker", "kvm", None),
)
"""Words of "maker model" in lower case → hypervisor, cloud. Azure shows only by its asset tag, which root may read."""
_BARE_METAL = (".metal",)
_GROUPS = 64
"""IOMMU groups that are asked for their type: the first that are not alike answer "translated"."""


def probe(system: System, sheet: FactSheet) -> None:
    cpuinfo = system.read_text("proc/cpuinfo", limit=8 << 20)
    flags = _FLAGS.search(cpuinfo.value or "")
    _virtual(system, sheet, "hypervisor" in flags[1].split() if flags else None)
    _iommu(system, sheet)
    _secure_boot(system, sheet)
    lockdown = system.read_text("sys/kernel/security/lockdown")
    chosen = (lockdown.value or "").partition("[")[2].partition("]")[0]
    if chosen in ("none", "integrity", "confidentiality"):
        sheet.put("kernel.lockdown", chosen, lockdown.source)
    elif lockdown.known:
        sheet.miss("kernel.lockdown", State.UNREADABLE, lockdown.source)
    else:
        lockdown.into(sheet, "kernel.lockdown")


def _virtual(system: System, sheet: FactSheet, flag: bool | None) -> None:
    vendor = system.read_text("sys/class/dmi/id/sys_vendor")
    model = system.read_text("sys/class/dmi/id/product_name")
    board = clean(f"{vendor.value or ''} {model.value or ''}").lower()
    kind = system.read_text("sys/hypervisor/type")
    if kind.value and kind.value.strip() == "xen":
        sheet.put("host.hypervisor", "xen", kind.source)
    metal = any(word in board for word in _BARE_METAL)
    for words, hypervisor, cloud in _HYPERVISORS:
        if words in board:
            if not metal and flag is not False:
                sheet.put("host.hypervisor", hypervisor, vendor.source)
            if cloud:
                sheet.put("host.cloud", cloud, vendor.source)
            break
    if flag is not None:
        sheet.put("host.virtual_machine", flag, "file:/proc/cpuinfo", "flag hypervisor")
    elif sheet.get("host.hypervisor"):
        sheet.put("host.virtual_machine", True, vendor.source, board)
    elif metal or (vendor.known and model.known):
        sheet.put("host.virtual_machine", False, vendor.source, board)
    else:
        state = _unseen(system, vendor.state)
        sheet.miss("host.virtual_machine", state, vendor.source, "neither flags nor firmware say")


def _unseen(system: System, state: State) -> State:
    """What a missing file means where absence proves nothing: asking failed; a tree may just
    not hold it."""
    if state is not State.ABSENT:
        return state
    return State.NOT_RECORDED if system.kind == "tree" else State.FAILED


def _iommu(system: System, sheet: FactSheet) -> None:
    """By the types of the groups, which the kernel has since 5.11; before that by its command line."""
    units = system.list_dir("sys/class/iommu")
    groups = system.list_dir("sys/kernel/iommu_groups")
    if not units.known and not groups.known:
        sheet.miss("host.iommu", _unseen(system, units.state), units.source, units.detail)
        return
    if not units.value and not groups.value:
        sheet.put("host.iommu", "off", units.source, "no IOMMU is in use")
        return
    types = []
    for group in (groups.value or ())[:_GROUPS]:
        reading = system.read_text(f"sys/kernel/iommu_groups/{group}/type")
        if reading.value:
            types.append(reading.value.strip())
    words = (system.read_text("proc/cmdline").value or "").split()
    if any(kind.startswith("DMA") for kind in types):
        sheet.put("host.iommu", "translated", groups.source)
    elif "identity" in types:
        sheet.put("host.iommu", "passthrough", groups.source)
    elif "iommu=pt" in words or "iommu.passthrough=1" in words:
        sheet.put("host.iommu", "passthrough", "file:/proc/cmdline")
    else:
        sheet.miss("host.iommu", State.FAILED, groups.source, "there is an IOMMU; its groups don't say their type")


def _secure_boot(system: System, sheet: FactSheet) -> None:
    efi = system.list_dir("sys/firmware/efi")
    if efi.is_absent and system.list_dir("sys/firmware").known:
        sheet.put("kernel.secure_boot", False, efi.source, "not booted through EFI")
        return
    variable = system.read_bytes(_SECURE_BOOT, length=16)
    if variable.value is not None and len(variable.value) >= 5:
        sheet.put("kernel.secure_boot", variable.value[4] == 1, variable.source)
    elif variable.known:
        sheet.miss("kernel.secure_boot", State.UNREADABLE, variable.source, "shorter than 5 bytes")
    else:
        # Some containers hide efivars though the machine has it: a missing variable proves nothing.
        sheet.miss("kernel.secure_boot", _unseen(system, variable.state), variable.source, variable.detail)
