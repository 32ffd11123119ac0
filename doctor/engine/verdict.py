"""The one place that decides what a report says of the whole: each layer, the status, the headline, the exit code.

A layer is `ok` only where its core facts are known, a check of it passed, nothing in it is wrong, and what is installed
could be looked into by the rule that finds its most common fault. `partial` and `unknown` are never `ok`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from doctor.errors import ExitCode
from doctor.facts import Snapshot
from doctor.findings import Finding, Layer, Report, Rule, Severity

State = Literal["ok", "problem", "partial", "unknown", "not-applicable"]
Status = Literal["ok", "partial", "warning", "error", "unknown"]
MATTER = (Layer.GPU, Layer.DRIVER, Layer.DEVICES, Layer.LIBRARIES, Layer.TORCH)
"""Layers that `--strict` asks for; torch only where it is installed."""
_OF_TAG = {
    "driver": Layer.DRIVER,
    "hardware": Layer.GPU,
    "container": Layer.CONTAINER,
    "access": Layer.DEVICES,
    "flags": Layer.FLAGS,
    "blas": Layer.LIBRARIES,
    "python": Layer.TORCH,
    "torch": Layer.TORCH,
    "libraries": Layer.LIBRARIES,
}
_WITNESSES = {Layer.TORCH: "torch-missing-gpu-arch", Layer.LIBRARIES: "gpu-libs-not-found"}
_FRAMEWORKS = ("torch", "tensorflow", "jax", "onnxruntime", "cupy")
_WORDS = {"ok": "✓", "problem": "✗", "partial": "!", "unknown": "?", "not-applicable": "–"}


def layer_of(rule: Rule) -> Layer | None:
    if rule.layer is not None:
        return rule.layer
    if rule.id.startswith(("container-", "cdi-")):
        return Layer.CONTAINER
    return next((_OF_TAG[tag] for tag in rule.tags if tag in _OF_TAG), None)


def layers(
    machine: Snapshot,
    findings: Iterable[Finding],
    clear: Iterable[str],
    rules: Mapping[str, Rule],
    expect_gpus: int | None = None,
    unchecked: Collection[str] = (),
) -> dict[str, State]:
    """Each layer's state, in the order of the stack. `clear`: the rules that looked and found nothing; `unchecked`:
    those that could not look."""
    wrong = {
        layer_of(rules[f.rule])
        for f in findings
        if f.rule in rules and (f.severity is not Severity.INFO or f.explained_by)
    }
    passed = {layer_of(rules[rule]) for rule in clear if rule in rules}
    if machine.nodes:  # that the nodes are there is a check of its own
        passed.add(Layer.DEVICES)
    if any(p.name.startswith(_FRAMEWORKS) for p in machine.packages or ()):
        passed -= {layer for layer, rule in _WITNESSES.items() if rule in unchecked}
    known = _known(machine)
    none_here = machine.gpus == () and expect_gpus == 0
    states: dict[str, State] = {}
    for layer in Layer:
        facts = known[layer]
        if layer in wrong:
            states[layer.value] = "problem"
        elif facts is None or (none_here and layer in (Layer.GPU, Layer.DRIVER, Layer.DEVICES, Layer.LIBRARIES)):
            states[layer.value] = "not-applicable"
        elif all(facts) and layer in passed:
            states[layer.value] = "ok"
        else:
            states[layer.value] = "partial" if any(facts) else "unknown"
    return states


def _known(machine: Snapshot) -> dict[Layer, tuple[bool, ...] | None]:
    """Whether each core fact of a layer is known; None where the layer is known not to be there."""
    vendors = [v for v in ("amd", "nvidia") if machine.of_vendor(v)]
    torch = machine.torch
    there = torch.installed is not False or torch.version is not None
    libraries = [machine.rocm is not None] * ("amd" in vendors) + [machine.cuda is not None] * ("nvidia" in vendors)
    return {
        Layer.GPU: (bool(machine.gpus), all(gpu.vendor and gpu.arch for gpu in machine.gpus or ()) and bool(vendors)),
        Layer.DRIVER: tuple(machine.driver_known(vendor) for vendor in vendors) or (False,),
        Layer.DEVICES: (machine.host.wsl or machine.nodes is not None,) if machine.gpus else (False,),
        Layer.LIBRARIES: tuple(libraries) or (False,),
        Layer.CONTAINER: (True,)
        if machine.container.inside
        else None
        if machine.container.inside is False
        else (False,),
        Layer.TORCH: (torch.version is not None, torch.build is not None) if there else None,
        Layer.FLAGS: (machine.environment is not None,),
    }


def unread(machine: Snapshot) -> dict[Layer, State]:
    """Layers of which nothing (`unknown`) or not everything (`partial`) was read that two machines are compared by.
    What is known not to be here is known."""
    vendors = [v for v in ("amd", "nvidia") if machine.of_vendor(v)] or ["amd", "nvidia"]
    installs = {"amd": machine.rocm, "nvidia": machine.cuda}
    python = machine.torch.installed is not None or machine.torch.version is not None
    read = {
        Layer.GPU: (machine.gpus is not None,),
        Layer.DRIVER: (*(_driver_seen(machine, vendor) for vendor in vendors), machine.kernel.release is not None),
        Layer.DEVICES: (machine.nodes is not None or bool(machine.host.wsl),),
        Layer.LIBRARIES: tuple(installs[vendor] is not None for vendor in vendors),
        Layer.CONTAINER: (machine.container.inside is not None,),
        Layer.TORCH: (python, machine.packages is not None),
        Layer.FLAGS: (machine.environment is not None,),
    }
    return {layer: "partial" if any(facts) else "unknown" for layer, facts in read.items() if not all(facts)}


def _driver_seen(machine: Snapshot, vendor: str) -> bool:
    """Without a GPU of that vendor, that its driver is not loaded has to be known."""
    loaded = machine.nvidia_driver.loaded if vendor == "nvidia" else machine.amdgpu_driver.loaded
    return loaded is not None or bool(machine.of_vendor(vendor) and machine.driver_known(vendor))


_SHORT_OF_FACTS = (("Not known", "unknown"), ("Only partly known", "partial"))


def unread_line(name: str, states: Mapping[Layer, State]) -> str | None:
    """`Not known of NAME: GPU, driver.`: what a comparison can't show; None where all of it was read."""
    parts = []
    for words, wanted in _SHORT_OF_FACTS:
        layers_so = [_LAYER_NAMES.get(layer, layer.value) for layer, state in states.items() if state == wanted]
        if layers_so:
            parts.append(f"{words} of {name}: {', '.join(layers_so)}.")
    return " ".join(parts) or None


_LAYER_NAMES = {Layer.GPU: "GPU", Layer.TORCH: "Python packages", Layer.FLAGS: "environment variables"}


def status(machine: Snapshot, findings: Iterable[Finding], states: Mapping[str, State]) -> Status:
    """The worst severity that counts. Without one: `unknown` where no GPU is known to be here, `ok` where all layers
    that matter were checked, else `partial`. A layer whose only problem is suppressed was checked."""
    worst = min((f.severity.rank for f in findings if not f.explained_by), default=Severity.INFO.rank)
    if worst == Severity.ERROR.rank:
        return "error"
    if worst == Severity.WARNING.rank:
        return "warning"
    if states["gpu"] == "unknown" or (not machine.gpus and states["gpu"] != "not-applicable"):
        return "unknown"
    return "partial" if any(states[layer.value] in ("partial", "unknown") for layer in MATTER) else "ok"


def exit_code(report: Report, fail_on: str, *, strict: bool) -> ExitCode:
    """docs/exit-codes.md: 1 for a finding from `fail_on` up, which wins over 4: with `--strict`, a layer that matters
    was not wholly checked."""
    if fail_on != "never":
        limit = Severity(fail_on).rank
        if any(f.severity.rank <= limit for f in report.counted()):
            return ExitCode.FINDINGS
    if strict and any(report.layers.get(layer.value, "unknown") in ("partial", "unknown") for layer in MATTER):
        return ExitCode.UNJUDGED
    return ExitCode.OK


def signs(report: Report, *, plain: bool = False) -> str:
    """`driver ✓  devices ✓  torch !`, in words where signs can't be shown."""
    if plain:
        return ", ".join(f"{name} {state}" for name, state in report.layers.items())
    return "  ".join(f"{name} {_WORDS[state]}" for name, state in report.layers.items() if name != "gpu")
