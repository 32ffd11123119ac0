"""nvidia_uvm is not loaded, or its device node is missing beside the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.redaction.lazy import Lazy
from doctor.rules import commands, run_line

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-uvm-missing",
    severity=Severity.ERROR,
    title="nvidia_uvm is not loaded, or /dev/nvidia-uvm is missing.",
    needs=[
        {"nvidia_driver.loaded", "nvidia_driver.uvm_loaded"},
        {"nvidia_driver.loaded", "nodes"},
        {"nodes", "symptom:cuda-unknown-999"},
        {"nodes", "symptom:gpu-idle-said"},
        {"nodes", "symptom:gpu-not-seen-said"},
        {"nodes", "symptom:torch-reports-no-gpu"},
    ],
    proven="synthetic",
    order=15,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
The NVIDIA driver is loaded, and the module nvidia_uvm or the node /dev/nvidia-uvm, which CUDA needs, is missing.

## Why it matters
`nvidia-smi` works and CUDA does not: "CUDA unknown error" (999) or no device.

## Not raised when
- The driver is not loaded, or no NVIDIA node at all is there (other rules).
- Only a warning on a host where nothing is seen to fail: CUDA loads the module on first use where nvidia-modprobe is
  installed set-uid root. In a container nothing can do that, so there it is an error.
- The system is WSL or a Jetson, which have no nvidia_uvm.

## How to confirm
`grep nvidia_uvm /proc/modules` and `ls -l /dev/nvidia-uvm`.

## Fix
`nvidia-modprobe -u -c 0` on the host loads the module and makes the node. Pass /dev/nvidia-uvm and
/dev/nvidia-uvm-tools to the
container, best by the container toolkit.

## Fix safety
Disturbs no running job.

## References
https://github.com/NVIDIA/nvidia-modprobe ; https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
FIXES = (
    Fix(
        text="Load nvidia_uvm and make its node, on the host.", command=("nvidia-modprobe", "-u", "-c", "0"), root=True
    ),
)


def unheard(machine: Snapshot) -> bool:
    """Where the node is told to be there, and on Windows, which has none."""
    return machine.os.id == "windows" or machine.symptom("uvm-node-there-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    modules = machine.kernel.modules or ()
    unusable = machine.symptom("cuda-unknown-999") is not None
    unseen = unusable or machine.symptom("gpu-idle-said", *run_line.NO_GPU_SEEN) is not None
    works = machine.nvidia_driver.loaded or (machine.nvidia_driver.loaded is None and unseen)
    if not works or commands.in_wsl(machine) or "nvgpu" in modules or _tegra(machine) or machine.gpus == ():
        return
    no_module = machine.nvidia_driver.uvm_loaded is False
    # NVML opens no node of nvidia_uvm: where it fails, a listing of some nodes is no sign that this one is missing.
    fails = machine.nvidia_driver.nvml_error is not None or machine.nvidia_driver.smi_error is not None
    no_node = _node_missing(machine) and not (fails and run_line.from_text(machine, "nodes"))
    if not no_module and not no_node:
        return
    inside = commands.in_container(machine)
    failing = inside or unseen or machine.torch.available is False
    what = "nvidia_uvm is not loaded" if no_module else "/dev/nvidia-uvm is missing"
    where = " in this container" if inside and not no_module else ""
    known = "The NVIDIA driver is loaded" if machine.nvidia_driver.loaded else "NVIDIA's other nodes are there"
    yield Finding(
        # On a host the setuid nvidia-modprobe makes the node when the first CUDA program starts.
        severity=Severity.ERROR if failing else Severity.WARNING if no_module else Severity.INFO,
        summary=f"{known} and {what}{where}; CUDA needs it.",
        # CUDA says the same 999 of a module that is there and stale: this one is not.
        explains=(*RULE.explains, "nvidia-uvm-stale-after-suspend"),
        subject=Subject(kind="node", id="/dev/nvidia-uvm"),
        evidence=evidence(machine, ("nvidia_driver.version", "nvidia_driver.uvm_loaded", "nodes")),
        fixes=_fixes(inside and not no_module),
        verify=("ls", "-l", "/dev/nvidia-uvm"),
    )


def _tegra(machine: Snapshot) -> bool:
    """A Jetson, by its kernel or by the name of its GPU: newer JetPacks load a module named nvidia, for the display."""
    named = any(_JETSON.search(gpu.name or "") for gpu in machine.gpus or ())
    return named or (machine.kernel.release or "").endswith("-tegra")


_JETSON = Lazy(r"\bJetson\b|\bTegra|\bOrin\b|\bXavier\b|\bnvgpu\b", re.IGNORECASE)


def _node_missing(machine: Snapshot) -> bool:
    """The node is missing beside nodes of the same driver that are there. Of a pasted listing only where it shows
    more than one of them: a single node is the one that the writer asks about."""
    listed = [n for n in machine.nodes or () if n.is_device is not False and n.major is not None]
    there = {n.kind for n in listed}
    few = run_line.from_text(machine, "nodes") and len([n for n in listed if n.key.startswith("/dev/nvidia")]) < 2
    return "nvidiactl" in there and "nvidia-uvm" not in there and not few


def _fixes(passing: bool) -> tuple[Fix, ...]:
    if passing:
        return (Fix(text="Start the container with the container toolkit (--gpus all), or pass /dev/nvidia-uvm too."),)
    return FIXES
