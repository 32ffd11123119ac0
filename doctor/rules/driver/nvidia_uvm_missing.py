from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, run_line
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nvidia-uvm-missing",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.RECONFIGURE,
    layer=Layer.DEVICES,
    title="nvidia_uvm is not loaded, or /dev/nvidia-uvm is missing.",
    needs=[
        {"nvidia_driver.loaded", "nvidia_driver.uvm_loaded"},
        {"nvidia_driver.loaded", "nodes"},
        {"nodes", "symptom:cuda-unknown-999"},
        {"nodes", "symptom:torch-reports-no-gpu"},
    ],
    proven="synthetic",
    order=15,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
The NVIDIA driver is loaded, but CUDA needs the module nvidia_uvm or the node /dev/nvidia-uvm, which is missing.

## Why it matters
`nvidia-smi` works, but CUDA does not: "CUDA unknown error" (999) or no device.

## Not raised when
- The driver is not loaded, or no NVIDIA node exists at all (other rules).
- It is only a warning on a host where nothing fails: CUDA loads the module on first use where nvidia-modprobe is
  installed set-uid root. In a container nothing can do that, so there it is an error.
- The system is WSL or a Jetson, which have no nvidia_uvm.

## How to confirm
`grep nvidia_uvm /proc/modules` and `ls -l /dev/nvidia-uvm`.

## Fix
`nvidia-modprobe -u -c 0` on the host loads the module and creates the node. Pass /dev/nvidia-uvm and
/dev/nvidia-uvm-tools to the container, preferably with the container toolkit.

## Fix safety
Does not affect running jobs.

## References
https://github.com/NVIDIA/nvidia-modprobe ; https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    argv = ("nvidia-modprobe", "-u", "-c", "0")
    undo = (ways.step("Unload it.", "modprobe", "-r", "nvidia_uvm"),)
    title = "Load nvidia_uvm and create its device node on the host."
    return (ways.command(title, Scope.DRIVER, *argv, root=True, vendor="nvidia", undo=undo),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    modules = machine.kernel.modules or ()
    unusable = machine.symptom("cuda-unknown-999") is not None
    unseen = unusable or machine.symptom(*run_line.NO_GPU_SEEN) is not None
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
    known = "The NVIDIA driver is loaded" if machine.nvidia_driver.loaded else "NVIDIA's other device nodes exist"
    yield Finding(
        # On a host the setuid nvidia-modprobe makes the node when the first CUDA program starts.
        severity=Severity.ERROR if failing else Severity.WARNING if no_module else Severity.INFO,
        summary=f"{what}{where}, but CUDA needs it. {known}.",
        # CUDA says the same 999 of a module that is there and stale: this one is not.
        explains=(*RULE.explains, "nvidia-uvm-stale-after-suspend"),
        subject=Subject(kind="node", id="/dev/nvidia-uvm"),
        evidence=evidence(machine, ("nvidia_driver.version", "nvidia_driver.uvm_loaded", "nodes")),
        remedies=(_PASS,) if inside and not no_module else advice(machine, kb),
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


_PASS = ways.way(
    "Recreate the container with /dev/nvidia-uvm.",
    Scope.CONTAINER,
    ways.step("Use `--gpus all` (NVIDIA's container toolkit), or add `--device /dev/nvidia-uvm`."),
    risk=ways.STOPS_CONTAINER,
    vendor="nvidia",
)
