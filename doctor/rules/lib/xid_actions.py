"""What an Xid or SXid of the kernel log asks for: the catalogue's action, as something to do for the GPU that it names.

An Xid 154 contains its action. One that the catalogue knows and gives no action keeps its meaning and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts.host import KernelEvent
from doctor.findings import Remedy, Scope, Step
from doctor.rules.lib.advice import drain, step, way

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.knowledge.entries import Xid

SOURCE = "https://docs.nvidia.com/deploy/xid-errors/"
_RECOVERY = r"recovery action changed from .{0,60}? to 0x[0-9a-fA-F]{1,4} \(([A-Za-z0-9 ]{2,40})\)"
_RECOVERIES = {
    "none": "IGNORE",
    "gpu reset required": "RESET_GPU",
    "pf flr": "RESET_GPU",
    "drain and reset": "DRAIN_AND_RESET",
    "drain p2p": "DRAIN_P2P",
    "node reboot required": "RESTART_BM",
    "os reboot": "RESTART_BM",
}
"""The words of Xid 154 (NVML's recovery action); newer branches name the second and the last one otherwise."""
_NODE = ("RESTART_BM", "CHECK_MECHANICALS", "CONTACT_SUPPORT", "RESTART_VM")
_LINK = ("WORKFLOW_NVLINK_ERR", "WORKFLOW_NVLINK5_ERR")
_DRAINS_ALONE = ("DRAIN_P2P",)


class Asked(NamedTuple):
    """One event, its name with its meaning, and the action that is asked for. `kind` is the catalogue's: `app` …;
    of a switch `potentially fatal` or `link`."""

    event: KernelEvent
    name: str
    meaning: str
    action: str | None
    fatal: bool
    kind: str

    @property
    def title(self) -> str:
        return f"{self.name} ({self.meaning})" if self.meaning else self.name

    @property
    def words(self) -> str:
        return _WORDS.get(self.action or "", "the catalogue lists no action")


_WORDS = {
    "IGNORE": "nothing to do, keep the record",
    "RESTART_APP": "restart the program",
    "CHECK_UVM": "restart the program and check its use of unified memory",
    "WORKFLOW_XID_45": "check the Xid before it; alone, it means that a program was killed",
    "RESET_GPU": "drain and reset the GPU",
    "DRAIN_AND_RESET": "stop new work on the GPU, then reset it",
    "DRAIN_P2P": "stop work that copies between GPUs, then reset the GPU when it is idle",
    "RESTART_BM": "restart the node",
    "RESTART_VM": "restart the virtual machine",
    "CHECK_MECHANICALS": "check power cable and seating",
    "UPDATE_SWFW": "update driver or firmware",
    "CONTACT_SUPPORT": "collect a bug report and contact the vendor",
    "WORKFLOW_XID_48": "look for 63, 64, 94 and 95 near it: 94 restart the program, 95 or 64 reset the GPU",
    "WORKFLOW_NVLINK_ERR": "reset the GPU; field diagnostics if it returns",
    "WORKFLOW_NVLINK5_ERR": "reset the GPU; field diagnostics if it returns",
    "LOOK_AT_SWITCH": "look at the fabric manager's log and the link that it names",
}
_CONTAINED = 94
_NVLINK5 = range(144, 151)
"""Each is a unit of NVLink 5, and its line says whether this error is fatal. Source: leptonai/gpud
components/accelerator/nvidia/xid: `RLW_RXPIPE Nonfatal XC0 i0 Link 13`, `NETIR Fatal`."""
_NONFATAL = re.compile(r"\bNon-?fatal\b", re.IGNORECASE)


def asked(event: KernelEvent, kb: Knowledge) -> Asked | None:
    """None if neither Xid nor SXid. A number that the catalogue lacks is reported without an action."""
    if event.code == "gpu-fell-off-bus":
        return Asked(event, "fell off the bus", "", "RESTART_BM", True, "hardware")
    kind, _, number = event.code.rpartition("-")
    if not number.isdigit():
        return None
    if kind == "xid":
        return _xid(event, int(number), kb.xid(int(number)))
    if kind == "sxid":
        switch = kb.sxid(int(number))
        always = switch is not None and switch.fatal == "always"
        action = "RESTART_BM" if always else "LOOK_AT_SWITCH"
        kind = "potentially fatal" if switch is not None and switch.fatal == "potentially" else "link"
        return Asked(event, f"SXid {number}", switch.name if switch else "", action, always, kind)
    return None


def _xid(event: KernelEvent, number: int, entry: Xid | None) -> Asked:
    if entry is None:
        return Asked(event, f"Xid {number}", "not in the catalogue", None, False, "unknown")
    action, fatal = entry.action, entry.severity == "error" or number == _CONTAINED
    if recovery := re.search(_RECOVERY, event.text) if number == 154 else None:
        action = _RECOVERIES.get(recovery[1].strip().lower(), action)
        fatal = action in _RECOVERIES.values() and action != "IGNORE"
    elif action == "XID_154":
        action = "IGNORE"
    elif number in _NVLINK5 and _NONFATAL.search(event.text):
        fatal = False
    return Asked(event, f"Xid {number}", entry.meaning.partition(";")[0], action, fatal, entry.kind)


def remedies(board: str | None, device: str, actions: Iterable[str | None]) -> tuple[Remedy, ...]:
    """What the worst of the actions asks for, as steps in order, after the report for the vendor: what ends the error
    takes its traces away."""
    wanted = set(actions)
    which = f" Name the {board}." if board else ""
    text = f"Collect a report first; if the error returns, the vendor needs it to replace the board (RMA).{which}"
    report = step(text, "nvidia-bug-report.sh")
    update = (_UPDATE,) if "UPDATE_SWFW" in wanted else ()
    if "RESTART_VM" in wanted and not wanted & {"RESTART_BM", "CHECK_MECHANICALS"}:
        rows = (report, *update, step("Drain and restart the virtual machine.", *_REBOOT))
        title, risk = "Drain and restart the virtual machine.", "stops every job in the virtual machine"
        return (drain(title, *rows, reboot=True, risk=risk, vendor="nvidia"),)
    if wanted & set(_NODE):
        first = (_CABLES,) if "CHECK_MECHANICALS" in wanted else ()
        rows = (report, *update, *first, _RESTART)
        return (drain("Drain and restart the node.", *rows, reboot=True, risk=_NODE_ENDS, vendor="nvidia"),)
    if wanted <= {"RESTART_APP"}:
        again = step("Restart the program; reset the GPU when the node is next idle.")
        return (way("Restart the program that failed.", Scope.JOB, report, again, vendor="nvidia"),)
    if update and wanted == {"UPDATE_SWFW"}:
        title = "Update the NVIDIA driver and the GPU's firmware."
        return (way(title, Scope.FIRMWARE, report, _UPDATE, root=True, risk=_NODE_ENDS, vendor="nvidia"),)
    first = (_LET_GO,) if wanted & set(_DRAINS_ALONE) else ()
    links = (_DIAGNOSE,) if wanted & set(_LINK) else ()
    return (reset(device, before=(report, *update, *first), after=links),)


def reset(device: str, before: tuple[Step, ...] = (), after: tuple[Step, ...] = ()) -> Remedy:
    """Drain the GPU and reset it."""
    known = device if device != "-" else "GPU_INDEX"
    end = step("Stop every program that uses the GPU.")
    named = "" if device != "-" else " (GPU_INDEX: its number in `nvidia-smi`)"
    argv = step(f"Reset it{named}.", "nvidia-smi", "--gpu-reset", "-i", known)
    return drain("Drain the GPU and reset it.", *before, end, argv, *after, risk=_RESET_ENDS, vendor="nvidia")


_NODE_ENDS = "stops every job on the node"
_RESET_ENDS = "stops every job on the GPU; with NVLink, all GPUs of the node are reset together"
_REBOOT = ("systemctl", "reboot")
_RESTART = step("Restart it; check power cable and seating if the GPU stays away.", *_REBOOT)
_CABLES = step("Power the node off and check the GPU's power cable and seating.")
_UPDATE = step("Install driver and firmware releases for host (and guest) that NVIDIA lists together.")
_LET_GO = step("Stop the programs that copy between GPUs through this one.")
_DIAGNOSE = step("If links fail again, run field diagnostics.", "dcgmi", "diag", "-r", "3")
