"""Small phrases that renderers share: text made safe, counts, and the machine's GPUs in one line."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.facts import Snapshot
from doctor.findings import Hint, Remedy, Report, Scope, Severity
from doctor.redaction.secrets import masked

TESTED = {"live": "on real faults", "replay": "on recordings", "synthetic": "on simulated faults"}
"""What a rule was tested on, in words."""
_LONGEST = 2000
_UNSAFE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def clean(text: str) -> str:
    """One line without control, format (bidirectional marks, zero width) and line characters; those become `?` or a
    space. At most 2000 characters."""
    text = text[:_LONGEST].replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    if text.isprintable():
        return text
    return "".join("?" if unicodedata.category(c) in _UNSAFE else c for c in text)


def plural(count: int, noun: str) -> str:
    """`1 check`, `2 checks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def headline(report: Report) -> str:
    """The last line: what was found, how much was checked."""
    counted = report.counted()
    errors = sum(f.severity is Severity.ERROR for f in counted)
    warnings = sum(f.severity is Severity.WARNING for f in counted)
    found = [plural(errors, "error")] * bool(errors) + [plural(warnings, "warning")] * bool(warnings)
    checks = f"{plural(len(report.clear), 'check')} passed"
    if report.unchecked and not from_text(report):  # a text leaves most of them open
        checks += f", {len(report.unchecked)} skipped (-v)"
    hidden = len(report.suppressed)
    listed = f"{checks}, {hidden} suppressed" if hidden else checks
    if found:
        return f"{', '.join(found)} · {listed}"
    if from_text(report):
        if report.reports_failure is False and not best_guess(report):
            return f"No problem that doctor can name is in this text ({listed})."
        ask = "" if report.snapshot.gpus or best_guess(report) else f" {_ASK}"
        return f"No known cause was found in this text ({listed}).{ask}"
    if report.status == "unknown":
        return f"{not_checked(report)} {listed}."
    beside = f" beside {plural(hidden, 'suppressed finding')}" if hidden else ""
    if report.status == "partial":
        parts = [name for name, state in report.layers.items() if state in ("partial", "unknown")]
        no_python = parts == ["torch"] and report.snapshot.interpreter.path is None
        how = " No Python environment was found; name one with --python." if no_python else ""
        return f"No problem found{beside}, but not everything could be checked ({', '.join(parts)}): {checks}.{how}"
    return f"No problems found{beside}: {checks}."


def not_checked(report: Report) -> str:
    """Of a report with the status `unknown`: why. One sentence."""
    gpus = report.snapshot.gpus
    where = "in this text" if from_text(report) else "here"
    if gpus is None:
        return f"No GPU information {where}. {_ASK}" if from_text(report) else "Could not tell whether a GPU is here."
    return f"No GPU was found {where}." if not gpus else f"No AMD or NVIDIA GPU was found {where}."


_ASK = "Please add the output of `nvidia-smi` or `rocminfo`."


def from_text(report: Report) -> bool:
    """Whether the facts were read from a pasted text; a text without facts counts."""
    sources = [origin.source for origin in report.snapshot.origins.values()]
    if report.reports_failure is not None or any(source.startswith("text") for source in sources):
        return True
    return not sources and report.source is not None


def machine_line(report: Report) -> str:
    """`H100 80GB ×8 (sm_90) · driver 535.183.01 · Ubuntu 24.04 · torch 2.9.1+cu130 in /opt/venv`."""
    machine = report.snapshot
    parts = [gpu_line(machine)]
    vendors = {gpu.vendor for gpu in machine.gpus or ()}
    if machine.nvidia_driver.version:
        parts.append(f"driver {machine.nvidia_driver.version}")
    elif "nvidia" in vendors and machine.nvidia_driver.loaded is False:
        parts.append("no NVIDIA driver loaded")
    if "amd" in vendors and machine.amdgpu_driver.loaded is not None:
        release = machine.amdgpu_driver.version or machine.amdgpu_driver.source or ""
        parts.append(f"amdgpu {release}".strip() if machine.amdgpu_driver.loaded else "amdgpu not loaded")
    releases = sorted({install.version for install in machine.rocm or () if install.version})
    if releases:
        parts.append(f"ROCm {', '.join(releases[:3])}")
    if machine.os.name:
        parts.append(machine.os.name)
    if machine.torch.version:
        folder = re.sub(r"/lib(?:64)?/python[\d.]+t?/(?:site|dist)-packages/torch$", "", machine.torch.location or "")
        where = f" in {folder or machine.torch.location}" if machine.torch.location else ""
        parts.append(f"torch {machine.torch.version}{where}")
    line = " · ".join(masked(clean(part)) for part in parts)
    return f"{clean(report.source)}: {line}" if report.source not in (None, "-") else line


def layer_signs(report: Report, *, plain: bool = False) -> str:
    """`driver ✓  devices ✓  torch !`; in words where signs can't be shown."""
    signs = {"ok": "✓", "problem": "✗", "partial": "!", "unknown": "?", "not-applicable": "–"}
    pasted = from_text(report)  # a text leaves most of them open
    shown = ((n, s) for n, s in report.layers.items() if not (pasted and s in ("unknown", "partial")))
    rows = [(n, s) for n, s in shown if n != "gpu" or s == "problem"]
    if plain:
        return ", ".join(f"{name}: {state}" for name, state in rows)
    return "  ".join(f"{name} {signs[state]}" for name, state in rows)


def cost(remedy: Remedy) -> str:
    """`host, root, reboot`: where it acts and what it costs."""
    scope = "Python environment" if remedy.scope is Scope.ENVIRONMENT else remedy.scope.value
    notes = [scope, *["root"] * remedy.root, *["reboot"] * remedy.reboot]
    notes += [f"restarts {clean(name)}" for name in remedy.restarts]
    return ", ".join(notes + [f"keeps {clean(kept)}" for kept in remedy.keeps])


def fix_lines(finding: Mapping[str, Any], most: int | None = None) -> list[str]:
    """`Fix: …` with its commands, or `Fix A: …`, `Fix B: …` for alternatives, of a finding as plain data."""
    rows = []
    many = len(finding["remedies"]) > 1 and most != 1
    for letter, remedy in zip("ABCDEFGH", finding["remedies"][:most], strict=False):
        rows.append(f"Fix{f' {letter}' if many else ''}: {clean(remedy['title'])}")
        for step in remedy["steps"]:
            if step["command"]:
                rows.append(f"  {clean(shlex.join(step['command']))}")
            elif step["text"].rstrip(".") != remedy["title"].rstrip("."):
                rows.append(f"  {clean(step['text'])}")
    return rows


def best_guess(report: Report) -> Hint | None:
    """The likeliest hint, if it is worth a reader's time: where nothing was found three of four were right from 0.8 on,
    and one of three below (the sets of benchmarks/triage)."""
    return next((hint for hint in report.hints[:1] if hint.confidence >= _GUESS_FROM), None)


_GUESS_FROM = 0.8


def reader_failures(machine: Snapshot) -> list[str]:
    """Parsers that failed on a pasted text, and where: what they would have read is missing from the report."""
    failed = [(n.removeprefix("parsers."), o) for n, o in machine.origins.items() if n.startswith("parsers.")]
    return [
        clean(f"The parser {name} failed at line {o.source.partition(':')[2]} ({o.detail}): please report this.")
        for name, o in failed
    ]


_VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "other": "other"}


def gpu_line(machine: Snapshot) -> str:
    """`AMD Instinct MI300X ×8 (gfx942, 192 GiB)`: equal GPUs counted."""
    if machine.gpus is None:
        return "GPU not known"
    if not machine.gpus:
        return "no GPU found"
    kinds: Counter[str] = Counter()
    for gpu in machine.gpus:
        name = clean(gpu.name or gpu.pci_id or f"{_VENDORS.get(gpu.vendor or '', 'unknown')} GPU")
        mebibytes = (gpu.memory_bytes or 0) >> 20
        size = f"{mebibytes / 1024:.0f} GiB" if mebibytes >= 1024 else f"{mebibytes} MiB"
        memory = [size] if gpu.memory_bytes else []
        about = ", ".join([clean(gpu.arch or "")] * bool(gpu.arch) + memory)
        kinds[f"{name}\0{f' ({about})' if about else ''}"] += 1
    rows = (kind.partition("\0") for kind in kinds)
    counts = (f" ×{count}" if count > 1 else "" for count in kinds.values())
    return "; ".join(f"{name}{count}{about}" for (name, _, about), count in zip(rows, counts, strict=True))


def has_placeholder(argv: Sequence[str]) -> bool:
    """Whether a word of the command must be replaced: COMMAND, MANIFEST.yaml, BRANCH."""
    return any(_PLACEHOLDER.search(word) for word in argv)


_PLACEHOLDER = re.compile(r"(?:^|=)[A-Z][A-Z_]{2,}(?:\.yaml)?$")
